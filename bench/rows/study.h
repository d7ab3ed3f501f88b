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
    uint64_t *host_keys;                /* of a call, where they are drawn on the host */
    double ceilings[SW_ROWBENCH_MOVES]; /* rows a second, of the current rows */
    uint32_t dim;                       /* of these */
    uint64_t draws;   /* so far: each draw has another order, generation and absent keys */
    bool is_correct;  /* no check found anything so far */
    bool is_complete; /* everything asked for was measured */

    /* The current table. */
    const struct sw_cachebench_library *library;
    void *table;
    uint64_t capacity;
    uint64_t stored; /* numbers below it are stored, between calls */
    uint8_t *model;  /* generation of each number below capacity, where the arrays lie */
};

/* Runs all requested studies. */
void sw_rowbench_run(struct sw_rowbench *bench);

/* --- the current table ---------------------------------------------------------------------------
 * On false one line on stderr says why. */

/* Numbers stored .. to - 1 are stored. */
bool sw_rowbench_fill(struct sw_rowbench *bench, uint64_t to);
/* Looks up every stored number. Counts entries of the table beyond these as PHANTOM. */
bool sw_rowbench_audit(struct sw_rowbench *bench, unsigned long long answers[SW_ROWBENCH_ANSWERS]);

/* `count` keys, `fresh` of them from fresh_from on, the others different ones of the `window`
 * numbers from `from` on. */
struct sw_rowbench_keys sw_rowbench_ask(struct sw_rowbench *bench, uint64_t count, uint64_t fresh,
                                        uint64_t fresh_from, uint64_t from, uint64_t window);
/* 1 .. SW_CACHEBENCH_GENERATIONS, another one than the last. */
uint32_t sw_rowbench_next_generation(struct sw_rowbench *bench);

/* A call with the keys in the arrays; *took (NULL is allowed) is what it took. */
bool sw_rowbench_call(struct sw_rowbench *bench, enum sw_cachebench_operation operation,
                      uint64_t count, struct sw_study_took *took);
/* Stores rows of the generation by the keys in the arrays, or erases them: generation 0. Notes it
 * in the model. */
bool sw_rowbench_store(struct sw_rowbench *bench, uint64_t count, uint32_t generation,
                       struct sw_study_took *took);
/* Looks the keys in the arrays up and adds to the answers. What must be there follows from the
 * model; `added` says what was added since (NULL: nothing). */
bool sw_rowbench_look_up(struct sw_rowbench *bench, uint64_t count,
                         const struct sw_rowbench_keys *added, struct sw_study_took *took,
                         unsigned long long answers[SW_ROWBENCH_ANSWERS]);

/* Times and checks one call of an operation. Afterwards the same keys are stored as before, with
 * other generations. */
bool sw_rowbench_measure(struct sw_rowbench *bench, enum sw_rowbench_operation operation,
                         struct sw_study_took *took,
                         unsigned long long answers[SW_ROWBENCH_ANSWERS]);

#endif
