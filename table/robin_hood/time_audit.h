/* SPDX-License-Identifier: MIT
 *
 * time_audit.h - reads and checks copies of a table of expiry times, for all backends: the times of
 * keys, and whether every key has an entry.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_TIME_AUDIT_H
#define SHERWOOD_TABLE_ROBIN_HOOD_TIME_AUDIT_H

#include <stddef.h>

#include "table/robin_hood/geometry.h"
#include "table/robin_hood/robin_hood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table in host memory, or a copy of it. */
struct sw_audited {
    uint32_t slot_bits;
    const struct sw_geometry *geometry;
    struct sw_state *state;
    void *slots;
    uint64_t seed;
};

/* Looks up the expiry times of `count` keys of `key_bytes` each; 0: never. */
void sw_audited_times(const struct sw_audited *times, const void *keys, uint32_t key_bytes,
                      uint32_t count, uint64_t *out);

/* Checks the table of expiry times: its invariants, that every key has an entry, and that no time
 * is before `next`. Returns SW_OK, or SW_E_INVALID with the first violation as text. */
int sw_check_times(const struct sw_audited *entries, const struct sw_audited *times, uint64_t next,
                   char *violation, size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
