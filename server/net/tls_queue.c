/* SPDX-License-Identifier: MIT
 *
 * tls_queue.c - the pieces of one write.
 */
#include "server/net/tls_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "server/iovec.h"

int sw_tls_queue_fill(struct sw_tls_queue *queue, const uv_buf_t *pieces, unsigned count)
{
    assert(queue->bytes == 0);
    if (count > queue->room) {
        struct iovec *grown = realloc(queue->parts, count * sizeof(*grown));
        if (grown == NULL) {
            return UV_ENOMEM;
        }
        queue->parts = grown;
        queue->room = count;
    }
    queue->first = 0;
    queue->end = count;
    for (unsigned i = 0; i < count; i++) {
        queue->parts[i] = (struct iovec){pieces[i].base, pieces[i].len};
        queue->bytes += pieces[i].len;
    }
    return 0;
}

void sw_tls_queue_advance(struct sw_tls_queue *queue, size_t bytes)
{
    assert(bytes <= queue->bytes);
    queue->bytes -= bytes;
    struct iovec *parts = &queue->parts[queue->first];
    int left = (int)(queue->end - queue->first);
    sw_iovec_skip(&parts, &left, bytes);
    queue->first = queue->end - (unsigned)left;
}

void sw_tls_queue_free(struct sw_tls_queue *queue)
{
    free(queue->parts);
    *queue = (struct sw_tls_queue){0};
}
