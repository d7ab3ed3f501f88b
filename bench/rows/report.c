/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the files of the study of rows, and a line on stderr for each series.
 */
#include "bench/rows/report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "bench/study/report.h"

#define SLOT_BITS 128
#define LOAD_DIGITS 4

static const struct sw_study_file files[] = {
    {offsetof(struct sw_rowbench_report, raw), "raw.csv",
     "study,library,operation,value_bytes,capacity,F,batch,rep,us,rows_per_second,event_ms\n"},
    {offsetof(struct sw_rowbench_report, summary), "summary.csv", SW_STUDY_SUMMARY_HEADER},
    {offsetof(struct sw_rowbench_report, run_info), "run_info.txt", ""},
    {0, NULL, NULL},
};

bool sw_rowbench_report_open(struct sw_rowbench_report *report, const char *folder)
{
    report->started = sw_study_clock();
    return sw_study_files_open(report, files, "rows", folder);
}

bool sw_rowbench_report_close(struct sw_rowbench_report *report)
{
    return sw_study_files_close(report, files, "rows");
}

static void write_metric(const struct sw_rowbench_report *report,
                         const struct sw_rowbench_subject *subject, const char *metric,
                         double value, const char *unit)
{
    char operation[64];
    char text[SW_STUDY_SUBJECT_MAX];
    snprintf(operation, sizeof(operation), "%s_%" PRIu32,
             sw_rowbench_operation_name(subject->operation), subject->value_bytes);
    sw_study_subject(text, "rows", subject->library, operation, SLOT_BITS, subject->load,
                     LOAD_DIGITS, subject->batch);
    sw_study_summary(report->summary, text, metric, value, unit);
}

static void say_subject(struct sw_rowbench_report *report,
                        const struct sw_rowbench_subject *subject)
{
    report->series++;
    fprintf(
        stderr, "[%" PRIu32 " of %" PRIu32 ", %6.1f s] %-8s %4" PRIu32 " bytes, load %.2f, %-13s ",
        report->series, report->series_max, sw_study_clock() - report->started, subject->library,
        subject->value_bytes, subject->load, sw_rowbench_operation_name(subject->operation));
}

void sw_rowbench_report_rep(struct sw_rowbench_report *report,
                            const struct sw_rowbench_subject *subject,
                            const struct sw_rowbench_series *series,
                            const struct sw_study_took *took)
{
    fprintf(report->raw,
            "rows,%s,%s,%" PRIu32 ",%" PRIu64 ",%.4g,%" PRIu64 ",%" PRIu32 ",%.3f,%.10g,",
            subject->library, sw_rowbench_operation_name(subject->operation), subject->value_bytes,
            subject->capacity, subject->load, subject->batch, series->count, took->seconds * 1e6,
            (double)subject->batch / took->seconds);
    sw_study_events(report->raw, took);
    fputc('\n', report->raw);
}

void sw_rowbench_report_series(struct sw_rowbench_report *report,
                               const struct sw_rowbench_subject *subject,
                               struct sw_rowbench_series *series)
{
    const unsigned long long *answers = series->answers;
    double batch = (double)subject->batch;
    double rate = batch / sw_study_median(series->seconds, series->count); /* sorts them */
    double like_ceiling = rate;
    write_metric(report, subject, "rows_per_second", rate, "rows/s");
    write_metric(report, subject, "rows_per_second_min", batch / series->seconds[series->count - 1],
                 "rows/s");
    write_metric(report, subject, "rows_per_second_max", batch / series->seconds[0], "rows/s");
    if (series->events_count > 0) {
        like_ceiling = batch / sw_study_median(series->events, series->events_count);
        write_metric(report, subject, "rows_per_second_by_events", like_ceiling, "rows/s");
    }
    if (subject->ceiling > 0) {
        write_metric(report, subject, "ratio_to_ceiling", like_ceiling / subject->ceiling, "");
    }
    write_metric(report, subject, "reps", series->count, "");
    write_metric(report, subject, "missed", (double)answers[SW_ROWBENCH_MISSED], "rows");
    write_metric(report, subject, "phantom", (double)answers[SW_ROWBENCH_PHANTOM], "rows");
    write_metric(report, subject, "wrong", (double)answers[SW_ROWBENCH_WRONG], "floats");
    say_subject(report, subject);
    fprintf(stderr, "%9.4g rows/s", rate);
    if (subject->ceiling > 0) {
        fprintf(stderr, ", %.2f of the ceiling", like_ceiling / subject->ceiling);
    }
    fprintf(stderr, "; missed %llu, phantom %llu, wrong %llu\n", answers[SW_ROWBENCH_MISSED],
            answers[SW_ROWBENCH_PHANTOM], answers[SW_ROWBENCH_WRONG]);
}

void sw_rowbench_report_none(struct sw_rowbench_report *report,
                             const struct sw_rowbench_subject *subject, const char *reason)
{
    write_metric(report, subject, "rows_per_second", NAN, "rows/s");
    say_subject(report, subject);
    fprintf(stderr, "%s\n", reason);
}

void sw_rowbench_report_ceiling(struct sw_rowbench_report *report, enum sw_rowbench_move move,
                                uint32_t value_bytes, uint64_t batch, double rate)
{
    static const char *const names[SW_ROWBENCH_MOVES] = {
        "copy", "gather", "scatter", "sum", "sum_hot_tenth", "sum_hot_half",
    };
    char operation[64];
    char text[SW_STUDY_SUBJECT_MAX];
    snprintf(operation, sizeof(operation), "%s_%" PRIu32, names[move], value_bytes);
    sw_study_subject(text, "rows", "memory", operation, SLOT_BITS, 0, LOAD_DIGITS, batch);
    sw_study_summary(report->summary, text, "rows_per_second", rate, "rows/s");
    fprintf(stderr, "[%6.1f s] memory   %4" PRIu32 " bytes, %-13s %9.4g rows/s\n",
            sw_study_clock() - report->started, value_bytes, names[move], rate);
}
