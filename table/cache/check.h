/* SPDX-License-Identifier: MIT
 *
 * check.h - the scanner: audits a cache that no other thread uses.
 */
#ifndef SHERWOOD_TABLE_CACHE_CHECK_H
#define SHERWOOD_TABLE_CACHE_CHECK_H

#include "table/cache/score.h"
#include "table/cache/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arrays that the scanner reads, in host memory. */
struct sw_cache_snapshot {
    struct sw_cache_slots slots; /* without values, unless they are ids */
    void *memory;                /* memory that the caller must free; or NULL */
    struct sw_cache_counters counters;
    bool loose; /* the ids of empty slots are invalid (ids.h) */
};

/* Checks the invariants. Returns SW_OK, or SW_E_INVALID with the first violation as text. */
int sw_cache_check_snapshot(const struct sw_cache_snapshot *snapshot, char *violation,
                            size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
