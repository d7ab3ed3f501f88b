/* SPDX-License-Identifier: MIT
 *
 * operations.c - runs every operation of every library at each dimension and load, then audits all
 * entries. Also measures the ceilings of memory.
 */
#include <stdio.h>
#include <string.h>

#include "bench/cache/study.h"
#include "bench/study/report.h"

/* Untimed calls of one operation before the timed ones, as in HierarchicalKV's own benchmark: a
 * library may read its load every few calls and choose its kernels by it. */
#define WARM_UP_CALLS 9
#define REPS_MIN 2 /* fewest repetitions of a series that is out of time */

#define CAPACITY_DEFAULT (128ULL << 20)
#define DIM_HALVED 32 /* above this dimension the default capacity is halved */

static struct sw_cachebench_subject subject_of(const struct sw_cachebench_study *study,
                                               const struct sw_cachebench_library *library,
                                               uint32_t dim, double load)
{
    struct sw_cachebench_subject subject = {
        .experiment = "operations",
        .library = library->name,
        .dim = dim,
        .load = load,
        .batch = study->options->batch,
        .capacity = study->options->capacity,
    };
    if (subject.capacity == 0) {
        subject.capacity = dim > DIM_HALVED ? CAPACITY_DEFAULT / 2 : CAPACITY_DEFAULT;
    }
    return subject;
}

static bool warm_up(struct sw_cachebench_table *table, enum sw_cachebench_operation operation,
                    double load, struct sw_cachebench_verdict *verdict)
{
    bool done = true;
    for (int i = 0; i < WARM_UP_CALLS && done; i++) {
        struct sw_cachebench_rep rep;
        done = sw_cachebench_measure(table, operation, 1, load, &rep);
        for (int a = 0; a < SW_CACHEBENCH_ANSWERS; a++) {
            verdict->of[a] += rep.verdict.of[a];
        }
    }
    return done;
}

static bool measure_series(struct sw_cachebench_table *table, struct sw_cachebench_subject *subject,
                           enum sw_cachebench_operation operation)
{
    struct sw_cachebench_study *study = table->study;
    struct sw_cachebench_series series;
    double begun = sw_study_clock();
    memset(&series, 0, sizeof(series));
    snprintf(subject->operation, sizeof(subject->operation), "%s",
             sw_cachebench_operation_name(operation));
    bool done = warm_up(table, operation, subject->load, &series.verdict);
    for (uint32_t r = 0; r <= study->options->reps && done; r++) {
        struct sw_cachebench_rep rep;
        bool is_late = sw_study_clock() - begun > study->options->seconds;
        if (is_late && series.count >= REPS_MIN) {
            break;
        }
        done = sw_cachebench_measure(table, operation, study->options->batch, subject->load, &rep);
        if (done) {
            subject->batch = rep.batch;
            sw_cachebench_report_rep(study->report, subject, &series, &rep, r == 0);
        }
    }
    if (!done || series.count == 0) {
        sw_cachebench_report_none(study->report, subject, "failed: see the log");
        return false;
    }
    study->is_correct =
        sw_cachebench_report_series(study->report, subject, &series) && study->is_correct;
    return true;
}

/* Looks up every number that was ever inserted: no entry may be lost, duplicated or invented. */
static bool audit(struct sw_cachebench_table *table, struct sw_cachebench_subject *subject)
{
    struct sw_cachebench_study *study = table->study;
    struct sw_cachebench_verdict verdict = {{0}};
    snprintf(subject->operation, sizeof(subject->operation), "audit");
    subject->batch = 0;
    if (!sw_cachebench_table_audit(table, &verdict)) {
        sw_cachebench_report_none(study->report, subject, "failed: see the log");
        return false;
    }
    study->is_correct =
        sw_cachebench_report_verdict(study->report, subject, table->size, &verdict) &&
        study->is_correct;
    return true;
}

