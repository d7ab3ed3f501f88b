/* SPDX-License-Identifier: MIT
 *
 * check.c - audits a cache: the invariants of README.md, slot by slot.
 */
#include "table/cache/check.h"
#include "table/cache/ids.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 4))) static int violated(char *text, size_t size,
                                                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return SW_E_INVALID;
}

/* Checks I1 to I3 of an occupied slot: no second copy, the digest, the bucket. */
static int check_slot(const struct sw_cache_slots *slots, uint64_t slot, char *text, size_t size)
{
    uint64_t key = sw_cache_entry_at(slots, slot)->key;
    uint64_t bucket = slot / SW_CACHE_BUCKET_SLOTS;
    struct sw_cache_candidates candidates = sw_cache_candidates_of(slots, key);
    if (slots->digests[slot] != candidates.digest) {
        return violated(text, size, "I2: slot %llu has digest %u, but %u is that of key %llu",
                        (unsigned long long)slot, slots->digests[slot], candidates.digest,
                        (unsigned long long)key);
    }
    if (bucket != candidates.first && bucket != candidates.second) {
        return violated(text, size, "I3: key %llu is in bucket %llu, not in %llu or %llu",
                        (unsigned long long)key, (unsigned long long)bucket,
                        (unsigned long long)candidates.first,
                        (unsigned long long)candidates.second);
    }
    uint32_t copies = 0;
    for (uint32_t side = 0; side < (slots->two ? 2U : 1U); side++) {
        uint64_t first = (side == 0 ? candidates.first : candidates.second) * SW_CACHE_BUCKET_SLOTS;
        for (uint64_t i = first; i < first + SW_CACHE_BUCKET_SLOTS; i++) {
            copies +=
                slots->digests[i] == candidates.digest && sw_cache_entry_at(slots, i)->key == key;
        }
    }
    if (copies != 1) {
        return violated(text, size, "I1: there are %u copies of key %llu", copies,
                        (unsigned long long)key);
    }
    return SW_OK;
}

/* Checks I5 of an occupied slot: its mark is at most the mark of its score. */
static int check_mark(const struct sw_cache_slots *slots, uint64_t slot, char *text, size_t size)
{
    const struct sw_cache_head *head = slots->heads + slot / SW_CACHE_BUCKET_SLOTS;
    if (head->shift == SW_CACHE_UNMARKED) {
        return SW_OK;
    }
    if (head->shift > 63) {
        return violated(text, size, "I5: bucket %llu has shift %u",
                        (unsigned long long)(slot / SW_CACHE_BUCKET_SLOTS), head->shift);
    }
    uint32_t highest =
        sw_cache_mark_of(head->base, head->shift, sw_cache_entry_at(slots, slot)->score);
    if (slots->marks[slot] > highest) {
        return violated(text, size, "I5: slot %llu has mark %u, above the %u of its score %llu",
                        (unsigned long long)slot, slots->marks[slot], highest,
                        (unsigned long long)sw_cache_entry_at(slots, slot)->score);
    }
    return SW_OK;
}

int sw_cache_check_snapshot(const struct sw_cache_snapshot *snapshot, char *violation,
                            size_t violation_size)
{
    const struct sw_cache_slots *slots = &snapshot->slots;
    uint64_t occupied = 0;
    for (uint64_t slot = 0; slot < slots->buckets * SW_CACHE_BUCKET_SLOTS; slot++) {
        if (slots->digests[slot] == 0) {
            continue;
        }
        occupied++;
        int status = check_slot(slots, slot, violation, violation_size);
        if (status == SW_OK) {
            status = check_mark(slots, slot, violation, violation_size);
        }
        if (status != SW_OK) {
            return status;
        }
    }
    const struct sw_cache_counters *counters = &snapshot->counters;
    uint64_t size = counters->inserted - counters->erased - counters->evicted;
    if (occupied != size) {
        return violated(violation, violation_size,
                        "I4: %llu slots are occupied, but the size is %llu",
                        (unsigned long long)occupied, (unsigned long long)size);
    }
    for (uint64_t bucket = 0; bucket < slots->buckets; bucket++) {
        if (slots->heads[bucket].lock != 0) {
            return violated(violation, violation_size, "I6: bucket %llu is locked",
                            (unsigned long long)bucket);
        }
    }
    return slots->ids == 0 ? SW_OK
                           : sw_cache_ids_check(slots, snapshot->loose, violation, violation_size);
}
