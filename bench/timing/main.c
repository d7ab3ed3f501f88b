/* SPDX-License-Identifier: MIT
 *
 * main.c - the timing study: Sherwood's table with keys in device memory.
 *
 * README.md says what is measured and how.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/timing/ceiling.h"
#include "bench/timing/device.h"
#include "bench/timing/sweep.h"

/* --- run_info.txt ----------------------------------------------------------------------------- */

static void write_cpu(FILE *out)
{
    char line[512];
    FILE *cpuinfo = fopen("/proc/cpuinfo", "r");
    while (cpuinfo != NULL && fgets(line, sizeof(line), cpuinfo) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            fprintf(out, "cpu: %.*s, %ld processors\n", (int)strcspn(colon + 2, "\n"), colon + 2,
                    sysconf(_SC_NPROCESSORS_ONLN));
            break;
        }
    }
    if (cpuinfo != NULL) {
        fclose(cpuinfo);
    }
}

static void write_run_info(FILE *out, const struct sw_timing_options *options, int argc,
                           char **argv)
{
    char date[64];
    time_t now = time(NULL);
    struct tm parts;
    struct utsname system;
    gmtime_r(&now, &parts);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    fprintf(out, "date: %s\ncommand:", date);
    for (int i = 0; i < argc; i++) {
        fprintf(out, " %s", argv[i]);
    }
    fprintf(out, "\nversion: %s\ncompiler: gcc %s\n", SHERWOOD_VERSION, __VERSION__);
    write_cpu(out);
    if (uname(&system) == 0) {
        fprintf(out, "kernel: %s %s %s\n", system.sysname, system.release, system.machine);
    }
    sw_timing_device_describe(options->device, out);
    fprintf(out,
            "keys: Philox4_32_10 (cuRAND), seed %" PRIu64 ", uniform over the width; key i of an "
            "insert has the value i\n"
            "timing: host clock, first submit to last completion; ceilings: CUDA events\n"
            "repetitions: %" PRIu32 " of get and ceilings, %" PRIu32
            " of insert, after one warm-up each; medians\n",
            options->seed, options->reps, options->insert_reps);
}

static void write_table_info(FILE *out, const struct sw_table *table)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    fprintf(out,
            "table of %" PRIu32 "-bit slots: %" PRIu64 " slots in buckets of %" PRIu32
            ", probe cap %" PRIu32 " buckets, stash of %" PRIu64 ", batches of up to %" PRIu32
            ", seed %" PRIx64 ", %.1f MiB reserved\n",
            info.slot_bits, info.capacity_slots, info.bucket_slots, info.max_probe,
            info.stash_slots, info.batch_ops_max, info.seed,
            (double)info.bytes_reserved / (1 << 20));
}

/* --- ceilings --------------------------------------------------------------------------------- */

static bool measure_ceiling(struct sw_timing_report *report, struct sw_timing_memory *memory,
                            enum sw_timing_ceiling which, uint32_t slot_bits, uint32_t reps)
{
    double rates[SW_TIMING_REPS_MAX];
    double bandwidths[SW_TIMING_REPS_MAX];
    uint64_t operations = 0;
    struct sw_timing_subject subject = {
        .library = "memory",
        .operation = sw_timing_ceiling_name(which),
        .slot_bits = slot_bits,
    };
    for (uint32_t number = 0; number <= reps; number++) { /* 0 warms up */
        double seconds = 0;
        uint64_t bytes = 0;
        if (!sw_timing_ceiling_run(memory, which, &seconds, &bytes, &operations)) {
            return false;
        }
        if (number > 0) {
            rates[number - 1] = (double)operations / seconds * 1e-9;
            bandwidths[number - 1] = (double)bytes / seconds * 1e-9;
            sw_timing_report_ceiling(report, &subject, number, bytes, operations, seconds);
        }
    }
    double rate = sw_timing_median(rates, reps);
    double bandwidth = sw_timing_median(bandwidths, reps);
    if (operations > 0) {
        sw_timing_report_summary(report, &subject, "gops", rate, "Gops/s");
    }
    sw_timing_report_summary(report, &subject, "bandwidth", bandwidth, "GB/s");
    fprintf(stderr, "%s over %" PRIu64 " MiB: %.1f GB/s", subject.operation, memory->bytes >> 20,
            bandwidth);
    if (operations > 0) {
        fprintf(stderr, ", %.2f G lines/s", rate);
    }
    fputc('\n', stderr);
    return true;
}

