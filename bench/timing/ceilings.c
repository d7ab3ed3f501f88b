/* SPDX-License-Identifier: MIT
 *
 * ceilings.c - measures what memory can do.
 */
#include "bench/timing/measure.h"

#include <inttypes.h>

#include "bench/study/ceilings.h"

/* A ceiling: an access to the whole memory, or `batch` writes at once. */
struct ceiling {
    const char *name;
    enum sw_study_access access;
    uint64_t batch; /* 0: the access */
};

static bool run(const struct ceiling *ceiling, struct sw_study_memory *memory,
                struct sw_study_timed *timed)
{
    return ceiling->batch > 0
               ? sw_study_write_run(memory, ceiling->batch, timed)
               : sw_study_access_run(memory, sw_study_shape_usual(ceiling->access), timed);
}

static bool measure_ceiling(struct sw_timing_report *report, struct sw_study_memory *memory,
                            const struct ceiling *ceiling, uint32_t slot_bits, uint32_t reps)
{
    double rates[SW_TIMING_REPS_MAX];
    double bandwidths[SW_TIMING_REPS_MAX];
    struct sw_study_timed timed = {.operations = 0};
    struct sw_timing_subject subject = {
        .library = "memory",
        .operation = ceiling->name,
        .slot_bits = slot_bits,
        .batch = ceiling->batch,
    };
    for (uint32_t number = 0; number <= reps; number++) { /* 0 warms up */
        if (!run(ceiling, memory, &timed)) {
            return false;
        }
        if (number > 0) {
            rates[number - 1] = (double)timed.operations / timed.seconds * 1e-9;
            bandwidths[number - 1] = (double)timed.dram_bytes / timed.seconds * 1e-9;
            sw_timing_report_ceiling(report, &subject, number, timed.dram_bytes, timed.operations,
                                     timed.seconds);
        }
    }
    double rate = sw_study_median(rates, reps);
    double bandwidth = sw_study_median(bandwidths, reps);
    if (timed.operations > 0) {
        sw_timing_report_summary(report, &subject, "gops", rate, "Gops/s");
    }
    sw_timing_report_summary(report, &subject, "bandwidth", bandwidth, "GB/s");
    fprintf(stderr, "%s over %" PRIu64 " MiB", subject.operation, memory->bytes >> 20);
    if (ceiling->batch > 0) {
        fprintf(stderr, ", %" PRIu64 " at once", ceiling->batch);
    }
    fprintf(stderr, ": %.1f GB/s", bandwidth);
    if (timed.operations > 0) {
        fprintf(stderr, ", %.2f G lines/s", rate);
    }
    fputc('\n', stderr);
    return true;
}

/* Measures launches of writes, of the sizes that --upsert-batches has. */
static bool measure_writes(const struct sw_timing_options *options, struct sw_timing_report *report,
                           struct sw_study_memory *memory, uint32_t slot_bits)
{
    bool done = true;
    for (uint32_t b = 0; b < options->upsert_batches_count && done; b++) {
        const struct ceiling ceiling = {.name = "write", .batch = options->upsert_batches[b]};
        done = ceiling.batch > memory->bytes / sizeof(uint64_t) ||
               measure_ceiling(report, memory, &ceiling, slot_bits, options->reps);
    }
    return done;
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
            const struct ceiling ceiling = {
                .name = sw_study_access_name((enum sw_study_access)access),
                .access = (enum sw_study_access)access,
            };
            done = measure_ceiling(report, &memory, &ceiling, slot_bits, options->reps);
        }
        done = done && measure_writes(options, report, &memory, slot_bits);
        sw_study_memory_close(&memory);
    }
    return done;
}
