/* SPDX-License-Identifier: MIT
 *
 * counts.cuh - the counters of a write batch: summed by the threads of a block, or computed from a
 * few sums.
 */
#ifndef SHERWOOD_TABLE_DEVICE_COUNTS_CUH
#define SHERWOOD_TABLE_DEVICE_COUNTS_CUH

#include "table/device/reduce.cuh"
#include "table/operation.h"

/* The counters of one thread. A batch has at most 2^28 operations: 32 bits hold any sum of them. */
struct fold_counts {
    uint32_t operations[SW_CLASS_COUNT];
    uint32_t hits[SW_CLASS_COUNT];
    uint64_t probes[SW_CLASS_COUNT];
    uint32_t inserted;
    uint32_t updated;
    uint32_t deleted;
    uint32_t refused;
};

/* Counts one operation. */
static __device__ inline void count_operation(struct fold_counts *counts, uint32_t op, bool found,
                                              enum sw_effect effect)
{
#pragma unroll
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        bool mine = c == (int)sw_op_class_of(op);
        counts->operations[c] += mine;
        counts->hits[c] += mine && found;
    }
    counts->updated += effect == SW_EFFECT_WRITE && found;
    counts->inserted += effect == SW_EFFECT_WRITE && !found;
    counts->deleted += effect == SW_EFFECT_REMOVE;
}

/* Counts the probes of a look-up, for a run that begins with operation `op`. */
static __device__ inline void count_probes(struct fold_counts *counts, uint32_t op, uint64_t probes)
{
#pragma unroll
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        counts->probes[c] += c == (int)sw_op_class_of(op) ? probes : 0;
    }
}

/* Adds a block's counters to *total. Every thread of the block must call it. */
static __device__ inline void add_counts(struct sw_counters *total,
                                         const struct fold_counts *counts)
{
    __shared__ struct sw_counters sum;
    const uint32_t words = sizeof(sum) / sizeof(uint64_t);
    static_assert(sizeof(sum) % sizeof(uint64_t) == 0, "an array of 64-bit counters");
    static_assert(sizeof(sum) / sizeof(uint64_t) <= 64, "a thread a counter");
    if (threadIdx.x < words) {
        ((uint64_t *)&sum)[threadIdx.x] = 0;
    }
    __syncthreads(); /* M2: the sums are zero */
#pragma unroll
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        uint32_t operations = sw_reduce_add(counts->operations[c]);
        uint32_t hits = sw_reduce_add(counts->hits[c]);
        sw_warp_add(&sum.by_class[c].probes, counts->probes[c]);
        if (threadIdx.x % 32 == 0 && operations != 0) {
            atomicAdd((unsigned long long *)&sum.by_class[c].operations, operations);
            atomicAdd((unsigned long long *)&sum.by_class[c].hits, hits);
            atomicAdd((unsigned long long *)&sum.by_class[c].misses, operations - hits);
        }
    }
    sw_warp_add(&sum.inserted, counts->inserted);
    sw_warp_add(&sum.updated, counts->updated);
    sw_warp_add(&sum.deleted, counts->deleted);
    sw_warp_add(&sum.refused, counts->refused);
    __syncthreads(); /* M2: the sums of all warps */
    if (threadIdx.x < words && ((uint64_t *)&sum)[threadIdx.x] != 0) {
        atomicAdd((unsigned long long *)total + threadIdx.x,
                  (unsigned long long)((uint64_t *)&sum)[threadIdx.x]);
    }
}

/* Sets the counters of `count` upserts that always write. `inserted` of them are the first
 * operation on an absent key. */
static __device__ inline void sw_count_upserts(struct sw_counters *counters, uint64_t count,
                                               uint64_t inserted)
{
    struct sw_op_counters *upserts = &counters->by_class[SW_CLASS_UPSERT];
    upserts->operations = count;
    upserts->hits = count - inserted;
    upserts->misses = inserted;
    counters->inserted = inserted;
    counters->updated = count - inserted;
}

/* Sets the counters of `count` SET_PRESENT operations, from the number of hits already counted. */
static __device__ inline void sw_count_updates(struct sw_counters *counters, uint64_t count)
{
    struct sw_op_counters *upserts = &counters->by_class[SW_CLASS_UPSERT];
    upserts->operations = count;
    upserts->misses = count - upserts->hits;
    counters->updated = upserts->hits;
}

/* Sets the counters of `count` deletes; `deleted` of them found their keys. */
static __device__ inline void sw_count_deletes(struct sw_counters *counters, uint64_t count,
                                               uint64_t deleted)
{
    struct sw_op_counters *deletes = &counters->by_class[SW_CLASS_DELETE];
    deletes->operations = count;
    deletes->hits = deleted;
    deletes->misses = count - deleted;
    counters->deleted = deleted;
}

#endif
