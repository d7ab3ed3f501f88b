/* SPDX-License-Identifier: MIT
 *
 * cpu.c - a cache in host memory.
 */
#include "table/cache/cpu.h"

#include <stdio.h>

#include "table/cache/cpu_table.h"
#include "table/cache/ids.h"
#include "table/cache/operate.inl"
#include "table/host/memory.h"

static const struct sw_cache_tile alone = {0, 1, 0};

/* Entries and values are last: their size is any multiple of 4. */
void sw_cache_cpu_carve(struct sw_cache_slots *slots, void *memory)
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

void *sw_cache_cpu_allocate(struct sw_cache_slots *slots, uint64_t *bytes, struct sw_growth *owner,
                            char *reason, size_t reason_size)
{
    *bytes = slots->buckets * sw_cache_bucket_bytes(slots->value_bytes);
    const bool may = sw_growth_permits(owner, slots->buckets * SW_CACHE_BUCKET_SLOTS, *bytes);
    void *memory = may && *bytes <= sw_memory_available() ? sw_memory_map(*bytes) : NULL;
    if (memory == NULL) {
        if (may) {
            sw_growth_settled(owner, *bytes);
        }
        snprintf(reason, reason_size,
                 "the cache needs %llu bytes of memory, more than is available: lower the capacity",
                 (unsigned long long)*bytes);
        return NULL;
    }
    sw_cache_cpu_carve(slots, memory);
    sw_cache_cpu_empty(slots);
    return memory;
}

uint64_t sw_cache_cpu_find(const struct sw_cache_slots *slots, uint64_t key)
{
    struct sw_cache_candidates candidates = sw_cache_candidates_of(slots, key);
    struct sw_cache_line line = sw_cache_read_line(alone, slots->digests, candidates.first);
    uint32_t at = sw_cache_seek(alone, slots, candidates.first, &line, candidates.digest, key);
    if (at != SW_CACHE_NONE) {
        return candidates.first * SW_CACHE_BUCKET_SLOTS + at;
    }
    if (!slots->two) {
        return SW_CACHE_NOWHERE;
    }
    line = sw_cache_read_line(alone, slots->digests, candidates.second);
    at = sw_cache_seek(alone, slots, candidates.second, &line, candidates.digest, key);
    return at == SW_CACHE_NONE ? SW_CACHE_NOWHERE : candidates.second * SW_CACHE_BUCKET_SLOTS + at;
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

uint64_t sw_cache_cpu_move(const struct sw_cache_slots *from, const struct sw_cache_slots *to)
{
    struct sw_cache_slots as_told = *to; /* CUSTOM keeps the scores unchanged */
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
            .actions = SW_CACHE_DO_INSERT,
            .key = entry->key,
            .given = entry->score,
            .value = sw_cache_value_at(from, slot),
        };
        struct sw_cache_candidates candidates = sw_cache_candidates_of(to, step.key);
        left += sw_cache_operate(alone, &as_told, &never, &step, &candidates, &nowhere, false) !=
                SW_CACHE_INSERTED;
    }
    return left;
}

/* Moves all entries to new arrays; evicts those that do not fit. SW_E_NOMEM: memory is short. */
static int move_to(struct sw_cache_cpu_table *table, uint64_t buckets, struct sw_batch *batch)
{
    struct sw_cache_slots to = table->slots;
    uint64_t bytes = 0;
    to.buckets = buckets;
    const bool settles = to.ids != 0 && table->loaded.marks == NULL;
    uint64_t *marks = settles ? sw_memory_map(sw_cache_id_marks_bytes(to.ids)) : NULL;
    if (settles && marks == NULL) {
        return SW_E_NOMEM;
    }
    void *memory = sw_cache_cpu_allocate(&to, &bytes, table->growth.owner, NULL, 0);
    if (memory == NULL) {
        sw_memory_unmap(marks, sw_cache_id_marks_bytes(to.ids));
        return SW_E_NOMEM;
    }
    uint64_t left = sw_cache_cpu_move(&table->slots, &to);
    if (marks != NULL) {
        sw_cache_ids_settle(&to, marks);
    }
    sw_memory_unmap(marks, sw_cache_id_marks_bytes(to.ids));
    batch->counters.evicted += left;
    table->counters.evicted += left;
    sw_memory_unmap(table->memory, table->bytes);
    table->slots = to;
    table->memory = memory;
    table->bytes = bytes;
    sw_cache_growth_moved(&table->growth, buckets, bytes);
    sw_growth_settled(table->growth.owner, bytes);
    return SW_OK;
}

uint64_t sw_cache_cpu_held(const struct sw_cache_cpu_table *table)
{
    const struct sw_cache_counters *counters = &table->counters;
    return counters->inserted - counters->erased - counters->evicted;
}

bool sw_cache_cpu_grows_for(const struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    sw_cache_count_upserts(batch);
    return sw_cache_growth_wanted(&table->growth, sw_cache_cpu_held(table) + batch->_upserts) !=
           table->slots.buckets;
}

void sw_cache_cpu_grow_for(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    uint64_t buckets =
        sw_cache_growth_wanted(&table->growth, sw_cache_cpu_held(table) + batch->_upserts);
    if (buckets != table->slots.buckets) {
        sw_cache_growth_tried(&table->growth, move_to(table, buckets, batch) == SW_OK);
    }
}

void sw_cache_cpu_resize(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    uint64_t buckets = sw_cache_growth_buckets(&table->growth, batch->capacity);
    if (buckets != table->slots.buckets) {
        batch->status = move_to(table, buckets, batch);
    }
    sw_cache_growth_resized(&table->growth, batch->status == SW_OK);
    batch->capacity = table->slots.buckets * SW_CACHE_BUCKET_SLOTS;
}

bool sw_cache_cpu_prepare_ids(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    if (batch->restores) {
        const int status =
            sw_cache_ids_load(&table->loaded, table->slots.ids, sw_cache_cpu_held(table),
                              table->slots.value_bytes, batch);
        batch->status = status != SW_OK ? status : batch->status;
        return status == SW_OK;
    }
    if (table->loaded.marks != NULL) {
        sw_cache_ids_settle(&table->slots, table->loaded.marks);
        sw_cache_ids_end_load(&table->loaded);
    }
    return true;
}
