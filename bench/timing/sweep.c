/* SPDX-License-Identifier: MIT
 *
 * sweep.c - repetitions in three phases (setup, launch, after), of which the launch is timed.
 */
#include "bench/timing/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/timing/pass.h"

#define OVERHEAD_OPS 64 /* operations of the batches that show what a batch costs by itself */
#define COUNT_MIN 64

/* The repetitions of one configuration. */
struct series {
    struct sw_timing_subject subject;
    uint32_t reps; /* wanted */
    uint32_t count;
    double seconds[SW_TIMING_REPS_MAX];
    uint64_t operations;
    uint64_t batches;
    /* the worst of all repetitions, the warm-up's included */
    int64_t drops;
    uint64_t stash;
    uint64_t missed;
    uint64_t wrong;
    uint64_t distinct; /* of the last */
    double overhead_us;
};

double sw_timing_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t sw_timing_count(double load, uint64_t slots)
{
    uint64_t count = (uint64_t)(load * (double)slots);
    return count < COUNT_MIN ? COUNT_MIN : count;
}

static struct sw_timing_draw next_draw(struct sw_timing_study *study)
{
    return (struct sw_timing_draw){.seed = study->options->seed, .number = ++study->draws};
}

static bool said(int status, const char *what)
{
    if (status != SW_OK) {
        fprintf(stderr, "timing: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

/* --- phases ----------------------------------------------------------------------------------- */

static bool clear(struct sw_timing_study *study)
{
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_CLEAR;
    return said(sw_batch_run(study->queue, &batch), "emptying the table");
}

static bool launch_insert(struct sw_timing_study *study, uint64_t count, uint32_t batch_ops,
                          struct sw_timing_passed *passed)
{
    struct sw_timing_pass pass = {
        .op = SW_SET,
        .key_bytes = study->arrays.key_bytes,
        .keys = study->arrays.keys,
        .values = study->arrays.values,
        .count = count,
        .batch_ops = batch_ops,
    };
    return said(sw_timing_pass_run(study->queue, &pass, passed), "inserting");
}

static bool launch_get(struct sw_timing_study *study, uint64_t count, uint32_t batch_ops,
                       struct sw_timing_passed *passed)
{
    struct sw_timing_pass pass = {
        .op = SW_GET,
        .key_bytes = study->arrays.key_bytes,
        .keys = study->arrays.queries,
        .previous = study->arrays.previous,
        .found = study->arrays.found,
        .count = count,
        .batch_ops = batch_ops,
    };
    return said(sw_timing_pass_run(study->queue, &pass, passed), "getting");
}

/* Draws queries, gets them and looks at every answer. Only the get is timed. */
static bool ask(struct sw_timing_study *study, uint64_t count, uint64_t distinct,
                uint32_t miss_percent, struct sw_timing_rep *rep)
{
    struct sw_timing_passed passed;
    struct sw_timing_check check;
    if (!sw_timing_draw_queries(&study->arrays, count, distinct, miss_percent, next_draw(study)) ||
        !launch_get(study, count, 1U << study->options->batch_log2, &passed) ||
        !sw_timing_check_answers(&study->arrays, count, &check)) {
        return false;
    }
    uint64_t hits = passed.counters.by_class[SW_CLASS_GET].hits;
    if (hits != check.present - check.missed) {
        fprintf(stderr, "timing: the table counted %" PRIu64 " hits of %" PRIu64 " stored keys\n",
                hits, check.present);
        study->is_correct = false;
    }
    rep->operations = count;
    rep->batches = passed.batches;
    rep->seconds = passed.seconds;
    rep->is_checked = true;
    rep->missed = check.missed;
    rep->wrong = check.wrong;
    return true;
}

/* --- repetitions ------------------------------------------------------------------------------ */

static bool insert_rep(struct sw_timing_study *study, uint64_t count, struct sw_timing_rep *rep)
{
    struct sw_timing_passed passed;
    struct sw_timing_rep asked;
    struct sw_table_stats stats;
    uint64_t distinct = 0;
    memset(rep, 0, sizeof(*rep));
    memset(&asked, 0, sizeof(asked));
    if (!clear(study) || !sw_timing_draw_keys(&study->arrays, count, next_draw(study), &distinct) ||
        !launch_insert(study, count, 1U << study->options->batch_log2, &passed)) {
        return false;
    }
    sw_table_stats(study->table, &stats);
    if (!ask(study, count, distinct, 0, &asked)) {
        return false;
    }
    rep->operations = count;
    rep->batches = passed.batches;
    rep->seconds = passed.seconds;
    rep->is_insert = true;
    rep->distinct = distinct;
    rep->occupied = stats.occupied;
    rep->stash = stats.stash_occupied;
    rep->is_checked = true;
    rep->missed = asked.missed;
    rep->wrong = asked.wrong;
    return true;
}

/* Takes a repetition into its series; number 0 is the warm-up, which is checked but not reported.
 */
static void take(struct sw_timing_study *study, struct series *series, struct sw_timing_rep *rep)
{
    int64_t drops = rep->is_insert ? (int64_t)(rep->distinct - rep->occupied) : 0;
    series->drops = drops != 0 ? drops : series->drops;
    series->stash = rep->stash > series->stash ? rep->stash : series->stash;
    series->missed = rep->missed > series->missed ? rep->missed : series->missed;
    series->wrong = rep->wrong > series->wrong ? rep->wrong : series->wrong;
    if (drops != 0 || rep->missed != 0 || rep->wrong != 0) {
        study->is_correct = false;
    }
    series->operations = rep->operations;
    series->batches = rep->batches;
    series->distinct = rep->distinct;
    if (rep->number > 0) {
        series->seconds[series->count++] = rep->seconds;
        sw_timing_report_rep(study->report, &series->subject, rep);
    }
}

/* As many batches as the series' repetitions have, of 64 operations each. Inserts go into an empty
 * table. */
static bool measure_overhead(struct sw_timing_study *study, struct series *series, bool inserts)
{
    double seconds[SW_TIMING_REPS_MAX];
    struct sw_timing_subject subject = series->subject;
    uint64_t count = series->batches * OVERHEAD_OPS;
    count = count < series->operations ? count : series->operations;
    subject.batch = OVERHEAD_OPS;
    for (uint32_t number = 0; number <= series->reps; number++) {
        struct sw_timing_passed passed;
        struct sw_timing_rep rep;
        memset(&rep, 0, sizeof(rep));
        if (inserts ? !clear(study) || !launch_insert(study, count, OVERHEAD_OPS, &passed)
                    : !launch_get(study, count, OVERHEAD_OPS, &passed)) {
            return false;
        }
        if (number > 0) {
            rep.number = number;
            rep.operations = count;
            rep.batches = passed.batches;
            rep.seconds = passed.seconds;
            seconds[number - 1] = passed.seconds / (double)passed.batches;
            sw_timing_report_rep(study->report, &subject, &rep);
        }
    }
    series->overhead_us = sw_timing_median(seconds, series->reps) * 1e6;
    sw_timing_report_summary(study->report, &subject, "batch_overhead_us", series->overhead_us,
                             "us");
    return true;
}

/* Summary rows and the progress line. */
static void finish(struct sw_timing_study *study, struct series *series, bool inserts)
{
    struct sw_timing_report *report = study->report;
    const struct sw_timing_subject *subject = &series->subject;
    double operations = (double)series->operations * 1e-9;
    double median = sw_timing_median(series->seconds, series->count); /* sorts them */
    double slowest = series->seconds[series->count - 1];
    double fastest = series->seconds[0];

    sw_timing_report_summary(report, subject, "gops", operations / median, "Gops/s");
    sw_timing_report_summary(report, subject, "gops_min", operations / slowest, "Gops/s");
    sw_timing_report_summary(report, subject, "gops_max", operations / fastest, "Gops/s");
    if (inserts) {
        sw_timing_report_summary(
            report, subject, "load",
            (double)series->distinct / (double)(1ULL << study->options->capacity_log2), "");
        sw_timing_report_summary(report, subject, "drops", (double)series->drops, "keys");
        sw_timing_report_summary(report, subject, "stash", (double)series->stash, "entries");
    }
    sw_timing_report_summary(report, subject, "missed", (double)series->missed, "keys");
    sw_timing_report_summary(report, subject, "wrong", (double)series->wrong, "keys");
    fprintf(stderr,
            "[%6.1f s] %3" PRIu32 " bits  F %-5g %-11s %7.3f Gops/s (%.3f .. %.3f)  %8.3f ms, "
            "%" PRIu64 " batches (%.1f us each of 64)  drops %" PRId64 ", stash %" PRIu64
            ", missed %" PRIu64 ", wrong %" PRIu64 "\n",
            sw_timing_clock() - study->started, subject->slot_bits, subject->load,
            subject->operation, operations / median, operations / slowest, operations / fastest,
            median * 1e3, series->batches, series->overhead_us, series->drops, series->stash,
            series->missed, series->wrong);
}

static struct series start(const struct sw_timing_study *study, const char *operation, double load,
                           uint32_t reps)
{
    struct series series;
    memset(&series, 0, sizeof(series));
    series.subject.library = "sherwood";
    series.subject.operation = operation;
    series.subject.slot_bits = study->slot_bits;
    series.subject.load = load;
    series.subject.batch = 1ULL << study->options->batch_log2;
    series.reps = reps;
    return series;
}

/* The overhead is measured after the warm-up: the last repetition leaves the table to the gets. */
static bool measure_insert(struct sw_timing_study *study, double load, uint64_t count,
                           uint64_t *distinct)
{
    struct series series = start(study, "insert", load, study->options->insert_reps);
    for (uint32_t number = 0; number <= series.reps; number++) {
        struct sw_timing_rep rep;
        if (!insert_rep(study, count, &rep)) {
            return false;
        }
        rep.number = number;
        take(study, &series, &rep);
        if (number == 0 && !measure_overhead(study, &series, true)) {
            return false;
        }
    }
    finish(study, &series, true);
    *distinct = series.distinct;
    return true;
}

/* Gets of the table as the last insert left it. */
static bool measure_get(struct sw_timing_study *study, double load, uint64_t count,
                        uint64_t distinct, uint32_t miss_percent)
{
    char operation[32] = "get";
    if (miss_percent > 0) {
        snprintf(operation, sizeof(operation), "get_miss%" PRIu32, miss_percent);
    }
    struct series series = start(study, operation, load, study->options->reps);
    for (uint32_t number = 0; number <= series.reps; number++) {
        struct sw_timing_rep rep;
        memset(&rep, 0, sizeof(rep));
        if (!ask(study, count, distinct, miss_percent, &rep)) {
            return false;
        }
        rep.number = number;
        take(study, &series, &rep);
    }
    if (!measure_overhead(study, &series, false)) {
        return false;
    }
    finish(study, &series, false);
    return true;
}

bool sw_timing_sweep(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    for (uint32_t l = 0; l < options->loads_count; l++) {
        double load = options->loads[l];
        uint64_t count = sw_timing_count(load, 1ULL << options->capacity_log2);
        uint64_t distinct = 0;
        if (!measure_insert(study, load, count, &distinct)) {
            return false;
        }
        for (uint32_t m = 0; m < options->misses_count; m++) {
            if (!measure_get(study, load, count, distinct, options->misses[m])) {
                return false;
            }
        }
    }
    return true;
}
