/* SPDX-License-Identifier: MIT
 *
 * ceilings.c - repetitions of copies and random accesses, the best shape of each.
 */
#include "bench/memory_bandwidth/sweep.h"

#include <inttypes.h>
#include <string.h>

#include "bench/study/report.h"

static bool measure_copy(const struct sw_bandwidth_options *options,
                         struct sw_bandwidth_report *report, struct sw_study_memory *memory,
                         enum sw_study_access access, double *best)
{
    double rates[SW_BANDWIDTH_REPS_MAX];
    struct sw_bandwidth_subject subject = {
        .library = "memory",
        .operation = sw_study_access_name(access),
    };
    for (uint32_t number = 0; number <= options->reps; number++) { /* 0 warms up */
        struct sw_study_timed timed;
        if (!sw_study_access_run(memory, sw_study_shape_usual(access), &timed)) {
            return false;
        }
        if (number > 0) {
            rates[number - 1] = (double)timed.dram_bytes / timed.seconds;
            sw_bandwidth_report_copy(report, subject.operation, memory->bytes, timed.dram_bytes,
                                     number, timed.seconds);
        }
    }
    double rate = sw_study_median(rates, options->reps);
    sw_bandwidth_report_summary(report, &subject, "bandwidth", rate * 1e-9, "GB/s");
    fprintf(stderr, "%s over %" PRIu64 " MiB: %.1f GB/s\n", subject.operation, memory->bytes >> 20,
            rate * 1e-9);
    *best = rate > *best ? rate : *best;
    return true;
}

/* *rate receives operations a second, *bytes the bytes of one. */
static bool measure_shape(const struct sw_bandwidth_options *options,
                          struct sw_bandwidth_report *report, struct sw_study_memory *memory,
                          uint32_t shape_number, double *rate, double *bytes)
{
    double rates[SW_BANDWIDTH_REPS_MAX];
    struct sw_study_shape shape = sw_study_shape_at(shape_number);
    for (uint32_t number = 0; number <= options->reps; number++) { /* 0 warms up */
        struct sw_study_timed timed;
        if (!sw_study_access_run(memory, shape_number, &timed)) {
            return false;
        }
        *bytes = (double)timed.dram_bytes / (double)timed.operations;
        if (number > 0) {
            rates[number - 1] = (double)timed.operations / timed.seconds;
            sw_bandwidth_report_access(report, &shape, number, &timed);
        }
    }
    *rate = sw_study_median(rates, options->reps);
    return true;
}

static void report_best(struct sw_bandwidth_report *report,
                        const struct sw_bandwidth_ceilings *ceilings,
                        const struct sw_study_shape *shape)
{
    struct sw_bandwidth_subject subject = {
        .library = "memory",
        .operation = sw_study_access_name(shape->access),
    };
    double rate = ceilings->operations[shape->access] * 1e-9;
    double bandwidth = ceilings->bytes[shape->access] * 1e-9;
    sw_bandwidth_report_summary(report, &subject, "gops", rate, "Gops/s");
    sw_bandwidth_report_summary(report, &subject, "bandwidth", bandwidth, "GB/s");
    sw_bandwidth_report_summary(report, &subject, "lines_per_thread", shape->lines_per_thread, "");
    sw_bandwidth_report_summary(report, &subject, "lanes_per_line", shape->lanes_per_line, "");
    fprintf(stderr,
            "%s: %.1f GB/s, %.2f G/s, best with %" PRIu32 " a thread and %" PRIu32
            " lanes a line\n",
            subject.operation, bandwidth, rate, shape->lines_per_thread, shape->lanes_per_line);
}

static bool measure_access(const struct sw_bandwidth_options *options,
                           struct sw_bandwidth_report *report, struct sw_study_memory *memory,
                           enum sw_study_access access, struct sw_bandwidth_ceilings *ceilings)
{
    struct sw_study_shape best = {0};
    for (uint32_t s = 0; s < sw_study_shapes(); s++) {
        double rate = 0;
        double bytes = 0;
        struct sw_study_shape shape = sw_study_shape_at(s);
        if (shape.access != access) {
            continue;
        }
        if (!measure_shape(options, report, memory, s, &rate, &bytes)) {
            return false;
        }
        if (rate > ceilings->operations[access]) {
            best = shape;
            ceilings->operations[access] = rate;
            ceilings->bytes[access] = rate * bytes;
        }
    }
    report_best(report, ceilings, &best);
    return true;
}

bool sw_bandwidth_measure_ceilings(const struct sw_bandwidth_options *options,
                                   struct sw_bandwidth_report *report,
                                   struct sw_bandwidth_ceilings *ceilings)
{
    struct sw_study_memory memory;
    uint64_t bytes = (1ULL << options->capacity_log2) * (SW_BANDWIDTH_SLOT_BITS / 8);
    uint64_t copied = options->copy_log2 > 0 ? 1ULL << options->copy_log2 : bytes;
    memset(ceilings, 0, sizeof(*ceilings));
    if (!sw_study_memory_open(&memory, copied, options->seed)) {
        return false;
    }
    bool done = measure_copy(options, report, &memory, SW_STUDY_COPY_MEMCPY, &ceilings->copy) &&
                measure_copy(options, report, &memory, SW_STUDY_COPY_UINT4, &ceilings->copy);
    sw_study_memory_close(&memory);
    if (!done || !sw_study_memory_open(&memory, bytes, options->seed)) {
        return false;
    }
    for (int a = SW_STUDY_GATHER_32; a < SW_STUDY_ACCESSES && done; a++) {
        done = measure_access(options, report, &memory, (enum sw_study_access)a, ceilings);
    }
    sw_study_memory_close(&memory);
    return done;
}
