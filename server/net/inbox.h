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
    size_t first, end; /* the sockets that were not taken yet: items[first] to items[end - 1] */
    size_t capacity;
    uv_async_t *wake; /* the loop's handle, which every put signals. Borrowed */
};

void sw_inbox_init(struct sw_inbox *inbox);
/* Closes the sockets that are still queued. */
void sw_inbox_fini(struct sw_inbox *inbox);

/* Queues a connected socket and wakes the loop, which owns the socket from then on. May be called
 * from any thread. Returns 0, or -1 if there is no memory: then the caller keeps the socket. */
int sw_inbox_put(struct sw_inbox *inbox, struct sw_inbox_item item);

/* Removes the oldest socket, which the caller owns from then on. Returns false if there is none. To
 * be called on the loop's thread. */
bool sw_inbox_take(struct sw_inbox *inbox, struct sw_inbox_item *item);

#endif
