/* SPDX-License-Identifier: MIT
 *
 * growth.c - a table's cache of another size on CUDA: it grows before half of it is held, and
 * nobody leaves; RESIZE gives it any size, and every key is held, was evicted or was turned away;
 * a scan across changes misses nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/mix.h"
#include "tests/gpu/cache/trial.h"

struct growth {
    struct trial_faults faults;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct random random;
    uint32_t n; /* operations of a batch */
    uint64_t *keys, *scores, *scores_out, *found;
    uint8_t *values, *previous;
    uint64_t offered, evicted, turned_away;
    bool custom;
};

static void *io(struct growth *growth, size_t bytes)
{
    void *memory = sw_io_alloc(growth->table, bytes);
    if (memory == NULL) {
        trial_fault(&growth->faults, "no I/O memory");
        abort();
    }
    return memory;
}

static uint64_t score_of(uint64_t key)
{
    return sw_mix_64(key, 5) % 1000000;
}

static void make(struct growth *growth, uint64_t first)
{
    for (uint32_t i = 0; i < growth->n; i++) {
        growth->keys[i] = first + i;
        growth->scores[i] = score_of(first + i);
        trial_value(growth->values + (size_t)i * growth->info.value_bytes, growth->info.value_bytes,
                    first + i, 1);
    }
}

static void insert(struct growth *growth)
{
    make(growth, growth->offered);
    struct sw_batch batch = {.op = SW_SET,
                             .count = growth->n,
                             .keys = growth->keys,
                             .values = growth->values,
                             .scores = growth->custom ? growth->scores : NULL};
    trial_expect(&growth->faults, sw_batch_run(growth->queue, &batch), "insert");
    growth->offered += growth->n;
    growth->evicted += batch.counters.evicted;
    growth->turned_away += batch.counters.not_admitted;
}

static uint64_t count_held(struct growth *growth)
{
    uint64_t held = 0;
    for (uint64_t first = 0; first < growth->offered; first += growth->n) {
        make(growth, first);
        struct sw_batch batch = {.op = SW_PEEK,
                                 .count = growth->n,
                                 .keys = growth->keys,
                                 .previous = growth->previous,
                                 .found = growth->found,
                                 .scores_out = growth->scores_out};
        trial_expect(&growth->faults, sw_batch_run(growth->queue, &batch), "peek");
        for (uint32_t i = 0; i < growth->n; i++) {
            size_t at = (size_t)i * growth->info.value_bytes;
            if ((growth->found[i / 64] >> (i % 64) & 1) == 0) {
                continue;
            }
            held++;
            if (memcmp(growth->previous + at, growth->values + at, growth->info.value_bytes) != 0 ||
                (growth->custom && growth->scores_out[i] != growth->scores[i])) {
                trial_fault(&growth->faults, "key %llu has another value or score",
                            (unsigned long long)(first + i));
            }
        }
    }
    return held;
}

static void resize(struct growth *growth, uint64_t capacity)
{
    struct sw_batch batch = {.kind = SW_BATCH_RESIZE, .capacity = capacity};
    trial_expect(&growth->faults, sw_batch_run(growth->queue, &batch), "resize");
    growth->evicted += batch.counters.evicted;
    sw_table_info(growth->table, &growth->info);
    if (batch.capacity < capacity || batch.capacity >= capacity + 256 ||
        growth->info.capacity_slots != batch.capacity) {
        trial_fault(&growth->faults, "%llu slots, not %llu", (unsigned long long)batch.capacity,
                    (unsigned long long)capacity);
    }
}

/* Nothing is lost or there twice. */
static void audit(struct growth *growth)
{
    char violation[256] = "";
    struct sw_table_stats stats;
    uint64_t held = count_held(growth);
    if (sw_table_check(growth->table, violation, sizeof(violation)) != SW_OK) {
        trial_fault(&growth->faults, "%s", violation);
    }
    sw_table_stats(growth->table, &stats);
    if (held + growth->evicted + growth->turned_away != growth->offered || stats.occupied != held) {
        trial_fault(&growth->faults,
                    "of %llu keys %llu are held (%llu said), %llu left, %llu not in",
                    (unsigned long long)growth->offered, (unsigned long long)held,
                    (unsigned long long)stats.occupied, (unsigned long long)growth->evicted,
                    (unsigned long long)growth->turned_away);
    }
}

