/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the cache study's files and its progress lines.
 */
#include "bench/cache/report.h"

#include <inttypes.h>
#include <math.h>

#include "bench/study/report.h"

#define KEY_BITS 64

#define FILE_AT(file) offsetof(struct sw_cachebench_report, file)

static const struct sw_study_file files[] = {
    {FILE_AT(raw), "raw.csv",
     "study,experiment,library,operation,dim,capacity,F,batch,rep,load,time_us,gops,missed,wrong,"
     "phantom,events_ms\n"},
    {FILE_AT(summary), "summary.csv", SW_STUDY_SUMMARY_HEADER},
    {FILE_AT(tables), "tables.txt",
     "experiment library              operation                   load     batch          M/s "
     "     slowest      fastest  faults\n"},
    {FILE_AT(run_info), "run_info.txt", ""},
    {0, NULL, NULL},
};

bool sw_cachebench_report_open(struct sw_cachebench_report *report, const char *folder,
                               double started)
{
    report->started = started;
    return sw_study_files_open(report, files, "cache", folder);
}

bool sw_cachebench_report_close(struct sw_cachebench_report *report)
{
    return sw_study_files_close(report, files, "cache");
}

uint64_t sw_cachebench_faults(const struct sw_cachebench_verdict *verdict)
{
    return verdict->of[SW_CACHEBENCH_MISSED] + verdict->of[SW_CACHEBENCH_WRONG] +
           verdict->of[SW_CACHEBENCH_PHANTOM];
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A row of the summary. A load or a batch of 0, and a value that is NAN, leave their fields empty.
 */
static void write_metric(FILE *file, const struct sw_cachebench_subject *subject,
                         const char *metric, double value, const char *unit)
{
    char operation[64];
    char text[SW_STUDY_SUBJECT_MAX];
    snprintf(operation, sizeof(operation), "%s_dim%" PRIu32, subject->operation, subject->dim);
    sw_study_subject(text, "cache", subject->library, operation, KEY_BITS + 32 * subject->dim,
                     subject->load, 4, subject->batch);
    sw_study_summary(file, text, metric, value, unit);
}

static void write_verdict(FILE *file, const struct sw_cachebench_subject *subject,
                          const struct sw_cachebench_verdict *verdict)
{
    write_metric(file, subject, "missed", (double)verdict->of[SW_CACHEBENCH_MISSED], "keys");
    write_metric(file, subject, "wrong", (double)verdict->of[SW_CACHEBENCH_WRONG], "keys");
    write_metric(file, subject, "phantom", (double)verdict->of[SW_CACHEBENCH_PHANTOM], "keys");
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
            sw_study_clock() - report->started, subject->experiment, subject->library, subject->dim,
            subject->load, subject->operation);
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
    series->seconds[series->count++] = rep->took.seconds;
    if (!isnan(rep->took.events)) {
        series->events[series->events_count++] = rep->took.events;
    }
    fprintf(report->raw,
            "cache,%s,%s,%s,%" PRIu32 ",%" PRIu64 ",%.4g,%" PRIu64 ",%" PRIu32
            ",%.6f,%.3f,%.6f,%llu,%llu,%llu,",
            subject->experiment, subject->library, subject->operation, subject->dim,
            subject->capacity, subject->load, rep->batch, series->count, rep->load,
            rep->took.seconds * 1e6, (double)rep->batch / rep->took.seconds * 1e-9,
            rep->verdict.of[SW_CACHEBENCH_MISSED], rep->verdict.of[SW_CACHEBENCH_WRONG],
            rep->verdict.of[SW_CACHEBENCH_PHANTOM]);
    sw_study_events(report->raw, &rep->took);
    fputc('\n', report->raw);
}

bool sw_cachebench_report_series(struct sw_cachebench_report *report,
                                 const struct sw_cachebench_subject *subject,
                                 struct sw_cachebench_series *series)
{
    FILE *file = report->summary;
    double giga = (double)subject->batch * 1e-9;
    double median = sw_study_median(series->seconds, series->count); /* sorts the seconds */
    double slowest = series->seconds[series->count - 1];
    double fastest = series->seconds[0];
    uint64_t faults = sw_cachebench_faults(&series->verdict);
    write_metric(file, subject, "gops", giga / median, "Gops/s");
    write_metric(file, subject, "gops_min", giga / slowest, "Gops/s");
    write_metric(file, subject, "gops_max", giga / fastest, "Gops/s");
    if (series->events_count > 0) {
        write_metric(file, subject, "gops_by_events",
                     giga / sw_study_median(series->events, series->events_count), "Gops/s");
    }
    write_metric(file, subject, "reps", series->count, "");
    write_metric(file, subject, "load", series->load, "");
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
    write_metric(report->summary, subject, metric, value, unit);
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
    write_metric(report->summary, subject, "entries", (double)entries, "keys");
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
    write_metric(report->summary, subject, "gops", NAN, "Gops/s");
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
            sw_study_clock() - report->started, ceiling->name, ceiling->bytes >> 20, bandwidth,
            rate);
}
