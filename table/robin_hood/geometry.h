/* SPDX-License-Identifier: MIT
 *
 * geometry.h - how large a table's arrays are: buckets, probe cap, tail and stash.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_GEOMETRY_H
#define SHERWOOD_TABLE_ROBIN_HOOD_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_geometry {
    uint64_t buckets;       /* home buckets of the main array */
    uint64_t buckets_total; /* and the tail: buckets + max_probe */
    uint32_t max_probe;
    uint64_t occupied_max;
    uint64_t stash_buckets;       /* home buckets of the stash; 0: left-overs are handed back */
    uint64_t stash_buckets_total; /* twice as many, so that whatever the homes, stash_entries fit */
    uint64_t stash_max;           /* entries of the stash above which inserts are refused */
    uint64_t slots_total;         /* of both arrays: main first, then the stash */
    uint64_t bytes_total;
};

/* Computes the geometry of a valid configuration. Returns SW_OK or SW_E_INVALID (with a sentence in
 * `reason`). */
int sw_geometry_compute(const struct sw_table_config *config, struct sw_geometry *geometry,
                        char *reason, size_t reason_size);

/* The capacity a table may have at most: config->max_capacity_slots in whole buckets, and no less
 * than the one it is created with. */
uint64_t sw_geometry_capacity_max(const struct sw_table_config *config);

/* The capacity a table of `capacity_slots` grows to so that `entries` fit: twice as large, or as
 * large as they need, but not above config->max_capacity_slots; capacity_slots itself if it may not
 * grow. */
uint64_t sw_geometry_grown(const struct sw_table_config *config, uint64_t capacity_slots,
                           uint64_t entries);

/* The smallest capacity whose max_load admits `entries`, and no less than `wanted`: what a resize
 * to `wanted` slots gives. At most 2^56, where that may not be enough. */
uint64_t sw_geometry_admitting(const struct sw_table_config *config, uint64_t wanted,
                               uint64_t entries);

/* True if max_load admits `entries` at the largest capacity the table may have. */
bool sw_geometry_may_hold(const struct sw_table_config *config, uint64_t entries);

/* How many rows can be told apart by the slots of such a table; how many a table with rows may have
 * at the largest capacity: config->rows_max, or as many as entries. */
uint64_t sw_geometry_rows_limit(const struct sw_table_config *config);
uint64_t sw_geometry_rows_max(const struct sw_table_config *config);

/* The probe cap, in buckets, at which one of `buckets` buckets of `bucket_slots` slots filled to
 * `load` is expected to overflow with probability 1e-6: a bucket's overflow is the queue of a
 * deterministic server, P(queue > q) = exp(-theta q), theta the root of load (e^t - 1) = t. */
uint32_t sw_geometry_max_probe(double load, uint64_t buckets, uint32_t bucket_slots);

#ifdef __cplusplus
}
#endif

#endif
