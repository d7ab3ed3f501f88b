/* SPDX-License-Identifier: MIT
 *
 * resp_batch.h - a batch of operations that RESP commands fill, and that the loop submits once an
 * iteration.
 *
 * A RESP batch keeps the order in which operations were added, so every connection sees its own
 * operations take effect one after the other. Operations belong to groups: a group takes effect as
 * a whole, or is refused as a whole. The arrays are in I/O memory, and the table reads and writes
 * them in place. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_RESP_BATCH_H
#define SHERWOOD_SERVER_BATCH_RESP_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/batches.h"

struct sw_resp_batch;

/* The flight of a batch. It lies in the batch's memory, so a batch without memory takes little. */
struct sw_resp_flight {
    struct sw_flight flight;
    struct sw_resp_batch *batch;
};

struct sw_resp_batch {
    struct sw_batches *batches;
    struct sw_flights *flights; /* the list that it is submitted to */
    /* Called once for each submit, when the arrays have the results. */
    void (*done)(struct sw_resp_batch *batch);
    uint32_t stream;         /* of struct sw_batch */
    uint32_t operations_max; /* size of the arrays */
    uint32_t operations;     /* operations added so far */
    uint32_t alike;          /* length of the run of equal operations at the beginning */
    uint32_t groups;         /* groups ended so far */
    bool gives_times;        /* some operation sets an expiry time */
    uint64_t unsaid;         /* in expires[], once gives_times: the time of default-ttl, or 0 */
    bool sets_parts;         /* some operation is SETRANGE */
    bool compares;           /* some operation is CAS */
    bool shows_times;        /* some reply needs the expiry times before the operations */
    bool shows_values;       /* some reply needs earlier values; always true for integers */

    /* The flight, and the arrays, with operations_max elements each, in memory_bytes of I/O memory;
     * NULL: there is no memory. */
    size_t memory_bytes;
    struct sw_flight *flight;
    uint8_t *ops;           /* enum sw_op of each operation */
    void *keys;             /* keys of the table's width */
    void *values;           /* operands of the table's width */
    void *previous;         /* results: the values before each operation */
    uint64_t *found;        /* results: bit i is set if key i was present before */
    uint64_t *not_admitted; /* results: keys that a cache refused; NULL: not a cache */
    uint32_t *group_ends;   /* index behind the last operation of each group */
    uint32_t *ranges;      /* sw_batch.ranges, written once sets_parts or compares; NULL: values are
                              integers */
    uint64_t *expires;     /* sw_batch.expires, written once gives_times; NULL: nothing expires */
    uint64_t *expires_out; /* results: sw_batch.expires_out; NULL likewise */
    uint8_t *group_refused; /* results: enum sw_admission of each group */
};

/* Borrows `batches`, and computes memory_bytes. The batch has no memory yet. */
void sw_resp_batch_init(struct sw_resp_batch *batch, struct sw_batches *batches,
                        uint32_t operations_max, void (*done)(struct sw_resp_batch *batch));
/* Places the flight and the arrays in I/O memory of memory_bytes, which the caller owns; NULL:
 * takes them away. The batch is empty. */
void sw_resp_batch_set_memory(struct sw_resp_batch *batch, void *memory);

static inline bool sw_resp_batch_has_room(const struct sw_resp_batch *batch, uint32_t operations)
{
    return operations <= batch->operations_max - batch->operations;
}

/* Are all operations of the batch equal (all GET, say)? */
static inline bool sw_resp_batch_is_uniform(const struct sw_resp_batch *batch)
{
    return batch->alike == batch->operations;
}

/* Appends one operation; the caller has checked that there is room. Before its group is ended,
 * sw_resp_batch_rewind can remove it again. */
void sw_resp_batch_add(struct sw_resp_batch *batch, enum sw_op op, uint64_t key, uint64_t value);
/* The same for tables whose values are byte strings. Returns the address of the operand, which has
 * value_bytes bytes. The caller must fill it if `op` has an operand, and must always write the key
 * string, if the table has key strings. */
uint8_t *sw_resp_batch_add_blob(struct sw_resp_batch *batch, enum sw_op op, uint64_t key);
/* Sets the expiry time of the operation added last (sw_batch.expires). Other operations set the
 * time of default-ttl, or none. */
void sw_resp_batch_set_time(struct sw_resp_batch *batch, uint64_t at);
/* Sets the part of the row that the operation added last, SETRANGE, replaces. Its operand begins
 * with the new bytes. */
void sw_resp_batch_set_range(struct sw_resp_batch *batch, uint32_t range);
/* The operation added last, CAS, stores its operand if the value equals the operand of the
 * operation before it. `bytes` is the number of bytes that a row and that operand have to share. */
void sw_resp_batch_set_compared(struct sw_resp_batch *batch, uint32_t bytes);
/* Removes the operations after the first `operations`. The removed ones must not be in a group. */
void sw_resp_batch_rewind(struct sw_resp_batch *batch, uint32_t operations);

/* Makes a group of the operations that are in none yet. Returns its number. */
static inline uint32_t sw_resp_batch_end_group(struct sw_resp_batch *batch)
{
    batch->group_ends[batch->groups] = batch->operations;
    return batch->groups++;
}
/* Makes one group of the groups from `first` on, if there are any. */
void sw_resp_batch_join_groups(struct sw_resp_batch *batch, uint32_t first);

/* Turns a completed batch into a new batch of one group. The caller has written its `operations`
 * operations to the beginning of the arrays. */
void sw_resp_batch_rewrite(struct sw_resp_batch *batch, uint32_t operations);

/* Submits the batch, which must have operations, all of them in groups. */
void sw_resp_batch_submit(struct sw_resp_batch *batch);

/* Empties the batch, to be filled again. */
void sw_resp_batch_reset(struct sw_resp_batch *batch);

#endif
