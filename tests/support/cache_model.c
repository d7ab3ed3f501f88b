/* SPDX-License-Identifier: MIT
 *
 * cache_model.c - a cache by the plainest code.
 */
#include "tests/support/cache_model.h"

#include <stdlib.h>
#include <string.h>

#include "table/cache/slots.h"

struct entry {
    bool used;
    uint64_t key;
    uint64_t score;
    uint8_t *value;
};

struct cache_model {
    struct sw_cache_slots where; /* for sw_cache_home_of only */
    struct sw_cache_config config;
    struct entry *entries;
    uint8_t *values;
    uint64_t size;
    uint64_t clock;
    uint64_t rounds;
    uint64_t epoch;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

struct cache_model *cache_model_create(const struct sw_cache_info *info)
{
    struct cache_model *model = allocate(1, sizeof(*model));
    model->config = info->config;
    model->where.buckets = info->buckets;
    model->where.seed = info->config.seed;
    model->where.two = info->config.mode == SW_CACHE_MEMORY;
    model->epoch = info->config.epoch;
    model->entries = allocate(info->config.capacity, sizeof(*model->entries));
    model->values = allocate(info->config.capacity, info->config.value_bytes);
    for (uint64_t i = 0; i < info->config.capacity; i++) {
        model->entries[i].value = model->values + i * info->config.value_bytes;
    }
    return model;
}

struct cache_model *cache_model_of_table(const struct sw_table_config *config,
                                         const struct sw_table_info *info)
{
    struct sw_cache_info cache = {
        .config = {.capacity = info->capacity_slots,
                   .value_bytes = info->value_bytes,
                   .mode = config->cache_mode,
                   .policy = config->cache_policy,
                   .seed = config->seed},
        .buckets = info->buckets,
    };
    return cache_model_create(&cache);
}

void cache_model_destroy(struct cache_model *model)
{
    free(model->entries);
    free(model->values);
    free(model);
}

void cache_model_clear(struct cache_model *model)
{
    for (uint64_t i = 0; i < model->config.capacity; i++) {
        model->entries[i].used = false;
    }
    model->size = 0;
}

void cache_model_set_epoch(struct cache_model *model, uint64_t epoch)
{
    if (epoch != model->epoch) {
        model->epoch = epoch;
        model->rounds = 0;
    }
}

void cache_model_set_time(struct cache_model *model, uint64_t clock, uint64_t rounds)
{
    model->clock = clock;
    model->rounds = rounds;
}

void cache_model_erase_scores(struct cache_model *model, uint64_t min, uint64_t max)
{
    for (uint64_t i = 0; i < model->config.capacity; i++) {
        struct entry *entry = &model->entries[i];
        if (entry->used && entry->score >= min && entry->score <= max) {
            entry->used = false;
            model->size--;
        }
    }
}

static struct entry *find(const struct cache_model *model, uint64_t key)
{
    struct sw_cache_home home = sw_cache_home_of(&model->where, key);
    for (uint64_t side = 0; side < 2; side++) {
        uint64_t first = (side == 0 ? home.first : home.second) * SW_CACHE_BUCKET_SLOTS;
        for (uint64_t i = first; i < first + SW_CACHE_BUCKET_SLOTS; i++) {
            if (model->entries[i].used && model->entries[i].key == key) {
                return &model->entries[i];
            }
        }
    }
    return NULL;
}

const void *cache_model_find(const struct cache_model *model, uint64_t key, uint64_t *score)
{
    const struct entry *entry = find(model, key);
    if (entry == NULL) {
        return NULL;
    }
    *score = entry->score;
    return entry->value;
}

bool cache_model_slot(const struct cache_model *model, uint64_t slot, uint64_t *key,
                      const void **value, uint64_t *score)
{
    const struct entry *entry = &model->entries[slot];
    *key = entry->key;
    *value = entry->value;
    *score = entry->score;
    return entry->used;
}

uint64_t cache_model_size(const struct cache_model *model)
{
    return model->size;
}

/* What the time of a batch and of its operation makes of scores. */
struct moment {
    uint64_t tick;
    uint64_t round;
    uint64_t given;
};

static uint64_t saturated(uint64_t a, uint64_t b, uint64_t most)
{
    a = a > most ? most : a;
    b = b > most ? most : b;
    return a > most - b ? most : a + b;
}

/* A newcomer has had no uses: its score before is 0. */
static uint64_t score_of(const struct cache_model *model, const struct moment *now, uint64_t before)
{
    switch (model->config.policy) {
    case SW_CACHE_LRU:
        return now->tick;
    case SW_CACHE_LFU:
        return saturated(before, now->given, UINT64_MAX);
    case SW_CACHE_EPOCH_LRU:
        return (model->epoch << 32) + now->round;
    case SW_CACHE_EPOCH_LFU:
        return (model->epoch << 32) + saturated(before & UINT32_MAX, now->given, UINT32_MAX);
    default:
        return now->given;
    }
}

static uint64_t empty_slots(const struct entry *bucket)
{
    uint64_t count = 0;
    for (int i = 0; i < SW_CACHE_BUCKET_SLOTS; i++) {
        count += !bucket[i].used;
    }
    return count;
}

static struct entry *first_empty(struct entry *bucket)
{
    while (bucket->used) {
        bucket++;
    }
    return bucket;
}

/* The entry that leaves for a newcomer. */
static struct entry *lowest(struct entry *first, struct entry *second)
{
    struct entry *least = first;
    for (int i = 0; i < 2 * SW_CACHE_BUCKET_SLOTS; i++) {
        struct entry *entry =
            i < SW_CACHE_BUCKET_SLOTS ? first + i : second + i - SW_CACHE_BUCKET_SLOTS;
        least = entry->score < least->score ? entry : least;
    }
    return least;
}

static void list(const struct cache_model *model, const struct sw_cache_batch *batch,
                 const struct entry *entry)
{
    uint32_t bytes = model->config.value_bytes;
    if (batch->evicted_keys == NULL) {
        return;
    }
    uint64_t at = (*batch->evicted_count)++;
    batch->evicted_keys[at] = entry->key;
    if (batch->evicted_scores != NULL) {
        batch->evicted_scores[at] = entry->score;
    }
    if (batch->evicted_values != NULL) {
        memcpy((uint8_t *)batch->evicted_values + at * bytes, entry->value, bytes);
    }
}

static enum sw_cache_result insert(struct cache_model *model, const struct sw_cache_batch *batch,
                                   uint64_t index, const struct moment *now, struct entry **out)
{
    struct sw_cache_home home = sw_cache_home_of(&model->where, batch->keys[index]);
    struct entry *first = model->entries + home.first * SW_CACHE_BUCKET_SLOTS;
    struct entry *second = model->entries + home.second * SW_CACHE_BUCKET_SLOTS;
    uint64_t score = score_of(model, now, 0);
    enum sw_cache_result result = SW_CACHE_INSERTED;
    struct entry *entry;
    if (empty_slots(second) > empty_slots(first)) {
        entry = first_empty(second);
    } else if (empty_slots(first) > 0) {
        entry = first_empty(first);
    } else {
        entry = lowest(first, second);
        if (score < entry->score) {
            return SW_CACHE_REFUSED;
        }
        list(model, batch, entry);
        model->size--;
        result = SW_CACHE_REPLACED;
    }
    model->size++;
    entry->used = true;
    entry->key = batch->keys[index];
    entry->score = score;
    memcpy(entry->value, (const uint8_t *)batch->values + index * model->config.value_bytes,
           model->config.value_bytes);
    *out = entry;
    return result;
}

static void add(uint8_t *to, const uint8_t *from, uint32_t bytes, enum sw_cache_element element)
{
    for (uint32_t at = 0; at < bytes; at += element == SW_CACHE_U64 ? 8 : 4) {
        if (element == SW_CACHE_U64) {
            uint64_t a, b;
            memcpy(&a, to + at, 8);
            memcpy(&b, from + at, 8);
            a += b;
            memcpy(to + at, &a, 8);
        } else if (element == SW_CACHE_U32) {
            uint32_t a, b;
            memcpy(&a, to + at, 4);
            memcpy(&b, from + at, 4);
            a += b;
            memcpy(to + at, &a, 4);
        } else {
            float a, b;
            memcpy(&a, to + at, 4);
            memcpy(&b, from + at, 4);
            a += b;
            memcpy(to + at, &a, 4);
        }
    }
}

/* A present key. */
static void change(struct cache_model *model, const struct sw_cache_batch *batch, uint64_t index,
                   const struct moment *now, struct entry *entry)
{
    uint32_t bytes = model->config.value_bytes;
    const uint8_t *value = (const uint8_t *)batch->values + index * bytes;
    bool uses = batch->touch;
    switch (batch->op) {
    case SW_CACHE_INSERT_OR_ASSIGN:
    case SW_CACHE_INSERT_AND_EVICT:
    case SW_CACHE_ASSIGN:
        memcpy(entry->value, value, bytes);
        uses = true;
        break;
    case SW_CACHE_ASSIGN_VALUES:
        memcpy(entry->value, value, bytes);
        break;
    case SW_CACHE_ASSIGN_SCORES:
        uses = true;
        break;
    case SW_CACHE_ACCUM_OR_ASSIGN:
        uses = batch->accumulate == NULL || batch->accumulate[index];
        if (uses) {
            add(entry->value, value, bytes, batch->element);
        }
        break;
    case SW_CACHE_ERASE:
        entry->used = false;
        model->size--;
        break;
    case SW_CACHE_FIND_OR_INSERT:
        uses = true;
        break;
    default:
        break;
    }
    if (uses) {
        entry->score = score_of(model, now, entry->score);
    }
}

static bool inserts(const struct sw_cache_batch *batch, uint64_t index)
{
    switch (batch->op) {
    case SW_CACHE_INSERT_OR_ASSIGN:
    case SW_CACHE_INSERT_AND_EVICT:
    case SW_CACHE_FIND_OR_INSERT:
        return true;
    case SW_CACHE_ACCUM_OR_ASSIGN:
        return batch->accumulate == NULL || !batch->accumulate[index];
    default:
        return false;
    }
}

static void apply_one(struct cache_model *model, const struct sw_cache_batch *batch, uint64_t i,
                      const struct moment *now)
{
    uint32_t bytes = model->config.value_bytes;
    struct entry *entry = find(model, batch->keys[i]);
    enum sw_cache_result result = entry != NULL ? SW_CACHE_HIT : SW_CACHE_MISS;
    if (batch->places != NULL) {
        batch->places[i] = entry; /* whether it is NULL is all that can be compared */
    }
    if (entry != NULL) {
        change(model, batch, i, now, entry);
    } else if (inserts(batch, i)) {
        result = insert(model, batch, i, now, &entry);
    }
    if (batch->values_out != NULL && (entry != NULL || batch->values != NULL)) {
        const uint8_t *value =
            entry != NULL ? entry->value : (const uint8_t *)batch->values + i * bytes;
        memcpy((uint8_t *)batch->values_out + i * bytes, value, bytes);
    }
    if (batch->scores_out != NULL && entry != NULL) {
        batch->scores_out[i] = entry->score;
    }
    if (batch->results != NULL) {
        batch->results[i] = (uint8_t)result;
    }
    if (batch->counters != NULL) {
        struct sw_cache_counters *counters = batch->counters;
        counters->hits += result == SW_CACHE_HIT;
        counters->misses += result != SW_CACHE_HIT;
        counters->inserted += result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED;
        counters->erased += result == SW_CACHE_HIT && batch->op == SW_CACHE_ERASE;
        counters->evicted += result == SW_CACHE_REPLACED;
        counters->not_admitted += result == SW_CACHE_REFUSED;
    }
}

void cache_model_apply(struct cache_model *model, const struct sw_cache_batch *batch)
{
    bool uses = batch->touch || batch->op == SW_CACHE_ASSIGN ||
                batch->op == SW_CACHE_FIND_OR_INSERT || batch->op == SW_CACHE_ASSIGN_SCORES ||
                batch->op == SW_CACHE_INSERT_OR_ASSIGN || batch->op == SW_CACHE_INSERT_AND_EVICT ||
                batch->op == SW_CACHE_ACCUM_OR_ASSIGN;
    if (batch->evicted_count != NULL) {
        *batch->evicted_count = 0;
    }
    for (uint64_t i = 0; i < batch->count; i++) {
        struct moment now = {model->clock + i, model->rounds,
                             batch->scores == NULL ? 1 : batch->scores[i]};
        apply_one(model, batch, i, &now);
    }
    if (uses) {
        model->clock += batch->count;
        model->rounds++;
    }
}
