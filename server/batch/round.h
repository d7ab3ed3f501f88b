/* SPDX-License-Identifier: MIT
 *
 * round.h - operations that a loop gathers and submits as one batch.
 *
 * A round keeps the order in which operations were added, so every connection sees its own take
 * effect one after the other. Operations come in groups: a group takes effect whole, or is refused
 * whole. The arrays lie in I/O memory, and the batch works on them where they are. One owner
 * thread, but for the fields that belong to sw_commit.
 */
#ifndef SHERWOOD_SERVER_BATCH_ROUND_H
#define SHERWOOD_SERVER_BATCH_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/batches.h"
#include "server/list.h"

struct sw_commit_batch;

struct sw_round {
    struct sw_flight flight;
    struct sw_batches *batches;
    struct sw_commit_batch *commit; /* the loop's; NULL: every round is a batch of its own */
    /* The results are here: called once for each submit. */
    void (*done)(struct sw_round *round);
    uint32_t operations_max;
    uint32_t operations;
    uint32_t alike; /* operations from the first on that are the same as it */
    uint32_t groups;
    bool shows_values; /* some reply needs a value; where these are integers: always */

    /* While it is with sw_commit; any thread. */
    struct sw_list link;
    bool is_shared; /* it is there; the loop's own thread */
    bool committed; /* atomic: the results are here */

    /* I/O memory. */
    void *memory;
    size_t memory_bytes;
    uint8_t *ops;
    void *keys;
    void *values;
    void *previous;
    uint64_t *found;
    uint64_t *not_admitted; /* NULL: the engine turns nobody away */
    uint32_t *group_ends;
    uint8_t *group_refused;
};

/* Returns 0, or -1 (memory); fini is allowed after both. */
int sw_round_init(struct sw_round *round, struct sw_batches *batches,
                  struct sw_commit_batch *commit, uint32_t operations_max,
                  void (*done)(struct sw_round *round));
void sw_round_fini(struct sw_round *round);

static inline bool sw_round_has_room(const struct sw_round *round, uint32_t operations)
{
    return operations <= round->operations_max - round->operations;
}

/* Are all operations the same? */
static inline bool sw_round_is_uniform(const struct sw_round *round)
{
    return round->alike == round->operations;
}

/* Appends one operation; room has been checked. It takes effect only once a group covers it; until
 * then sw_round_rewind takes it back. */
void sw_round_add(struct sw_round *round, enum sw_op op, uint64_t key, uint64_t value);
/* The same where values are bytes: returns where this one's go, for the caller to fill all of
 * them if `op` takes an operand. */
uint8_t *sw_round_add_blob(struct sw_round *round, enum sw_op op, uint64_t key);
void sw_round_rewind(struct sw_round *round, uint32_t operations);

/* Makes a group of the operations that are in none yet. Returns its number. */
uint32_t sw_round_end_group(struct sw_round *round);
/* Makes one group of the groups from `first` on, if there are any. */
void sw_round_join_groups(struct sw_round *round, uint32_t first);

/* Submits the round; it has operations, and all are in groups. */
void sw_round_submit(struct sw_round *round);

/* Calls `done` of a round that was submitted together with others', if the results are here.
 * Returns true if so. */
bool sw_round_poll_shared(struct sw_round *round);

/* Empties it for the next gathering. */
void sw_round_reset(struct sw_round *round);

#endif
