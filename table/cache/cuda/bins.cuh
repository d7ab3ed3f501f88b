/* SPDX-License-Identifier: MIT
 *
 * bins.cuh - executes any operations of a table's batch, in array order for each key.
 *
 * They are put in bins by a hash of their keys. The operations of one bin are executed in order:
 *
 *   count    a thread an operation: which one of its bin it is
 *   begin    where the operations of each bin begin in an array; bins of few and of many
 *   place    puts them there
 *   few      8 lanes carry out a bin, one operation after the other, under locks (bins.cu)
 *   many     a block carries out a bin: it sorts the numbers of the operations, and folds those
 * that find their key present (many.cu)
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_BINS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_BINS_CUH

#include "table/cache/cuda/table.cuh"

/* The chosen operations: all `count` operations of a batch from `first` on, or first + ids[i] for i
 * < *listed. At most bins.ops_max. */
struct sw_cache_chosen {
    uint64_t first;
    uint32_t count;
    const uint32_t *ids; /* NULL: all; ids and listed are device memory */
    const uint32_t *listed;
};

/* Executes the chosen operations. If `ids` is NULL, first loads the keys and operations into the
 * scratch; otherwise the scratch already has them. `follows`: the kernel before it on the stream
 * calls sw_cuda_follow. */
cudaError_t sw_cache_launch_bins(const struct sw_cache_table_batch *batch,
                                 const struct sw_cache_chosen *chosen, bool follows,
                                 cudaStream_t stream);

/* Launches the last kernel of the bins, which executes the bins of many operations. The operation
 * numbers are below `limit`. */
cudaError_t sw_cache_launch_many(const struct sw_cache_table_batch *batch, uint64_t first,
                                 uint32_t limit, cudaStream_t stream);
/* Allows the kernel its shared memory. Call it once per device before the first launch. */
cudaError_t sw_cache_allow_many(void);

#endif
