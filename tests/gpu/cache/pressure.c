/* SPDX-License-Identifier: MIT
 *
 * pressure.c - large batches with repeated keys on a cache that is full: what must hold in whatever
 * order the operations were applied.
 *
 * Entries before + newcomers = entries after + those that left, as sets of keys; no value is torn;
 * nobody stayed that should have left before one that did.
 */
#include "tests/gpu/cache/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/cache/slots.h"

struct pressure {
    struct trial_faults faults;
    struct trial_cache cache;
    struct sw_table_config config;
    struct sw_cache_slots where; /* for sw_cache_candidates_of */
    struct random random;
    uint32_t ops;
    uint32_t version;
    uint64_t *keys;
    uint64_t *scores;
    uint8_t *values;
    uint8_t *results;
    uint64_t *evicted_keys;
    uint64_t *evicted_scores;
    uint8_t *evicted_values;
    uint64_t *found;
    uint64_t *not_admitted;
    uint64_t evicted_count;
    struct sw_counters counters;
};

static void open_pressure(struct pressure *p, const struct trial_setting *setting,
                          const struct sw_table_config *config, const char *name)
{
    memset(p, 0, sizeof(*p));
    p->faults.name = name;
    p->config = *config;
    trial_open(&p->cache, config);
    p->where.buckets = p->cache.info.buckets;
    p->where.seed = config->seed;
    p->where.two = config->cache_mode == SW_CACHE_MEMORY;
    p->random.state = setting->seed;
    p->ops = (uint32_t)p->cache.info.capacity_slots;
    size_t numbers = p->ops * sizeof(uint64_t);
    p->keys = io_array(&p->cache.io, numbers);
    p->scores = io_array(&p->cache.io, numbers);
    p->evicted_keys = io_array(&p->cache.io, numbers);
    p->evicted_scores = io_array(&p->cache.io, numbers);
    p->values = io_array(&p->cache.io, (size_t)p->ops * config->value_bytes);
    p->evicted_values = io_array(&p->cache.io, (size_t)p->ops * config->value_bytes);
    p->results = calloc(p->ops, 1);
    p->found = io_array(&p->cache.io, (p->ops + 63) / 64 * sizeof(uint64_t));
    p->not_admitted = io_array(&p->cache.io, (p->ops + 63) / 64 * sizeof(uint64_t));
}

static uint64_t close_pressure(struct pressure *p)
{
    trial_close(&p->cache);
    free(p->results);
    return p->faults.count;
}

/* Random keys of `key_count`, random scores, and a value of a version of its own each. */
static void draw_keys(struct pressure *p, uint64_t key_count)
{
    uint32_t bytes = p->config.value_bytes;
    for (uint32_t i = 0; i < p->ops; i++) {
        p->keys[i] = random_below(&p->random, key_count);
        p->scores[i] = random_below(&p->random, 1 << 20);
        trial_value(p->values + (size_t)i * bytes, bytes, p->keys[i], ++p->version);
    }
}

static struct sw_batch insert_batch(const struct pressure *p)
{
    return (struct sw_batch){
        .op = SW_SET,
        .count = p->ops,
        .keys = p->keys,
        .values = p->values,
        .scores = sw_cache_takes_scores(p->config.cache_policy) ? p->scores : NULL,
        .found = p->found,
        .not_admitted = p->not_admitted,
    };
}

/* Runs it, and notes what became of each operation. */
static void run_pressure(struct pressure *p, struct sw_batch *batch)
{
    trial_expect(&p->faults, sw_batch_run(p->cache.queue, batch), "run");
    p->counters = batch->counters;
    p->evicted_count = batch->leftover_count;
    for (uint32_t i = 0; i < batch->count && batch->found != NULL; i++) {
        bool found = (p->found[i / 64] >> (i % 64) & 1) != 0;
        bool refused = (p->not_admitted[i / 64] >> (i % 64) & 1) != 0;
        p->results[i] = found ? SW_CACHE_HIT : refused ? SW_CACHE_REFUSED : SW_CACHE_INSERTED;
    }
}

static void check_values(struct pressure *p, const uint64_t *keys, const uint8_t *values,
                         uint64_t count, const char *of)
{
    uint32_t bytes = p->config.value_bytes;
    for (uint64_t i = 0; i < count; i++) {
        if (!trial_value_checks(values + i * bytes, bytes, keys[i])) {
            trial_fault(&p->faults, "a torn or foreign value of key %llu, %s",
                        (unsigned long long)keys[i], of);
        }
    }
}

