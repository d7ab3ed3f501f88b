/* SPDX-License-Identifier: MIT
 *
 * table_move.cuh - moves a table's cache to another size.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_TABLE_MOVE_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_TABLE_MOVE_CUH

#include "table/cache/cuda/arrays.cuh"

/* Moves all entries to new arrays of `buckets` buckets, in stream order, and waits for it. Settles
 * the ids of a cache of ids if `settles`. Adds the number of entries that do not fit or are evicted
 * to *evicted, which is device memory, and not to the totals. cudaErrorMemoryAllocation: memory for
 * old and new arrays is short; nothing has changed. */
cudaError_t sw_cache_table_move(struct sw_cache_arrays *arrays, uint64_t buckets, bool settles,
                                uint64_t *evicted, cudaStream_t stream);

/* Waits for the stream, then sets *held to the number of entries. */
cudaError_t sw_cache_table_entries(const struct sw_cache_arrays *arrays, uint64_t *held,
                                   cudaStream_t stream);

/* Launches the kernel without work, so that it is not loaded later. */
cudaError_t sw_cache_table_move_warm_up(const struct sw_cache_slots *slots, uint64_t *evicted);

#endif
