/* SPDX-License-Identifier: MIT
 *
 * ids.cuh - the ids of a cache in device memory: numbers and settles them (table/cache/ids.h).
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_IDS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_IDS_CUH

#include "table/cache/cuda/launch.cuh"
#include "table/cache/ids.h"

/* Device memory that settles ids. */
struct sw_cache_settling {
    void *memory;     /* NULL: none */
    uint64_t *marks;  /* a bit for each id */
    uint64_t *free;   /* [slots] ids without an entry */
    uint64_t *listed; /* number of ids in `free`; the next: of those that slots have taken */
    uint64_t *taken;
};

/* Allocates memory for caches of up to `slots` slots with ids below `ids`. */
cudaError_t sw_cache_settling_open(struct sw_cache_settling *settling, uint64_t ids,
                                   uint64_t slots);
/* Frees the memory, if there is any. No kernel may use it. */
void sw_cache_settling_close(struct sw_cache_settling *settling);

/* Launches a kernel that gives each slot its number as its id. */
cudaError_t sw_cache_launch_number(const struct sw_cache_slots *slots, cudaStream_t stream);
/* Launches the kernels that settle the ids. */
cudaError_t sw_cache_launch_settle(const struct sw_cache_slots *slots,
                                   const struct sw_cache_settling *settling, cudaStream_t stream);

#endif
