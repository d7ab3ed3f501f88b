/* SPDX-License-Identifier: MIT
 *
 * giving.h - what the source of a move sends: entries of its table, and what the writes since then
 * have of the slots. Functions return 0, or -1 with a reason of the mover. On the mover's thread.
 */
#ifndef SHERWOOD_SERVER_MOVE_GIVING_H
#define SHERWOOD_SERVER_MOVE_GIVING_H

#include "server/move/mover_parts.h"

struct giving {
    struct sw_mover *mover;
    const struct sw_move_hello *hello;
    struct sw_link_to link;
    uint64_t salt;
    uint32_t most; /* operations of a message */
    uint64_t sent; /* writes up to here were sent, or are of other slots */
    uint64_t of;   /* the write that is being sent */
};

/* Columns of a message; NULL: it has none. */
struct giving_columns {
    const void *keys, *operands, *operations;
    const uint64_t *times;
};

int sw_giving_link_failed(struct giving *giving);
/* Sends a message; columns NULL: it has none at all. */
int sw_giving_send(struct giving *giving, const struct sw_move_head *head,
                   const struct giving_columns *columns);
/* Entries that lie in the mover's memory: to be called by sw_mover_each. */
int sw_giving_send_entries(struct sw_mover *mover, uint32_t count, void *user);
/* Keys that the target is to remove, since their time has come, as that write does first. */
int sw_giving_send_buried(struct giving *giving, const uint8_t *keys, uint32_t count);
/* Everything behind *at up to `through`, and nothing later; it is in the feed, or will be soon. */
int sw_giving_send_through(struct giving *giving, uint64_t *at, uint64_t through);

#endif
