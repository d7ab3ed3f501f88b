/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the study's files.
 */
#include "bench/memory_bandwidth/report.h"

#include <inttypes.h>

#include "bench/study/report.h"

#define FILE_AT(file) offsetof(struct sw_bandwidth_report, file)

static const struct sw_study_file files[] = {
    {FILE_AT(memcpy), "memcpy.csv",
     "study,library,operation,slot_bits,payload_bytes,dram_bytes,rep,time_ms\n"},
    {FILE_AT(gather), "gather.csv",
     "study,library,operation,line_bytes,lines_per_thread,lanes_per_line,rep,operations,dram_bytes,"
     "time_ms\n"},
    {FILE_AT(insert), "insert.csv",
     "study,library,operation,slot_bits,F,batch,block_size,rep,operations,batches,time_ms,"
     "events_ms,total_probes,total_failures,total_hits,total_misses,bytes_per_second,percent_of_"
     "copy,percent_of_gather,"
     "distinct,held,drops,handed_back,offered_sum,held_sum,handed_back_sum,foreign,unsettled\n"},
    {FILE_AT(get), "get.csv",
     "study,library,operation,slot_bits,F,batch,block_size,rep,operations,batches,time_ms,"
     "events_ms,total_probes,total_hits,total_misses,bytes_per_second,percent_of_copy,percent_of_"
     "gather\n"},
    {FILE_AT(shapes), "shapes.csv",
     "study,library,operation,slot_bits,F,batch,bucket_slots,threads,keys_in_flight,rep,time_ms\n"},
    {FILE_AT(summary), "summary.csv", SW_STUDY_SUMMARY_HEADER},
    {FILE_AT(run_info), "run_info.txt", ""},
    {0, NULL, NULL},
};

bool sw_bandwidth_report_open(struct sw_bandwidth_report *report, const char *folder)
{
    return sw_study_files_open(report, files, "memory_bandwidth", folder);
}

bool sw_bandwidth_report_close(struct sw_bandwidth_report *report)
{
    return sw_study_files_close(report, files, "memory_bandwidth");
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
                                const struct sw_study_shape *shape, uint32_t number,
                                const struct sw_study_timed *timed)
{
    fprintf(report->gather,
            "memory_bandwidth,memory,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64
            ",%" PRIu64 ",%.6f\n",
            sw_study_access_name(shape->access), shape->line_bytes, shape->lines_per_thread,
            shape->lanes_per_line, number, timed->operations, timed->dram_bytes,
            timed->seconds * 1e3);
}

double sw_bandwidth_rate(const struct sw_bandwidth_rep *rep, double seconds)
{
    return (double)rep->probes * SW_BANDWIDTH_BUCKET_BYTES / seconds;
}

/* Columns study to total_probes, with a comma after each. */
static void write_rep(FILE *file, const char *operation, const struct sw_bandwidth_rep *rep)
{
    fprintf(file, "memory_bandwidth,sherwood,%s,%u,%g,%" PRIu64 ",", operation,
            SW_BANDWIDTH_SLOT_BITS, rep->load, rep->batch);
    if (rep->block_size > 0) {
        fprintf(file, "%" PRIu32, rep->block_size);
    }
    fprintf(file, ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%.6f,", rep->number, rep->operations,
            rep->batches, rep->took.seconds * 1e3);
    sw_study_events(file, &rep->took);
    fprintf(file, ",%" PRIu64 ",", rep->probes);
}

/* Columns total_hits to percent_of_gather. */
static void write_rates(FILE *file, const struct sw_bandwidth_rep *rep)
{
    double rate = sw_bandwidth_rate(rep, rep->took.seconds);
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
            ",%" PRIu64 ",%" PRIu64 "\n",
            account->distinct, account->held, account->distinct - account->held,
            account->handed_back, account->offered_sum, account->held_sum, account->handed_back_sum,
            account->foreign, account->unsettled);
}

void sw_bandwidth_report_get(struct sw_bandwidth_report *report, const struct sw_bandwidth_rep *rep)
{
    write_rep(report->get, "get", rep);
    write_rates(report->get, rep);
    fputc('\n', report->get);
}

void sw_bandwidth_report_shape(struct sw_bandwidth_report *report,
                               const struct sw_bandwidth_shape *shape, const char *operation,
                               uint32_t slot_bits, double load, uint32_t number,
                               uint64_t operations, double seconds)
{
    fprintf(report->shapes,
            "memory_bandwidth,slots_%" PRIu32 "_threads_%" PRIu32 ",%s,%" PRIu32 ",%g,%" PRIu64
            ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%.6f\n",
            shape->slots, shape->lanes, operation, slot_bits, load, operations, shape->slots,
            shape->lanes, shape->keys, number, seconds * 1e3);
}

void sw_bandwidth_report_summary(struct sw_bandwidth_report *report,
                                 const struct sw_bandwidth_subject *subject, const char *metric,
                                 double value, const char *unit)
{
    char text[SW_STUDY_SUBJECT_MAX];
    sw_study_subject(text, "memory_bandwidth", subject->library, subject->operation,
                     subject->slot_bits != 0 ? subject->slot_bits : SW_BANDWIDTH_SLOT_BITS,
                     subject->load, 6, subject->batch);
    sw_study_summary(report->summary, text, metric, value, unit);
}
