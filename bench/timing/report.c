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

#define PATH_BYTES 600

/* mkdir -p */
static bool make_folder(const char *folder)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/", folder);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return false;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            return false;
        }
        *slash = '/';
    }
    return true;
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "w") : NULL;
    if (file != NULL) {
        setvbuf(file, NULL, _IOLBF, 0); /* what was measured stays, whatever happens later */
    }
    return file;
}

static bool close_file(FILE *file)
{
    if (file == NULL) {
        return true;
    }
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed;
}

bool sw_timing_report_open(struct sw_timing_report *report, const char *folder)
{
    memset(report, 0, sizeof(*report));
    if (make_folder(folder)) {
        report->raw = open_file(folder, "raw.csv");
        report->ceilings = open_file(folder, "ceilings.csv");
        report->summary = open_file(folder, "summary.csv");
        report->run_info = open_file(folder, "run_info.txt");
    }
    if (report->raw == NULL || report->ceilings == NULL || report->summary == NULL ||
        report->run_info == NULL) {
        fprintf(stderr, "timing: files in %s: %s\n", folder, strerror(errno));
        sw_timing_report_close(report);
        return false;
    }
    fprintf(report->raw, "study,library,operation,slot_bits,F,batch,rep,operations,batches,time_ms,"
                         "gops,distinct,occupied,stash,drops,missed,wrong\n");
    fprintf(report->ceilings, "study,library,operation,slot_bits,rep,bytes,operations,time_ms\n");
    fprintf(report->summary, "study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    return true;
}

bool sw_timing_report_close(struct sw_timing_report *report)
{
    bool raw = close_file(report->raw);
    bool ceilings = close_file(report->ceilings);
    bool summary = close_file(report->summary);
    bool run_info = close_file(report->run_info);
    memset(report, 0, sizeof(*report));
    if (!raw || !ceilings || !summary || !run_info) {
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

void sw_timing_report_rep(struct sw_timing_report *report, const struct sw_timing_subject *subject,
                          const struct sw_timing_rep *rep)
{
    FILE *raw = report->raw;
    write_subject(raw, subject);
    fprintf(raw, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%.6f,%.6g,", rep->number, rep->operations,
            rep->batches, rep->seconds * 1e3, (double)rep->operations / rep->seconds * 1e-9);
    if (rep->is_insert) {
        fprintf(raw, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",", rep->distinct,
                rep->occupied, rep->stash, (int64_t)(rep->distinct - rep->occupied));
    } else {
        fputs(",,,,", raw);
    }
    if (rep->is_checked) {
        fprintf(raw, "%" PRIu64 ",%" PRIu64 "\n", rep->missed, rep->wrong);
    } else {
        fputs(",\n", raw);
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
