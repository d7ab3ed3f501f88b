/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the cuckoo study's files.
 */
#include "bench/cuckoo/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/timing/files.h"

bool sw_cbench_report_open(struct sw_cbench_report *report, const char *folder)
{
    memset(report, 0, sizeof(*report));
    if (sw_timing_make_folder(folder)) {
        report->raw = sw_timing_open_file(folder, "raw.csv");
        report->summary = sw_timing_open_file(folder, "summary.csv");
        report->tables = sw_timing_open_file(folder, "tables.txt");
        report->run_info = sw_timing_open_file(folder, "run_info.txt");
    }
    if (report->raw == NULL || report->summary == NULL || report->tables == NULL ||
        report->run_info == NULL) {
        fprintf(stderr, "cuckoo: files in %s: %s\n", folder, strerror(errno));
        sw_cbench_report_close(report);
        return false;
    }
    fprintf(report->raw, "study,experiment,library,t,variant,x,keys,cells,slot_bits,rep,time_ms,"
                         "mops,rehashes,left,missed,phantom,correct\n");
    fprintf(report->summary, "study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    return true;
}

bool sw_cbench_report_close(struct sw_cbench_report *report)
{
    bool raw = sw_timing_close_file(report->raw);
    bool summary = sw_timing_close_file(report->summary);
    bool tables = sw_timing_close_file(report->tables);
    bool run_info = sw_timing_close_file(report->run_info);
    memset(report, 0, sizeof(*report));
    if (!raw || !summary || !tables || !run_info) {
        fprintf(stderr, "cuckoo: a file could not be written in full\n");
        return false;
    }
    return true;
}

void sw_cbench_report_begin(struct sw_cbench_report *report, enum sw_cbench_experiment experiment,
                            const char *what)
{
    fprintf(report->tables, "\n%s: %s\n%-8s %-10s %-14s %14s %12s %12s %9s %10s %8s\n",
            sw_cbench_experiment_name(experiment), what, "x", "table", "variant", "MOPS",
            "Time (ms)", "StdDev", "rehashes", "left over", "correct");
}

/* Mean, and the standard deviation of the sample. */
static void sum_up(struct sw_cbench_series *series)
{
    double sum = 0;
    double squares = 0;
    series->fastest = series->reps[0].seconds;
    for (uint32_t r = 0; r < series->count; r++) {
        const struct sw_cbench_rep *rep = &series->reps[r];
        sum += rep->seconds;
        series->fastest = fmin(series->fastest, rep->seconds);
        series->rehashes = rep->rehashes > series->rehashes ? rep->rehashes : series->rehashes;
        series->left = rep->left > series->left ? rep->left : series->left;
        series->missed = rep->missed > series->missed ? rep->missed : series->missed;
        series->phantom = rep->phantom > series->phantom ? rep->phantom : series->phantom;
    }
    series->mean = sum / series->count;
    for (uint32_t r = 0; r < series->count; r++) {
        squares += pow(series->reps[r].seconds - series->mean, 2);
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
                "cuckoo,%s,%s,%" PRIu32 ",%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32
                ",%.6f,",
                sw_cbench_experiment_name(subject->experiment), subject->library,
                subject->functions, subject->variant, subject->x, subject->keys, subject->cells,
                subject->slot_bits, r + 1, rep->seconds * 1e3);
        if (rep->left == 0) {
            fprintf(file, "%.6f", (double)subject->keys / rep->seconds * 1e-6);
        }
        fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\n", rep->rehashes,
                rep->left, rep->missed, rep->phantom, correctness(rep->missed, rep->phantom));
    }
}

/* Columns study to batch, and metric. The operation names what the experiment varies. */
static void write_metric(FILE *file, const struct sw_cbench_subject *subject, const char *metric,
                         const char *value, const char *unit)
{
    fprintf(file, "cuckoo,%s,%s_%s", subject->library,
            sw_cbench_experiment_name(subject->experiment), subject->x);
    if (subject->experiment == SW_CBENCH_VARIANTS) {
        fprintf(file, "_%s", subject->variant);
    }
    fprintf(file, ",%" PRIu32 ",%.6g,%" PRIu64 ",%s,%s,%s\n", subject->slot_bits, subject->load,
            subject->keys, metric, value, unit);
}

static void write_number(FILE *file, const struct sw_cbench_subject *subject, const char *metric,
                         double value, const char *unit)
{
    char text[40];
    snprintf(text, sizeof(text), "%.10g", value);
    write_metric(file, subject, metric, text, unit);
}

static void write_summary(FILE *file, const struct sw_cbench_subject *subject,
                          const struct sw_cbench_series *series)
{
    if (series->left == 0) {
        double mops = (double)subject->keys * 1e-6;
        write_number(file, subject, "mops", mops / series->mean, "Mops/s");
        write_number(file, subject, "mops_max", mops / series->fastest, "Mops/s");
    } else {
        write_metric(file, subject, "mops", "", "Mops/s");
    }
    write_number(file, subject, "time", series->mean * 1e3, "ms");
    write_number(file, subject, "stddev", series->deviation * 1e3, "ms");
    write_number(file, subject, "reps", series->count, "");
    write_number(file, subject, "rehashes", (double)series->rehashes, "");
    write_number(file, subject, "left", (double)series->left, "keys");
    write_number(file, subject, "missed", (double)series->missed, "keys");
    write_number(file, subject, "phantom", (double)series->phantom, "keys");
    write_number(file, subject, "reserved", (double)subject->bytes, "bytes");
}

void sw_cbench_report_series(struct sw_cbench_report *report,
                             const struct sw_cbench_subject *subject,
                             struct sw_cbench_series *series)
{
    sum_up(series);
    write_raw(report->raw, subject, series);
    write_summary(report->summary, subject, series);
    fprintf(report->tables, "%-8s %-10s %-14s ", subject->x, subject->library, subject->variant);
    if (series->left == 0) {
        fprintf(report->tables, "%14.6f ", (double)subject->keys * 1e-6 / series->mean);
    } else {
        fprintf(report->tables, "%14s ", "N/A");
    }
    fprintf(report->tables, "%12.6f %12.6f %9" PRIu64 " %10" PRIu64 " %8s\n", series->mean * 1e3,
            series->deviation * 1e3, series->rehashes, series->left,
            correctness(series->missed, series->phantom));
}

void sw_cbench_report_none(struct sw_cbench_report *report, const struct sw_cbench_subject *subject,
                           const char *reason)
{
    fprintf(report->tables, "%-8s %-10s %-14s %14s  %s\n", subject->x, subject->library,
            subject->variant, "N/A", reason);
    write_metric(report->summary, subject, "mops", "", "Mops/s");
}