/* Over as many bytes as the table's slots will take. */
static bool measure_ceilings(const struct sw_timing_options *options,
                             struct sw_timing_report *report, uint32_t slot_bits)
{
    struct sw_timing_memory memory;
    bool done = true;
    if (!sw_timing_memory_open(&memory, (1ULL << options->capacity_log2) * (slot_bits / 8),
                               options->seed)) {
        return false;
    }
    for (int which = 0; which < SW_TIMING_CEILINGS && done; which++) {
        done = measure_ceiling(report, &memory, (enum sw_timing_ceiling)which, slot_bits,
                               options->reps);
    }
    sw_timing_memory_close(&memory);
    return done;
}

/* --- the study -------------------------------------------------------------------------------- */

static bool open_table(struct sw_timing_study *study)
{
    char reason[512];
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.slot_bits = study->slot_bits;
    config.capacity_slots = 1ULL << study->options->capacity_log2;
    config.max_load = 1.0;
    config.max_probe = study->options->max_probe;
    config.batch_ops_max = 1U << study->options->batch_log2;
    config.device = (int)study->options->device;
    int status = sw_table_create(&config, &study->table, reason, sizeof(reason));
    if (status != SW_OK) {
        fprintf(stderr, "timing: %s\n", reason);
        return false;
    }
    status = sw_queue_create(study->table, &study->queue);
    if (status != SW_OK) {
        fprintf(stderr, "timing: a queue: %s\n", sw_status_text(status));
        sw_table_destroy(study->table);
        return false;
    }
    write_table_info(study->report->run_info, study->table);
    return true;
}

/* Room for the keys of the largest F. */
static bool open_arrays(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    double largest = 0;
    for (uint32_t l = 0; l < options->loads_count; l++) {
        largest = options->loads[l] > largest ? options->loads[l] : largest;
    }
    return sw_timing_arrays_open(&study->arrays, study->slot_bits / 16,
                                 sw_timing_count(largest, 1ULL << options->capacity_log2));
}

/* One width. *is_correct becomes false if a check found anything. */
static bool measure(const struct sw_timing_options *options, struct sw_timing_report *report,
                    uint32_t slot_bits, double started, bool *is_correct)
{
    struct sw_timing_study study;
    memset(&study, 0, sizeof(study));
    study.options = options;
    study.report = report;
    study.slot_bits = slot_bits;
    study.started = started;
    study.is_correct = true;
    if (!measure_ceilings(options, report, slot_bits) || !open_table(&study)) {
        return false;
    }
    bool done = open_arrays(&study);
    if (done) {
        done = sw_timing_sweep(&study);
        sw_timing_arrays_close(&study.arrays);
    }
    sw_queue_destroy(study.queue);
    sw_table_destroy(study.table);
    *is_correct = *is_correct && study.is_correct;
    return done;
}

int main(int argc, char **argv)
{
    struct sw_timing_options options;
    struct sw_timing_report report;
    double started = sw_timing_clock();
    bool is_correct = true;
    bool done = true;
    enum sw_timing_parsed parsed = sw_timing_options_parse(&options, argc, argv);
    if (parsed != SW_TIMING_RUN) {
        return parsed == SW_TIMING_HELP ? 0 : 2;
    }
    if (!sw_timing_device_choose(options.device) ||
        !sw_timing_report_open(&report, options.output)) {
        return 1;
    }
    write_run_info(report.run_info, &options, argc, argv);
    for (uint32_t w = 0; w < options.slot_bits_count && done; w++) {
        done = measure(&options, &report, options.slot_bits[w], started, &is_correct);
    }
    fprintf(report.run_info, "end: %s after %.1f s; %s\n", done ? "complete" : "broken off",
            sw_timing_clock() - started,
            is_correct ? "no key lost, no value wrong" : "KEYS LOST OR VALUES WRONG: see raw.csv");
    done = sw_timing_report_close(&report) && done;
    if (!is_correct) {
        fprintf(stderr, "timing: a check failed: keys lost or values wrong, see raw.csv\n");
    }
    fprintf(stderr, "%s %s\n", done ? "written to" : "broken off; what there is lies in",
            options.output);
    return done && is_correct ? 0 : 1;
}
