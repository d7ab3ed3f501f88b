/* SPDX-License-Identifier: MIT
 *
 * due.h - which parts of a table of expiry times may hold expired entries, so that a search for
 * expired entries visits no other part.
 *
 * A part is an interval of m, so its entries stay in it where they move in the table, or the table
 * grows. A tree has a lower bound of the times of each part, and for each inner node the minimum of
 * its two children. A new time lowers the bound of its part. The bound of a removed or changed time
 * stays, and is wrong at most once: the visit of a part makes its bound exact.
 *
 * Threads: the caller is in a write phase of the table; sw_due_bound also in a read phase.
 * Memory: 16 bytes for each part of about SW_DUE_PART_SLOTS slots.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_DUE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_DUE_H

#include <stdbool.h>
#include <stdint.h>

/* Slots of the table for each part. */
#define SW_DUE_PART_SLOTS 256U
/* Least parts, as a power of two. */
#define SW_DUE_BITS_MIN 4U

struct sw_due {
    uint64_t *tree; /* [2 * parts]: the root is 1, the children of i are 2 * i and 2 * i + 1, and
                       part p is parts + p */
    uint32_t bits;  /* there are 1 << bits parts */
    /* the sweep in progress, which visits all entries in the order of m */
    bool follows;   /* it has visited part `part` from its beginning on */
    uint64_t part;  /* the part that it has reached */
    uint64_t least; /* the earliest time of this part that it has kept, or that was set since */
};

/* Returns false if memory is short. */
bool sw_due_open(struct sw_due *due);
void sw_due_close(struct sw_due *due);

/* Adapts the number of parts to a table of `slots`. If memory is short, the parts stay as they are:
 * then they are larger than usual. */
void sw_due_fit(struct sw_due *due, uint64_t slots);

static inline uint64_t sw_due_parts(const struct sw_due *due)
{
    return 1ULL << due->bits;
}

static inline uint64_t sw_due_bytes(const struct sw_due *due)
{
    return 2 * sw_due_parts(due) * sizeof(*due->tree);
}

static inline uint64_t sw_due_part_of(const struct sw_due *due, uint64_t m)
{
    return m >> (64 - due->bits);
}

/* Returns the smallest m of a part. */
static inline uint64_t sw_due_first_of(const struct sw_due *due, uint64_t part)
{
    return part << (64 - due->bits);
}

/* Returns the lower bound of the times of a part. */
static inline uint64_t sw_due_bound(const struct sw_due *due, uint64_t part)
{
    return due->tree[sw_due_parts(due) + part];
}

/* Records that the entry with this m gets the time `at`. */
static inline void sw_due_set(struct sw_due *due, uint64_t m, uint64_t at)
{
    const uint64_t part = sw_due_part_of(due, m);
    if (part == due->part && at < due->least) {
        due->least = at;
    }
    for (uint64_t i = sw_due_parts(due) + part; i > 0 && at < due->tree[i]; i /= 2) {
        due->tree[i] = at;
    }
}

/* Records that `least` is the earliest time of a part. */
void sw_due_know(struct sw_due *due, uint64_t part, uint64_t least);

/* Returns the first part from `first` on that may have a time up to `clock_ms`, or the number of
 * parts if there is none. */
uint64_t sw_due_find(const struct sw_due *due, uint64_t first, uint64_t clock_ms);

/* A sweep visits all entries in the order of m, piece by piece. Call the first function before it,
 * the second one for each time that it keeps, and the third one after each piece: all entries
 * before `cursor` were visited, or all entries if it is 0. So a whole sweep makes all bounds exact.
 */
void sw_due_pass_begin(struct sw_due *due);
void sw_due_pass_kept(struct sw_due *due, uint64_t m, uint64_t at);
void sw_due_pass_reached(struct sw_due *due, uint64_t cursor);

/* Sets all bounds to at most `at`. */
void sw_due_lower(struct sw_due *due, uint64_t at);

/* There are no times any more. Visits only the parts that have had one since the last call: batches
 * may set the only time of a large table, and remove it, again and again. */
void sw_due_clear(struct sw_due *due);

#endif
