/* SPDX-License-Identifier: MIT
 *
 * expiry_audit.c - read-only passes over expiring entries: the filter of scans, and the check.
 */
#include <stdio.h>
#include <string.h>

#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/time_audit.h"

/* Times that one step of the check reads. */
#define AUDIT_ENTRIES 64U

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

/* Checks that no time of an entry that may be removed is before the bound of its part. */
static int check_bounds(const struct sw_cpu *cpu, char *violation, size_t violation_size)
{
    const struct sw_cpu *times = cpu->expiry->times;
    const struct sw_due *due = &cpu->expiry->due;
    uint64_t keys[AUDIT_ENTRIES], at[AUDIT_ENTRIES];
    struct sw_batch scan = {
        .kind = SW_BATCH_SCAN, .count = AUDIT_ENTRIES, .scan.keys = keys, .scan.values = at};
    do {
        sw_cpu_scan_slots(times, &scan);
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            const uint64_t m = sw_mix_s128(&times->table.s128, keys[i]);
            const uint64_t part = sw_due_part_of(due, m);
            const bool is_found = sw_due_find(due, part, at[i]) == part && /* by its bound, and */
                                  sw_due_find(due, 0, at[i]) <= part;      /* from the root on */
            if (!is_found && !sw_expiry_is_suspended(cpu, keys[i])) {
                (void)snprintf(violation, violation_size, "part %llu: a time before its bound",
                               (unsigned long long)part);
                return SW_E_INVALID;
            }
        }
    } while (scan.scan.cursor != 0);
    return SW_OK;
}

int sw_expiry_check(const struct sw_cpu *cpu, char *violation, size_t violation_size)
{
    struct sw_cpu *times = cpu->expiry->times;
    struct sw_state state = cpu->state;
    const struct sw_audited entries = {cpu->config.slot_bits, &cpu->geometry, &state, cpu->slots,
                                       cpu->config.seed};
    const struct sw_audited at = {128, &times->geometry, &times->state, times->slots,
                                  times->config.seed};
    const int status =
        sw_check_times(&entries, &at, cpu->expiry->pass.next, violation, violation_size);
    return status != SW_OK ? status : check_bounds(cpu, violation, violation_size);
}
