/* SPDX-License-Identifier: MIT
 *
 * cache_scores_evict.c - where everything is that was offered to a full cache: held, evicted or
 * turned away, once, with its own value and score.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/mix.h"
#include "tests/support/cache_scores.h"

enum place { NOT_OFFERED, HELD, EVICTED, TURNED_AWAY };

struct evict {
    const struct cache_scores_trial *trial;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    uint32_t n; /* operations of a batch */
    uint8_t *keys, *values, *left_keys, *left_values;
    uint64_t *scores, *left_scores, *not_admitted;
    void *memory;
    size_t memory_bytes;
    uint8_t *places; /* [key_count] enum place */
    char *fault;
    size_t fault_size;
    bool failed;
};

static void note_fault(struct evict *evict, const char *what, uint64_t key)
{
    if (!evict->failed) {
        snprintf(evict->fault, evict->fault_size, "key %llu: %s", (unsigned long long)key, what);
    }
    evict->failed = true;
}

static void *cut(struct evict *evict, size_t bytes)
{
    uint8_t *at = (uint8_t *)evict->memory + evict->memory_bytes;
    evict->memory_bytes += (bytes + 63) / 64 * 64;
    return evict->memory == NULL ? NULL : at;
}

static void cut_all(struct evict *evict)
{
    size_t n = evict->n;
    evict->memory_bytes = 0;
    evict->keys = cut(evict, n * evict->info.key_bytes);
    evict->values = cut(evict, n * evict->info.value_bytes);
    evict->left_keys = cut(evict, n * evict->info.key_bytes);
    evict->left_values = cut(evict, n * evict->info.value_bytes);
    evict->scores = cut(evict, n * sizeof(uint64_t));
    evict->left_scores = cut(evict, n * sizeof(uint64_t));
    evict->not_admitted = cut(evict, (n + 63) / 64 * sizeof(uint64_t));
}

/* A key has one score and one value. */
static uint64_t score_of(const struct evict *evict, uint64_t key)
{
    return sw_mix_64(key, evict->trial->seed) % 100000;
}

static uint32_t word_of(uint64_t key)
{
    return (uint32_t)sw_mix_64(key, 7);
}

static uint64_t key_at(const struct evict *evict, const uint8_t *keys, uint32_t i)
{
    uint64_t key = 0;
    memcpy(&key, keys + (size_t)i * evict->info.key_bytes, evict->info.key_bytes);
    return key;
}

/* One key, said to be somewhere, with its value and score. */
static void note_entry(struct evict *evict, uint64_t key, const uint8_t *value, uint64_t score,
                       enum place place)
{
    bool whole = true;
    if (key >= evict->trial->key_count) {
        note_fault(evict, "nobody offered it", key);
        return;
    }
    for (uint32_t at = 0; value != NULL && at < evict->info.value_bytes; at += 4) {
        uint32_t word;
        memcpy(&word, value + at, sizeof(word));
        whole = whole && word == word_of(key);
    }
    if (!whole || score != score_of(evict, key)) {
        note_fault(evict, "another value or score than it had", key);
    }
    if (evict->places[key] != NOT_OFFERED) {
        note_fault(evict, "is in two places", key);
    }
    evict->places[key] = (uint8_t)place;
}

/* Offers the keys [first, first + n). */
static void offer(struct evict *evict, uint64_t first, struct cache_scores_seen *seen)
{
    struct sw_batch batch = {
        .op = SW_SET,
        .count = evict->n,
        .keys = evict->keys,
        .values = evict->values,
        .scores = evict->scores,
        .not_admitted = evict->not_admitted,
        .leftover_keys = evict->left_keys,
        .leftover_values = evict->left_values,
        .leftover_scores = evict->left_scores,
    };
    for (uint32_t i = 0; i < evict->n; i++) {
        uint64_t key = first + i;
        memcpy(evict->keys + (size_t)i * evict->info.key_bytes, &key, evict->info.key_bytes);
        evict->scores[i] = score_of(evict, key);
        for (uint32_t at = 0; at < evict->info.value_bytes; at += 4) {
            uint32_t word = word_of(key);
            memcpy(evict->values + (size_t)i * evict->info.value_bytes + at, &word, sizeof(word));
        }
    }
    if (sw_batch_run(evict->queue, &batch) != SW_OK) {
        note_fault(evict, "sw_batch_run", first);
        return;
    }
    if (batch.counters.evicted != batch.leftover_count) {
        note_fault(evict, "the number of listed entries differs from the number of evicted ones",
                   first);
    }
    for (uint32_t i = 0; i < batch.leftover_count; i++) {
        note_entry(evict, key_at(evict, evict->left_keys, i),
                   evict->left_values + (size_t)i * evict->info.value_bytes, evict->left_scores[i],
                   EVICTED);
    }
    for (uint32_t i = 0; i < evict->n; i++) {
        if (evict->not_admitted[i / 64] >> (i % 64) & 1) {
            note_entry(evict, first + i, NULL, score_of(evict, first + i), TURNED_AWAY);
        }
    }
    seen->evicted += batch.counters.evicted;
    seen->not_admitted += batch.counters.not_admitted;
}

static void list_held(struct evict *evict)
{
    struct sw_batch scan = {
        .kind = SW_BATCH_SCAN,
        .count = evict->n,
        .scan.keys = evict->left_keys,
        .scan.values = evict->left_values,
        .scan.scores = evict->left_scores,
    };
    do {
        if (sw_batch_run(evict->queue, &scan) != SW_OK) {
            note_fault(evict, "scan", 0);
            return;
        }
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            note_entry(evict, key_at(evict, evict->left_keys, i),
                       evict->left_values + (size_t)i * evict->info.value_bytes,
                       evict->left_scores[i], HELD);
        }
    } while (scan.scan.cursor != 0);
}

int cache_scores_evict(const struct cache_scores_trial *trial, struct cache_scores_seen *seen,
                       char *fault, size_t fault_size)
{
    struct evict evict = {.trial = trial, .n = trial->ops_max, .fault = fault};
    evict.fault_size = fault_size;
    memset(seen, 0, sizeof(*seen));
    if (sw_table_create(&trial->config, &evict.table, fault, fault_size) != SW_OK) {
        return 1;
    }
    sw_table_info(evict.table, &evict.info);
    cut_all(&evict);
    evict.memory = sw_io_alloc(evict.table, evict.memory_bytes);
    evict.places = calloc(trial->key_count, 1);
    if (evict.memory == NULL || sw_queue_create(evict.table, &evict.queue) != SW_OK) {
        abort();
    }
    cut_all(&evict);
    for (uint64_t first = 0; first + evict.n <= trial->key_count && !evict.failed;
         first += evict.n) {
        offer(&evict, first, seen);
    }
    list_held(&evict);
    for (uint64_t key = 0; key < trial->key_count / evict.n * evict.n; key++) {
        if (evict.places[key] == NOT_OFFERED) {
            note_fault(&evict, "is nowhere", key);
        }
    }
    bool failed = evict.failed;
    sw_io_free(evict.table, evict.memory, evict.memory_bytes);
    sw_queue_destroy(evict.queue);
    sw_table_destroy(evict.table);
    free(evict.places);
    return failed;
}
