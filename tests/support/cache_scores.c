/* SPDX-License-Identifier: MIT
 *
 * cache_scores.c - every operation of a table whose engine is the cache, against the model. The
 * model carries out an operation of the table as one of the cache, at the time that the table's
 * clock has then.
 */
#include "tests/support/cache_scores.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/mix.h"
#include "tests/support/cache_scores_run.h"

void cache_scores_fail(struct cache_scores *run, const char *format, ...)
{
    va_list arguments;
    if (!run->failed) {
        va_start(arguments, format);
        vsnprintf(run->fault, run->fault_size, format, arguments);
        va_end(arguments);
    }
    run->failed = true;
}

/* --- set up ----------------------------------------------------------------------------------- */

/* Returns a key whose hash has the low 21 bits of that of key 1, but not all 32: more bits than a
 * batch of these tests is sorted by, on CUDA. Keeps the last one, as the search takes a while. */
static uint64_t key_alike(uint64_t seed)
{
    static uint64_t key, its_seed;
    uint32_t hash = (uint32_t)sw_mix_64(1, seed);
    uint32_t differ;
    if (key != 0 && its_seed == seed) {
        return key;
    }
    key = 1;
    its_seed = seed;
    do {
        key++;
        differ = (uint32_t)sw_mix_64(key, seed) ^ hash;
    } while (differ << 11 != 0 || differ == 0);
    return key;
}

static void open_arrays(struct cache_scores *run)
{
    size_t n = run->trial->ops_max;
    size_t bits = (n + 63) / 64 * sizeof(uint64_t);
    run->io.table = run->table;
    run->ops = io_array(&run->io, n);
    run->keys = io_array(&run->io, n * run->info.key_bytes);
    run->values = io_array(&run->io, n * run->info.value_bytes);
    run->previous = io_array(&run->io, n * run->info.value_bytes);
    run->left_keys = io_array(&run->io, n * run->info.key_bytes);
    run->left_values = io_array(&run->io, n * run->info.value_bytes);
    run->scores = io_array(&run->io, n * sizeof(uint64_t));
    run->scores_out = io_array(&run->io, n * sizeof(uint64_t));
    run->left_scores = io_array(&run->io, n * sizeof(uint64_t));
    run->found = io_array(&run->io, bits);
    run->not_admitted = io_array(&run->io, bits);
}

bool cache_scores_open(struct cache_scores *run, const struct cache_scores_trial *trial,
                       struct cache_scores_seen *seen, char *fault, size_t fault_size)
{
    memset(run, 0, sizeof(*run));
    memset(seen, 0, sizeof(*seen));
    run->trial = trial;
    run->seen = seen;
    run->fault = fault;
    run->fault_size = fault_size;
    run->random.state = trial->seed;
    run->alike = key_alike(trial->config.seed);
    if (sw_table_create(&trial->config, &run->table, fault, fault_size) != SW_OK) {
        return false;
    }
    if (sw_queue_create(run->table, &run->queue) != SW_OK) {
        abort();
    }
    sw_table_info(run->table, &run->info);
    run->model = cache_model_of_table(&trial->config, &run->info);
    run->expected_value = calloc(1, run->info.value_bytes);
    run->must_keys = calloc(trial->ops_max, sizeof(uint64_t));
    run->must_scores = calloc(trial->ops_max, sizeof(uint64_t));
    run->must_values = calloc(trial->ops_max, run->info.value_bytes);
    open_arrays(run);
    return true;
}

void cache_scores_close(struct cache_scores *run)
{
    io_free(&run->io);
    sw_queue_destroy(run->queue);
    sw_table_destroy(run->table);
    cache_model_destroy(run->model);
    free(run->expected_value);
    free(run->must_keys);
    free(run->must_scores);
    free(run->must_values);
}

