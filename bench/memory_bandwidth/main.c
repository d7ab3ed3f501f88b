/* SPDX-License-Identifier: MIT
 *
 * main.c - the memory bandwidth study: what device memory can do, and what the table makes of it.
 *
 * README.md says what is measured and how.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/memory_bandwidth/shapes.h"
#include "bench/memory_bandwidth/sweep.h"
#include "bench/study/place.h"
#include "bench/study/report.h"

/* --- run_info.txt ----------------------------------------------------------------------------- */

static void write_run_info(FILE *out, const struct sw_bandwidth_options *options, uint32_t l2_fetch,
                           int argc, char **argv)
{
    sw_study_facts(out, options->commit, argc, argv);
    sw_study_device.describe((int)options->device, out);
    fprintf(out,
            "bytes a fetch into L2: %" PRIu32 "\n"
            "keys: Philox4_32_10 (cuRAND), seed %" PRIu64 ", uniform over 32 bits; operands of SUM "
            "1 .. 65536\n"
            "timing: host clock and CUDA events, first submit to last completion; ceilings: CUDA "
            "events\n"
            "repetitions: %" PRIu32 " of get and ceilings, %" PRIu32
            " of insert, after one warm-up each; medians\n",
            l2_fetch, options->seed, options->reps, options->insert_reps);
}

static void write_table_info(const struct sw_bandwidth_study *study)
{
    struct sw_table_info info;
    sw_table_info(study->table, &info);
    fprintf(study->report->run_info,
            "table of %" PRIu32 "-bit slots: %" PRIu64 " slots in buckets of %" PRIu32
            ", probe cap %" PRIu32 " buckets, no stash, batches of up to %" PRIu32 ", bulk %s, "
            "hints %s, seed %" PRIx64 ", %.1f MiB reserved\n",
            info.slot_bits, info.capacity_slots, info.bucket_slots, info.max_probe,
            info.batch_ops_max, sw_bandwidth_choice_name(study->options->bulk),
            sw_bandwidth_choice_name(study->options->hints), info.seed,
            (double)info.bytes_reserved / (1 << 20));
}

/* --- the study -------------------------------------------------------------------------------- */

static double largest_load(const struct sw_bandwidth_options *options)
{
    double largest = 0;
    for (uint32_t l = 0; l < options->loads_count; l++) {
        largest = options->loads[l] > largest ? options->loads[l] : largest;
    }
    return largest;
}

/* On failure nothing is open. */
static bool open_table(struct sw_bandwidth_study *study)
{
    char reason[512];
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.slot_bits = SW_BANDWIDTH_SLOT_BITS;
    config.capacity_slots = 1ULL << study->options->capacity_log2;
    config.max_load = SW_BANDWIDTH_LOAD_MAX;
    config.max_probe = study->options->max_probe;
    config.batch_ops_max = 1U << study->options->batch_log2;
    config.stash_slots = 0;
    config.device = (int)study->options->device;
    config.tuning.bulk = study->options->bulk;
    config.tuning.hints = study->options->hints;
    config.tuning.block_size = study->block_size;
    int status = sw_table_create(&config, &study->table, reason, sizeof(reason));
    if (status != SW_OK) {
        fprintf(stderr, "memory_bandwidth: %s\n", reason);
        return false;
    }
    status = sw_queue_create(study->table, &study->queue);
    if (status != SW_OK) {
        fprintf(stderr, "memory_bandwidth: a queue: %s\n", sw_status_text(status));
        sw_table_destroy(study->table);
        return false;
    }
    if (study->block_size == 0) {
        write_table_info(study);
    }
    return true;
}

/* Allocates arrays for the keys of the largest F. On failure nothing is allocated. */
static bool open_workload(struct sw_bandwidth_study *study)
{
    uint64_t count = sw_bandwidth_count(study->options, largest_load(study->options));
    study->leftovers = calloc((count >> study->options->batch_log2) + 1, sizeof(uint32_t));
    if (study->leftovers == NULL) {
        fprintf(stderr, "memory_bandwidth: %s\n", sw_status_text(SW_E_NOMEM));
        return false;
    }
    if (!sw_bandwidth_arrays_open(&study->arrays, count)) {
        free(study->leftovers);
        return false;
    }
    return true;
}

/* Sweeps with the table's own block size, then with each requested one. */
static bool sweep_all(struct sw_bandwidth_study *study)
{
    const struct sw_bandwidth_options *options = study->options;
    bool done = true;
    for (uint32_t b = 0; b <= options->block_sizes_count && done; b++) {
        study->block_size = b == 0 ? 0 : options->block_sizes[b - 1];
        done = open_table(study);
        if (done) {
            done = sw_bandwidth_sweep(study);
            sw_queue_destroy(study->queue);
            sw_table_destroy(study->table);
        }
    }
    return done;
}

/* *is_correct becomes false if a check found anything. */
static bool measure(const struct sw_bandwidth_options *options, struct sw_bandwidth_report *report,
                    double started, bool *is_correct)
{
    struct sw_bandwidth_ceilings ceilings;
    struct sw_bandwidth_study study = {
        .options = options,
        .report = report,
        .ceilings = &ceilings,
        .started = started,
        .is_correct = true,
    };
    if (!sw_bandwidth_measure_ceilings(options, report, &ceilings)) {
        return false;
    }
    if (options->shapes) {
        return sw_bandwidth_measure_shapes(options, report, is_correct);
    }
    if (!open_workload(&study)) {
        return false;
    }
    bool done = sweep_all(&study);
    sw_bandwidth_arrays_close(&study.arrays);
    free(study.leftovers);
    *is_correct = study.is_correct;
    return done;
}

int main(int argc, char **argv)
{
    struct sw_bandwidth_options options;
    struct sw_bandwidth_report report;
    double started = sw_study_clock();
    bool is_correct = true;
    uint32_t l2_fetch = 0;
    enum sw_study_parsed parsed = sw_bandwidth_options_parse(&options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed == SW_STUDY_DONE ? 0 : 2;
    }
    if (!sw_study_device.choose((int)options.device) ||
        !sw_study_l2_fetch(options.l2_fetch, &l2_fetch) ||
        !sw_bandwidth_report_open(&report, options.output)) {
        return 1;
    }
    write_run_info(report.run_info, &options, l2_fetch, argc, argv);
    bool done = measure(&options, &report, started, &is_correct);
    fprintf(report.run_info, "end: %s after %.1f s; %s\n", done ? "complete" : "broken off",
            sw_study_clock() - started,
            is_correct ? "every operand found again" : "OPERANDS LOST: see insert.csv and get.csv");
    done = sw_bandwidth_report_close(&report) && done;
    if (!is_correct) {
        fprintf(stderr, "memory_bandwidth: a check failed, see insert.csv and get.csv\n");
    }
    fprintf(stderr, "%s %s\n", done ? "written to" : "broken off, partial files in",
            options.output);
    return done && is_correct ? 0 : 1;
}
