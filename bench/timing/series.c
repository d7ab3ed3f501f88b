/* SPDX-License-Identifier: MIT
 *
 * series.c - counts repetitions and sums them up.
 */
#include "bench/timing/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPS_MIN 2 /* of a series that is out of time */

void sw_timing_series_begin(struct sw_timing_series *series, struct sw_timing_report *report,
                            const struct sw_timing_subject *subject, uint32_t wanted, double budget)
{
    memset(series, 0, sizeof(*series));
    series->subject = *subject;
    series->report = report;
    series->begun = sw_study_clock();
    series->budget = budget;
    series->wanted = wanted;
}

static void report_rep(struct sw_timing_series *series, const struct sw_timing_rep *rep)
{
    struct sw_timing_rep numbered = *rep;
    series->seconds[series->count++] = rep->took.seconds;
    if (!isnan(rep->took.events)) {
        series->events[series->events_count++] = rep->took.events;
    }
    numbered.number = series->count;
    sw_timing_report_rep(series->report, &series->subject, &numbered);
}

/* Series that take turns run in turns. */
static void report_progress(const struct sw_timing_series *series, bool is_running)
{
    struct sw_timing_progress *progress = series->report->progress;
    if (progress != NULL) {
        progress->subject = series->subject;
        snprintf(progress->library, sizeof(progress->library), "%s", series->subject.library);
        snprintf(progress->operation, sizeof(progress->operation), "%s", series->subject.operation);
        progress->subject.library = progress->library;
        progress->subject.operation = progress->operation;
        progress->begun = series->begun;
        progress->is_running = is_running;
    }
}

bool sw_timing_series_more(struct sw_timing_series *series)
{
    report_progress(series, true);
    bool late = sw_study_clock() - series->begun > series->budget;
    if (series->taken == 0) {
        return true;
    }
    if (series->taken == 1 && late) {
        report_rep(series, &series->warm_up);
        return false;
    }
    return series->count < series->wanted && (!late || series->count < REPS_MIN);
}

void sw_timing_series_take(struct sw_timing_series *series, const struct sw_timing_rep *rep)
{
    series->operations = rep->operations;
    series->has_distinct = rep->has_distinct;
    series->has_check = rep->has_check;
    series->distinct = rep->distinct;
    if (rep->has_distinct && llabs(rep->drops) > llabs(series->drops)) {
        series->drops = rep->drops;
    }
    series->missed = rep->missed > series->missed ? rep->missed : series->missed;
    series->wrong = rep->wrong > series->wrong ? rep->wrong : series->wrong;
    if (series->taken++ == 0) {
        series->warm_up = *rep;
    } else {
        report_rep(series, rep);
    }
}

/* A block size has metrics of its own, so that the rows of a library's own choice stand alone. */
static void metric_name(const struct sw_timing_series *series, const char *metric, char *name,
                        size_t size)
{
    if (series->subject.block_size > 0) {
        snprintf(name, size, "%s_block%" PRIu32, metric, series->subject.block_size);
    } else {
        snprintf(name, size, "%s", metric);
    }
}

static void summarize(struct sw_timing_series *series, const char *metric, double value,
                      const char *unit)
{
    char name[64];
    metric_name(series, metric, name, sizeof(name));
    sw_timing_report_summary(series->report, &series->subject, name, value, unit);
}

static void say(struct sw_timing_series *series, double median)
{
    const struct sw_timing_subject *subject = &series->subject;
    double operations = (double)series->operations * 1e-9;
    char block[32] = "";
    if (subject->block_size > 0) {
        snprintf(block, sizeof(block), " block %" PRIu32, subject->block_size);
    }
    fprintf(stderr, "[%6.1f s] %-12s %3" PRIu32 " bits  F %-5g %-16s%s %7.3f Gops/s (%.3f .. %.3f)",
            sw_study_clock() - series->started, subject->library, subject->slot_bits, subject->load,
            subject->operation, block, operations / median,
            operations / series->seconds[series->count - 1], operations / series->seconds[0]);
    fprintf(stderr, "  %.3f ms of %" PRIu64 ", %" PRIu32 " reps", median * 1e3, series->operations,
            series->count);
    if (series->has_distinct) {
        fprintf(stderr, ", drops %" PRId64, series->drops);
    }
    fprintf(stderr, ", missed %" PRIu64 ", wrong %" PRIu64 "\n", series->missed, series->wrong);
}

bool sw_timing_series_end(struct sw_timing_series *series)
{
    double operations = (double)series->operations * 1e-9;
    double median = sw_study_median(series->seconds, series->count); /* sorts them */
    report_progress(series, false);
    summarize(series, "gops", operations / median, "Gops/s");
    summarize(series, "gops_min", operations / series->seconds[series->count - 1], "Gops/s");
    summarize(series, "gops_max", operations / series->seconds[0], "Gops/s");
    if (series->events_count > 0) {
        summarize(series, "gops_by_events",
                  operations / sw_study_median(series->events, series->events_count), "Gops/s");
    }
    summarize(series, "reps", series->count, "");
    if (series->has_distinct) {
        summarize(series, "load", (double)series->distinct / (double)series->slots, "");
        summarize(series, "drops", (double)series->drops, "keys");
    }
    if (series->has_check) {
        summarize(series, "missed", (double)series->missed, "keys");
        summarize(series, "wrong", (double)series->wrong, "keys");
    }
    say(series, median);
    return series->drops == 0 && series->missed == 0 && series->wrong == 0;
}

double sw_timing_series_gops(struct sw_timing_series *series)
{
    return (double)series->operations * 1e-9 / sw_study_median(series->seconds, series->count);
}
