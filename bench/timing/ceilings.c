/* SPDX-License-Identifier: MIT
 *
 * ceilings.c - measures what memory can do.
 */
#include "bench/timing/measure.h"

#include <inttypes.h>

#include "bench/study/ceilings.h"

/* Rates of one shape: medians of the repetitions, a second. */
struct rates {
    struct sw_study_shape shape;
    double operations; /* 0: a copy */
    double bytes;      /* read plus written */
};

static bool measure_shape(struct sw_timing_report *report, struct sw_study_memory *memory,
                          uint32_t shape, const struct sw_timing_subject *subject, uint32_t reps,
                          struct rates *rates)
{
    double rate[SW_TIMING_REPS_MAX];
    double bandwidth[SW_TIMING_REPS_MAX];
    struct sw_study_timed timed = {.operations = 0};
    rates->shape = sw_study_shape_at(shape);
    for (uint32_t number = 0; number <= reps; number++) { /* 0 warms up */
        if (!sw_study_access_run(memory, shape, &timed)) {
            return false;
        }
        if (number > 0) {
            rate[number - 1] = (double)timed.operations / timed.seconds;
            bandwidth[number - 1] = (double)timed.dram_bytes / timed.seconds;
            sw_timing_report_ceiling(report, subject, &rates->shape, number, &timed);
        }
    }
    rates->operations = sw_study_median(rate, reps);
    rates->bytes = sw_study_median(bandwidth, reps);
    return true;
}

static void report_best(struct sw_timing_report *report, const struct sw_study_memory *memory,
                        const struct sw_timing_subject *subject, const struct rates *best)
{
    sw_timing_report_summary(report, subject, "bandwidth", best->bytes * 1e-9, "GB/s");
    fprintf(stderr, "%s over %" PRIu64 " MiB: %.1f GB/s", subject->operation, memory->bytes >> 20,
            best->bytes * 1e-9);
    if (best->operations > 0) {
        sw_timing_report_summary(report, subject, "gops", best->operations * 1e-9, "Gops/s");
        sw_timing_report_summary(report, subject, "lines_per_thread", best->shape.lines_per_thread,
                                 "");
        sw_timing_report_summary(report, subject, "lanes_per_line", best->shape.lanes_per_line, "");
        fprintf(stderr, ", %.2f G/s, best with %" PRIu32 " a thread and %" PRIu32 " lanes a line",
                best->operations * 1e-9, best->shape.lines_per_thread, best->shape.lanes_per_line);
    }
    fputc('\n', stderr);
}

/* Measures every shape of the access, and reports the best one. */
static bool measure_ceiling(struct sw_timing_report *report, struct sw_study_memory *memory,
                            enum sw_study_access access, uint32_t slot_bits, uint32_t reps)
{
    struct rates best = {.bytes = 0};
    struct sw_timing_subject subject = {
        .library = "memory",
        .operation = sw_study_access_name(access),
        .slot_bits = slot_bits,
    };
    for (uint32_t shape = 0; shape < sw_study_shapes(); shape++) {
        struct rates rates;
        if (sw_study_shape_at(shape).access != access) {
            continue;
        }
        if (!measure_shape(report, memory, shape, &subject, reps, &rates)) {
            return false;
        }
        best = rates.bytes > best.bytes ? rates : best;
    }
    report_best(report, memory, &subject, &best);
    return true;
}

bool sw_timing_measure_ceilings(const struct sw_timing_options *options,
                                struct sw_timing_report *report)
{
    bool done = true;
    for (uint32_t w = 0; w < options->slot_bits_count && done; w++) {
        struct sw_study_memory memory;
        uint32_t slot_bits = options->slot_bits[w];
        if (!sw_study_memory_open(&memory, (1ULL << options->capacity_log2) * (slot_bits / 8),
                                  options->seed)) {
            return false;
        }
        for (int access = 0; access < SW_STUDY_ACCESSES && done; access++) {
            done = measure_ceiling(report, &memory, (enum sw_study_access)access, slot_bits,
                                   options->reps);
        }
        sw_study_memory_close(&memory);
    }
    return done;
}
