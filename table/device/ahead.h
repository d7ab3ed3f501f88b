/* SPDX-License-Identifier: MIT
 *
 * ahead.h - decides when a table maps device memory before it grows, and when its pool releases
 * memory. To map a gigabyte takes milliseconds, as does releasing it.
 *
 * The caller passes the time and the state of the memory. All times are of one monotonic clock, in
 * ns, and never 0.
 *
 * Threads: the caller guards each structure.
 */
#ifndef SHERWOOD_TABLE_DEVICE_AHEAD_H
#define SHERWOOD_TABLE_DEVICE_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Freed memory stays in the pool until this time has passed without a call of sw_ahead_freed or
 * sw_ahead_expect. */
#define SW_AHEAD_QUIET_NS 1000000000ULL
/* A table that will be full within this time maps memory ahead. */
#define SW_AHEAD_HORIZON_NS 1000000000ULL
/* The pace of inserts is taken over at least this time. */
#define SW_AHEAD_PACE_NS 1000000ULL
/* The pool keeps no unused memory while less than 1/SW_AHEAD_SHARE of the device's memory is free.
 * Mapping ahead leaves at least this share free. */
#define SW_AHEAD_SHARE 8
/* Smaller allocations are not mapped ahead: the pool maps pieces of this size. */
#define SW_AHEAD_LEAST_BYTES (2ULL << 20)

/* Work of a pool's thread. A zeroed plan has none. */
struct sw_ahead_plan {
    uint64_t expected; /* bytes of the allocation that the table expects; 0: none */
    uint64_t tried;    /* `expected` when the thread last decided whether to map it */
    uint64_t quiet_ns; /* time at which all unused memory is released; 0: the plan has no work */
    bool released;     /* the thread released unused memory since the last sw_ahead_freed, because
                          free memory was scarce */
};

/* Memory in bytes. */
struct sw_ahead_memory {
    uint64_t unused; /* mapped by the pool, and not allocated */
    uint64_t free;   /* of the device */
    uint64_t total;  /* of the device */
};

enum sw_ahead_step {
    SW_AHEAD_WAIT, /* for a call, or until quiet_ns unless that is 0 */
    SW_AHEAD_MAP,  /* map plan->expected bytes */
    SW_AHEAD_RELEASE,
};

/* Notes that memory was freed to the pool. */
void sw_ahead_freed(struct sw_ahead_plan *plan, uint64_t now_ns);
/* Notes that the table will soon allocate `bytes`. Returns whether the thread must wake up. */
bool sw_ahead_expect(struct sw_ahead_plan *plan, uint64_t bytes, uint64_t now_ns);
/* Returns the next step, which the plan then counts as done. */
enum sw_ahead_step sw_ahead_next(struct sw_ahead_plan *plan, const struct sw_ahead_memory *memory,
                                 uint64_t now_ns);

/* How fast the entries of a table increase. */
struct sw_ahead_pace {
    uint64_t since_ns; /* 0: not begun */
    uint64_t added;    /* `added` at that time */
};

/* Returns whether the table is full within SW_AHEAD_HORIZON_NS, at the pace since since_ns. `added`
 * is the number of inserts less the number of deletes so far, which may wrap. `room` is the number
 * of entries that the table still admits. Returns false until SW_AHEAD_PACE_NS have passed, and
 * then begins again. */
bool sw_ahead_is_full_soon(struct sw_ahead_pace *pace, uint64_t added, uint64_t room,
                           uint64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif
