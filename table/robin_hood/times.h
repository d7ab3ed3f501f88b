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
/* A sweep that removes nothing surveys a piece of the times, at most this often. */
#define SW_EXPIRY_SURVEY_MS 1000U
/* The mean counts no time to live as longer: the sum stays far from its limit. */
#define SW_EXPIRY_TTL_MAX (1ULL << 62)
/* A survey of a whole piece moves the mean by one part of so many. */
#define SW_EXPIRY_SURVEY_PARTS 4U

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
    uint64_t seen_next;   /* the earliest time that it has seen, or that was given since it began */
    uint64_t began_ms;    /* the clock when it began */
    double sum;           /* of the times that it kept: milliseconds from began_ms on */
    uint64_t count;       /* of these times */
    uint64_t mean_at;     /* the mean of all times: exact at the end of a pass, then an estimate; 0:
                             none was seen */
    uint64_t surveyed_ms; /* the clock when the mean was last brought up to date */
    uint64_t survey_cursor; /* where the next survey begins */
    bool steps_back;        /* it began because the clock is to go back when it ends */
    uint64_t clock_steps;
};

/* An entry has the time `at` from now on. */
static inline void sw_expiry_pass_given(struct sw_expiry_pass *pass, uint64_t at)
{
    pass->next = at < pass->next ? at : pass->next;
    pass->seen_next = at < pass->seen_next ? at : pass->seen_next;
}

/* Before a piece. */
static inline void sw_expiry_pass_begin(struct sw_expiry_pass *pass, uint64_t clock_ms)
{
    if (pass->cursor == 0) {
        pass->seen_next = SW_EXPIRY_NEVER;
        pass->began_ms = clock_ms;
        pass->sum = 0;
        pass->count = 0;
    }
}

/* From `from_ms` to a time; no less than 0, and no more than SW_EXPIRY_TTL_MAX. */
static inline double sw_expiry_ttl(uint64_t at, uint64_t from_ms)
{
    const uint64_t ttl = at > from_ms ? at - from_ms : 0;
    return (double)(ttl < SW_EXPIRY_TTL_MAX ? ttl : SW_EXPIRY_TTL_MAX);
}

/* It has come upon a time that stays. */
static inline void sw_expiry_pass_kept(struct sw_expiry_pass *pass, uint64_t at)
{
    pass->seen_next = at < pass->seen_next ? at : pass->seen_next;
    pass->sum += sw_expiry_ttl(at, pass->began_ms);
    pass->count++;
}

/* It has come to its end. */
static inline void sw_expiry_pass_end(struct sw_expiry_pass *pass, uint64_t clock_ms)
{
    pass->next = pass->seen_next;
    pass->mean_at =
        pass->count > 0 ? pass->began_ms + (uint64_t)(pass->sum / (double)pass->count) : 0;
    pass->surveyed_ms = clock_ms;
}

/* Whether the mean is to be brought up to date although no time has come. A clock that went back
 * makes it due. */
static inline bool sw_expiry_survey_is_due(const struct sw_expiry_pass *pass, uint64_t clock_ms)
{
    return clock_ms < pass->surveyed_ms || clock_ms - pass->surveyed_ms >= SW_EXPIRY_SURVEY_MS;
}

/* Brings the mean up to date by a piece of the times, which began at `survey_cursor` and after
 * which the next one begins at `cursor`. Pieces are in the order of hashes, so each is a random
 * sample; one that is the whole is exact. */
static inline void sw_expiry_survey(struct sw_expiry_pass *pass, const uint64_t *times,
                                    uint32_t count, uint64_t cursor, uint64_t clock_ms)
{
    const bool whole = pass->survey_cursor == 0 && cursor == 0;
    const double known = sw_expiry_ttl(pass->mean_at, clock_ms);
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += sw_expiry_ttl(times[i], clock_ms);
    }
    if (count > 0) {
        const double ttl = sum / count;
        const double parts = SW_EXPIRY_SURVEY_PARTS * SW_EXPIRY_PIECE;
        const bool replaces = whole || pass->mean_at == 0;
        pass->mean_at =
            clock_ms + (uint64_t)(replaces ? ttl : known + (ttl - known) * count / parts);
    }
    pass->survey_cursor = cursor;
    pass->surveyed_ms = clock_ms;
}

/* Nothing expires any more: a clear. */
static inline void sw_expiry_pass_clear(struct sw_expiry_pass *pass)
{
    pass->next = SW_EXPIRY_NEVER;
    pass->seen_next = SW_EXPIRY_NEVER;
    pass->mean_at = 0;
}

#endif
