/* SPDX-License-Identifier: MIT
 *
 * expiry_audit.c - read-only passes over expiring entries: the filter of scans, and the check.
 */
#include <string.h>

#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/time_audit.h"

/* --- scans ------------------------------------------------------------------------------------ */

void sw_expiry_filter(const struct sw_cpu *cpu, struct sw_batch *batch)
{
    const size_t key_bytes = cpu->config.slot_bits / 16;
    const size_t value_bytes =
        cpu->config.value_bytes > 0 ? cpu->config.value_bytes : cpu->config.slot_bits / 16;
    uint8_t *keys = batch->scan.keys, *values = batch->scan.values;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->scan.got; i++) {
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
    batch->scan.got = kept;
}

/* --- the invariants --------------------------------------------------------------------------- */

int sw_expiry_check(const struct sw_cpu *cpu, char *violation, size_t violation_size)
{
    struct sw_cpu *times = cpu->expiry->times;
    struct sw_state state = cpu->state;
    const struct sw_audited entries = {cpu->config.slot_bits, &cpu->geometry, &state, cpu->slots,
                                       cpu->config.seed};
    const struct sw_audited at = {128, &times->geometry, &times->state, times->slots,
                                  times->config.seed};
    return sw_check_times(&entries, &at, cpu->expiry->pass.next, violation, violation_size);
}
