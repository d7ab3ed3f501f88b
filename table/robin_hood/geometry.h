/* SPDX-License-Identifier: MIT
 *
 * geometry.h - sizes of a table's arrays: buckets, probe cap, tail and stash.
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
    uint64_t buckets_total; /* with the tail: buckets + max_probe */
    uint32_t max_probe;
    uint64_t occupied_max;
    uint64_t stash_buckets; /* home buckets of the stash; 0: leftovers are returned to the caller */
    uint64_t stash_buckets_total; /* 2 * stash_buckets, so that all entries of the stash fit,
                                     whatever their homes are */
    uint64_t stash_max;           /* entries of the stash above which inserts are refused */
    uint64_t slots_total;         /* of both arrays: main first, then the stash */
    uint64_t bytes_total;
};

/* Computes the geometry of a configuration. Returns SW_OK, or SW_E_INVALID with an error in
 * `reason`. */
int sw_geometry_compute(const struct sw_table_config *config, struct sw_geometry *geometry,
                        char *reason, size_t reason_size);

/* Returns the maximum capacity of a table:  config->max_capacity_slots in whole buckets, and at
 * least the initial capacity. */
uint64_t sw_geometry_capacity_max(const struct sw_table_config *config);

/* Returns the capacity to which a table of `capacity_slots` grows for `entries` entries: at least
 * twice the capacity, and large enough for the entries, but at most config->max_capacity_slots.
 * Returns capacity_slots itself if the table may not grow. */
uint64_t sw_geometry_grown(const struct sw_table_config *config, uint64_t capacity_slots,
                           uint64_t entries);

/* Returns the smallest capacity of at least `wanted` slots whose max_load admits `entries`: the
 * result of a resize to `wanted` slots. At most 2^56, even if that is too small. */
uint64_t sw_geometry_admitting(const struct sw_table_config *config, uint64_t wanted,
                               uint64_t entries);

/* Returns whether max_load admits `entries` at the largest capacity the table may have. */
bool sw_geometry_may_hold(const struct sw_table_config *config, uint64_t entries);

/* sw_geometry_rows_limit returns the number of rows that the slots of such a table can address.
 * sw_geometry_rows_max returns the maximum number of rows of a table with rows at the largest
 * capacity, which is config->rows_max or the maximum number of entries. */
uint64_t sw_geometry_rows_limit(const struct sw_table_config *config);
uint64_t sw_geometry_rows_max(const struct sw_table_config *config);

/* Returns the probe cap, in buckets, with an overflow probability of 1e-6 for any of `buckets`
 * buckets of `bucket_slots` slots filled to `load`. The overflow of a bucket is the queue of a
 * deterministic server, P(queue > q) = exp(-theta q), theta the root of load (e^t - 1) = t. */
uint32_t sw_geometry_max_probe(double load, uint64_t buckets, uint32_t bucket_slots);

#ifdef __cplusplus
}
#endif

#endif
