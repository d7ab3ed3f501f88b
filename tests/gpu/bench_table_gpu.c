/* SPDX-License-Identifier: MIT
 *
 * bench_table_gpu.c - quick rates of the table: batches from pinned memory, many in flight.
 *
 *   bench_table_gpu [--slots N] [--cpu]
 *
 * CSV on stdout: study,library,operation,slot_bits,F,batch,metric,value,unit. Rates are keys
 * over wall-clock time of at least RUN_S seconds; latency is one 256-key GET from submit to the
 * poll that finds it done, the median of LATENCY_RUNS.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/table.h"

#define RUN_S 0.5
#define QUEUES 4 /* each with DEPTH batches in flight */
#define DEPTH 2
#define IN_FLIGHT (QUEUES * DEPTH)
#define BATCH_MAX (1U << 20)
#define LATENCY_KEYS 256
#define LATENCY_RUNS 2001

struct flight {
    struct sw_batch batch;
    void *keys;
    void *values;
    void *previous;
    uint64_t *found;
    bool running;
};

struct bench {
    struct sw_table *table;
    struct sw_queue *queues[QUEUES];
    struct flight flights[IN_FLIGHT]; /* flight f on queue f % QUEUES */
    uint32_t slot_bits;
    const char *library;
    double load;
    uint64_t entries;
    uint64_t random;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail(const char *what, int status)
{
    fprintf(stderr, "bench_table_gpu: %s: %s\n", what, sw_status_text(status));
    return status;
}

static void report(const struct bench *bench, const char *operation, uint32_t batch,
                   const char *metric, double value, const char *unit)
{
    printf("table,%s,%s,%u,%.2f,%u,%s,%.6g,%s\n", bench->library, operation,
           (unsigned)bench->slot_bits, bench->load, (unsigned)batch, metric, value, unit);
    fflush(stdout);
}

/* splitmix64 (Sebastiano Vigna, public domain) */
static uint64_t next_random(struct bench *bench)
{
    uint64_t z = bench->random += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static void set_key(const struct bench *bench, struct flight *flight, uint32_t i, uint64_t number)
{
    if (bench->slot_bits == 64) {
        ((uint32_t *)flight->keys)[i] = (uint32_t)number * 0x9e3779b1U;
        ((uint32_t *)flight->values)[i] = (uint32_t)number;
    } else {
        ((uint64_t *)flight->keys)[i] = number * 0x9e3779b97f4a7c15ULL;
        ((uint64_t *)flight->values)[i] = number;
    }
}

static void prepare(const struct flight *flight, struct sw_batch *batch, enum sw_op op,
                    uint32_t count)
{
    memset(batch, 0, sizeof(*batch));
    batch->op = op;
    batch->count = count;
    batch->keys = flight->keys;
    batch->values = op == SW_GET ? NULL : flight->values;
    batch->previous = op == SW_GET ? flight->previous : NULL;
    batch->found = op == SW_GET ? flight->found : NULL;
}

static int open_bench(struct bench *bench, const struct sw_table_config *config)
{
    char reason[256];
    struct sw_table_info info;
    int status = sw_table_create(config, &bench->table, reason, sizeof(reason));
    if (status != SW_OK) {
        fprintf(stderr, "bench_table_gpu: %s\n", reason);
        return status;
    }
    sw_table_info(bench->table, &info);
    bench->library = info.backend == SW_BACKEND_CUDA ? "sherwood-cuda" : "sherwood-cpu";
    fprintf(stderr, "%s, %s: %llu slots of %u bits\n", bench->library, info.backend_reason,
            (unsigned long long)info.capacity_slots, (unsigned)info.slot_bits);
    for (int q = 0; q < QUEUES && status == SW_OK; q++) {
        status = sw_queue_create(bench->table, &bench->queues[q]);
    }
    for (int f = 0; f < IN_FLIGHT; f++) {
        struct flight *flight = &bench->flights[f];
        flight->keys = sw_io_alloc(bench->table, BATCH_MAX * 8UL);
        flight->values = sw_io_alloc(bench->table, BATCH_MAX * 8UL);
        flight->previous = sw_io_alloc(bench->table, BATCH_MAX * 8UL);
        flight->found = sw_io_alloc(bench->table, BATCH_MAX / 8);
        if (flight->keys == NULL || flight->values == NULL || flight->previous == NULL ||
            flight->found == NULL) {
            status = SW_E_NOMEM;
        }
    }
    return status == SW_OK ? SW_OK : fail("queues and I/O memory", status);
}

static void close_bench(struct bench *bench)
{
    for (int f = 0; f < IN_FLIGHT; f++) {
        struct flight *flight = &bench->flights[f];
        sw_io_free(bench->table, flight->keys, BATCH_MAX * 8UL);
        sw_io_free(bench->table, flight->values, BATCH_MAX * 8UL);
        sw_io_free(bench->table, flight->previous, BATCH_MAX * 8UL);
        sw_io_free(bench->table, flight->found, BATCH_MAX / 8);
    }
    for (int q = 0; q < QUEUES; q++) {
        sw_queue_destroy(bench->queues[q]);
    }
    sw_table_destroy(bench->table);
}

/* Fills the table to its load with entries 0, 1, 2, .. */
static int fill(struct bench *bench)
{
    struct flight *flight = &bench->flights[0];
    for (uint64_t first = 0; first < bench->entries;) {
        uint64_t rest = bench->entries - first;
        uint32_t count = rest < BATCH_MAX ? (uint32_t)rest : BATCH_MAX;
        for (uint32_t i = 0; i < count; i++) {
            set_key(bench, flight, i, first + i);
        }
        prepare(flight, &flight->batch, SW_SET, count);
        int status = sw_batch_run(bench->queues[0], &flight->batch);
        if (status != SW_OK) {
            return fail("filling the table", status);
        }
        first += count;
    }
    return SW_OK;
}

static int land(struct bench *bench, int f, enum sw_op op)
{
    struct flight *flight = &bench->flights[f];
    int status = SW_OK;
    if (flight->running) {
        do {
            status = sw_batch_poll(bench->queues[f % QUEUES], &flight->batch);
        } while (status == SW_PENDING);
        flight->running = false;
    }
    const struct sw_op_counters *gets = &flight->batch.counters.by_class[SW_CLASS_GET];
    if (status == SW_OK && op == SW_GET && gets->hits != gets->operations) {
        fprintf(stderr, "bench_table_gpu: a stored key was not found\n");
        return SW_E_DEVICE;
    }
    return status == SW_OK ? SW_OK : fail("a batch", status);
}

/* Random stored keys, all batches in flight at once; the same keys again and again. */
static int rate(struct bench *bench, enum sw_op op, uint32_t count)
{
    uint64_t operations = 0;
    int status = SW_OK;
    for (int f = 0; f < IN_FLIGHT; f++) {
        for (uint32_t i = 0; i < count; i++) {
            set_key(bench, &bench->flights[f], i, next_random(bench) % bench->entries);
        }
    }
    double start = seconds();
    for (int turn = 0; status == SW_OK && (turn < 3 || seconds() - start < RUN_S); turn++) {
        for (int f = 0; f < IN_FLIGHT && status == SW_OK; f++) {
            struct flight *flight = &bench->flights[f];
            status = land(bench, f, turn > 0 ? op : SW_SET);
            if (status == SW_OK) {
                prepare(flight, &flight->batch, op, count);
                status = sw_batch_submit(bench->queues[f % QUEUES], &flight->batch);
                flight->running = status == SW_OK;
                operations += count;
            }
        }
    }
    for (int f = 0; f < IN_FLIGHT && status == SW_OK; f++) {
        status = land(bench, f, op);
    }
    double elapsed = seconds() - start;
    if (status == SW_OK) {
        report(bench, op == SW_GET ? "get" : "set", count, "rate",
               (double)operations / elapsed / 1e6, "Mops/s");
    }
    return status;
}

/* Inserts absent keys into the half-empty table, then deletes them again: one batch at a time. */
static int insert_delete(struct bench *bench, uint32_t count)
{
    struct flight *flight = &bench->flights[0];
    double spent[2] = {0, 0};
    for (int turn = 0; turn < 8; turn++) {
        for (uint32_t i = 0; i < count; i++) {
            set_key(bench, flight, i, bench->entries + (uint64_t)turn * count + i);
        }
        for (int d = 0; d < 2; d++) {
            double start = seconds();
            prepare(flight, &flight->batch, d == 0 ? SW_SET : SW_DELETE, count);
            int status = sw_batch_run(bench->queues[0], &flight->batch);
            if (status != SW_OK) {
                return fail(d == 0 ? "inserting" : "deleting", status);
            }
            spent[d] += seconds() - start;
        }
    }
    report(bench, "insert", count, "rate", 8.0 * count / spent[0] / 1e6, "Mops/s");
    report(bench, "delete", count, "rate", 8.0 * count / spent[1] / 1e6, "Mops/s");
    return SW_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int latency(struct bench *bench, enum sw_op op)
{
    static double spent[LATENCY_RUNS];
    struct flight *flight = &bench->flights[0];
    for (int run = 0; run < LATENCY_RUNS; run++) {
        for (uint32_t i = 0; i < LATENCY_KEYS; i++) {
            set_key(bench, flight, i, next_random(bench) % bench->entries);
        }
        prepare(flight, &flight->batch, op, LATENCY_KEYS);
        double start = seconds();
        int status = sw_batch_run(bench->queues[0], &flight->batch);
        spent[run] = (seconds() - start) * 1e6;
        if (status != SW_OK) {
            return fail("latency", status);
        }
    }
    qsort(spent, LATENCY_RUNS, sizeof(spent[0]), by_value);
    const char *name = op == SW_GET ? "get" : "set";
    report(bench, name, LATENCY_KEYS, "latency_p50", spent[LATENCY_RUNS / 2], "us");
    report(bench, name, LATENCY_KEYS, "latency_p99", spent[LATENCY_RUNS * 99 / 100], "us");
    return SW_OK;
}

static int run(struct bench *bench, const struct sw_table_config *config, double load)
{
    struct sw_table_info info;
    int status = open_bench(bench, config);
    if (status == SW_OK) {
        sw_table_info(bench->table, &info);
        bench->slot_bits = info.slot_bits;
        bench->load = load;
        bench->entries = (uint64_t)((double)info.capacity_slots * load);
        bench->random = 1;
        status = fill(bench);
    }
    static const uint32_t counts[] = {1U << 16, BATCH_MAX};
    for (size_t i = 0; i < 2 && status == SW_OK; i++) {
        status = rate(bench, SW_GET, counts[i]);
        status = status == SW_OK ? rate(bench, SW_SET, counts[i]) : status;
        status = status == SW_OK ? insert_delete(bench, counts[i]) : status;
    }
    status = status == SW_OK ? latency(bench, SW_GET) : status;
    status = status == SW_OK ? latency(bench, SW_SET) : status;
    if (bench->table != NULL) {
        close_bench(bench);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct sw_table_config config;
    uint64_t slots = 1ULL << 27;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cpu") == 0) {
            config.backend = SW_BACKEND_CPU;
        } else if (strcmp(argv[i], "--slots") == 0 && i + 1 < argc) {
            slots = strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: %s [--slots N] [--cpu]\n", argv[0]);
            return 2;
        }
    }
    printf("study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    static const double loads[] = {0.5, 0.85};
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        for (size_t l = 0; l < 2; l++) {
            struct bench bench;
            memset(&bench, 0, sizeof(bench));
            config.slot_bits = slot_bits;
            config.capacity_slots = slots;
            config.batch_ops_max = BATCH_MAX;
            config.max_load = 0.95; /* room for the keys that insert_delete adds */
            config.seed = 1;
            if (run(&bench, &config, loads[l]) != SW_OK) {
                return 1;
            }
        }
    }
    return 0;
}
