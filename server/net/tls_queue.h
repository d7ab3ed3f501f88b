/* SPDX-License-Identifier: MIT
 *
 * tls_queue.h - the pieces of one write that have not been sent.
 */
#ifndef SHERWOOD_SERVER_NET_TLS_QUEUE_H
#define SHERWOOD_SERVER_NET_TLS_QUEUE_H

#include <stdint.h>
#include <sys/uio.h>
#include <uv.h>

/* Zeros are an empty queue. The memory of the pieces is the caller's. */
struct sw_tls_queue {
    struct iovec *parts; /* those before `first` are sent */
    unsigned first, end, room;
    uint64_t bytes; /* of those that are not sent */
};

/* Fills an empty queue. Returns 0, or UV_ENOMEM. */
int sw_tls_queue_fill(struct sw_tls_queue *queue, const uv_buf_t *pieces, unsigned count);
/* Notes that the next bytes are sent. */
void sw_tls_queue_advance(struct sw_tls_queue *queue, size_t bytes);
static inline void sw_tls_queue_empty(struct sw_tls_queue *queue)
{
    queue->first = queue->end = 0;
    queue->bytes = 0;
}
void sw_tls_queue_free(struct sw_tls_queue *queue);

#endif
