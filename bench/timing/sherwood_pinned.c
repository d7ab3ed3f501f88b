/* SPDX-License-Identifier: MIT
 *
 * sherwood_pinned.c - measures a small batch in host memory, from submit to answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/timing/sherwood.h"

#define PINNED_LOAD 0.85
#define BATCH_OPS 256
#define WORDS (BATCH_OPS / 64)
#define WARM_UPS 100

struct pinned {
    struct sw_timing_study study;
    struct sw_queue *queue;
    uint32_t *keys; /* I/O memory: one batch */
    uint32_t *previous;
    uint64_t *found;
    uint32_t *pool;    /* host memory: the keys of many batches */
    uint32_t *answers; /* host memory: their answers */
    uint64_t batches;  /* number of batches in these two */
    double *latencies; /* seconds */
    uint32_t count;
};

static bool open_memory(struct pinned *pinned)
{
    struct sw_table *table = sw_timing_sherwood_table(pinned->study.table);
    uint64_t reps = pinned->study.options->pinned_reps;
    uint64_t room = pinned->study.arrays.room / BATCH_OPS;
    pinned->queue = sw_timing_sherwood_queue(pinned->study.table);
    pinned->batches = reps + WARM_UPS < room ? reps + WARM_UPS : room;
    pinned->keys = sw_io_alloc(table, BATCH_OPS * sizeof(uint32_t));
    pinned->previous = sw_io_alloc(table, BATCH_OPS * sizeof(uint32_t));
    pinned->found = sw_io_alloc(table, WORDS * sizeof(uint64_t));
    pinned->pool = malloc(pinned->batches * BATCH_OPS * sizeof(uint32_t));
    pinned->answers = malloc(pinned->batches * BATCH_OPS * sizeof(uint32_t));
    pinned->latencies = malloc(reps * sizeof(double));
    if (pinned->keys == NULL || pinned->previous == NULL || pinned->found == NULL ||
        pinned->pool == NULL || pinned->answers == NULL || pinned->latencies == NULL) {
        fprintf(stderr, "timing: get_256_pinned: no memory\n");
        return false;
    }
    return true;
}

static void close_memory(struct pinned *pinned)
{
    if (pinned->study.table != NULL) {
        struct sw_table *table = sw_timing_sherwood_table(pinned->study.table);
        sw_io_free(table, pinned->keys, BATCH_OPS * sizeof(uint32_t));
        sw_io_free(table, pinned->previous, BATCH_OPS * sizeof(uint32_t));
        sw_io_free(table, pinned->found, WORDS * sizeof(uint64_t));
    }
    free(pinned->pool);
    free(pinned->answers);
    free(pinned->latencies);
}

/* Runs one batch and keeps its answers. */
static bool get_batch(struct pinned *pinned, uint64_t number, double *seconds)
{
    struct sw_batch batch;
    uint32_t *answers = pinned->answers + number * BATCH_OPS;
    memcpy(pinned->keys, pinned->pool + number * BATCH_OPS, BATCH_OPS * sizeof(uint32_t));
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_OPERATIONS;
    batch.op = SW_GET;
    batch.count = BATCH_OPS;
    batch.keys = pinned->keys;
    batch.previous = pinned->previous;
    batch.found = pinned->found;
    double start = sw_study_clock();
    int status = sw_batch_submit(pinned->queue, &batch);
    if (status == SW_OK) {
        do {
            status = sw_batch_poll(pinned->queue, &batch);
        } while (status == SW_PENDING);
    }
    *seconds = sw_study_clock() - start;
    for (uint32_t i = 0; i < BATCH_OPS; i++) {
        bool found = (pinned->found[i / 64] >> (i % 64) & 1) != 0;
        answers[i] = found ? pinned->previous[i] : UINT32_MAX;
    }
    if (status != SW_OK) {
        fprintf(stderr, "timing: get_256_pinned: %s\n", sw_status_text(status));
    }
    return status == SW_OK;
}

/* Runs one batch for each block of keys, then checks every answer. */
static bool measure_round(struct pinned *pinned, uint32_t round, uint64_t *wrong)
{
    struct sw_timing_study *study = &pinned->study;
    uint64_t left = study->options->pinned_reps - pinned->count + (round == 0 ? WARM_UPS : 0);
    uint64_t batches = left < pinned->batches ? left : pinned->batches;
    uint64_t keys = batches * BATCH_OPS;
    struct sw_timing_check check;
    if (!sw_timing_draw_queries(
            &study->arrays, keys, study->count, study->distinct, 0,
            sw_timing_study_draw(study, SW_TIMING_PINNED, 0, round, SW_TIMING_PART_QUERIES)) ||
        !sw_timing_copy(pinned->pool, study->arrays.queries, keys * sizeof(uint32_t))) {
        return false;
    }
    for (uint64_t b = 0; b < batches; b++) {
        double seconds = 0;
        if (!get_batch(pinned, b, &seconds)) {
            return false;
        }
        if (round > 0 || b >= WARM_UPS) {
            pinned->latencies[pinned->count++] = seconds;
        }
    }
    if (!sw_timing_copy(study->arrays.answers, pinned->answers, keys * sizeof(uint32_t)) ||
        !sw_timing_check_queries(&study->arrays, keys, sw_timing_study_judge(study, study->count),
                                 &check)) {
        return false;
    }
    *wrong += check.unfound + check.wrong;
    return true;
}

static void report(struct pinned *pinned, uint64_t wrong)
{
    struct sw_timing_study *study = &pinned->study;
    struct sw_timing_subject subject = sw_timing_study_subject(study, "get_256_pinned", BATCH_OPS);
    double median = sw_study_median(pinned->latencies, pinned->count) * 1e6;
    double p99 = sw_study_percentile(pinned->latencies, pinned->count, 99) * 1e6;
    sw_timing_report_summary(study->report, &subject, "median_us", median, "us");
    sw_timing_report_summary(study->report, &subject, "p99_us", p99, "us");
    sw_timing_report_summary(study->report, &subject, "min_us", pinned->latencies[0] * 1e6, "us");
    sw_timing_report_summary(study->report, &subject, "wrong", (double)wrong, "keys");
    sw_timing_study_say(study, subject.operation,
                        "median %.2f us, p99 %.2f us, %" PRIu32 " batches, wrong %" PRIu64 "\n",
                        median, p99, pinned->count, wrong);
}

static bool measure(struct pinned *pinned)
{
    struct sw_timing_study *study = &pinned->study;
    uint64_t count = sw_timing_count(PINNED_LOAD, sw_timing_wanted_slots(study->options));
    uint64_t wrong = 0;
    study->load = PINNED_LOAD;
    if (!sw_timing_study_open(study) || !open_memory(pinned) ||
        !sw_timing_study_fill(
            study, count,
            sw_timing_study_draw(study, SW_TIMING_PINNED, 0, 0, SW_TIMING_PART_KEYS))) {
        return false;
    }
    for (uint32_t round = 0; pinned->count < study->options->pinned_reps; round++) {
        if (!measure_round(pinned, round, &wrong)) {
            return false;
        }
    }
    report(pinned, wrong);
    study->is_correct = study->is_correct && wrong == 0;
    return true;
}

bool sw_timing_measure_pinned(struct sw_timing_study *study)
{
    struct pinned pinned = {.study = *study};
    if (study->slot_bits != 64) {
        return true;
    }
    bool done = measure(&pinned);
    close_memory(&pinned);
    sw_timing_study_close(&pinned.study);
    study->is_correct = study->is_correct && pinned.study.is_correct;
    return done;
}
