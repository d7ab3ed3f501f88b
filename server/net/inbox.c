/* SPDX-License-Identifier: MIT
 *
 * inbox.c - a growing array that is protected by a lock.
 */
#include "server/net/inbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/limits.h"

void sw_inbox_init(struct sw_inbox *inbox)
{
    memset(inbox, 0, sizeof(*inbox));
    pthread_mutex_init(&inbox->lock, NULL);
}

void sw_inbox_fini(struct sw_inbox *inbox)
{
    for (size_t i = inbox->first; i < inbox->end; i++) {
        close(inbox->items[i].fd);
    }
    free(inbox->items);
    inbox->items = NULL;
    inbox->first = inbox->end = inbox->capacity = 0;
    pthread_mutex_destroy(&inbox->lock);
}

int sw_inbox_put(struct sw_inbox *inbox, struct sw_inbox_item item)
{
    int result = -1;
    assert(inbox->wake != NULL);
    pthread_mutex_lock(&inbox->lock);
    if (inbox->end == inbox->capacity) {
        size_t capacity = inbox->capacity > 0 ? inbox->capacity * 2 : SW_ACCEPT_BURST;
        struct sw_inbox_item *grown = realloc(inbox->items, capacity * sizeof(*grown));
        if (grown != NULL) {
            inbox->items = grown;
            inbox->capacity = capacity;
        }
    }
    if (inbox->end < inbox->capacity) {
        inbox->items[inbox->end++] = item;
        result = 0;
    }
    pthread_mutex_unlock(&inbox->lock);
    if (result == 0) {
        uv_async_send(inbox->wake);
    }
    return result;
}

bool sw_inbox_take(struct sw_inbox *inbox, struct sw_inbox_item *item)
{
    pthread_mutex_lock(&inbox->lock);
    const bool any = inbox->first < inbox->end;
    if (any) {
        *item = inbox->items[inbox->first++];
    }
    if (inbox->first == inbox->end) {
        free(inbox->items);
        inbox->items = NULL;
        inbox->first = inbox->end = inbox->capacity = 0;
    }
    pthread_mutex_unlock(&inbox->lock);
    return any;
}