static bool bit_at(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

/* --- what must be ----------------------------------------------------------------------------- */

static bool adds(enum sw_op op)
{
    return op >= SW_ADD_F32 && op <= SW_ADD_PRESENT_U64;
}

static bool inserts(enum sw_op op)
{
    return op == SW_SET || op == SW_SET_ABSENT || op == SW_FIND_OR_INSERT ||
           (op >= SW_ADD_F32 && op <= SW_ADD_U64);
}

static enum sw_cache_element element_of(enum sw_op op)
{
    return op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32   ? SW_CACHE_F32
           : op == SW_ADD_U32 || op == SW_ADD_PRESENT_U32 ? SW_CACHE_U32
                                                          : SW_CACHE_U64;
}

static bool uses(enum sw_op op)
{
    return op == SW_SET || op == SW_SET_PRESENT || op == SW_GET || op == SW_FIND_OR_INSERT ||
           op == SW_SET_SCORE || adds(op);
}

/* Applies operation `i` to the model: `op` on a key that is present, with the score `before`, or
 * absent. */
static enum sw_cache_result apply(struct cache_scores *run, enum sw_op op, uint64_t key,
                                  bool present, uint64_t before, uint32_t i)
{
    const enum sw_cache_policy policy = run->trial->config.cache_policy;
    const size_t bytes = run->info.value_bytes;
    uint64_t given = policy == SW_CACHE_CUSTOM ? 0 : 1;
    given = run->batch.scores != NULL ? run->scores[i] : given;
    if (policy == SW_CACHE_CUSTOM && present && (run->batch.scores == NULL || op == SW_GET)) {
        given = before; /* it keeps its score */
    }
    struct cache_model_step step = {
        .key = key,
        .value = run->values + i * bytes,
        .given = given,
        .element = element_of(op),
        .adds = adds(op),
        .writes = op == SW_SET || op == SW_SET_PRESENT || op == SW_SET_VALUE,
        .uses = uses(op),
        .erases = op == SW_DELETE,
        .inserts = inserts(op),
        .evicted_key = run->must_keys + run->expected_left,
        .evicted_value = run->must_values + run->expected_left * bytes,
        .evicted_score = run->must_scores + run->expected_left,
    };
    cache_model_set_time(run->model, run->clock + i, run->rounds);
    enum sw_cache_result result = cache_model_apply(run->model, &step);
    run->expected_left += result == SW_CACHE_REPLACED;
    return result;
}

static void count(struct cache_scores *run, enum sw_op op, bool found, enum sw_cache_result result)
{
    struct sw_counters *counters = &run->counters;
    enum sw_op_class its_class = op == SW_GET || op == SW_PEEK ? SW_CLASS_GET
                                 : op == SW_DELETE             ? SW_CLASS_DELETE
                                                               : SW_CLASS_UPSERT;
    bool writes = op == SW_SET || op == SW_SET_PRESENT || op == SW_SET_VALUE || adds(op);
    counters->by_class[its_class].operations++;
    counters->by_class[its_class].hits += found;
    counters->by_class[its_class].misses += !found;
    counters->inserted += result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED;
    counters->updated += found && writes;
    counters->deleted += found && op == SW_DELETE;
    counters->evicted += result == SW_CACHE_REPLACED;
    counters->not_admitted += result == SW_CACHE_REFUSED;
}

/* Whether the batch is one of reads that overlap. */
static bool overlaps(const struct cache_scores *run)
{
    return run->trial->reads_overlap && run->batch.write_sequence == 0;
}

static uint64_t score_now(const struct cache_scores *run, uint32_t i)
{
    uint64_t score;
    const void *value = cache_model_find(run->model, cache_scores_key(run, run->keys, i), &score);
    return value == NULL ? 0 : score;
}

/* Reads that overlap may tell of a key's score whatever it was between the first use and the last.
 * The next scan tells whether a use was lost. */
static void note_scores(struct cache_scores *run)
{
    for (uint32_t i = 0; i < run->batch.count; i++) {
        run->must_scores[i] = score_now(run, i);
    }
}

static void compare_overlapping(struct cache_scores *run)
{
    for (uint32_t i = 0; i < run->batch.count && run->batch.scores_out != NULL; i++) {
        if (run->scores_out[i] < run->must_scores[i] || run->scores_out[i] > score_now(run, i)) {
            cache_scores_fail(run, "read %u: score %llu, which was %llu and is %llu", i,
                              (unsigned long long)run->scores_out[i],
                              (unsigned long long)run->must_scores[i],
                              (unsigned long long)score_now(run, i));
        }
    }
}

static void compare_operation(struct cache_scores *run, uint32_t i)
{
    const uint32_t bytes = run->info.value_bytes;
    enum sw_op op = run->batch.ops != NULL ? (enum sw_op)run->ops[i] : run->batch.op;
    uint64_t key = cache_scores_key(run, run->keys, i);
    uint64_t before = 0, after = 0;
    const void *value = cache_model_find(run->model, key, &before);
    bool found = value != NULL;
    memset(run->expected_value, 0, bytes);
    if (found) {
        memcpy(run->expected_value, value, bytes);
        run->seen->operations |= SW_OPS_ONE(op);
    }
    enum sw_cache_result result = apply(run, op, key, found, before, i);
    if (cache_model_find(run->model, key, &after) == NULL) {
        after = 0;
    }
    count(run, op, found, result);
    if (run->batch.found != NULL && bit_at(run->found, i) != found) {
        cache_scores_fail(run, "operation %u (%d): found must be %d", i, (int)op, found);
    }
    if (run->batch.not_admitted != NULL &&
        bit_at(run->not_admitted, i) != (result == SW_CACHE_REFUSED)) {
        cache_scores_fail(run, "operation %u (%d): not_admitted", i, (int)op);
    }
    if (run->batch.previous != NULL &&
        memcmp(run->previous + (size_t)i * bytes, run->expected_value, bytes) != 0) {
        cache_scores_fail(run, "operation %u (%d): previous", i, (int)op);
    }
    if (run->batch.scores_out != NULL && !overlaps(run) && run->scores_out[i] != after) {
        cache_scores_fail(run, "operation %u (%d): its score is %llu, was %llu, must be %llu", i,
                          (int)op, (unsigned long long)run->scores_out[i],
                          (unsigned long long)before, (unsigned long long)after);
    }
}

/* The bits behind those of the last operation are zero. */
static void compare_unused(struct cache_scores *run, const uint64_t *bits)
{
    const uint32_t used = run->batch.count % 64;
    if (bits != NULL && used != 0 && bits[run->batch.count / 64] >> used != 0) {
        cache_scores_fail(run, "unused bits of found or not_admitted");
    }
}

static void compare_left(struct cache_scores *run)
{
    const uint32_t bytes = run->info.value_bytes;
    if (run->batch.leftover_count != (run->batch.leftover_keys != NULL ? run->expected_left : 0)) {
        cache_scores_fail(run, "%u left, not %llu", run->batch.leftover_count,
                          (unsigned long long)run->expected_left);
        return;
    }
    for (uint32_t i = 0; i < run->batch.leftover_count; i++) {
        bool values = run->batch.leftover_values != NULL;
        if (cache_scores_key(run, run->left_keys, i) != run->must_keys[i] ||
            (run->batch.leftover_scores != NULL && run->left_scores[i] != run->must_scores[i]) ||
            (values && memcmp(run->left_values + (size_t)i * bytes,
                              run->must_values + (size_t)i * bytes, bytes) != 0)) {
            cache_scores_fail(run, "entry %u of those that left", i);
        }
    }
}

/* The counters are those of the model. An operation looks at one bucket, or at both. */
static void compare_counters(struct cache_scores *run)
{
    for (int k = 0; k < SW_CLASS_COUNT; k++) {
        struct sw_op_counters *got = &run->batch.counters.by_class[k];
        if (got->probes < got->operations || got->probes > 2 * got->operations) {
            cache_scores_fail(run, "%llu operations, %llu probes",
                              (unsigned long long)got->operations, (unsigned long long)got->probes);
        }
        got->probes = 0;
    }
    if (memcmp(&run->counters, &run->batch.counters, sizeof(run->counters)) != 0) {
        cache_scores_fail(run, "counters");
    }
}

/* --- batches of operations -------------------------------------------------------------------- */

static enum sw_op draw_op(struct cache_scores *run, bool reads)
{
    for (;;) {
        uint32_t op = (uint32_t)cache_scores_below(run, SW_EXPIRE);
        bool floats = element_of((enum sw_op)op) == SW_CACHE_F32;
        if (reads) {
            return op % 2 == 0 ? SW_GET : SW_PEEK;
        }
        if ((run->info.operations >> op & 1) != 0 &&
            (!adds((enum sw_op)op) || floats == run->trial->floats)) {
            return (enum sw_op)op;
        }
    }
}

static uint64_t draw_score(struct cache_scores *run)
{
    switch (cache_scores_below(run, 8)) {
    case 0:
        return UINT64_MAX - cache_scores_below(run, 3);
    case 1:
        return UINT32_MAX - cache_scores_below(run, 3);
    case 2: /* lower than most */
        return cache_scores_below(run, 3);
    default:
        return 10 + cache_scores_below(run, 1000);
    }
}

static void draw_arrays(struct cache_scores *run, bool reads)
{
    for (uint32_t i = 0; i < run->batch.count; i++) {
        bool hot = cache_scores_below(run, 4) == 0; /* a few keys again and again */
        uint64_t key = cache_scores_below(run, hot ? 4 : run->trial->key_count);
        key = key == 0 ? UINT64_MAX : hot && key == 3 ? run->alike : key;
        if (run->trial->hot_share != 0 && cache_scores_below(run, run->trial->hot_share) == 0) {
            key = 1;
        }
        memcpy(run->keys + (size_t)i * run->info.key_bytes, &key, run->info.key_bytes);
        run->ops[i] = (uint8_t)draw_op(run, reads);
        run->scores[i] = draw_score(run);
    }
    for (size_t i = 0; i < (size_t)run->batch.count * run->info.value_bytes; i += 4) {
        uint32_t word = (uint32_t)random_next(&run->random);
        float number = (float)(word % 1000);
        memcpy(run->values + i, run->trial->floats ? (void *)&number : (void *)&word, 4);
    }
}

/* A batch of one operation that asks for no answer but bits, if for any. */
static void draw_plain(struct cache_scores *run, enum sw_op op)
{
    run->batch.op = op;
    run->batch.ops = NULL;
    run->batch.scores_out = NULL;
    run->batch.previous = NULL;
    run->batch.leftover_keys = NULL;
    run->batch.leftover_values = NULL;
    run->batch.leftover_scores = NULL;
    if (cache_scores_below(run, 2) == 0) {
        run->batch.found = NULL;
        run->batch.not_admitted = NULL;
    }
}

static void draw(struct cache_scores *run, bool reads)
{
    bool scored =
        sw_cache_takes_scores(run->trial->config.cache_policy) && cache_scores_below(run, 4) > 0;
    bool left = cache_scores_below(run, 3) > 0;
    run->batch = (struct sw_batch){
        .op = draw_op(run, reads),
        .count = (uint32_t)cache_scores_below(run, run->trial->ops_max + 1),
        .ops = cache_scores_below(run, 3) > 0 ? run->ops : NULL,
        .keys = run->keys,
        .values = run->values,
        .scores = scored ? run->scores : NULL,
        .scores_out = cache_scores_below(run, 3) > 0 ? run->scores_out : NULL,
        .previous = cache_scores_below(run, 3) > 0 ? run->previous : NULL,
        .found = cache_scores_below(run, 3) > 0 ? run->found : NULL,
        .not_admitted = cache_scores_below(run, 3) > 0 ? run->not_admitted : NULL,
        .leftover_keys = left ? run->left_keys : NULL,
        .leftover_values = left && cache_scores_below(run, 3) > 0 ? run->left_values : NULL,
        .leftover_scores = left && cache_scores_below(run, 3) > 0 ? run->left_scores : NULL,
    };
    uint64_t kind = cache_scores_below(run, 6);
    if (!reads && kind < 2) {
        draw_plain(run, kind == 0 ? SW_SET : SW_DELETE);
    }
    draw_arrays(run, reads);
    for (uint32_t i = 0; i < run->batch.count && run->batch.ops != NULL; i++) {
        if (run->trial->config.cache_policy == SW_CACHE_CUSTOM && !scored &&
            run->ops[i] == SW_SET_SCORE) {
            run->ops[i] = SW_SET_VALUE;
        }
    }
    if (run->trial->config.cache_policy == SW_CACHE_CUSTOM && !scored &&
        run->batch.op == SW_SET_SCORE) {
        run->batch.op = SW_SET_VALUE;
    }
}

static void step(struct cache_scores *run, bool reads)
{
    draw(run, reads);
    memset(&run->counters, 0, sizeof(run->counters));
    run->expected_left = 0;
    int status = sw_batch_run(run->queue, &run->batch);
    if (status != SW_OK) {
        cache_scores_fail(run, "sw_batch_run: %s", sw_status_text(status));
        return;
    }
    if (overlaps(run)) {
        note_scores(run);
    }
    for (uint32_t i = 0; i < run->batch.count; i++) {
        compare_operation(run, i);
    }
    if (overlaps(run)) {
        compare_overlapping(run);
    }
    compare_left(run);
    compare_unused(run, run->batch.found);
    compare_unused(run, run->batch.not_admitted);
    run->clock += run->batch.count;
    run->rounds++;
    compare_counters(run);
    run->seen->evicted += run->counters.evicted;
    run->seen->not_admitted += run->counters.not_admitted;
}

static void clear(struct cache_scores *run)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    const uint64_t held = cache_model_size(run->model);
    if (sw_batch_run(run->queue, &batch) != SW_OK || batch.counters.deleted != held) {
        cache_scores_fail(run, "clear");
    }
    cache_model_clear(run->model);
}

int cache_scores_run(const struct cache_scores_trial *trial, struct cache_scores_seen *seen,
                     char *fault, size_t fault_size)
{
    struct cache_scores run;
    if (!cache_scores_open(&run, trial, seen, fault, fault_size)) {
        return 1;
    }
    for (uint32_t i = 0; i < trial->batches && !run.failed; i++) {
        step(&run, i % 4 == 3);
        if (i % 8 == 7 && !run.failed) {
            cache_scores_audit(&run);
        }
        /* Batches of one operation would not fill the cache a second time. */
        if (i == trial->batches / 2 && trial->ops_max > 1 && !run.failed) {
            clear(&run);
        }
    }
    bool failed = run.failed;
    cache_scores_close(&run);
    return failed;
}