static void grow(struct growth *growth, uint64_t most)
{
    struct sw_table_stats stats;
    while (growth->offered + growth->n <= most / 2) {
        insert(growth);
        sw_table_info(growth->table, &growth->info);
        if (growth->offered > growth->info.capacity_slots / 2) {
            trial_fault(&growth->faults, "%llu keys in %llu slots",
                        (unsigned long long)growth->offered,
                        (unsigned long long)growth->info.capacity_slots);
        }
    }
    sw_table_stats(growth->table, &stats);
    if (growth->evicted != 0 || stats.grown == 0) {
        trial_fault(&growth->faults, "%llu left, grown %llu times",
                    (unsigned long long)growth->evicted, (unsigned long long)stats.grown);
    }
    audit(growth);
}

static void scan_across(struct growth *growth, uint64_t most)
{
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = growth->n,
                            .scan_keys = growth->keys,
                            .scan_values = growth->values};
    uint64_t evicted = growth->evicted, calls = 0, seen_count = 0;
    uint8_t *seen = calloc(growth->offered, 1);
    do {
        trial_expect(&growth->faults, sw_batch_run(growth->queue, &scan), "scan");
        for (uint32_t i = 0; i < scan.scan_count; i++) {
            seen_count += !seen[growth->keys[i]];
            seen[growth->keys[i]] = 1;
        }
        if (calls++ % 4 == 1 && calls < 20) { /* of sizes at which nobody leaves */
            resize(growth, most - random_below(&growth->random, most / 8));
        }
    } while (scan.cursor != 0);
    if (growth->evicted == evicted && seen_count != growth->offered - growth->evicted) {
        trial_fault(&growth->faults, "a scan met %llu keys", (unsigned long long)seen_count);
    }
    free(seen);
}

static void run(struct growth *growth, uint64_t most)
{
    uint32_t bytes = growth->info.value_bytes;
    growth->keys = io(growth, growth->n * sizeof(uint64_t));
    growth->scores = io(growth, growth->n * sizeof(uint64_t));
    growth->scores_out = io(growth, growth->n * sizeof(uint64_t));
    growth->found = io(growth, (growth->n / 64 + 1) * sizeof(uint64_t));
    growth->values = io(growth, (size_t)growth->n * bytes);
    growth->previous = io(growth, (size_t)growth->n * bytes);
    grow(growth, most);
    scan_across(growth, most);
    for (int i = 0; i < 8; i++) {
        resize(growth, 1 + random_below(&growth->random, most / 2));
        insert(growth);
        if (i % 4 == 3) {
            audit(growth);
        }
    }
    sw_io_free(growth->table, growth->keys, growth->n * sizeof(uint64_t));
    sw_io_free(growth->table, growth->scores, growth->n * sizeof(uint64_t));
    sw_io_free(growth->table, growth->scores_out, growth->n * sizeof(uint64_t));
    sw_io_free(growth->table, growth->found, (growth->n / 64 + 1) * sizeof(uint64_t));
    sw_io_free(growth->table, growth->values, (size_t)growth->n * bytes);
    sw_io_free(growth->table, growth->previous, (size_t)growth->n * bytes);
}

uint64_t case_growth(const struct trial_setting *setting, const struct sw_table_config *config)
{
    struct growth growth = {.faults = {"growth", 0}, .n = 512};
    struct sw_table_config table = *config;
    char reason[256] = "";
    uint64_t most = 4096ULL * setting->scale;
    table.capacity_slots = 256;
    table.max_capacity_slots = most;
    table.batch_ops_max = growth.n;
    growth.custom = config->cache_policy == SW_CACHE_CUSTOM;
    growth.random.state = setting->seed;
    if (sw_table_create(&table, &growth.table, reason, sizeof(reason)) != SW_OK) {
        trial_fault(&growth.faults, "%s", reason);
        return 1;
    }
    trial_expect(&growth.faults, sw_queue_create(growth.table, &growth.queue), "queue");
    sw_table_info(growth.table, &growth.info);
    run(&growth, most);
    sw_queue_destroy(growth.queue);
    sw_table_destroy(growth.table);
    return growth.faults.count;
}
