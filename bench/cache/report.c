/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the cache study's files and its progress lines.
 */
#include "bench/cache/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bench/timing/files.h"
#include "bench/timing/report.h"
#include "bench/timing/series.h"

#define KEY_BITS 64

bool sw_cachebench_report_open(struct sw_cachebench_report *report, const char *folder,
                               double started)
{
    memset(report, 0, sizeof(*report));
    report->started = started;
    if (sw_timing_make_folder(folder)) {
        report->raw = sw_timing_open_file(folder, "raw.csv");
        report->summary = sw_timing_open_file(folder, "summary.csv");
        report->tables = sw_timing_open_file(folder, "tables.txt");
        report->run_info = sw_timing_open_file(folder, "run_info.txt");
    }
    if (report->raw == NULL || report->summary == NULL || report->tables == NULL ||
        report->run_info == NULL) {
        fprintf(stderr, "cache: files in %s: %s\n", folder, strerror(errno));
        sw_cachebench_report_close(report);
        return false;
    }
    fprintf(report->raw, "study,experiment,library,operation,dim,capacity,F,batch,rep,load,time_us,"
                         "gops,missed,wrong,phantom\n");
    fprintf(report->summary, "study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    fprintf(report->tables, "%-10s %-20s %-26s %5s %9s %12s %12s %12s  %s\n", "experiment",
            "library", "operation", "load", "batch", "M/s", "slowest", "fastest", "faults");
    return true;
}

bool sw_cachebench_report_close(struct sw_cachebench_report *report)
{
    bool raw = sw_timing_close_file(report->raw);
    bool summary = sw_timing_close_file(report->summary);
    bool tables = sw_timing_close_file(report->tables);
    bool run_info = sw_timing_close_file(report->run_info);
    memset(report, 0, sizeof(*report));
    if (!raw || !summary || !tables || !run_info) {
        fprintf(stderr, "cache: a file could not be written in full\n");
        return false;
    }
    return true;
}

