/* SPDX-License-Identifier: MIT
 *
 * times.h - what holds of entries that expire, on any backend (table/robin_hood/README.md, "Entries
 * that expire"). Host and device.
 *
 * Threads: pure functions of their arguments; a pass belongs to one.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_TIMES_H
#define SHERWOOD_TABLE_ROBIN_HOOD_TIMES_H

#include "table/operation.h"
#include "table/table.h"

/* Entries that a sweep looks at together. */
#define SW_EXPIRY_PIECE 512U
/* The table of the times at first, and its stash. */
#define SW_EXPIRY_FIRST_SLOTS 1024U
#define SW_EXPIRY_STASH_SLOTS 1024U
/* Later than any time. */
#define SW_EXPIRY_NEVER UINT64_MAX

/* Whether an operation may give its key the time `wanted`: reads and deletes give none, whatever
 * the batch says. */
SW_HD static inline bool sw_expiry_may_give(uint32_t op, uint64_t wanted)
{
    return wanted != 0 && wanted != SW_EXPIRE_KEEP && op != SW_GET && op != SW_DELETE;
}

/* Whether a batch of writes has to do with times, where no entry has one. */
static inline bool sw_expiry_gives_or_buries(const struct sw_batch *batch)
{
    return batch->expires != NULL || batch->bury_count > 0 ||
           (batch->expire_at != 0 && batch->expire_at != SW_EXPIRE_KEEP);
}

/* Whether an operation that writes a present key gives it a time. */
SW_HD static inline bool sw_expiry_gives(uint32_t op)
{
    return op == SW_SET || op == SW_SET_PRESENT;
}

/* What an operation on a key that expires `before` does, instead of `effect`; *after is when the
 * key, if it is there then, expires. Times up to `past` have passed. */
SW_HD static inline enum sw_effect sw_expiry_decide(uint32_t op, bool found, enum sw_effect effect,
                                                    uint64_t before, uint64_t wanted, uint64_t past,
                                                    uint64_t *after)
{
    *after = before;
    if (effect == SW_EFFECT_REMOVE) {
        *after = 0;
        return effect;
    }
    const bool gives = sw_op_expires(op)
                           ? found && sw_expire_holds(op, before, wanted)
                           : effect == SW_EFFECT_WRITE && (!found || sw_expiry_gives(op));
    if (!gives || wanted == SW_EXPIRE_KEEP) {
        return effect;
    }
    if (wanted != 0 && wanted <= past) {
        *after = 0;
        return found ? SW_EFFECT_REMOVE : SW_EFFECT_NONE;
    }
    *after = wanted;
    return effect;
}

/* The clock of a batch that came with clock_ms (0: none): that, or the table's if it is later,
 * which it becomes. Any thread. */
static inline uint64_t sw_expiry_take_clock(uint64_t *clock, uint64_t clock_ms)
{
    uint64_t last = __atomic_load_n(clock, __ATOMIC_RELAXED);
    if (clock_ms == 0) {
        return 0;
    }
    while (last < clock_ms && !__atomic_compare_exchange_n(clock, &last, clock_ms, false,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return last < clock_ms ? clock_ms : last;
}

/* The sweep: a pass over the table of the times, in the order of its m, in pieces; and what it has
 * seen. */
struct sw_expiry_pass {
    uint64_t next; /* no entry has an earlier time */
    uint64_t cursor;
    uint64_t seen_next;  /* the earliest time that it has seen, or that was given since it began */
    uint64_t sum, count; /* of those that it kept: milliseconds to live */
    uint64_t ttl_mean_ms;
    bool steps_back; /* it began because the clock is to go back when it ends */
    uint64_t clock_steps;
};

/* An entry has the time `at` from now on. */
static inline void sw_expiry_pass_given(struct sw_expiry_pass *pass, uint64_t at)
{
    pass->next = at < pass->next ? at : pass->next;
    pass->seen_next = at < pass->seen_next ? at : pass->seen_next;
}

/* Before a piece. */
static inline void sw_expiry_pass_begin(struct sw_expiry_pass *pass)
{
    if (pass->cursor == 0) {
        pass->seen_next = SW_EXPIRY_NEVER;
        pass->sum = 0;
        pass->count = 0;
    }
}

/* It has come upon a time that stays. */
static inline void sw_expiry_pass_kept(struct sw_expiry_pass *pass, uint64_t at, uint64_t clock_ms)
{
    pass->seen_next = at < pass->seen_next ? at : pass->seen_next;
    pass->sum += at > clock_ms ? at - clock_ms : 0;
    pass->count++;
}

/* It has come to its end. */
static inline void sw_expiry_pass_end(struct sw_expiry_pass *pass)
{
    pass->next = pass->seen_next;
    pass->ttl_mean_ms = pass->count > 0 ? pass->sum / pass->count : 0;
}

/* Nothing expires any more: a clear. */
static inline void sw_expiry_pass_clear(struct sw_expiry_pass *pass)
{
    pass->next = SW_EXPIRY_NEVER;
    pass->seen_next = SW_EXPIRY_NEVER;
    pass->ttl_mean_ms = 0;
}

#endif
