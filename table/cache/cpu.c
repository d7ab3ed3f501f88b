/* SPDX-License-Identifier: MIT
 *
 * cpu.c - batches on host memory.
 */
#include "table/cache/cpu.h"

#include <stdio.h>

#include "table/cache/operate.inl"
#include "table/cpu/memory.h"

static const struct sw_cache_group alone = {0, 1, 0};

/* Cuts the arrays out of one area; entries and values last, whose size is any multiple of 4. */
static void carve(struct sw_cache_slots *slots, uint8_t *memory)
{
    uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    slots->digests = memory;
    slots->marks = slots->digests + capacity;
    slots->heads = (struct sw_cache_head *)(void *)(slots->marks + capacity);
    sw_cache_lay_out(slots, (uint8_t *)(slots->heads + slots->buckets));
}

void sw_cache_cpu_empty(const struct sw_cache_slots *slots)
{
    memset(slots->digests, 0, slots->buckets * SW_CACHE_BUCKET_SLOTS);
    for (uint64_t bucket = 0; bucket < slots->buckets; bucket++) {
        slots->heads[bucket] = (struct sw_cache_head){0, SW_CACHE_UNMARKED, 0};
    }
}

void *sw_cache_cpu_allocate(struct sw_cache_slots *slots, uint64_t *bytes, char *reason,
                            size_t reason_size)
{
    *bytes = slots->buckets * sw_cache_bucket_bytes(slots->value_bytes);
    void *memory = *bytes <= sw_memory_available() ? sw_memory_map(*bytes) : NULL;
    if (memory == NULL) {
        snprintf(reason, reason_size, "the cache needs %llu bytes of memory: make it smaller",
                 (unsigned long long)*bytes);
        return NULL;
    }
    carve(slots, memory);
    sw_cache_cpu_empty(slots);
    return memory;
}

static uint64_t find(const struct sw_cache_slots *slots, uint64_t key)
{
    struct sw_cache_home home = sw_cache_home_of(slots, key);
    struct sw_cache_line line = sw_cache_read_line(alone, slots->digests, home.first);
    uint32_t at = sw_cache_seek(alone, slots, home.first, &line, home.digest, key);
    if (at != SW_CACHE_NONE) {
        return home.first * SW_CACHE_BUCKET_SLOTS + at;
    }
    if (!slots->two) {
        return SW_CACHE_NOWHERE;
    }
    line = sw_cache_read_line(alone, slots->digests, home.second);
    at = sw_cache_seek(alone, slots, home.second, &line, home.digest, key);
    return at == SW_CACHE_NONE ? SW_CACHE_NOWHERE : home.second * SW_CACHE_BUCKET_SLOTS + at;
}

uint64_t sw_cache_cpu_find(const struct sw_cache_slots *slots, uint64_t key)
{
    return find(slots, key);
}

