/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the study's files.
 */
#include "bench/timing/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/timing/files.h"

bool sw_timing_report_open(struct sw_timing_report *report, const char *folder)
{
    memset(report, 0, sizeof(*report));
    if (sw_timing_make_folder(folder)) {
        report->raw = sw_timing_open_file(folder, "raw.csv");
        report->insert = sw_timing_open_file(folder, "insert.csv");
        report->get = sw_timing_open_file(folder, "get.csv");
        report->ceilings = sw_timing_open_file(folder, "ceilings.csv");
        report->summary = sw_timing_open_file(folder, "summary.csv");
        report->run_info = sw_timing_open_file(folder, "run_info.txt");
    }
    FILE *rows[] = {report->raw, report->insert, report->get};
    bool open = report->ceilings != NULL && report->summary != NULL && report->run_info != NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        open = open && rows[i] != NULL;
    }
    if (!open) {
        fprintf(stderr, "timing: files in %s: %s\n", folder, strerror(errno));
        sw_timing_report_close(report);
        return false;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fprintf(rows[i], "study,library,operation,slot_bits,F,batch,block_size,rep,operations,"
                         "time_ms,gops,distinct,occupied,drops,missed,wrong\n");
    }
    fprintf(report->ceilings, "study,library,operation,slot_bits,rep,bytes,operations,time_ms\n");
    fprintf(report->summary, "study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    return true;
}

bool sw_timing_report_close(struct sw_timing_report *report)
{
    bool raw = sw_timing_close_file(report->raw);
    bool insert = sw_timing_close_file(report->insert);
    bool get = sw_timing_close_file(report->get);
    bool ceilings = sw_timing_close_file(report->ceilings);
    bool summary = sw_timing_close_file(report->summary);
    bool run_info = sw_timing_close_file(report->run_info);
    memset(report, 0, sizeof(*report));
    if (!raw || !insert || !get || !ceilings || !summary || !run_info) {
        fprintf(stderr, "timing: a file could not be written in full\n");
        return false;
    }
    return true;
}

/* Columns study to batch, with a comma after each. */
static void write_subject(FILE *file, const struct sw_timing_subject *subject)
{
    fprintf(file, "timing,%s,%s,%" PRIu32 ",", subject->library, subject->operation,
            subject->slot_bits);
    if (subject->load > 0) {
        fprintf(file, "%g", subject->load);
    }
    fputc(',', file);
    if (subject->batch > 0) {
        fprintf(file, "%" PRIu64, subject->batch);
    }
    fputc(',', file);
}

static void write_rep(FILE *file, const struct sw_timing_subject *subject,
                      const struct sw_timing_rep *rep)
{
    write_subject(file, subject);
    if (subject->block_size > 0) {
        fprintf(file, "%" PRIu32, subject->block_size);
    }
    fprintf(file, ",%" PRIu32 ",%" PRIu64 ",%.6f,%.6g,", rep->number, rep->operations,
            rep->seconds * 1e3, (double)rep->operations / rep->seconds * 1e-9);
    if (rep->has_distinct) {
        fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",", rep->distinct, rep->occupied,
                rep->drops);
    } else {
        fputs(",,,", file);
    }
    if (rep->has_check) {
        fprintf(file, "%" PRIu64 ",%" PRIu64 "\n", rep->missed, rep->wrong);
    } else {
        fputs(",\n", file);
    }
}

void sw_timing_report_rep(struct sw_timing_report *report, const struct sw_timing_subject *subject,
                          const struct sw_timing_rep *rep)
{
    write_rep(report->raw, subject, rep);
    if (strcmp(subject->operation, "insert") == 0) {
        write_rep(report->insert, subject, rep);
    }
    if (strncmp(subject->operation, "get", 3) == 0) {
        write_rep(report->get, subject, rep);
    }
}

void sw_timing_report_ceiling(struct sw_timing_report *report,
                              const struct sw_timing_subject *subject, uint32_t number,
                              uint64_t bytes, uint64_t operations, double seconds)
{
    fprintf(report->ceilings, "timing,%s,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%.6f\n",
            subject->library, subject->operation, subject->slot_bits, number, bytes, operations,
            seconds * 1e3);
}

void sw_timing_report_summary(struct sw_timing_report *report,
                              const struct sw_timing_subject *subject, const char *metric,
                              double value, const char *unit)
{
    write_subject(report->summary, subject);
    fprintf(report->summary, "%s,%.10g,%s\n", metric, value, unit);
}

void sw_timing_report_no_value(struct sw_timing_report *report,
                               const struct sw_timing_subject *subject, const char *metric,
                               const char *unit)
{
    write_subject(report->summary, subject);
    fprintf(report->summary, "%s,,%s\n", metric, unit);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double sw_timing_median(double *values, uint32_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double sw_timing_percentile(double *values, uint32_t count, double percent)
{
    qsort(values, count, sizeof(*values), by_value);
    double place = percent / 100 * count;
    uint32_t index = (uint32_t)place;
    index -= index > 0 && (double)index >= place; /* the place is counted from 1 */
    return values[index < count ? index : count - 1];
}
