/* SPDX-License-Identifier: MIT
 *
 * expiry_audit.c - what passes over entries that expire and changes nothing: scans, and the check.
 */
#include <stdio.h>
#include <string.h>

#include "table/robin_hood/check.h"
#include "table/robin_hood/cpu/expiry.h"

/* --- scans ------------------------------------------------------------------------------------ */

void sw_expiry_filter(const struct sw_cpu *cpu, struct sw_batch *batch)
{
    const size_t key_bytes = cpu->config.slot_bits / 16;
    const size_t value_bytes =
        cpu->config.value_bytes > 0 ? cpu->config.value_bytes : cpu->config.slot_bits / 16;
    uint8_t *keys = batch->scan_keys, *values = batch->scan_values;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->scan_count; i++) {
        const uint64_t at = sw_expiry_of(cpu->expiry, sw_expiry_key(cpu, keys, i));
        if (at != 0 && at <= batch->clock_ms) {
            continue;
        }
        if (kept < i) {
            memcpy(keys + kept * key_bytes, keys + i * key_bytes, key_bytes);
            memcpy(values + kept * value_bytes, values + i * value_bytes, value_bytes);
        }
        kept++;
    }
    batch->scan_count = kept;
}

/* --- the invariants --------------------------------------------------------------------------- */

static bool holds_key(const struct sw_cpu *cpu, uint64_t key)
{
    uint64_t probes = 0;
    if (cpu->config.slot_bits == 64) {
        const struct sw_table_s64 *table = &cpu->table.s64;
        return key <= UINT32_MAX &&
               sw_locate_s64(table, sw_mix_s64(table, (uint32_t)key), &probes).found;
    }
    const struct sw_table_s128 *table = &cpu->table.s128;
    return sw_locate_s128(table, sw_mix_s128(table, key), &probes).found;
}

int sw_expiry_check(const struct sw_cpu *cpu, char *violation, size_t violation_size)
{
    const struct sw_expiry *expiry = cpu->expiry;
    const struct sw_cpu *times = expiry->times;
    const struct sw_table_s128 *table = &times->table.s128;
    int status = sw_check_slots(128, &times->geometry, &times->state, times->slots, violation,
                                violation_size);
    for (uint64_t i = 0; status == SW_OK && i <= times->geometry.slots_total; i++) {
        const bool side = i == times->geometry.slots_total;
        const struct sw_slot_s128 slot =
            side ? (struct sw_slot_s128){.m = UINT64_MAX, .value = times->state.side_value}
                 : table->main.slots[i];
        if (side ? times->state.side_present == 0 : slot.m == UINT64_MAX) {
            continue;
        }
        const uint64_t key = sw_unmix_s128(table, slot.m);
        const char *wrong = slot.value == 0 || slot.value < expiry->next
                                ? "a time before the next one"
                            : !holds_key(cpu, key) ? "no entry"
                                                   : NULL;
        if (wrong != NULL) {
            snprintf(violation, violation_size, "I14: key %llu expires at %llu and has %s",
                     (unsigned long long)key, (unsigned long long)slot.value, wrong);
            status = SW_E_INVALID;
        }
    }
    return status;
}
