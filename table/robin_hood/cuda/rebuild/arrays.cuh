/* SPDX-License-Identifier: MIT
 *
 * arrays.cuh - what a table of one capacity keeps on the device: replaced as a whole by a resize.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_ARRAYS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_ARRAYS_CUH

#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/robin_hood_backend.h"

struct sw_cuda_arrays {
    struct sw_geometry geometry;
    void *memory; /* device: the rest lies in it */
    size_t bytes;
    void *slots; /* main array, then stash */
    uint32_t *locks;
    uint8_t *hints;   /* NULL if none are kept */
    bool hints_stale; /* entries left without their being told: kernels are given none */
    uint32_t *offsets;
    unsigned long long *status;
};

/* Allocates arrays of this geometry from the pool, in the order of `stream`; *arrays is zero on
 * failure. What a rebuild does not write is EMPTY or zero: with `all`, everything. */
cudaError_t sw_cuda_arrays_open(struct sw_cuda_arrays *arrays, const struct sw_geometry *geometry,
                                uint32_t slot_bits, bool with_hints, bool all, cudaMemPool_t pool,
                                cudaStream_t stream);
/* Frees them once everything before on the stream is done. */
void sw_cuda_arrays_close(struct sw_cuda_arrays *arrays, cudaStream_t stream);

/* Points the device's view of the table at these arrays. */
template <int BITS>
void sw_cuda_arrays_use(const struct sw_cuda_arrays *arrays, struct sw_cuda_device<BITS> *device);

#endif
