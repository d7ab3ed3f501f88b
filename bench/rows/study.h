/* SPDX-License-Identifier: MIT
 *
 * study.h - the study of rows: a table under test, and the model of what it holds.
 */
#ifndef SHERWOOD_BENCH_ROWS_STUDY_H
#define SHERWOOD_BENCH_ROWS_STUDY_H

#include "bench/rows/libraries.h"
#include "bench/rows/options.h"
#include "bench/rows/place.h"
#include "bench/rows/report.h"

struct sw_rowbench {
    const struct sw_rowbench_options *options;
    const struct sw_rowbench_place *place;
    struct sw_rowbench_report *report;
    const struct sw_cachebench_library *const *libraries; /* ends with NULL */
    struct sw_cachebench_arrays arrays;
    uint64_t *host_keys;                /* keys of a call, if the host draws them */
    double ceilings[SW_ROWBENCH_MOVES]; /* rows per second, for the current row size */
    uint32_t dim;                       /* the current row size in floats */
    uint64_t draws;   /* number of draws so far: each has another order, generation and other absent
                         keys */
    bool is_correct;  /* no check has failed so far */
    bool is_complete; /* everything requested was measured */

    /* The current table. */
    const struct sw_cachebench_library *library;
    void *table;
    uint64_t capacity;
    uint64_t stored; /* between calls, the numbers below this one are stored */
    uint8_t *model;  /* generation of each number below capacity, in the arrays' memory */
};

/* Runs all requested studies. */
void sw_rowbench_run(struct sw_rowbench *bench);

/* --- the current table ---------------------------------------------------------------------------
 * On false one line on stderr says why. */

/* Stores the numbers from `stored` to to - 1. */
bool sw_rowbench_fill(struct sw_rowbench *bench, uint64_t to);
/* Looks up every stored number. Counts entries of the table beyond these as PHANTOM. */
bool sw_rowbench_audit(struct sw_rowbench *bench, unsigned long long answers[SW_ROWBENCH_ANSWERS]);

/* Returns `count` keys: `fresh` from fresh_from on, the others are different numbers of the
 * `window` numbers from `from` on. */
struct sw_rowbench_keys sw_rowbench_ask(struct sw_rowbench *bench, uint64_t count, uint64_t fresh,
                                        uint64_t fresh_from, uint64_t from, uint64_t window);
/* Returns 1 .. SW_CACHEBENCH_GENERATIONS, but not the last one. */
uint32_t sw_rowbench_next_generation(struct sw_rowbench *bench);

/* Runs a call with the keys in the arrays. *took (NULL is allowed) receives its duration. */
bool sw_rowbench_call(struct sw_rowbench *bench, enum sw_cachebench_operation operation,
                      uint64_t count, struct sw_study_took *took);
/* Stores rows of the generation under the keys in the arrays; generation 0 erases them. Updates the
 * model. */
bool sw_rowbench_store(struct sw_rowbench *bench, uint64_t count, uint32_t generation,
                       struct sw_study_took *took);
/* Looks up the keys in the arrays and adds to the answers. The model has the expected rows; `added`
 * describes later additions (NULL: none). */
bool sw_rowbench_look_up(struct sw_rowbench *bench, uint64_t count,
                         const struct sw_rowbench_keys *added, struct sw_study_took *took,
                         unsigned long long answers[SW_ROWBENCH_ANSWERS]);

/* Times and checks one call of an operation. Afterwards the same keys are stored as before, with
 * other generations. */
bool sw_rowbench_measure(struct sw_rowbench *bench, enum sw_rowbench_operation operation,
                         struct sw_study_took *took,
                         unsigned long long answers[SW_ROWBENCH_ANSWERS]);

#endif
