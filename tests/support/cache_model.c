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
    struct sw_cache_slots where; /* for sw_cache_candidates_of only */
    enum sw_cache_policy policy;
    uint64_t capacity;
    uint32_t value_bytes;
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

struct cache_model *cache_model_of_table(const struct sw_table_config *config,
                                         const struct sw_table_info *info)
{
    struct cache_model *model = allocate(1, sizeof(*model));
    model->policy = config->cache_policy;
    model->capacity = info->capacity_slots;
    model->value_bytes = info->value_bytes;
    model->where.buckets = info->buckets;
    model->where.seed = config->seed;
    model->where.two = config->cache_mode == SW_CACHE_MEMORY;
    model->entries = allocate(model->capacity, sizeof(*model->entries));
    model->values = allocate(model->capacity, model->value_bytes);
    for (uint64_t i = 0; i < model->capacity; i++) {
        model->entries[i].value = model->values + i * model->value_bytes;
    }
    return model;
}

void cache_model_destroy(struct cache_model *model)
{
    free(model->entries);
    free(model->values);
    free(model);
}

void cache_model_clear(struct cache_model *model)
{
    for (uint64_t i = 0; i < model->capacity; i++) {
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
    for (uint64_t i = 0; i < model->capacity; i++) {
        struct entry *entry = &model->entries[i];
        if (entry->used && entry->score >= min && entry->score <= max) {
            entry->used = false;
            model->size--;
        }
    }
}

static struct entry *find(const struct cache_model *model, uint64_t key)
{
    struct sw_cache_candidates candidates = sw_cache_candidates_of(&model->where, key);
    for (uint64_t side = 0; side < 2; side++) {
        uint64_t first = (side == 0 ? candidates.first : candidates.second) * SW_CACHE_BUCKET_SLOTS;
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

static uint64_t saturated(uint64_t a, uint64_t b, uint64_t most)
{
    a = a > most ? most : a;
    b = b > most ? most : b;
    return a > most - b ? most : a + b;
}

/* A newcomer has had no uses: its score before is 0. */
static uint64_t score_of(const struct cache_model *model, uint64_t given, uint64_t before)
{
    switch (model->policy) {
    case SW_CACHE_LRU:
        return model->clock;
    case SW_CACHE_LFU:
        return saturated(before, given, UINT64_MAX);
    case SW_CACHE_EPOCH_LRU:
        return (model->epoch << 32) + model->rounds;
    case SW_CACHE_EPOCH_LFU:
        return (model->epoch << 32) + saturated(before & UINT32_MAX, given, UINT32_MAX);
    default:
        return given;
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

static void list(const struct cache_model *model, const struct cache_model_step *step,
                 const struct entry *entry)
{
    if (step->evicted_key != NULL) {
        *step->evicted_key = entry->key;
    }
    if (step->evicted_score != NULL) {
        *step->evicted_score = entry->score;
    }
    if (step->evicted_value != NULL) {
        memcpy(step->evicted_value, entry->value, model->value_bytes);
    }
}

static enum sw_cache_result insert(struct cache_model *model, const struct cache_model_step *step)
{
    struct sw_cache_candidates candidates = sw_cache_candidates_of(&model->where, step->key);
    struct entry *first = model->entries + candidates.first * SW_CACHE_BUCKET_SLOTS;
    struct entry *second = model->entries + candidates.second * SW_CACHE_BUCKET_SLOTS;
    uint64_t score = score_of(model, step->given, 0);
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
        list(model, step, entry);
        model->size--;
        result = SW_CACHE_REPLACED;
    }
    model->size++;
    entry->used = true;
    entry->key = step->key;
    entry->score = score;
    memcpy(entry->value, step->value, model->value_bytes);
    return result;
}

static void add_elements(uint8_t *to, const uint8_t *from, uint32_t bytes,
                         enum sw_cache_element element)
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

static void change(struct cache_model *model, const struct cache_model_step *step,
                   struct entry *entry)
{
    if (step->adds) {
        add_elements(entry->value, step->value, model->value_bytes, step->element);
    }
    if (step->writes) {
        memcpy(entry->value, step->value, model->value_bytes);
    }
    if (step->uses) {
        entry->score = score_of(model, step->given, entry->score);
    }
    if (step->erases) {
        entry->used = false;
        model->size--;
    }
}

enum sw_cache_result cache_model_apply(struct cache_model *model,
                                       const struct cache_model_step *step)
{
    struct entry *entry = find(model, step->key);
    enum sw_cache_result result = SW_CACHE_MISS;
    if (entry != NULL) {
        change(model, step, entry);
        result = SW_CACHE_HIT;
    } else if (step->inserts) {
        result = insert(model, step);
    }
    if (step->uses) {
        model->clock++;
        model->rounds++;
    }
    return result;
}
