/* SPDX-License-Identifier: MIT
 *
 * measure.c - everything of one library at one width: which measurements, in which order.
 */
#include "bench/timing/measure.h"

#include <inttypes.h>
#include <math.h>

#include "bench/timing/sherwood.h"

/* From this load on, some libraries' probes, which end only at an empty slot, take too long. */
#define TOO_FULL 0.99

static bool wants(const struct sw_timing_study *study, enum sw_timing_operation operation)
{
    return study->options->operations[operation];
}

/* Draws of 64 bits do not repeat: the table would be full to the last slot. */
static bool is_too_full(const struct sw_timing_study *study)
{
    return study->slot_bits == 128 &&
           (double)sw_timing_count(study->load, sw_timing_wanted_slots(study->options)) >
               TOO_FULL * (double)study->slots;
}

static bool is_left_out(const struct sw_timing_study *study, const char *what)
{
    fprintf(stderr, "timing: %s, %" PRIu32 "-bit slots, F %g: %s left out, the table is full\n",
            study->library->name, study->slot_bits, study->load, what);
    return true;
}

/* Fills the table to F, with the values of its insert. */
static bool ensure_filled(struct sw_timing_study *study)
{
    uint64_t count = sw_timing_count(study->load, sw_timing_wanted_slots(study->options));
    if (study->is_filled) {
        return true;
    }
    if (study->count == count) {
        return sw_timing_study_refill(study);
    }
    return sw_timing_study_fill(
        study, count, sw_timing_study_draw(study, SW_TIMING_INSERT, 0, 0, SW_TIMING_PART_KEYS));
}

static bool measure_gets(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    for (uint32_t m = 0; m < options->misses_count && wants(study, SW_TIMING_GET); m++) {
        if (!ensure_filled(study) || !sw_timing_measure_get(study, options->misses[m])) {
            return false;
        }
    }
    for (uint32_t l = 0; l < options->batch_loads_count && wants(study, SW_TIMING_GET_BATCH); l++) {
        double apart = options->batch_loads[l] - study->load;
        if (apart < 1e-9 && apart > -1e-9 &&
            (!ensure_filled(study) || !sw_timing_measure_get_batches(study))) {
            return false;
        }
    }
    return true;
}

static bool measure_changes(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    for (uint32_t u = 0; u < options->upsert_batches_count && wants(study, SW_TIMING_UPSERT); u++) {
        if (!ensure_filled(study) || !sw_timing_measure_upsert(study, u)) {
            return false;
        }
    }
    for (uint32_t d = 0; d < options->delete_batches_count && wants(study, SW_TIMING_DELETE); d++) {
        if (!ensure_filled(study) || !sw_timing_measure_delete(study, d)) {
            return false;
        }
    }
    return true;
}

static bool measure_insert_batches(struct sw_timing_study *study)
{
    for (uint32_t b = 0; b < study->options->insert_batches_count; b++) {
        if (!sw_timing_measure_insert_batch(study, b)) {
            return false;
        }
    }
    return true;
}

/* Writes a row without a value, so that every library has a row at each F. */
static void report_no_beside(const struct sw_timing_study *study)
{
    struct sw_timing_subject subject = sw_timing_study_subject(study, "insert_and_update", 0);
    if (wants(study, SW_TIMING_BESIDE)) {
        sw_timing_report_summary(study->report, &subject, "lost_updates", NAN, "keys");
    }
}

/* At the highest F only: the host reads every slot, which takes seconds. */
static bool wants_audit(const struct sw_timing_study *study)
{
    bool is_highest = true;
    for (uint32_t l = 0; l < study->options->loads_count; l++) {
        is_highest = is_highest && study->options->loads[l] <= study->load;
    }
    return study->is_ours && is_highest && wants(study, SW_TIMING_AUDIT);
}

static bool measure_load(struct sw_timing_study *study)
{
    study->is_filled = false;
    study->count = 0;
    if (!study->is_ours && is_too_full(study)) {
        report_no_beside(study);
        return is_left_out(study, "everything");
    }
    if ((wants(study, SW_TIMING_INSERT) && !sw_timing_measure_insert(study)) ||
        (wants_audit(study) && !(ensure_filled(study) && sw_timing_sherwood_audit(study))) ||
        !measure_gets(study) || !measure_changes(study)) {
        return false;
    }
    if (wants(study, SW_TIMING_INSERT_BATCH) &&
        !(is_too_full(study) ? is_left_out(study, "insert_batch")
                             : measure_insert_batches(study))) {
        return false;
    }
    return !wants(study, SW_TIMING_BESIDE) || sw_timing_measure_beside(study, "insert_and_update");
}

/* Measures one block size, with its own table. */
static bool measure_block(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    bool done = sw_timing_study_open(study);
    for (uint32_t l = 0; l < options->loads_count && done; l++) {
        study->load_index = l;
        study->load = options->loads[l];
        study->is_filled = false;
        study->count = 0;
        if (!is_too_full(study)) {
            done = sw_timing_measure_insert(study) && sw_timing_measure_get(study, 0) &&
                   measure_insert_batches(study);
        }
    }
    sw_timing_study_close(study);
    return done;
}

static bool measure_blocks(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    bool done = true;
    if (!wants(study, SW_TIMING_BLOCKS) || !study->library->takes_block_size) {
        return true;
    }
    for (uint32_t b = 0; b < options->block_sizes_count && done; b++) {
        study->block_size = options->block_sizes[b];
        done = measure_block(study);
    }
    study->block_size = 0;
    return done;
}

/* Returns whether any operation needs the table that all F share. */
static bool wants_table(const struct sw_timing_study *study)
{
    return wants(study, SW_TIMING_INSERT) || wants(study, SW_TIMING_GET) ||
           wants(study, SW_TIMING_GET_BATCH) || wants(study, SW_TIMING_UPSERT) ||
           wants(study, SW_TIMING_DELETE) || wants(study, SW_TIMING_INSERT_BATCH) ||
           wants(study, SW_TIMING_BESIDE) || (study->is_ours && wants(study, SW_TIMING_AUDIT));
}

bool sw_timing_measure_library(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    bool done = true;
    if (wants_table(study)) {
        done = sw_timing_study_open(study);
        if (done && study->is_ours) {
            sw_timing_sherwood_describe(study->table, study->report->run_info);
        }
        for (uint32_t l = 0; l < options->loads_count && study->table != NULL; l++) {
            study->load_index = l;
            study->load = options->loads[l];
            done = measure_load(study) && done;
        }
        sw_timing_study_close(study);
    }
    return measure_blocks(study) && done;
}
