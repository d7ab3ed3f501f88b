/* SPDX-License-Identifier: MIT
 *
 * study.h - the experiments of the cache study.
 *
 * A function that returns false has printed the failure on stderr; then do not use the cache any
 * more. Threads: one.
 */
#ifndef SHERWOOD_BENCH_CACHE_STUDY_H
#define SHERWOOD_BENCH_CACHE_STUDY_H

#include "bench/cache/report.h"

struct sw_cachebench_study {
    const struct sw_cachebench_options *options;
    const struct sw_cachebench_place *place;
    struct sw_cachebench_report *report;
    struct sw_cachebench_arrays arrays;
    uint64_t draws;   /* number of draws so far: each has another order, generation and other absent
                         keys */
    bool is_correct;  /* no check has failed so far */
    bool is_complete; /* everything requested was measured */
};

/* Allocates the arrays for values of `dim` floats. On failure returns false, and nothing is open.
 */
bool sw_cachebench_arrays_open(struct sw_cachebench_study *study, uint64_t room, uint32_t dim,
                               bool custom);
void sw_cachebench_arrays_close(struct sw_cachebench_study *study);

/* --- a cache under test, and the model of what it holds ----------------------------------------
 */

struct sw_cachebench_table {
    struct sw_cachebench_study *study;
    const struct sw_cachebench_library *library;
    void *cache;
    uint64_t capacity;
    uint32_t dim;
    enum sw_cachebench_scores scores;
    uint8_t *model; /* one byte for each number */
    uint64_t numbers_max;
    uint64_t next;    /* the numbers below this one were inserted since the cache was empty */
    uint64_t live;    /* how many of these were not erased */
    uint64_t size;    /* entries in the cache, at the last count */
    uint64_t touched; /* keys that calls have written since the last fill */
    bool has_evicted;
};

/* On failure returns false; the report has a row without a value for the subject, and nothing is
 * open. */
bool sw_cachebench_table_open(struct sw_cachebench_study *study,
                              const struct sw_cachebench_library *library,
                              const struct sw_cachebench_subject *subject,
                              enum sw_cachebench_scores scores, uint64_t numbers_max,
                              struct sw_cachebench_table *table);
void sw_cachebench_table_close(struct sw_cachebench_table *table);

bool sw_cachebench_table_clear(struct sw_cachebench_table *table);
/* Inserts the next `count` numbers in one call. *took (NULL is allowed) receives its duration. */
bool sw_cachebench_table_insert(struct sw_cachebench_table *table, uint64_t count,
                                struct sw_study_took *took);
/* Counts the entries. Entries beyond the number of inserted keys are WRONG in the verdict (NULL is
 * allowed). */
bool sw_cachebench_table_count(struct sw_cachebench_table *table,
                               struct sw_cachebench_verdict *verdict);
/* Brings the cache to the load for a call of `count` keys. Does nothing if the load is within 1 %
 * of the capacity, and calls have touched so few keys that the window's keys are still present. */
bool sw_cachebench_table_fill(struct sw_cachebench_table *table, double load, uint64_t count);
/* Looks up every inserted number and compares values. The number of found keys must be the cache's
 * own count; a difference is MISSED. */
bool sw_cachebench_table_audit(struct sw_cachebench_table *table,
                               struct sw_cachebench_verdict *verdict);

/* Returns a query for the numbers first, first + 1, .. in this order. */
struct sw_cachebench_query sw_cachebench_sequence(const struct sw_cachebench_table *table,
                                                  uint64_t first, uint64_t count);
/* Returns a query of `count` keys: `fresh` from fresh_from on, the others from the `window` newest
 * numbers, or from all numbers if there are fewer. */
struct sw_cachebench_query sw_cachebench_ask(struct sw_cachebench_table *table, uint64_t count,
                                             uint64_t fresh, uint64_t fresh_from, uint64_t window);
/* Returns the number of newest keys that are surely present: the cache evicts the least recently
 * used entries. A bucket of 128 entries holds 32 of the window on average, and at most 32 that were
 * used since. The probability that these are 128 is below 10^-11. */
uint64_t sw_cachebench_window(const struct sw_cachebench_table *table);
/* Returns the first number of this window: the cache must hold every stored number from here on. */
uint64_t sw_cachebench_sure_from(const struct sw_cachebench_table *table);

/* Runs a call of the library. *took (NULL is allowed) receives its duration. */
bool sw_cachebench_call(struct sw_cachebench_table *table, enum sw_cachebench_operation operation,
                        uint64_t count, struct sw_study_took *took);

/* Draws keys and values. */
bool sw_cachebench_draw_call(struct sw_cachebench_table *table,
                             const struct sw_cachebench_query *query, uint32_t generation);
/* Looks up the keys of the query, which were drawn before, and compares values. Adds to the
 * verdict. *took (NULL is allowed) receives the duration of the look-up. */
bool sw_cachebench_check_find(struct sw_cachebench_table *table,
                              const struct sw_cachebench_query *query, uint32_t added,
                              struct sw_study_took *took, struct sw_cachebench_verdict *verdict);
/* Overwrites the memory for the answers of `count` operations. */
bool sw_cachebench_poison(struct sw_cachebench_table *table, uint64_t count);

/* --- experiments -------------------------------------------------------------------------------
 */

/* Times and checks one call of `count` operations. Restores the entries that it erases or adds to.
 */
bool sw_cachebench_measure(struct sw_cachebench_table *table,
                           enum sw_cachebench_operation operation, uint64_t count, double load,
                           struct sw_cachebench_rep *rep);

void sw_cachebench_do_fill(struct sw_cachebench_study *study);
void sw_cachebench_do_retention(struct sw_cachebench_study *study);
void sw_cachebench_do_operations(struct sw_cachebench_study *study);

/* Runs all requested studies. */
void sw_cachebench_run(struct sw_cachebench_study *study);

#endif