/* before + newcomers == after + evicted */
static void check_conservation(struct pressure *p, const struct trial_contents *before,
                               const struct trial_contents *after)
{
    uint64_t *left = calloc(before->count + p->ops, sizeof(*left));
    uint64_t *right = calloc(after->count + p->ops, sizeof(*right));
    uint64_t came = before->count;
    memcpy(left, before->keys, before->count * sizeof(*left));
    for (uint32_t i = 0; i < p->ops; i++) {
        if (p->results[i] == SW_CACHE_INSERTED) {
            left[came++] = p->keys[i];
        }
    }
    uint64_t went = after->count + p->evicted_count;
    if (p->evicted_count > p->ops || came != went) {
        trial_fault(&p->faults, "%llu were or came, %llu stayed or went", (unsigned long long)came,
                    (unsigned long long)went);
    } else {
        memcpy(right, after->keys, after->count * sizeof(*right));
        memcpy(right + after->count, p->evicted_keys, p->evicted_count * sizeof(*right));
        trial_sort(left, came);
        trial_sort(right, went);
        if (memcmp(left, right, came * sizeof(*left)) != 0) {
            trial_fault(&p->faults, "the keys that were or came are not those that stayed or went");
        }
    }
    free(left);
    free(right);
}

static void check_counters(struct pressure *p)
{
    const struct sw_op_counters *upserts = &p->counters.by_class[SW_CLASS_UPSERT];
    uint64_t counts[SW_CACHE_REFUSED + 1] = {0};
    for (uint32_t i = 0; i < p->ops; i++) {
        counts[p->results[i]]++;
    }
    if (upserts->hits != counts[SW_CACHE_HIT] || upserts->operations != p->ops ||
        p->counters.updated != counts[SW_CACHE_HIT] ||
        p->counters.inserted != counts[SW_CACHE_INSERTED] ||
        p->counters.not_admitted != counts[SW_CACHE_REFUSED]) {
        trial_fault(&p->faults, "the counters are not those of the answers");
    }
}

/* The lowest score of each bucket of an export; a bucket is known by its keys' homes only in
 * THROUGHPUT mode, so that in MEMORY mode an entry counts for both: what is lower than the lowest
 * of both is lower than everything in either. */
static uint64_t *lowest_scores(const struct pressure *p, const struct trial_contents *contents)
{
    uint64_t *lowest = malloc(p->where.buckets * sizeof(*lowest));
    memset(lowest, 0xff, p->where.buckets * sizeof(*lowest));
    for (uint64_t i = 0; i < contents->count; i++) {
        struct sw_cache_candidates candidates =
            sw_cache_candidates_of(&p->where, contents->keys[i]);
        uint64_t score = contents->scores[i];
        lowest[candidates.first] =
            score < lowest[candidates.first] ? score : lowest[candidates.first];
        lowest[candidates.second] =
            score < lowest[candidates.second] ? score : lowest[candidates.second];
    }
    return lowest;
}

/* If only inserts set scores, the lowest score of a full bucket only rises. So an evicted key has
 * at most the lowest score that remains in its bucket, and a refused key has less. In THROUGHPUT
 * mode.
 */
static void check_order(struct pressure *p, const struct trial_contents *after)
{
    uint64_t *lowest = lowest_scores(p, after);
    for (uint64_t i = 0; i < p->evicted_count; i++) {
        struct sw_cache_candidates candidates =
            sw_cache_candidates_of(&p->where, p->evicted_keys[i]);
        if (p->evicted_scores[i] > lowest[candidates.first]) {
            trial_fault(&p->faults, "one with score %llu left, one with %llu stayed",
                        (unsigned long long)p->evicted_scores[i],
                        (unsigned long long)lowest[candidates.first]);
        }
    }
    for (uint32_t i = 0; i < p->ops; i++) {
        struct sw_cache_candidates candidates = sw_cache_candidates_of(&p->where, p->keys[i]);
        if (p->results[i] == SW_CACHE_REFUSED && p->scores[i] >= lowest[candidates.first]) {
            trial_fault(&p->faults, "one with score %llu was refused, one with %llu stayed",
                        (unsigned long long)p->scores[i],
                        (unsigned long long)lowest[candidates.first]);
        }
    }
    free(lowest);
}

