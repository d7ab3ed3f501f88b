/* SPDX-License-Identifier: MIT
 *
 * ids.h - caches of ids: the value of a key is a number below `slots->ids` that the cache chooses.
 *
 * Each slot has an id, also an empty one, and no two slots have the same. So an id belongs to one
 * entry, or it is free: it is that of an empty slot, or of no slot. A new entry takes the id of its
 * slot. That is a free one, or the id of the entry that it evicts. An entry that leaves its slot
 * leaves its id there. So operations change no id, and need neither a list nor a lock for them.
 *
 * A new cache numbers its slots. A move to other arrays copies the ids of the entries. Then empty
 * slots get ids that no entry has: the ids are *settled*. They are below the number of slots: each
 * entry has at most one such id, so one is left for each empty slot.
 *
 * A load (batches that restore) sets the ids of entries. Meanwhile the ids of empty slots are
 * invalid: the ids are *loose*, until the first other write settles them.
 *
 * Threads: every call needs exclusive access to the cache.
 */
#ifndef SHERWOOD_TABLE_CACHE_IDS_H
#define SHERWOOD_TABLE_CACHE_IDS_H

#include <stddef.h>

#include "table/batch.h"
#include "table/cache/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ids of a load that is not settled: a bit for each id. */
struct sw_cache_loaded_ids {
    uint64_t *marks; /* NULL: the ids of the cache are settled */
    uint64_t ids;
};

/* Returns the bytes of a bit for each of `ids` ids. */
SW_HD static inline uint64_t sw_cache_id_marks_bytes(uint64_t ids)
{
    return (ids + 63) / 64 * sizeof(uint64_t);
}

/* Return, and set, the id of a slot. */
SW_HD static inline uint64_t sw_cache_id_at(const struct sw_cache_slots *slots, uint64_t slot)
{
    const void *value = sw_cache_value_at(slots, slot);
    return slots->value_bytes == 4 ? *(const uint32_t *)value : *(const uint64_t *)value;
}
SW_HD static inline void sw_cache_id_put(const struct sw_cache_slots *slots, uint64_t slot,
                                         uint64_t id)
{
    void *value = sw_cache_value_at(slots, slot);
    if (slots->value_bytes == 4) {
        *(uint32_t *)value = (uint32_t)id;
    } else {
        *(uint64_t *)value = id;
    }
}

/* Gives each slot its number as its id. */
void sw_cache_ids_number(const struct sw_cache_slots *slots);
/* Settles the ids. `marks` has sw_cache_id_marks_bytes() bytes, which the function overwrites. */
void sw_cache_ids_settle(const struct sw_cache_slots *slots, uint64_t *marks);

/* Begins a load unless one runs, and checks the ids of a batch that restores: SW_E_INVALID if one
 * is not below `ids`, or occurred before in the load, or if the cache already had entries (`held`)
 * when the load began. SW_E_NOMEM: memory is short. Then the caller does not carry the batch out.
 * Reads the values of the batch. */
SW_MUST_CHECK int sw_cache_ids_load(struct sw_cache_loaded_ids *loaded, uint64_t ids, uint64_t held,
                                    uint32_t value_bytes, const struct sw_batch *batch);
/* Ends the load. */
void sw_cache_ids_end_load(struct sw_cache_loaded_ids *loaded);

/* Checks I7 (README.md) of slots with values; `loose`: of occupied slots alone. Returns SW_OK;
 * SW_E_INVALID with the first violation as text; SW_E_NOMEM. */
SW_MUST_CHECK int sw_cache_ids_check(const struct sw_cache_slots *slots, bool loose,
                                     char *violation, size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
