/* SPDX-License-Identifier: MIT
 *
 * bench_hot_gpu.c - the time of a write batch with a tenth, half or all operations on one key,
 * beside a batch of distinct keys: engines robin_hood and cuckoo, with and without answers.
 *
 *   bench_hot_gpu [--slots N] [--batch N] [--cpu]
 *
 * CSV on stdout: study,library,operation,slot_bits,F,batch,metric,value,unit. An operation is its
 * name, "_answers" if `previous` and `found` are wanted, and the share of the batch on the key.
 * `time` is the median of RUNS batches one after the other, from submit to the poll that finds each
 * done; `ratio` divides it by the time of a batch of distinct stored keys.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/table.h"
#include "tests/gpu/failure.h"
#include "tests/support/io_memory.h"
#include "tests/support/random.h"

#define RUNS 5
#define LOAD 0.4

static const struct {
    const char *name;
    enum sw_op op;
    bool is_mixed; /* of SET, SUM, INCREMENT and DELETE */
    bool is_large; /* operands are any, so that INCREMENT overflows for some values */
} operations[] = {
    {"set", SW_SET, false, false},
    {"update", SW_SET_PRESENT, false, false},
    {"sum", SW_SUM, false, false},
    {"increment", SW_INCREMENT, false, false},
    {"increment_any", SW_INCREMENT, false, true},
    {"mixed", SW_SET, true, false},
};
static const double shares[] = {0, 0.1, 0.5, 1}; /* of the operations, on one key */

struct bench {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    uint32_t slot_bits;
    const char *library;
    uint64_t entries;
    uint32_t count;
    struct random random;
    void *keys;
    void *values;
    uint8_t *ops;
    void *previous;
    uint64_t *found;
};

static int report_failure(const char *what, int status)
{
    fprintf(stderr, "bench_hot_gpu: %s: %s\n", what, sw_status_text(status));
    return status;
}

static void set_word(const struct bench *bench, void *array, uint32_t i, uint64_t word)
{
    if (bench->slot_bits == 64) {
        ((uint32_t *)array)[i] = (uint32_t)word;
    } else {
        ((uint64_t *)array)[i] = word;
    }
}

static uint64_t key_of(uint64_t number)
{
    return number * 0x9e3779b97f4a7c15ULL;
}

/* Entries 0, 1, 2, .. */
static int fill_table(struct bench *bench)
{
    for (uint64_t first = 0; first < bench->entries; first += bench->count) {
        for (uint32_t i = 0; i < bench->count; i++) {
            set_word(bench, bench->keys, i, key_of(first + i));
            set_word(bench, bench->values, i, i);
        }
        struct sw_batch batch = {
            .op = SW_SET, .count = bench->count, .keys = bench->keys, .values = bench->values};
        int status = sw_batch_run(bench->queue, &batch);
        if (status != SW_OK) {
            return report_failure("filling the table", status);
        }
    }
    return SW_OK;
}

