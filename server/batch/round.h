/* SPDX-License-Identifier: MIT
 *
 * round.h - a batch of operations that RESP commands fill, and that the loop submits once an
 * iteration.
 *
 * A round keeps the order in which operations were added, so every connection sees its own
 * operations take effect one after the other. Operations belong to groups: a group takes effect as
 * a whole, or is refused as a whole. The arrays are in I/O memory, and the table reads and writes
 * them in place. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_ROUND_H
#define SHERWOOD_SERVER_BATCH_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/batches.h"

struct sw_round {
    struct sw_flight flight;
    struct sw_batches *batches;
    struct sw_flights *flights; /* that it is submitted to */
    /* Called once for each submit, when the results are there. */
    void (*done)(struct sw_round *round);
    uint32_t operations_max; /* size of the arrays */
    uint32_t operations;     /* operations added so far */
    uint32_t alike;          /* length of the run of equal operations at the beginning */
    uint32_t groups;         /* groups ended so far */
    bool gives_times;        /* some operation says when its key expires */
    bool shows_times;        /* some reply needs to know when keys expired before */
    bool shows_values;       /* some reply needs earlier values; always true for integers */

    /* The arrays, all in `memory`, with operations_max elements each. */
    void *memory;
    size_t memory_bytes;
    uint8_t *ops;           /* enum sw_op of each operation */
    void *keys;             /* keys of the table's width */
    void *values;           /* operands of the table's width */
    void *previous;         /* results: the values before each operation */
    uint64_t *found;        /* results: bit i is set if key i was present before */
    uint64_t *not_admitted; /* results: keys that a cache refused; NULL: not a cache */
    uint32_t *group_ends;   /* index behind the last operation of each group */
    uint64_t *expires;      /* sw_batch.expires, written once gives_times; NULL: nothing expires */
    uint64_t *expires_out;  /* results: sw_batch.expires_out; NULL likewise */
    uint8_t *group_refused; /* results: enum sw_admission of each group */
};

/* Borrows `batches`. Returns 0, or -1 if there is no memory; sw_round_fini may be called after
 * either. */
int sw_round_init(struct sw_round *round, struct sw_batches *batches, uint32_t operations_max,
                  void (*done)(struct sw_round *round));
void sw_round_fini(struct sw_round *round);

static inline bool sw_round_has_room(const struct sw_round *round, uint32_t operations)
{
    return operations <= round->operations_max - round->operations;
}

/* Are all operations of the round equal (all GET, say)? */
static inline bool sw_round_is_uniform(const struct sw_round *round)
{
    return round->alike == round->operations;
}

/* Appends one operation; the caller has checked that there is room. Before its group is ended,
 * sw_round_rewind can remove it again. */
void sw_round_add(struct sw_round *round, enum sw_op op, uint64_t key, uint64_t value);
/* The same for tables whose values are byte strings. Returns the address of the operand, which has
 * value_bytes bytes. The caller must fill it if `op` has an operand, and must always write the key
 * string, if the table has key strings. */
uint8_t *sw_round_add_blob(struct sw_round *round, enum sw_op op, uint64_t key);
/* Sets the expiry time of the operation added last (sw_batch.expires). Other operations set the
 * time of default-ttl, or none. */
void sw_round_give_time(struct sw_round *round, uint64_t at);
/* Removes the operations after the first `operations`. The removed ones must not be in a group. */
void sw_round_rewind(struct sw_round *round, uint32_t operations);

/* Makes a group of the operations that are in none yet. Returns its number. */
static inline uint32_t sw_round_end_group(struct sw_round *round)
{
    round->group_ends[round->groups] = round->operations;
    return round->groups++;
}
/* Makes one group of the groups from `first` on, if there are any. */
void sw_round_join_groups(struct sw_round *round, uint32_t first);

/* Turns a completed round into a new round of one group. The caller has written its `operations`
 * operations to the beginning of the arrays. */
void sw_round_rewrite(struct sw_round *round, uint32_t operations);

/* Submits the round, which must have operations, all of them in groups. */
void sw_round_submit(struct sw_round *round);

/* Empties the round, to be filled again. */
void sw_round_reset(struct sw_round *round);

#endif
