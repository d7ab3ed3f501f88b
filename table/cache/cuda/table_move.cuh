/* SPDX-License-Identifier: MIT
 *
 * table_move.cuh - a table's cache of another size.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_TABLE_MOVE_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_TABLE_MOVE_CUH

#include "table/cache/cuda/arrays.cuh"

/* Moves everything to new arrays of so many buckets, once the stream has come to it, and waits for
 * that. What has no room there, or leaves for others, is added to *evicted, which is device memory;
 * not to the totals. cudaErrorMemoryAllocation: there is no memory for both; nothing changed. */
cudaError_t sw_cache_table_move(struct sw_cache_arrays *arrays, uint64_t buckets, uint64_t *evicted,
                                cudaStream_t stream);

/* Waits for the stream, and tells how many entries are held then. */
cudaError_t sw_cache_table_held(const struct sw_cache_arrays *arrays, uint64_t *held,
                                cudaStream_t stream);

/* Launches the kernel for nothing, so that it is not loaded later. */
cudaError_t sw_cache_table_move_warm_up(const struct sw_cache_slots *slots, uint64_t *evicted);

#endif