static void insert_and_check(struct pressure *p, bool distinct)
{
    struct trial_contents *before = trial_contents(&p->cache);
    struct sw_batch batch = insert_batch(p);
    batch.leftover_keys = p->evicted_keys;
    batch.leftover_values = p->evicted_values;
    batch.leftover_scores = p->evicted_scores;
    run_pressure(p, &batch);
    trial_audit(&p->faults, &p->cache);
    struct trial_contents *after = trial_contents(&p->cache);
    check_counters(p);
    if (p->evicted_count != p->counters.evicted) {
        trial_fault(&p->faults, "%llu left, %llu are listed",
                    (unsigned long long)p->counters.evicted, (unsigned long long)p->evicted_count);
    }
    check_conservation(p, before, after);
    check_values(p, after->keys, after->values, after->count, "which stayed");
    if (p->evicted_count <= p->ops) {
        check_values(p, p->evicted_keys, p->evicted_values, p->evicted_count, "which left");
        if (distinct && !p->where.two && p->config.cache_policy == SW_CACHE_CUSTOM) {
            check_order(p, after);
        }
    }
    trial_contents_free(before);
    trial_contents_free(after);
}

/* The same without a request for the evicted entries: MEMORY mode carries it out otherwise. */
static void insert_plainly(struct pressure *p)
{
    struct trial_contents *before = trial_contents(&p->cache);
    struct sw_batch batch = insert_batch(p);
    run_pressure(p, &batch);
    trial_audit(&p->faults, &p->cache);
    struct trial_contents *after = trial_contents(&p->cache);
    check_counters(p);
    check_values(p, after->keys, after->values, after->count, "which stayed");
    if (before->count + p->counters.inserted != after->count + p->counters.evicted) {
        trial_fault(&p->faults, "%llu were, %llu came, %llu left, %llu are",
                    (unsigned long long)before->count, (unsigned long long)p->counters.inserted,
                    (unsigned long long)p->counters.evicted, (unsigned long long)after->count);
    }
    trial_contents_free(before);
    trial_contents_free(after);
}

/* Erases half of what is there, each key twice: the first of the two finds it. */
static void erase_and_check(struct pressure *p, bool answers)
{
    struct trial_contents *before = trial_contents(&p->cache);
    uint32_t count = (uint32_t)(before->count / 2);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < count; i++) {
        p->keys[i] = before->keys[i / 2 * 2];
    }
    struct sw_batch batch = {.op = SW_DELETE,
                             .count = count,
                             .keys = p->keys,
                             .found = answers ? p->found : NULL,
                             .not_admitted = answers ? p->not_admitted : NULL};
    run_pressure(p, &batch);
    trial_audit(&p->faults, &p->cache);
    struct trial_contents *after = trial_contents(&p->cache);
    for (uint32_t i = 0; i < count && answers; i++) {
        wrong += (p->results[i] == SW_CACHE_HIT) != (i % 2 == 0);
    }
    if (wrong != 0 || p->counters.deleted != (count + 1) / 2 ||
        after->count != before->count - p->counters.deleted) {
        trial_fault(&p->faults, "%llu of %u erased, %llu entries then; %llu are wrong",
                    (unsigned long long)p->counters.deleted, count,
                    (unsigned long long)after->count, (unsigned long long)wrong);
    }
    trial_contents_free(before);
    trial_contents_free(after);
}

uint64_t case_pressure(const struct trial_setting *setting, const struct sw_table_config *config)
{
    struct pressure p;
    struct sw_table_config mine = *config;
    mine.capacity_slots = 1024 * setting->scale;
    mine.batch_ops_max = (uint32_t)mine.capacity_slots;
    open_pressure(&p, setting, &mine, "pressure");
    for (uint32_t round = 0; round < 4 && p.faults.count == 0; round++) {
        /* few keys: repeated in the batch; then many, among them newcomers for every slot */
        draw_keys(&p, mine.capacity_slots / 2);
        insert_and_check(&p, false);
        draw_keys(&p, 4 * mine.capacity_slots);
        insert_and_check(&p, false);
        draw_keys(&p, 2 * mine.capacity_slots);
        insert_plainly(&p);
        draw_keys(&p, mine.capacity_slots);
        for (uint32_t i = 0; i < p.ops; i++) {
            p.keys[i] = ((uint64_t)round + 1) << 40 | i;
            trial_value(p.values + (size_t)i * mine.value_bytes, mine.value_bytes, p.keys[i], i);
        }
        insert_and_check(&p, true);
        erase_and_check(&p, round % 2 == 0);
    }
    return close_pressure(&p);
}
