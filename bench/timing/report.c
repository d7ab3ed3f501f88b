/* SPDX-License-Identifier: MIT
 *
 * report.c - writes the study's files.
 */
#include "bench/timing/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define REP_HEADER                                                                 \
    "study,library,operation,slot_bits,F,batch,block_size,rep,operations,time_ms," \
    "gops,distinct,occupied,drops,missed,wrong,events_ms\n"

static const struct sw_study_file files[] = {
    {offsetof(struct sw_timing_report, raw), "raw.csv", REP_HEADER},
    {offsetof(struct sw_timing_report, insert), "insert.csv", REP_HEADER},
    {offsetof(struct sw_timing_report, get), "get.csv", REP_HEADER},
    {offsetof(struct sw_timing_report, ceilings), "ceilings.csv",
     "study,library,operation,slot_bits,rep,bytes,operations,time_ms\n"},
    {offsetof(struct sw_timing_report, summary), "summary.csv", SW_STUDY_SUMMARY_HEADER},
    {offsetof(struct sw_timing_report, run_info), "run_info.txt", ""},
    {0, NULL, NULL},
};

bool sw_timing_report_open(struct sw_timing_report *report, const char *folder)
{
    return sw_study_files_open(report, files, "timing", folder);
}

bool sw_timing_report_close(struct sw_timing_report *report)
{
    return sw_study_files_close(report, files, "timing");
}

static void name_subject(const struct sw_timing_subject *subject, char text[SW_STUDY_SUBJECT_MAX])
{
    sw_study_subject(text, "timing", subject->library, subject->operation, subject->slot_bits,
                     subject->load, 6, subject->batch);
}

static void write_rep(FILE *file, const struct sw_timing_subject *subject,
                      const struct sw_timing_rep *rep)
{
    char text[SW_STUDY_SUBJECT_MAX];
    name_subject(subject, text);
    fprintf(file, "%s,", text);
    if (subject->block_size > 0) {
        fprintf(file, "%" PRIu32, subject->block_size);
    }
    fprintf(file, ",%" PRIu32 ",%" PRIu64 ",%.6f,%.6g,", rep->number, rep->operations,
            rep->took.seconds * 1e3, (double)rep->operations / rep->took.seconds * 1e-9);
    if (rep->has_distinct) {
        fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",", rep->distinct, rep->occupied,
                rep->drops);
    } else {
        fputs(",,,", file);
    }
    if (rep->has_check) {
        fprintf(file, "%" PRIu64 ",%" PRIu64 ",", rep->missed, rep->wrong);
    } else {
        fputs(",,", file);
    }
    sw_study_events(file, &rep->took);
    fputc('\n', file);
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
    char text[SW_STUDY_SUBJECT_MAX];
    name_subject(subject, text);
    sw_study_summary(report->summary, text, metric, value, unit);
}

void sw_timing_report_unfinished(struct sw_timing_report *report, char *text, size_t text_size)
{
    const struct sw_timing_progress *progress = report->progress;
    const struct sw_timing_subject *subject = &progress->subject;
    const size_t used = strlen(text);
    if (progress->is_running) {
        sw_timing_report_summary(report, subject, "unfinished", sw_study_clock() - progress->begun,
                                 "s");
        snprintf(text + used, text_size - used,
                 "; %s of %" PRIu64 ", %" PRIu32 " bits, F %g, has no rate", subject->operation,
                 subject->batch, subject->slot_bits, subject->load);
    }
}