static void draw_batch(struct bench *bench, size_t operation, double share)
{
    static const uint8_t mix[] = {SW_SET, SW_SUM, SW_INCREMENT, SW_DELETE};
    const uint64_t start = random_below(&bench->random, bench->entries);
    for (uint32_t i = 0; i < bench->count; i++) {
        const bool is_hot = (double)random_below(&bench->random, 1000000) < 1e6 * share;
        const uint64_t value = operations[operation].is_large ? random_next(&bench->random)
                                                              : random_below(&bench->random, 100);
        set_word(bench, bench->keys, i, key_of(is_hot ? start : (start + i) % bench->entries));
        set_word(bench, bench->values, i, value);
        bench->ops[i] = mix[random_below(&bench->random, sizeof(mix))];
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time of a batch; 0 if one failed. */
static double measure(struct bench *bench, size_t operation, double share, bool answers)
{
    double times[RUNS];
    for (int r = 0; r < RUNS; r++) {
        draw_batch(bench, operation, share);
        struct sw_batch batch = {.op = operations[operation].op,
                                 .ops = operations[operation].is_mixed ? bench->ops : NULL,
                                 .count = bench->count,
                                 .keys = bench->keys,
                                 .values = bench->values,
                                 .previous = answers ? bench->previous : NULL,
                                 .found = answers ? bench->found : NULL};
        double begin = seconds_now();
        int status = sw_batch_run(bench->queue, &batch);
        times[r] = seconds_now() - begin;
        if (status != SW_OK) {
            report_failure(operations[operation].name, status);
            return 0;
        }
    }
    qsort(times, RUNS, sizeof(times[0]), by_value);
    return times[RUNS / 2];
}

static bool measure_all(struct bench *bench)
{
    for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++) {
        for (int answers = 0; answers < 2; answers++) {
            double distinct = 0;
            for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
                double time = measure(bench, o, shares[s], answers != 0);
                char line[120];
                distinct = s == 0 ? time : distinct;
                snprintf(line, sizeof(line), "hot,%s,%s%s_%g,%u,%g,%u", bench->library,
                         operations[o].name, answers ? "_answers" : "", shares[s],
                         (unsigned)bench->slot_bits, LOAD, (unsigned)bench->count);
                printf("%s,time,%.4g,us\n%s,ratio,%.3g,\n", line, time * 1e6, line,
                       time / distinct);
                fflush(stdout);
                if (time <= 0) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void allocate_arrays(struct bench *bench)
{
    bench->io.table = bench->table;
    bench->keys = io_array(&bench->io, bench->count * 8UL);
    bench->values = io_array(&bench->io, bench->count * 8UL);
    bench->ops = io_array(&bench->io, bench->count);
    bench->previous = io_array(&bench->io, bench->count * 8UL);
    bench->found = io_array(&bench->io, bench->count / 8UL + 8);
}

static void close_bench(struct bench *bench)
{
    io_free(&bench->io);
    sw_queue_destroy(bench->queue);
    sw_table_destroy(bench->table);
}

static bool run_config(const struct sw_table_config *config)
{
    char reason[256] = "";
    struct bench bench = {.slot_bits = config->slot_bits,
                          .library = config->engine == SW_ENGINE_CUCKOO ? "sherwood-cuckoo"
                                                                        : "sherwood-robin_hood",
                          .count = config->batch_ops_max,
                          .random = {1}};
    int status = sw_table_create(config, &bench.table, reason, sizeof(reason));
    if (status != SW_OK) {
        fprintf(stderr, "bench_hot_gpu: %s\n", reason);
        return false;
    }
    bench.entries = (uint64_t)(LOAD * (double)config->capacity_slots) / bench.count * bench.count;
    status = sw_queue_create(bench.table, &bench.queue);
    allocate_arrays(&bench);
    bool measured =
        status == SW_OK && bench.entries > 0 && fill_table(&bench) == SW_OK && measure_all(&bench);
    close_bench(&bench);
    return measured;
}

int main(int argc, char **argv)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.capacity_slots = 1U << 24;
    config.batch_ops_max = 1U << 20;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cpu") == 0) {
            config.backend = SW_BACKEND_CPU;
        } else if (strcmp(argv[i], "--slots") == 0 && i + 1 < argc) {
            config.capacity_slots = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--batch") == 0 && i + 1 < argc) {
            config.batch_ops_max = (uint32_t)strtoul(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: bench_hot_gpu [--slots N] [--batch N] [--cpu]\n");
            return 2;
        }
    }
    printf("study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    for (int cuckoo = 0; cuckoo < 2; cuckoo++) {
        for (config.slot_bits = 64; config.slot_bits <= 128; config.slot_bits += 64) {
            config.engine = cuckoo != 0 ? SW_ENGINE_CUCKOO : SW_ENGINE_ROBIN_HOOD;
            config.hash_functions = cuckoo != 0 ? 3 : 0;
            config.max_load = 0.85;
            if (!run_config(&config)) {
                return 1;
            }
        }
    }
    return 0;
}
