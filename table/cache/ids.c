/* SPDX-License-Identifier: MIT
 *
 * ids.c - settles, loads and checks the ids of a cache in host memory (ids.h).
 */
#include "table/cache/ids.h"

#include <stdio.h>
#include <string.h>

#include "table/host/memory.h"

static uint64_t capacity_of(const struct sw_cache_slots *slots)
{
    return slots->buckets * SW_CACHE_BUCKET_SLOTS;
}

static bool is_marked(const uint64_t *marks, uint64_t id)
{
    return (marks[id / 64] >> id % 64 & 1) != 0;
}

/* Returns false if the id is not below `ids`, or was marked before. */
static bool mark(uint64_t *marks, uint64_t ids, uint64_t id)
{
    if (id >= ids || is_marked(marks, id)) {
        return false;
    }
    marks[id / 64] |= 1ULL << id % 64;
    return true;
}

void sw_cache_ids_number(const struct sw_cache_slots *slots)
{
    for (uint64_t slot = 0; slot < capacity_of(slots); slot++) {
        sw_cache_id_put(slots, slot, slot);
    }
}

void sw_cache_ids_settle(const struct sw_cache_slots *slots, uint64_t *marks)
{
    memset(marks, 0, sw_cache_id_marks_bytes(slots->ids));
    for (uint64_t slot = 0; slot < capacity_of(slots); slot++) {
        if (slots->digests[slot] != 0) {
            (void)mark(marks, slots->ids, sw_cache_id_at(slots, slot));
        }
    }
    for (uint64_t slot = 0, next = 0; slot < capacity_of(slots); slot++) {
        if (slots->digests[slot] != 0) {
            continue;
        }
        while (is_marked(marks, next)) {
            next++;
        }
        sw_cache_id_put(slots, slot, next++);
    }
}

int sw_cache_ids_load(struct sw_cache_loaded_ids *loaded, uint64_t ids, uint64_t held,
                      uint32_t value_bytes, const struct sw_batch *batch)
{
    if (loaded->marks == NULL && held > 0) {
        return SW_E_INVALID;
    }
    if (loaded->marks == NULL) {
        loaded->marks = sw_memory_map(sw_cache_id_marks_bytes(ids));
        loaded->ids = ids;
    }
    if (loaded->marks == NULL) {
        return SW_E_NOMEM;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint64_t id = value_bytes == 4 ? ((const uint32_t *)batch->values)[i]
                                             : ((const uint64_t *)batch->values)[i];
        if (!mark(loaded->marks, ids, id)) {
            return SW_E_INVALID;
        }
    }
    return SW_OK;
}

void sw_cache_ids_end_load(struct sw_cache_loaded_ids *loaded)
{
    sw_memory_unmap(loaded->marks, sw_cache_id_marks_bytes(loaded->ids));
    *loaded = (struct sw_cache_loaded_ids){0};
}

int sw_cache_ids_check(const struct sw_cache_slots *slots, bool loose, char *violation,
                       size_t violation_size)
{
    uint64_t *marks = sw_memory_map(sw_cache_id_marks_bytes(slots->ids));
    int status = marks == NULL ? SW_E_NOMEM : SW_OK;
    for (uint64_t slot = 0; status == SW_OK && slot < capacity_of(slots); slot++) {
        const bool counts = slots->digests[slot] != 0 || !loose;
        const uint64_t id = sw_cache_id_at(slots, slot);
        if (counts && !mark(marks, slots->ids, id)) {
            snprintf(violation, violation_size,
                     "I7: slot %llu has the id %llu, which is not below %llu or also that of "
                     "another slot",
                     (unsigned long long)slot, (unsigned long long)id,
                     (unsigned long long)slots->ids);
            status = SW_E_INVALID;
        }
    }
    sw_memory_unmap(marks, sw_cache_id_marks_bytes(slots->ids));
    return status;
}
