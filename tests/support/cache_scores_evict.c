/* SPDX-License-Identifier: MIT
 *
 * cache_scores_evict.c - where everything is that was offered to a full cache: held, evicted or
 * turned away, once, with its own value and score.
 */
#include <stdlib.h>

#include "table/mix.h"
#include "tests/support/cache_scores_run.h"

enum place { NOT_OFFERED, HELD, EVICTED, TURNED_AWAY };

static void note_fault(struct cache_scores *run, const char *what, uint64_t key)
{
    cache_scores_fail(run, "key %llu: %s", (unsigned long long)key, what);
}

/* A key has one score and one value. */
static uint64_t score_of(const struct cache_scores *run, uint64_t key)
{
    return sw_mix_64(key, run->trial->seed) % 100000;
}

static uint32_t word_of(uint64_t key)
{
    return (uint32_t)sw_mix_64(key, 7);
}

/* One key, said to be somewhere, with its value and score. */
static void note_entry(struct cache_scores *run, uint64_t key, const uint8_t *value, uint64_t score,
                       enum place place)
{
    bool whole = true;
    if (key >= run->trial->key_count) {
        note_fault(run, "nobody offered it", key);
        return;
    }
    for (uint32_t at = 0; value != NULL && at < run->info.value_bytes; at += 4) {
        uint32_t word;
        memcpy(&word, value + at, sizeof(word));
        whole = whole && word == word_of(key);
    }
    if (!whole || score != score_of(run, key)) {
        note_fault(run, "another value or score than it had", key);
    }
    if (run->places[key] != NOT_OFFERED) {
        note_fault(run, "is in two places", key);
    }
    run->places[key] = (uint8_t)place;
}

/* Offers the keys [first, first + n). */
static void offer(struct cache_scores *run, uint64_t first)
{
    struct sw_batch batch = {
        .op = SW_SET,
        .count = run->trial->ops_max,
        .keys = run->keys,
        .values = run->values,
        .scores = run->scores,
        .not_admitted = run->not_admitted,
        .leftover_keys = run->left_keys,
        .leftover_values = run->left_values,
        .leftover_scores = run->left_scores,
    };
    for (uint32_t i = 0; i < run->trial->ops_max; i++) {
        uint64_t key = first + i;
        memcpy(run->keys + (size_t)i * run->info.key_bytes, &key, run->info.key_bytes);
        run->scores[i] = score_of(run, key);
        for (uint32_t at = 0; at < run->info.value_bytes; at += 4) {
            uint32_t word = word_of(key);
            memcpy(run->values + (size_t)i * run->info.value_bytes + at, &word, sizeof(word));
        }
    }
    if (sw_batch_run(run->queue, &batch) != SW_OK) {
        note_fault(run, "sw_batch_run", first);
        return;
    }
    if (batch.counters.evicted != batch.leftover_count) {
        note_fault(run, "the number of listed entries differs from the number of evicted ones",
                   first);
    }
    for (uint32_t i = 0; i < batch.leftover_count; i++) {
        note_entry(run, cache_scores_key(run, run->left_keys, i),
                   run->left_values + (size_t)i * run->info.value_bytes, run->left_scores[i],
                   EVICTED);
    }
    for (uint32_t i = 0; i < run->trial->ops_max; i++) {
        if (run->not_admitted[i / 64] >> (i % 64) & 1) {
            note_entry(run, first + i, NULL, score_of(run, first + i), TURNED_AWAY);
        }
    }
    run->seen->evicted += batch.counters.evicted;
    run->seen->not_admitted += batch.counters.not_admitted;
}

static void list_held(struct cache_scores *run)
{
    struct sw_batch scan = {
        .kind = SW_BATCH_SCAN,
        .count = run->trial->ops_max,
        .scan.keys = run->left_keys,
        .scan.values = run->left_values,
        .scan.scores = run->left_scores,
    };
    do {
        if (sw_batch_run(run->queue, &scan) != SW_OK) {
            note_fault(run, "scan", 0);
            return;
        }
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            note_entry(run, cache_scores_key(run, run->left_keys, i),
                       run->left_values + (size_t)i * run->info.value_bytes, run->left_scores[i],
                       HELD);
        }
    } while (scan.scan.cursor != 0);
}

int cache_scores_evict(const struct cache_scores_trial *trial, struct cache_scores_seen *seen,
                       char *fault, size_t fault_size)
{
    struct cache_scores run;
    const uint64_t n = trial->ops_max;
    if (!cache_scores_open(&run, trial, seen, fault, fault_size)) {
        return 1;
    }
    run.places = calloc(trial->key_count, 1);
    for (uint64_t first = 0; first + n <= trial->key_count && !run.failed; first += n) {
        offer(&run, first);
    }
    list_held(&run);
    for (uint64_t key = 0; key < trial->key_count / n * n; key++) {
        if (run.places[key] == NOT_OFFERED) {
            note_fault(&run, "is nowhere", key);
        }
    }
    bool failed = run.failed;
    cache_scores_close(&run);
    free(run.places);
    return failed;
}
