/* SPDX-License-Identifier: MIT
 *
 * counters.h - what a batch counts, and all batches of a table.
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
    uint64_t probes;     /* buckets inspected for them. A batch that CUDA carries out by streaming
                            the whole table counts all buckets. Cache: a write counts its key's
                            candidate buckets */
    uint64_t hits;       /* the key was present before the operation */
    uint64_t misses;     /* it was not */
};

struct sw_counters {
    struct sw_op_counters by_class[SW_CLASS_COUNT];
    uint64_t inserted;     /* absent key, now present */
    uint64_t updated;      /* present key, value written (the same value included) */
    uint64_t deleted;      /* present key, now absent */
    uint64_t failures;     /* times that an entry met the probe cap */
    uint64_t refused;      /* operations of groups refused with SW_E_FULL; counted nowhere else */
    uint64_t evicted;      /* cache: entries evicted to make room for others */
    uint64_t not_admitted; /* cache: new entries turned away, since every resident they might have
                              replaced had a higher score */
};

#ifdef __cplusplus
}
#endif

#endif
