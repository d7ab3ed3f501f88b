/* SPDX-License-Identifier: MIT
 *
 * tls_queue.c - the pieces of one write.
 */
#include "server/net/tls_queue.h"

#include <assert.h>
#include <stdlib.h>

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
    while (queue->first < queue->end && bytes >= queue->parts[queue->first].iov_len) {
        bytes -= queue->parts[queue->first++].iov_len;
    }
    if (bytes > 0) {
        struct iovec *part = &queue->parts[queue->first];
        part->iov_base = (uint8_t *)part->iov_base + bytes;
        part->iov_len -= bytes;
    }
}

void sw_tls_queue_free(struct sw_tls_queue *queue)
{
    free(queue->parts);
    *queue = (struct sw_tls_queue){0};
}
