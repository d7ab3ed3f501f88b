/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the study's files.
 */
#include "bench/memory_bandwidth/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/timing/files.h"

#define PATH_BYTES 600

/* NULL if it cannot be created. */
static FILE *open_file(const char *folder, const char *name, const char *header)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "w") : NULL;
    if (file != NULL) {
        setvbuf(file, NULL, _IOLBF, 0); /* what was measured stays, whatever happens later */
        fputs(header, file);
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

static void open_files(struct sw_bandwidth_report *report, const char *folder)
{
    report->memcpy = open_file(folder, "memcpy.csv",
                               "study,library,operation,slot_bits,payload_bytes,dram_bytes,rep,"
                               "time_ms\n");
    report->gather = open_file(folder, "gather.csv",
                               "study,library,operation,line_bytes,lines_per_thread,"
                               "lanes_per_line,rep,operations,dram_bytes,time_ms\n");
    report->insert =
        open_file(folder, "insert.csv",
                  "study,library,operation,slot_bits,F,batch,rep,operations,batches,time_ms,"
                  "total_probes,total_failures,total_hits,total_misses,bytes_per_second,"
                  "percent_of_copy,percent_of_gather,distinct,held,handed_back,offered_sum,"
                  "held_sum,handed_back_sum,foreign,unsettled\n");
    report->get = open_file(folder, "get.csv",
                            "study,library,operation,slot_bits,F,batch,rep,operations,batches,"
                            "time_ms,total_probes,total_hits,total_misses,bytes_per_second,"
                            "percent_of_copy,percent_of_gather\n");
    report->summary = open_file(folder, "summary.csv",
                                "study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    report->run_info = open_file(folder, "run_info.txt", "");
}

bool sw_bandwidth_report_open(struct sw_bandwidth_report *report, const char *folder)
{
    memset(report, 0, sizeof(*report));
    errno = 0;
    if (sw_timing_make_folder(folder)) {
        open_files(report, folder);
    }
    if (report->memcpy == NULL || report->gather == NULL || report->insert == NULL ||
        report->get == NULL || report->summary == NULL || report->run_info == NULL) {
        fprintf(stderr, "memory_bandwidth: files in %s: %s\n", folder, strerror(errno));
        sw_bandwidth_report_close(report);
        return false;
    }
    return true;
}

bool sw_bandwidth_report_close(struct sw_bandwidth_report *report)
{
    FILE *files[] = {report->memcpy, report->gather,  report->insert,
                     report->get,    report->summary, report->run_info};
    bool written = true;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        written = close_file(files[i]) && written;
    }
    memset(report, 0, sizeof(*report));
    if (!written) {
        fprintf(stderr, "memory_bandwidth: a file could not be written in full\n");
    }
    return written;
}

void sw_bandwidth_report_copy(struct sw_bandwidth_report *report, const char *operation,
                              uint64_t payload_bytes, uint64_t dram_bytes, uint32_t number,
                              double seconds)
{
    fprintf(report->memcpy,
            "memory_bandwidth,memory,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%.6f\n", operation,
            SW_BANDWIDTH_SLOT_BITS, payload_bytes, dram_bytes, number, seconds * 1e3);
}

void sw_bandwidth_report_access(struct sw_bandwidth_report *report,
                                const struct sw_bandwidth_shape *shape, uint32_t number,
                                const struct sw_bandwidth_timed *timed)
{
    fprintf(report->gather,
            "memory_bandwidth,memory,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64
            ",%" PRIu64 ",%.6f\n",
            sw_bandwidth_access_name(shape->access), shape->line_bytes, shape->lines_per_thread,
            shape->lanes_per_line, number, timed->operations, timed->dram_bytes,
            timed->seconds * 1e3);
}

double sw_bandwidth_rate(const struct sw_bandwidth_rep *rep)
{
    return (double)rep->probes * SW_BANDWIDTH_BUCKET_BYTES / rep->seconds;
}

/* Columns study to total_probes, with a comma after each. */
static void write_rep(FILE *file, const char *operation, const struct sw_bandwidth_rep *rep)
{
    fprintf(file,
            "memory_bandwidth,sherwood,%s,%u,%g,%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64
            ",%.6f,%" PRIu64 ",",
            operation, SW_BANDWIDTH_SLOT_BITS, rep->load, rep->batch, rep->number, rep->operations,
            rep->batches, rep->seconds * 1e3, rep->probes);
}

/* Columns total_hits to percent_of_gather. */
static void write_rates(FILE *file, const struct sw_bandwidth_rep *rep)
{
    double rate = sw_bandwidth_rate(rep);
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",%.6g,%.2f,%.2f", rep->hits, rep->misses, rate,
            100 * rate / rep->copy_rate, 100 * rate / rep->gather_rate);
}

void sw_bandwidth_report_insert(struct sw_bandwidth_report *report,
                                const struct sw_bandwidth_rep *rep,
                                const struct sw_bandwidth_account *account)
{
    write_rep(report->insert, "insert", rep);
    fprintf(report->insert, "%" PRIu64 ",", rep->failures);
    write_rates(report->insert, rep);
    fprintf(report->insert,
            ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 "\n",
            account->distinct, account->held, account->handed_back, account->offered_sum,
            account->held_sum, account->handed_back_sum, account->foreign, account->unsettled);
}

void sw_bandwidth_report_get(struct sw_bandwidth_report *report, const struct sw_bandwidth_rep *rep)
{
    write_rep(report->get, "get", rep);
    write_rates(report->get, rep);
    fputc('\n', report->get);
}

void sw_bandwidth_report_summary(struct sw_bandwidth_report *report,
                                 const struct sw_bandwidth_subject *subject, const char *metric,
                                 double value, const char *unit)
{
    FILE *file = report->summary;
    fprintf(file, "memory_bandwidth,%s,%s,%u,", subject->library, subject->operation,
            SW_BANDWIDTH_SLOT_BITS);
    if (subject->load > 0) {
        fprintf(file, "%g", subject->load);
    }
    fputc(',', file);
    if (subject->batch > 0) {
        fprintf(file, "%" PRIu64, subject->batch);
    }
    fprintf(file, ",%s,%.10g,%s\n", metric, value, unit);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double sw_bandwidth_median(double *values, uint32_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
