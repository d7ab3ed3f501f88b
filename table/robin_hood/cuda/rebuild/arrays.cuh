/* SPDX-License-Identifier: MIT
 *
 * arrays.cuh - the device arrays of a table of one capacity. A resize replaces all of them.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_ARRAYS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_ARRAYS_CUH

#include "table/device/pool.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/robin_hood_backend.h"

struct sw_cuda_arrays {
    struct sw_geometry geometry;
    void *memory; /* device memory that contains all arrays */
    size_t bytes;
    bool exported; /* other processes may map `memory`, which is not of the pool */
    void *slots;   /* main array, then stash */
    uint32_t *locks;
    uint8_t *hints;   /* NULL: the table has no hints */
    bool hints_stale; /* removals did not clear hints: kernels get NULL hints */
    uint32_t *offsets;
    unsigned long long *status;
};

/* Returns the bytes of the allocation that sw_cuda_arrays_open makes. */
uint64_t sw_cuda_arrays_bytes(const struct sw_geometry *geometry, uint32_t format, bool with_hints);
/* Allocates arrays of this geometry from the pool, in the order of `stream`; if `exported`, by
 * cudaMalloc, and a close then waits for the device. *arrays is zero on failure. Sets the slots
 * that a rebuild does not write to EMPTY, or all slots if `all`. Sets locks and hints to zero. */
cudaError_t sw_cuda_arrays_open(struct sw_cuda_arrays *arrays, const struct sw_geometry *geometry,
                                uint32_t format, bool with_hints, bool all, bool exported,
                                struct sw_cuda_pool *pool, cudaStream_t stream);
/* Frees the arrays when all earlier work on the stream is done. */
void sw_cuda_arrays_close(struct sw_cuda_arrays *arrays, struct sw_cuda_pool *pool,
                          cudaStream_t stream);

/* Points the device's view of the table at these arrays. */
template <int BITS>
void sw_cuda_arrays_use(const struct sw_cuda_arrays *arrays, struct sw_cuda_device<BITS> *device);

#endif
