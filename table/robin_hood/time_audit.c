/* SPDX-License-Identifier: MIT
 *
 * time_audit.c - looks up keys in a table of expiry times, and the keys of that table among the
 * entries.
 */
#include "table/robin_hood/time_audit.h"

#include <stdio.h>

#include "table/robin_hood/check.h"

/* Defines the function that describes an audited table, for one width. */
#define AUDITED(WIDTH)                                                                             \
    static struct sw_table_##WIDTH audited_##WIDTH(const struct sw_audited *audited) {             \
        const struct sw_geometry *geometry = audited->geometry;                                    \
        struct sw_slot_##WIDTH *first = audited->slots;                                            \
        struct sw_slot_##WIDTH *stash =                                                            \
            geometry->stash_buckets > 0 ? first + geometry->buckets_total *SW_BUCKET_SLOTS : NULL; \
        return (struct sw_table_##WIDTH){                                                          \
            {first, geometry->buckets, geometry->buckets_total, geometry->max_probe, NULL, 0},     \
            {stash, geometry->stash_buckets, geometry->stash_buckets_total,                        \
             geometry->stash_buckets_total, NULL, 0},                                              \
            audited->state,                                                                        \
            geometry->occupied_max,                                                                \
            geometry->stash_max,                                                                   \
            audited->seed};                                                                        \
    }
AUDITED(s64)
AUDITED(s128)
#undef AUDITED

void sw_audited_times(const struct sw_audited *times, const void *keys, uint32_t key_bytes,
                      uint32_t count, uint64_t *out)
{
    const struct sw_table_s128 table = audited_s128(times);
    uint64_t probes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key =
            key_bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
        out[i] = sw_locate_s128(&table, sw_mix_s128(&table, key), &probes).value;
    }
}

static bool holds_key(const struct sw_audited *entries, uint64_t key)
{
    uint64_t probes = 0;
    if (entries->slot_bits == 64) {
        const struct sw_table_s64 table = audited_s64(entries);
        return key <= UINT32_MAX &&
               sw_locate_s64(&table, sw_mix_s64(&table, (uint32_t)key), &probes).found;
    }
    const struct sw_table_s128 table = audited_s128(entries);
    return sw_locate_s128(&table, sw_mix_s128(&table, key), &probes).found;
}

int sw_check_times(const struct sw_audited *entries, const struct sw_audited *times, uint64_t next,
                   char *violation, size_t violation_size)
{
    const struct sw_table_s128 table = audited_s128(times);
    const uint64_t slots = times->geometry->slots_total;
    int status =
        sw_check_slots(128, times->geometry, times->state, times->slots, violation, violation_size);
    for (uint64_t i = 0; status == SW_OK && i <= slots; i++) {
        const bool side = i == slots;
        const struct sw_slot_s128 slot =
            side ? (struct sw_slot_s128){.m = UINT64_MAX, .value = times->state->side_value}
                 : table.main.slots[i];
        if (side ? times->state->side_present == 0 : slot.m == UINT64_MAX) {
            continue;
        }
        const uint64_t key = sw_unmix_s128(&table, slot.m);
        const char *wrong = slot.value == 0 || slot.value < next ? "a time before the next one"
                            : !holds_key(entries, key)           ? "no entry"
                                                                 : NULL;
        if (wrong != NULL) {
            snprintf(violation, violation_size, "I14: key %llu expires at %llu and has %s",
                     (unsigned long long)key, (unsigned long long)slot.value, wrong);
            status = SW_E_INVALID;
        }
    }
    return status;
}
