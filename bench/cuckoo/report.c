/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the cuckoo study's files.
 */
#include "bench/cuckoo/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/study/report.h"

#define FILE_AT(file) offsetof(struct sw_cbench_report, file)

static const struct sw_study_file files[] = {
    {FILE_AT(raw), "raw.csv",
     "study,experiment,library,t,x,keys,cells,slot_bits,rep,time_ms,mops,left,missed,phantom,"
     "correct,"
     "events_ms\n"},
    {FILE_AT(summary), "summary.csv", SW_STUDY_SUMMARY_HEADER},
    {FILE_AT(tables), "tables.txt", ""},
    {FILE_AT(run_info), "run_info.txt", ""},
    {0, NULL, NULL},
};

bool sw_cbench_report_open(struct sw_cbench_report *report, const char *folder)
{
    return sw_study_files_open(report, files, "cuckoo", folder);
}

bool sw_cbench_report_close(struct sw_cbench_report *report)
{
    return sw_study_files_close(report, files, "cuckoo");
}

void sw_cbench_report_begin(struct sw_cbench_report *report, enum sw_cbench_experiment experiment,
                            const char *what)
{
    fprintf(report->tables, "\n%s: %s\n%-8s %-10s %14s %12s %12s %10s %8s\n",
            sw_cbench_experiment_name(experiment), what, "x", "table", "MOPS", "Time (ms)",
            "StdDev", "left over", "correct");
}

/* Mean, and the standard deviation of the sample. */
static void sum_up(struct sw_cbench_series *series)
{
    double sum = 0;
    double events = 0;
    double squares = 0;
    series->fastest = series->reps[0].took.seconds;
    for (uint32_t r = 0; r < series->count; r++) {
        const struct sw_cbench_rep *rep = &series->reps[r];
        sum += rep->took.seconds;
        events += rep->took.events;
        series->fastest = fmin(series->fastest, rep->took.seconds);
        series->left = rep->left > series->left ? rep->left : series->left;
        series->missed = rep->missed > series->missed ? rep->missed : series->missed;
        series->phantom = rep->phantom > series->phantom ? rep->phantom : series->phantom;
    }
    series->mean = sum / series->count;
    series->mean_by_events = events / series->count;
    for (uint32_t r = 0; r < series->count; r++) {
        squares += pow(series->reps[r].took.seconds - series->mean, 2);
    }
    series->deviation = series->count > 1 ? sqrt(squares / (series->count - 1)) : 0;
}

static const char *correctness(uint64_t missed, uint64_t phantom)
{
    return missed == 0 && phantom == 0 ? "yes" : "NO";
}

static void write_raw(FILE *file, const struct sw_cbench_subject *subject,
                      const struct sw_cbench_series *series)
{
    for (uint32_t r = 0; r < series->count; r++) {
        const struct sw_cbench_rep *rep = &series->reps[r];
        fprintf(file,
                "cuckoo,%s,%s,%" PRIu32 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%.6f,",
                sw_cbench_experiment_name(subject->experiment), subject->library,
                subject->functions, subject->x, subject->keys, subject->cells, subject->slot_bits,
                r + 1, rep->took.seconds * 1e3);
        if (rep->left == 0) {
            fprintf(file, "%.6f", (double)sw_cbench_operations(subject) / rep->took.seconds * 1e-6);
        }
        fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", rep->left, rep->missed,
                rep->phantom, correctness(rep->missed, rep->phantom));
        sw_study_events(file, &rep->took);
        fputc('\n', file);
    }
}

/* A row of the summary. The operation names what the experiment varies; a value that is NAN leaves
 * the field empty. */
static void write_metric(FILE *file, const struct sw_cbench_subject *subject, const char *metric,
                         double value, const char *unit)
{
    char text[SW_STUDY_SUBJECT_MAX];
    snprintf(text, sizeof(text), "cuckoo,%s,%s_%s,%" PRIu32 ",%.6g,%" PRIu64, subject->library,
             sw_cbench_experiment_name(subject->experiment), subject->x, subject->slot_bits,
             subject->load, subject->keys);
    sw_study_summary(file, text, metric, value, unit);
}

static void write_summary(FILE *file, const struct sw_cbench_subject *subject,
                          const struct sw_cbench_series *series)
{
    if (series->left == 0) {
        double mops = (double)sw_cbench_operations(subject) * 1e-6;
        write_metric(file, subject, "mops", mops / series->mean, "Mops/s");
        write_metric(file, subject, "mops_max", mops / series->fastest, "Mops/s");
        if (!isnan(series->mean_by_events)) {
            write_metric(file, subject, "mops_by_events", mops / series->mean_by_events, "Mops/s");
        }
    } else {
        write_metric(file, subject, "mops", NAN, "Mops/s");
    }
    write_metric(file, subject, "time", series->mean * 1e3, "ms");
    write_metric(file, subject, "stddev", series->deviation * 1e3, "ms");
    write_metric(file, subject, "reps", series->count, "");
    write_metric(file, subject, "left", (double)series->left, "keys");
    write_metric(file, subject, "missed", (double)series->missed, "keys");
    write_metric(file, subject, "phantom", (double)series->phantom, "keys");
    write_metric(file, subject, "reserved", (double)subject->bytes, "bytes");
}

void sw_cbench_report_series(struct sw_cbench_report *report,
                             const struct sw_cbench_subject *subject,
                             struct sw_cbench_series *series)
{
    sum_up(series);
    write_raw(report->raw, subject, series);
    write_summary(report->summary, subject, series);
    fprintf(report->tables, "%-8s %-10s ", subject->x, subject->library);
    if (series->left == 0) {
        fprintf(report->tables, "%14.6f ",
                (double)sw_cbench_operations(subject) * 1e-6 / series->mean);
    } else {
        fprintf(report->tables, "%14s ", "N/A");
    }
    fprintf(report->tables, "%12.6f %12.6f %10" PRIu64 " %8s\n", series->mean * 1e3,
            series->deviation * 1e3, series->left, correctness(series->missed, series->phantom));
}

void sw_cbench_report_none(struct sw_cbench_report *report, const struct sw_cbench_subject *subject,
                           const char *reason)
{
    fprintf(report->tables, "%-8s %-10s %14s  %s\n", subject->x, subject->library, "N/A", reason);
    write_metric(report->summary, subject, "mops", NAN, "Mops/s");
}
