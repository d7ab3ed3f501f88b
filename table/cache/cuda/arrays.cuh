/* SPDX-License-Identifier: MIT
 *
 * arrays.cuh - the device memory of a cache.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_ARRAYS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_ARRAYS_CUH

#include "table/cache/check.h"
#include "table/cache/cuda/rows.cuh"
#include "table/device/range.cuh"

struct sw_cache_arrays {
    struct sw_cache_slots slots;
    struct sw_cache_counters *totals;
    struct sw_cache_rows rows;
    enum sw_cache_writing writing;
    void *memory;
    uint64_t bytes;              /* of `memory` */
    struct sw_cuda_range values; /* host memory, if slots.apart */
};

/* Returns the bytes of device memory that sw_cache_arrays_open allocates. */
uint64_t sw_cache_arrays_bytes(const struct sw_cache_slots *slots, enum sw_cache_writing writing);
/* Returns the bytes of values in host memory. */
static inline uint64_t sw_cache_values_bytes(const struct sw_cache_slots *slots)
{
    return slots->buckets * SW_CACHE_BUCKET_SLOTS * slots->value_bytes;
}
/* Allocates an empty cache on the current device. `slots` gives its sizes. After a failure no
 * memory stays allocated. Returns when the memory is ready for every stream. */
cudaError_t sw_cache_arrays_open(struct sw_cache_arrays *arrays, const struct sw_cache_slots *slots,
                                 enum sw_cache_writing writing);
void sw_cache_arrays_close(struct sw_cache_arrays *arrays);

/* Copies all arrays, except values that are no ids, to host memory. No batch may be in flight. */
int sw_cache_arrays_snapshot(const struct sw_cache_arrays *arrays,
                             struct sw_cache_snapshot *snapshot, cudaError_t *error);

#endif