static bool measure_load(struct sw_cachebench_table *table,
                         const struct sw_cachebench_subject *wanted)
{
    struct sw_cachebench_study *study = table->study;
    bool done = true;
    struct sw_cachebench_subject subject = *wanted;
    table->next = 0; /* begins anew after an earlier load */
    for (int o = 0; o < SW_CACHEBENCH_OPERATIONS && done; o++) {
        subject.batch = wanted->batch;
        if (!study->options->operations[o]) {
            continue;
        }
        if ((table->library->operations & 1U << o) != 0) {
            done = measure_series(table, &subject, (enum sw_cachebench_operation)o);
        } else {
            snprintf(subject.operation, sizeof(subject.operation), "%s",
                     sw_cachebench_operation_name((enum sw_cachebench_operation)o));
            sw_cachebench_report_none(study->report, &subject, "the library does not have it");
        }
    }
    return done && audit(table, &subject);
}

static void measure_library(struct sw_cachebench_study *study,
                            const struct sw_cachebench_library *library, uint32_t dim)
{
    const struct sw_cachebench_options *options = study->options;
    struct sw_cachebench_subject subject = subject_of(study, library, dim, 0);
    struct sw_cachebench_table table;
    uint64_t numbers_max = 3 * subject.capacity + 4 * options->batch;
    snprintf(subject.operation, sizeof(subject.operation), "open");
    if (!sw_cachebench_table_open(study, library, &subject, SW_CACHEBENCH_SCORES_NONE, numbers_max,
                                  &table)) {
        return;
    }
    for (uint32_t l = 0; l < options->loads_count; l++) {
        subject.load = options->loads[l];
        if (!measure_load(&table, &subject)) {
            study->is_complete = false;
            break;
        }
    }
    sw_cachebench_table_close(&table);
}

void sw_cachebench_do_operations(struct sw_cachebench_study *study)
{
    const struct sw_cachebench_options *options = study->options;
    for (uint32_t d = 0; d < options->dims_count; d++) {
        if (!sw_cachebench_arrays_open(study, options->batch, options->dims[d], false)) {
            continue;
        }
        for (int l = 0; options->libraries[l] != NULL; l++) {
            if (!options->libraries[l]->fills_only) {
                measure_library(study, options->libraries[l], options->dims[d]);
            }
        }
        sw_cachebench_arrays_close(study);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

/* Ceilings cover 4 GiB, so that L2 does not matter. Writes: to a cache with values of 64 floats. */
#define CEILING_BYTES (4ULL << 30)

static void measure_ceilings(struct sw_cachebench_study *study)
{
    struct sw_cachebench_ceiling ceilings[SW_CACHEBENCH_CEILINGS];
    if (study->place->measure_ceilings == NULL) {
        return;
    }
    memset(ceilings, 0, sizeof(ceilings));
    uint64_t slots = study->options->capacity > 0 ? study->options->capacity : CAPACITY_DEFAULT / 2;
    if (!study->place->measure_ceilings(CEILING_BYTES, slots, study->options->seed, ceilings)) {
        study->is_complete = false;
        return;
    }
    for (int c = 0; c < SW_CACHEBENCH_CEILINGS; c++) {
        sw_cachebench_report_ceiling(study->report, &ceilings[c]);
    }
}

void sw_cachebench_run(struct sw_cachebench_study *study)
{
    static void (*const experiments[SW_CACHEBENCH_EXPERIMENTS])(struct sw_cachebench_study *) = {
        [SW_CACHEBENCH_DO_CEILINGS] = measure_ceilings,
        [SW_CACHEBENCH_DO_FILL] = sw_cachebench_do_fill,
        [SW_CACHEBENCH_DO_RETENTION] = sw_cachebench_do_retention,
        [SW_CACHEBENCH_DO_OPERATIONS] = sw_cachebench_do_operations,
    };
    for (int e = 0; e < SW_CACHEBENCH_EXPERIMENTS; e++) {
        if (study->options->experiments[e]) {
            experiments[e](study);
        }
    }
}