uint64_t sw_cachebench_faults(const struct sw_cachebench_verdict *verdict)
{
    return verdict->of[SW_CACHEBENCH_MISSED] + verdict->of[SW_CACHEBENCH_WRONG] +
           verdict->of[SW_CACHEBENCH_PHANTOM];
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Columns study to batch, and metric. */
static void write_metric(FILE *file, const struct sw_cachebench_subject *subject,
                         const char *metric, const char *value, const char *unit)
{
    fprintf(file, "cache,%s,%s_dim%" PRIu32 ",%" PRIu32 ",", subject->library, subject->operation,
            subject->dim, KEY_BITS + 32 * subject->dim);
    if (subject->load > 0) {
        fprintf(file, "%.4g", subject->load);
    }
    fputc(',', file);
    if (subject->batch > 0) {
        fprintf(file, "%" PRIu64, subject->batch);
    }
    fprintf(file, ",%s,%s,%s\n", metric, value, unit);
}

static void write_number(FILE *file, const struct sw_cachebench_subject *subject,
                         const char *metric, double value, const char *unit)
{
    char text[40];
    snprintf(text, sizeof(text), "%.10g", value);
    write_metric(file, subject, metric, text, unit);
}

static void write_verdict(FILE *file, const struct sw_cachebench_subject *subject,
                          const struct sw_cachebench_verdict *verdict)
{
    write_number(file, subject, "missed", (double)verdict->of[SW_CACHEBENCH_MISSED], "keys");
    write_number(file, subject, "wrong", (double)verdict->of[SW_CACHEBENCH_WRONG], "keys");
    write_number(file, subject, "phantom", (double)verdict->of[SW_CACHEBENCH_PHANTOM], "keys");
}

static void say_verdict(const struct sw_cachebench_verdict *verdict)
{
    fprintf(stderr, "missed %llu, wrong %llu, phantom %llu\n", verdict->of[SW_CACHEBENCH_MISSED],
            verdict->of[SW_CACHEBENCH_WRONG], verdict->of[SW_CACHEBENCH_PHANTOM]);
}

static void say_subject(const struct sw_cachebench_report *report,
                        const struct sw_cachebench_subject *subject)
{
    fprintf(stderr, "[%6.1f s] %-10s %-19s dim %-3" PRIu32 " load %-4.2f %-17s ",
            sw_timing_clock() - report->started, subject->experiment, subject->library,
            subject->dim, subject->load, subject->operation);
}

static void tabulate_subject(FILE *file, const struct sw_cachebench_subject *subject)
{
    char operation[64];
    snprintf(operation, sizeof(operation), "%s_dim%" PRIu32, subject->operation, subject->dim);
    fprintf(file, "%-10s %-20s %-26s %5.2f %9" PRIu64 " ", subject->experiment, subject->library,
            operation, subject->load, subject->batch);
}

void sw_cachebench_report_rep(struct sw_cachebench_report *report,
                              const struct sw_cachebench_subject *subject,
                              struct sw_cachebench_series *series,
                              const struct sw_cachebench_rep *rep, bool is_warm_up)
{
    for (int a = 0; a < SW_CACHEBENCH_ANSWERS; a++) {
        series->verdict.of[a] += rep->verdict.of[a];
    }
    series->load = rep->load;
    if (is_warm_up) {
        return;
    }
    series->seconds[series->count++] = rep->seconds;
    fprintf(report->raw,
            "cache,%s,%s,%s,%" PRIu32 ",%" PRIu64 ",%.4g,%" PRIu64 ",%" PRIu32
            ",%.6f,%.3f,%.6f,%llu,%llu,%llu\n",
            subject->experiment, subject->library, subject->operation, subject->dim,
            subject->capacity, subject->load, rep->batch, series->count, rep->load,
            rep->seconds * 1e6, (double)rep->batch / rep->seconds * 1e-9,
            rep->verdict.of[SW_CACHEBENCH_MISSED], rep->verdict.of[SW_CACHEBENCH_WRONG],
            rep->verdict.of[SW_CACHEBENCH_PHANTOM]);
}

bool sw_cachebench_report_series(struct sw_cachebench_report *report,
                                 const struct sw_cachebench_subject *subject,
                                 struct sw_cachebench_series *series)
{
    FILE *file = report->summary;
    double giga = (double)subject->batch * 1e-9;
    double median = sw_timing_median(series->seconds, series->count); /* sorts them */
    double slowest = series->seconds[series->count - 1];
    double fastest = series->seconds[0];
    uint64_t faults = sw_cachebench_faults(&series->verdict);
    write_number(file, subject, "gops", giga / median, "Gops/s");
    write_number(file, subject, "gops_min", giga / slowest, "Gops/s");
    write_number(file, subject, "gops_max", giga / fastest, "Gops/s");
    write_number(file, subject, "reps", series->count, "");
    write_number(file, subject, "load", series->load, "");
    write_verdict(file, subject, &series->verdict);
    tabulate_subject(report->tables, subject);
    fprintf(report->tables, "%12.1f %12.1f %12.1f  %" PRIu64 "\n", giga / median * 1e3,
            giga / slowest * 1e3, giga / fastest * 1e3, faults);
    say_subject(report, subject);
    fprintf(stderr, "%9.4f G/s (%.4f .. %.4f) %.1f us, %" PRIu32 " reps, ", giga / median,
            giga / slowest, giga / fastest, median * 1e6, series->count);
    say_verdict(&series->verdict);
    return faults == 0;
}

void sw_cachebench_report_figure(struct sw_cachebench_report *report,
                                 const struct sw_cachebench_subject *subject, const char *metric,
                                 double value, const char *unit)
{
    write_number(report->summary, subject, metric, value, unit);
    tabulate_subject(report->tables, subject);
    fprintf(report->tables, "%s %.10g %s\n", metric, value, unit);
    say_subject(report, subject);
    fprintf(stderr, "%s %.6g %s\n", metric, value, unit);
}

bool sw_cachebench_report_verdict(struct sw_cachebench_report *report,
                                  const struct sw_cachebench_subject *subject, uint64_t entries,
                                  const struct sw_cachebench_verdict *verdict)
{
    uint64_t faults = sw_cachebench_faults(verdict);
    write_number(report->summary, subject, "entries", (double)entries, "keys");
    write_verdict(report->summary, subject, verdict);
    tabulate_subject(report->tables, subject);
    fprintf(report->tables, "%" PRIu64 " entries, %" PRIu64 " faults\n", entries, faults);
    say_subject(report, subject);
    fprintf(stderr, "%" PRIu64 " entries, ", entries);
    say_verdict(verdict);
    return faults == 0;
}

void sw_cachebench_report_none(struct sw_cachebench_report *report,
                               const struct sw_cachebench_subject *subject, const char *reason)
{
    write_metric(report->summary, subject, "gops", "", "Gops/s");
    tabulate_subject(report->tables, subject);
    fprintf(report->tables, "%12s  %s\n", "N/A", reason);
    say_subject(report, subject);
    fprintf(stderr, "%s\n", reason);
}

void sw_cachebench_report_ceiling(struct sw_cachebench_report *report,
                                  const struct sw_cachebench_ceiling *ceiling)
{
    double bandwidth = (double)ceiling->moved / ceiling->seconds * 1e-9;
    double rate = (double)ceiling->lines / ceiling->seconds * 1e-9;
    fprintf(report->summary, "cache,memory,%s,,,,bandwidth,%.10g,GB/s\n", ceiling->name, bandwidth);
    if (ceiling->lines > 0) {
        fprintf(report->summary, "cache,memory,%s,,,%" PRIu64 ",gops,%.10g,Gops/s\n", ceiling->name,
                ceiling->lines, rate);
    }
    fprintf(report->tables, "%-10s %-20s %-26s over %" PRIu64 " MiB: %.1f GB/s, %.3f G/s\n",
            "ceilings", "memory", ceiling->name, ceiling->bytes >> 20, bandwidth, rate);
    fprintf(stderr, "[%6.1f s] ceilings   %s over %" PRIu64 " MiB: %.1f GB/s, %.3f G/s\n",
            sw_timing_clock() - report->started, ceiling->name, ceiling->bytes >> 20, bandwidth,
            rate);
}
