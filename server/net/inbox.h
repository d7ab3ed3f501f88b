/* SPDX-License-Identifier: MIT
 *
 * inbox.h - sockets on their way from the listener's thread to a loop.
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
    bool is_refused; /* connections-max is reached: the peer is only told so */
};

struct sw_inbox {
    pthread_mutex_t lock; /* of all fields but `wake` */
    struct sw_inbox_item *items;
    size_t count;
    size_t capacity;
    uv_async_t *wake; /* sent after a put; its handler takes the items. Borrowed */
};

void sw_inbox_init(struct sw_inbox *inbox);
/* Closes the sockets nobody took. */
void sw_inbox_fini(struct sw_inbox *inbox);

/* Hands a connected socket over. Any thread. Returns 0, or -1 (memory): then the caller keeps it.
 */
int sw_inbox_put(struct sw_inbox *inbox, struct sw_inbox_item item);

/* Takes all items; the caller frees the array. The loop's thread. */
struct sw_inbox_item *sw_inbox_take(struct sw_inbox *inbox, size_t *count);

#endif
