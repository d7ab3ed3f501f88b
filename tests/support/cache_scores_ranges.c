/* SPDX-License-Identifier: MIT
 *
 * cache_scores_ranges.c - ranges of scores, and epochs, against the model.
 */
#include "tests/support/cache_scores_run.h"

/* Draws two bounds. Each is the score of an entry, or nearly. */
static void draw_range(struct cache_scores *run, uint64_t *min, uint64_t *max)
{
    uint64_t bounds[2] = {0, UINT64_MAX};
    for (int b = 0; b < 2; b++) {
        for (int tries = 0; tries < 50; tries++) {
            uint64_t key, score;
            const void *value;
            if (cache_model_slot(run->model, cache_scores_below(run, run->info.capacity_slots),
                                 &key, &value, &score)) {
                bounds[b] = score + cache_scores_below(run, 2);
                break;
            }
        }
    }
    bool swap = bounds[0] > bounds[1];
    *min = bounds[swap];
    *max = bounds[!swap];
}

static bool is_held(const struct cache_scores *run, uint64_t slot, uint64_t min, uint64_t max)
{
    uint64_t key, score;
    const void *value;
    return cache_model_slot(run->model, slot, &key, &value, &score) && score >= min && score <= max;
}

static uint64_t held_in(const struct cache_scores *run, uint64_t min, uint64_t max)
{
    uint64_t matched = 0;
    for (uint64_t slot = 0; slot < run->info.capacity_slots; slot++) {
        matched += is_held(run, slot, min, max);
    }
    return matched;
}

static void count_range(struct cache_scores *run, uint64_t min, uint64_t max)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_COUNT_SCORES, .range.min = min, .range.max = max, .range.matched = 7};
    uint64_t matched = held_in(run, min, max);
    int status = sw_batch_run(run->queue, &batch);
    if (status != SW_OK || batch.range.matched != matched || batch.write_sequence != 0) {
        cache_scores_fail(run, "%s: %llu entries in a range, not %llu", sw_status_text(status),
                          (unsigned long long)batch.range.matched, (unsigned long long)matched);
    }
    run->seen->matched += matched;
}

static void erase_range(struct cache_scores *run, uint64_t min, uint64_t max)
{
    struct sw_batch batch = {.kind = SW_BATCH_ERASE_SCORES, .range.min = min, .range.max = max};
    uint64_t matched = held_in(run, min, max);
    int status = sw_batch_run(run->queue, &batch);
    if (status != SW_OK || batch.counters.deleted != matched || batch.write_sequence == 0) {
        cache_scores_fail(run, "%s: %llu erased, not %llu", sw_status_text(status),
                          (unsigned long long)batch.counters.deleted, (unsigned long long)matched);
    }
    cache_model_erase_scores(run->model, min, max);
    run->seen->erased_by_score += matched;
}

/* An entry of a scan. */
static void compare_listed(struct cache_scores *run, const struct sw_batch *scan, uint32_t i)
{
    uint64_t score = 0;
    const void *value =
        cache_model_find(run->model, cache_scores_key(run, scan->scan.keys, i), &score);
    bool fits = score >= scan->scan.score_min && score <= scan->scan.score_max;
    if (value == NULL || (scan->scan.by_score && !fits) ||
        (scan->scan.scores != NULL && scan->scan.scores[i] != score) ||
        memcmp(value, (uint8_t *)scan->scan.values + (size_t)i * run->info.value_bytes,
               run->info.value_bytes) != 0) {
        cache_scores_fail(run, "a scanned entry, number %u", i);
    }
}

static void scan(struct cache_scores *run, bool by_score, uint64_t min, uint64_t max)
{
    struct sw_batch scan = {
        .kind = SW_BATCH_SCAN,
        .count = run->trial->ops_max,
        .scan.by_score = by_score,
        .scan.score_min = min,
        .scan.score_max = max,
        .scan.keys = run->left_keys,
        .scan.values = run->left_values,
        .scan.scores = cache_scores_below(run, 3) > 0 ? run->scores_out : NULL,
    };
    uint64_t listed = 0;
    do {
        int status = sw_batch_run(run->queue, &scan);
        if (status != SW_OK) {
            cache_scores_fail(run, "scan: %s", sw_status_text(status));
            return;
        }
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            compare_listed(run, &scan, i);
        }
        listed += scan.scan.got;
    } while (scan.scan.cursor != 0);
    uint64_t expected = by_score ? held_in(run, min, max) : cache_model_size(run->model);
    if (listed != expected) {
        cache_scores_fail(run, "%llu entries scanned, not %llu", (unsigned long long)listed,
                          (unsigned long long)expected);
    }
    run->seen->listed += listed;
}

static void go_on(struct cache_scores *run)
{
    struct sw_batch batch = {.kind = SW_BATCH_EPOCH,
                             .epoch = run->epoch + cache_scores_below(run, 3)};
    struct sw_table_stats stats;
    uint64_t wanted = batch.epoch;
    if (!sw_cache_has_epochs(run->trial->config.cache_policy)) {
        if (sw_batch_run(run->queue, &batch) != SW_E_UNSUPPORTED) {
            cache_scores_fail(run, "a policy without epochs has them");
        }
        return;
    }
    if (sw_batch_run(run->queue, &batch) != SW_OK || batch.epoch != wanted) {
        cache_scores_fail(run, "epoch %llu", (unsigned long long)wanted);
    }
    run->rounds = wanted != run->epoch ? 0 : run->rounds;
    run->seen->epochs += wanted != run->epoch;
    run->epoch = wanted;
    cache_model_set_epoch(run->model, wanted);
    if (wanted > 1) {
        batch.epoch = wanted - 1;
        if (sw_batch_run(run->queue, &batch) != SW_E_INVALID || batch.epoch != wanted) {
            cache_scores_fail(run, "an epoch that is over");
        }
    }
    batch.epoch = 0;
    if (sw_batch_run(run->queue, &batch) != SW_OK || batch.epoch != wanted) {
        cache_scores_fail(run, "the epoch that a batch tells");
    }
    sw_table_stats(run->table, &stats);
    if (stats.epoch != wanted) {
        cache_scores_fail(run, "the epoch in the statistics");
    }
}

void cache_scores_audit(struct cache_scores *run)
{
    char violation[256] = "";
    struct sw_table_stats stats;
    uint64_t min, max;
    if (sw_table_check(run->table, violation, sizeof(violation)) != SW_OK) {
        cache_scores_fail(run, "%s", violation);
    }
    draw_range(run, &min, &max);
    count_range(run, min, max);
    scan(run, true, min, max);
    if (run->trial->ops_max > 1 && cache_scores_below(run, 4) == 0) {
        erase_range(run, min, max);
    }
    scan(run, false, 0, 0);
    go_on(run);
    sw_table_stats(run->table, &stats);
    if (stats.occupied != cache_model_size(run->model)) {
        cache_scores_fail(run, "occupied is %llu, not %llu", (unsigned long long)stats.occupied,
                          (unsigned long long)cache_model_size(run->model));
    }
}
