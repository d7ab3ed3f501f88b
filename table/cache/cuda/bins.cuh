/* SPDX-License-Identifier: MIT
 *
 * bins.cuh - operations of a table's batch in array order for each key, whatever they are.
 *
 * They are put in bins by a hash of their keys; what is done with one bin is done in order:
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

/* Of the `count` operations of a batch from `first` on all; or first + ids[i], i < *listed. At most
 * bins.ops_max. */
struct sw_cache_chosen {
    uint64_t first;
    uint32_t count;
    const uint32_t *ids; /* NULL: all; else as the next, device memory */
    const uint32_t *listed;
};

/* Carries them out. Where ids is NULL the keys and operations are loaded first; otherwise they are
 * in scratch already. `follows`: the kernel before it on the stream calls sw_cuda_follow. */
cudaError_t sw_cache_launch_bins(const struct sw_cache_table_batch *batch,
                                 const struct sw_cache_chosen *chosen, bool follows,
                                 cudaStream_t stream);

/* Its last kernel: the bins of many operations, of numbers below `limit`. */
cudaError_t sw_cache_launch_many(const struct sw_cache_table_batch *batch, uint64_t first,
                                 uint32_t limit, cudaStream_t stream);
/* To be called once for a device, before it. */
cudaError_t sw_cache_allow_many(void);

#endif