uint64_t sw_cache_cpu_touch(const struct sw_cache_slots *slots, const struct sw_cache_time *time,
                            uint64_t index, uint64_t given, uint64_t slot)
{
    uint64_t *score = &sw_cache_entry_at(slots, slot)->score;
    uint64_t before = __atomic_load_n(score, __ATOMIC_RELAXED);
    uint64_t after;
    do {
        after = sw_cache_score_used(slots->policy, time, index, given, before);
    } while (!__atomic_compare_exchange_n(score, &before, after, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return after;
}

static void read_one(const struct sw_cache_slots *slots, const struct sw_cache_work *work,
                     uint64_t index, uint64_t slot)
{
    const struct sw_cache_batch *batch = &work->batch;
    uint8_t *value = sw_cache_value_at(slots, slot);
    if (batch->values_out != NULL) {
        memcpy((uint8_t *)batch->values_out + index * slots->value_bytes, value,
               slots->value_bytes);
    }
    if (batch->places != NULL) {
        batch->places[index] = value;
    }
    uint64_t score =
        batch->touch
            ? sw_cache_cpu_touch(slots, &work->time, index, sw_cache_given(work, index), slot)
            : __atomic_load_n(&sw_cache_entry_at(slots, slot)->score, __ATOMIC_RELAXED);
    if (batch->scores_out != NULL) {
        batch->scores_out[index] = score;
    }
}

void sw_cache_cpu_read(const struct sw_cache_slots *slots, const struct sw_cache_work *work,
                       struct sw_cache_counters *counters)
{
    const struct sw_cache_batch *batch = &work->batch;
    for (uint64_t i = 0; i < batch->count; i++) {
        uint64_t slot = find(slots, SW_LOAD_ONCE(batch->keys + i));
        bool hit = slot != SW_CACHE_NOWHERE;
        if (hit) {
            read_one(slots, work, i, slot);
        } else if (batch->places != NULL) {
            batch->places[i] = NULL;
        }
        if (batch->results != NULL) {
            batch->results[i] = hit ? SW_CACHE_HIT : SW_CACHE_MISS;
        }
        counters->hits += hit;
        counters->misses += !hit;
    }
}

/* What operation `index` of a batch does. */
static struct sw_cache_step step_of(const struct sw_cache_work *work, uint64_t index,
                                    uint32_t value_bytes)
{
    const struct sw_cache_batch *batch = &work->batch;
    struct sw_cache_step step = {
        .acts = sw_cache_acts(batch->op, batch->touch),
        .element = batch->element,
        .key = SW_LOAD_ONCE(batch->keys + index),
        .index = index,
        .given = sw_cache_given(work, index),
    };
    if (batch->values != NULL) {
        step.value = (const uint8_t *)batch->values + index * value_bytes;
    }
    if (batch->values_out != NULL) {
        step.out = (uint8_t *)batch->values_out + index * value_bytes;
    }
    step.score_out = batch->scores_out == NULL ? NULL : batch->scores_out + index;
    if (batch->accumulate != NULL) {
        step.acts &= batch->accumulate[index] ? ~(uint32_t)SW_CACHE_ACT_INSERT
                                              : (uint32_t)SW_CACHE_ACT_INSERT;
    }
    return step;
}

void sw_cache_cpu_write(const struct sw_cache_slots *slots, const struct sw_cache_work *work,
                        struct sw_cache_counters *counters)
{
    const struct sw_cache_batch *batch = &work->batch;
    struct sw_cache_sink sink = {batch->evicted_keys, batch->evicted_values, batch->evicted_scores,
                                 batch->evicted_count};
    if (sink.count != NULL) {
        *sink.count = 0;
    }
    for (uint64_t i = 0; i < batch->count; i++) {
        struct sw_cache_step step = step_of(work, i, slots->value_bytes);
        struct sw_cache_home home = sw_cache_home_of(slots, step.key);
        enum sw_cache_result result =
            sw_cache_operate(alone, slots, &work->time, &step, &home, &sink);
        if (batch->results != NULL) {
            batch->results[i] = (uint8_t)result;
        }
        counters->hits += result == SW_CACHE_HIT;
        counters->misses += result != SW_CACHE_HIT;
        counters->inserted += result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED;
        counters->evicted += result == SW_CACHE_REPLACED;
        counters->not_admitted += result == SW_CACHE_REFUSED;
        counters->erased += result == SW_CACHE_HIT && (step.acts & SW_CACHE_ACT_ERASE) != 0;
    }
}

uint64_t sw_cache_cpu_move(const struct sw_cache_slots *from, const struct sw_cache_slots *to)
{
    struct sw_cache_slots as_told = *to; /* scores are taken as they are */
    struct sw_cache_time never = {0};
    struct sw_cache_sink nowhere = {0};
    uint64_t left = 0;
    as_told.policy = SW_CACHE_CUSTOM;
    for (uint64_t slot = 0; slot < from->buckets * SW_CACHE_BUCKET_SLOTS; slot++) {
        if (from->digests[slot] == 0) {
            continue;
        }
        const struct sw_cache_entry *entry = sw_cache_entry_at(from, slot);
        struct sw_cache_step step = {
            .acts = SW_CACHE_ACT_INSERT,
            .key = entry->key,
            .given = entry->score,
            .value = sw_cache_value_at(from, slot),
        };
        struct sw_cache_home home = sw_cache_home_of(to, step.key);
        left +=
            sw_cache_operate(alone, &as_told, &never, &step, &home, &nowhere) != SW_CACHE_INSERTED;
    }
    return left;
}

void sw_cache_cpu_list(const struct sw_cache_slots *slots, const struct sw_cache_export *what)
{
    uint64_t count = 0;
    for (uint64_t slot = what->first; slot < what->first + what->slots; slot++) {
        uint64_t score = __atomic_load_n(&sw_cache_entry_at(slots, slot)->score, __ATOMIC_RELAXED);
        if (slots->digests[slot] == 0 || score < what->score_min || score > what->score_max) {
            continue;
        }
        what->keys[count] = sw_cache_entry_at(slots, slot)->key;
        if (what->values != NULL) {
            memcpy((uint8_t *)what->values + count * slots->value_bytes,
                   sw_cache_value_at(slots, slot), slots->value_bytes);
        }
        if (what->scores != NULL) {
            what->scores[count] = score;
        }
        count++;
    }
    *what->count = count;
}
