/* SPDX-License-Identifier: MIT
 *
 * counters.h - the counters of a batch, and of all batches of a table.
 */
#ifndef SHERWOOD_TABLE_COUNTERS_H
#define SHERWOOD_TABLE_COUNTERS_H

#include <stdint.h>

#include "table/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_op_counters {
    uint64_t operations; /* operations carried out: hits + misses */
    uint64_t probes;     /* buckets read for these operations. If CUDA streams the whole table for a
                            batch, the batch counts all buckets. Cache: a write counts its key's
                            candidate buckets */
    uint64_t hits;       /* the key was present before the operation */
    uint64_t misses;     /* the key was absent before the operation */
};

struct sw_counters {
    struct sw_op_counters by_class[SW_CLASS_COUNT];
    uint64_t inserted;     /* absent keys that became present */
    uint64_t updated;      /* present keys whose value was written, even with the same value. Rows:
                              also present keys of a CAS that expected another row */
    uint64_t deleted;      /* present keys that became absent */
    uint64_t failures;     /* times that an entry met the probe cap */
    uint64_t refused;      /* operations of groups refused with SW_E_FULL; counted nowhere else */
    uint64_t evicted;      /* cache: entries evicted to make room for others */
    uint64_t not_admitted; /* cache: new entries not admitted, because every entry they could have
                              replaced had a higher score */
};

#ifdef __cplusplus
}
#endif

#endif
