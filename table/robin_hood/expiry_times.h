/* SPDX-License-Identifier: MIT
 *
 * expiry_times.h - rules of entries that expire, for all backends (table/robin_hood/README.md,
 * "Entries that expire"). Host and device.
 *
 * Threads: pure functions of their arguments; one thread at a time uses a pass.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_EXPIRY_TIMES_H
#define SHERWOOD_TABLE_ROBIN_HOOD_EXPIRY_TIMES_H

#include "table/operation.h"
#include "table/table.h"

/* Entries of a piece of a sweep. */
#define SW_EXPIRY_PIECE 512U
/* Initial slots of the table of expiry times, and slots of its stash. */
#define SW_EXPIRY_FIRST_SLOTS 1024U
#define SW_EXPIRY_STASH_SLOTS 1024U
/* Later than any time. */
#define SW_EXPIRY_NEVER UINT64_MAX
/* A sweep that removes nothing surveys one piece of the times, at most once in this interval. */
#define SW_EXPIRY_SURVEY_MS 1000U
/* Longest time to live that the mean counts, so that the sum stays far from its limit. */
#define SW_EXPIRY_TTL_MAX (1ULL << 62)
/* A survey of a whole piece moves the mean by 1 / SW_EXPIRY_SURVEY_PARTS of the difference. */
#define SW_EXPIRY_SURVEY_PARTS 4U

/* Returns whether an operation may set the expiry time `wanted` on its key. Reads and deletes never
 * set one. */
SW_HD static inline bool sw_expiry_may_set(uint32_t op, uint64_t wanted)
{
    return wanted != 0 && wanted != SW_EXPIRE_KEEP && op != SW_GET && op != SW_DELETE;
}

/* Returns whether a write batch concerns expiry times even if no entry has one. */
static inline bool sw_expiry_sets_or_removes(const struct sw_batch *batch)
{
    return batch->expires != NULL || batch->remove_count > 0 ||
           (batch->expire_at != 0 && batch->expire_at != SW_EXPIRE_KEEP);
}

/* Returns whether an operation that writes a present key sets its expiry time. */
SW_HD static inline bool sw_expiry_sets(uint32_t op)
{
    return op == SW_SET || op == SW_SET_PRESENT;
}

/* Returns the effect of an operation on a key with expiry time `before`, instead of `effect`.
 * *after is the key's expiry time after the operation, if the key then exists. Times up to `past`
 * have passed. */
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
                           : effect == SW_EFFECT_WRITE && (!found || sw_expiry_sets(op));
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

/* Returns the clock of a batch: its own clock clock_ms (0: none), or the table's if that is later.
 * The result becomes the table's clock. A batch without a clock gets 0 and leaves the table's
 * clock. Any thread. */
static inline uint64_t sw_expiry_advance_clock(uint64_t *clock, uint64_t clock_ms)
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

/* The state of a sweep, which is a pass over the table of expiry times, piece by piece in the order
 * of its m. */
struct sw_expiry_pass {
    uint64_t next; /* no entry has an earlier time */
    uint64_t cursor;
    uint64_t seen_next; /* the earliest time kept by this pass or set since it began */
    uint64_t began_ms;  /* the clock when it began */
    double sum;         /* sum of the kept times, in milliseconds from began_ms on */
    uint64_t count;     /* number of kept times */
    uint64_t mean_at; /* the mean of all times: exact at the end of a pass, then an estimate; 0: no
                         time */
    uint64_t surveyed_ms;   /* the clock at the last update of the mean */
    uint64_t survey_cursor; /* where the next survey begins */
    bool steps_back;        /* the clock goes back when this pass ends */
    uint64_t clock_steps;
};

/* Records that an entry gets the expiry time `at`. */
static inline void sw_expiry_pass_set(struct sw_expiry_pass *pass, uint64_t at)
{
    pass->next = at < pass->next ? at : pass->next;
    pass->seen_next = at < pass->seen_next ? at : pass->seen_next;
}

/* Call this before each piece. */
static inline void sw_expiry_pass_begin(struct sw_expiry_pass *pass, uint64_t clock_ms)
{
    if (pass->cursor == 0) {
        pass->seen_next = SW_EXPIRY_NEVER;
        pass->began_ms = clock_ms;
        pass->sum = 0;
        pass->count = 0;
    }
}

/* Milliseconds from `from_ms` to a time; at least 0 and at most SW_EXPIRY_TTL_MAX. */
static inline double sw_expiry_ttl(uint64_t at, uint64_t from_ms)
{
    const uint64_t ttl = at > from_ms ? at - from_ms : 0;
    return (double)(ttl < SW_EXPIRY_TTL_MAX ? ttl : SW_EXPIRY_TTL_MAX);
}

/* Records a time that the pass keeps. */
static inline void sw_expiry_pass_kept(struct sw_expiry_pass *pass, uint64_t at)
{
    pass->seen_next = at < pass->seen_next ? at : pass->seen_next;
    pass->sum += sw_expiry_ttl(at, pass->began_ms);
    pass->count++;
}

/* Ends the pass. */
static inline void sw_expiry_pass_end(struct sw_expiry_pass *pass, uint64_t clock_ms)
{
    pass->next = pass->seen_next;
    pass->mean_at =
        pass->count > 0 ? pass->began_ms + (uint64_t)(pass->sum / (double)pass->count) : 0;
    pass->surveyed_ms = clock_ms;
}

/* Returns whether the mean needs an update although no entry is due. Also true if the clock went
 * back. */
static inline bool sw_expiry_survey_is_due(const struct sw_expiry_pass *pass, uint64_t clock_ms)
{
    return clock_ms < pass->surveyed_ms || clock_ms - pass->surveyed_ms >= SW_EXPIRY_SURVEY_MS;
}

/* Updates the mean with a piece of the times, which began at `survey_cursor`; the next piece begins
 * at `cursor`. Pieces are in the order of hashes, so each is a random sample. A piece with all
 * times gives the exact mean. */
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

/* Resets the pass when no entry expires any more. */
static inline void sw_expiry_pass_clear(struct sw_expiry_pass *pass)
{
    pass->next = SW_EXPIRY_NEVER;
    pass->seen_next = SW_EXPIRY_NEVER;
    pass->mean_at = 0;
}

#endif
