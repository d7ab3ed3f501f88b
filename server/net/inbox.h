/* SPDX-License-Identifier: MIT
 *
 * inbox.h - a queue of accepted sockets, from the listener's thread to a loop.
 */
#ifndef SHERWOOD_SERVER_NET_INBOX_H
#define SHERWOOD_SERVER_NET_INBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct sw_inbox_item {
    int fd;
    bool is_unix;
    bool is_tls;
    bool is_refused; /* connections-max is reached: the peer only gets an error that says so */
};

struct sw_inbox {
    pthread_mutex_t lock; /* protects all fields but `wake` */
    struct sw_inbox_item *items;
    size_t count;
    size_t capacity;
    uv_async_t *wake; /* the loop's handle, which every put signals. Borrowed */
};

void sw_inbox_init(struct sw_inbox *inbox);
/* Closes the sockets that are still queued. */
void sw_inbox_fini(struct sw_inbox *inbox);

/* Queues a connected socket and wakes the loop, which owns the socket from then on. May be called
 * from any thread. Returns 0, or -1 if there is no memory: then the caller keeps the socket. */
int sw_inbox_put(struct sw_inbox *inbox, struct sw_inbox_item item);

/* Removes and returns all items; the caller owns the sockets and frees the array. To be called on
 * the loop's thread. */
struct sw_inbox_item *sw_inbox_take(struct sw_inbox *inbox, size_t *count);

#endif
