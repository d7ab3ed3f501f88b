/* SPDX-License-Identifier: MIT
 *
 * bins.cu - puts operations of a table's batch in bins, and executes the bins of few operations
 * (bins.cuh).
 */
#include "table/cache/cuda/bins.cuh"
#include "table/cache/cuda/device.cuh"
#include "table/cache/cuda/table_step.cuh"
#include "table/device/follow.cuh"
#include "table/device/reduce.cuh"

/* Blocks for a list whose length the host does not know; mostly it is empty. */
#define LISTED_BLOCKS 264U

/* --- bins ------------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t count_of(const struct sw_cache_chosen *chosen)
{
    return chosen->ids == NULL ? chosen->count : __ldcg(chosen->listed);
}

static __device__ __forceinline__ uint32_t id_at(const struct sw_cache_chosen *chosen, uint32_t i)
{
    return chosen->ids == NULL ? i : chosen->ids[i];
}

static __device__ __forceinline__ uint32_t bin_of(const struct sw_cache_table_batch *batch,
                                                  uint64_t key)
{
    return (uint32_t)sw_mix_64(key, batch->slots.seed) & batch->scratch.bins.mask;
}

static __device__ __forceinline__ uint32_t lanes_before(uint32_t lanes)
{
    return (uint32_t)__popc(lanes & ((1U << threadIdx.x % 32) - 1));
}

/* Returns the rank of an operation in its bin. Lanes with the same bin share one atomic, since
 * atomics on one word wait for each other. All lanes. M6: the word before the addition is the
 * rank. */
static __device__ __forceinline__ uint32_t rank_in(uint32_t *counts, uint32_t bin, bool valid)
{
    uint32_t alike = __match_any_sync(0xffffffffU, valid ? bin : 0xffffffffU);
    uint32_t first = (uint32_t)__ffs((int)alike) - 1;
    uint32_t base = 0;
    if (valid && threadIdx.x % 32 == first) {
        base = atomicAdd(counts + bin, (uint32_t)__popc(alike));
    }
    return __shfl_sync(0xffffffffU, base, (int)first) + lanes_before(alike);
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    count_kernel(const struct sw_cache_table_batch batch, const struct sw_cache_chosen chosen)
{
    const struct sw_cache_bins *bins = &batch.scratch.bins;
    sw_cuda_follow();
    uint32_t count = count_of(&chosen);
    for (uint32_t first = blockIdx.x * SW_CACHE_THREADS; first < count;
         first += gridDim.x * SW_CACHE_THREADS) {
        bool valid = first + threadIdx.x < count;
        uint32_t id = valid ? id_at(&chosen, first + threadIdx.x) : 0;
        uint64_t key = 0;
        if (valid) {
            uint64_t index = chosen.first + id;
            key = chosen.ids == NULL ? sw_cache_load_operation(&batch, index)
                                     : batch.scratch.keys[index];
        }
        uint32_t rank = rank_in(bins->counts, bin_of(&batch, key), valid);
        if (valid) {
            bins->ranks[id] = rank;
        }
    }
}

/* The operation of rank 0 reserves the place where the operations of its bin begin. M6: the word
 * before the addition is the place. The counts are those of the kernel before (M1). */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    begin_kernel(const struct sw_cache_table_batch batch, const struct sw_cache_chosen chosen)
{
    const struct sw_cache_bins *bins = &batch.scratch.bins;
    sw_cuda_follow();
    uint32_t count = count_of(&chosen);
    for (uint32_t first = blockIdx.x * SW_CACHE_THREADS; first < count;
         first += gridDim.x * SW_CACHE_THREADS) {
        uint32_t its_bin = 0;
        uint32_t its_count = 0;
        if (first + threadIdx.x < count) {
            uint32_t id = id_at(&chosen, first + threadIdx.x);
            its_bin = bin_of(&batch, batch.scratch.keys[chosen.first + id]);
            its_count = bins->ranks[id] == 0 ? __ldcg(bins->counts + its_bin) : 0;
        }
        uint32_t before = its_count;
#pragma unroll
        for (uint32_t step = 1; step < 32; step *= 2) {
            uint32_t other = __shfl_up_sync(0xffffffffU, before, step);
            before += threadIdx.x % 32 >= step ? other : 0;
        }
        uint32_t base = 0;
        if (threadIdx.x % 32 == 31 && before != 0) {
            base = atomicAdd(&bins->numbers->placed, before);
        }
        struct sw_cache_bin bin = {__shfl_sync(0xffffffffU, base, 31) + before - its_count,
                                   its_count};
        bool few = its_count > 0 && its_count <= SW_CACHE_BIN_FEW;
        bool many = its_count > SW_CACHE_BIN_FEW;
        uint32_t at_few = sw_list_append(&bins->numbers->few, few);
        uint32_t at_many = sw_list_append(&bins->numbers->many, many);
        if (its_count > 0) {
            bins->firsts[its_bin] = bin.first;
        }
        if (few) {
            bins->few[at_few] = bin;
        }
        if (many) {
            bins->many[at_many] = bin;
        }
    }
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    place_kernel(const struct sw_cache_table_batch batch, const struct sw_cache_chosen chosen)
{
    const struct sw_cache_bins *bins = &batch.scratch.bins;
    sw_cuda_follow();
    uint32_t count = count_of(&chosen);
    for (uint32_t i = blockIdx.x * SW_CACHE_THREADS + threadIdx.x; i < count;
         i += gridDim.x * SW_CACHE_THREADS) {
        uint32_t id = id_at(&chosen, i);
        uint32_t bin = bin_of(&batch, batch.scratch.keys[chosen.first + id]);
        uint32_t rank = bins->ranks[id];
        bins->ids[bins->firsts[bin] + rank] = id;
        if (rank == 0) {
            bins->counts[bin] = 0;
        }
    }
}

/* --- few operations --------------------------------------------------------------------------- */

/* A lane's share of the operations of its tile's bin. */
struct share {
    uint32_t ids[SW_CACHE_BIN_FEW / SW_CACHE_LANES];
    uint32_t from; /* operations with lower numbers are done */
};

static __device__ __forceinline__ void
open_bin(struct sw_cache_tile g, const struct sw_cache_bins *bins, uint32_t at, struct share *share)
{
    struct sw_cache_bin bin = bins->few[at];
#pragma unroll
    for (uint32_t k = 0; k < SW_CACHE_BIN_FEW / SW_CACHE_LANES; k++) {
        uint32_t i = k * SW_CACHE_LANES + g.lane;
        share->ids[k] = i < bin.count ? bins->ids[bin.first + i] : SW_CACHE_NONE;
    }
    share->from = 0;
}

/* Returns the lowest number of an operation that is not done; SW_CACHE_NONE if all are done. */
static __device__ __forceinline__ uint32_t next_of(struct sw_cache_tile g,
                                                   const struct share *share)
{
    uint32_t least = SW_CACHE_NONE;
#pragma unroll
    for (uint32_t k = 0; k < SW_CACHE_BIN_FEW / SW_CACHE_LANES; k++) {
        least = share->ids[k] >= share->from ? min(least, share->ids[k]) : least;
    }
    return sw_cache_min(g, least);
}

/* Carries out operations of a bin from `id` on, as long as they are on one key, under the locks of
 * its buckets (M5). Returns the next operation, or SW_CACHE_NONE at the end. If another tile has a
 * lock, sets *progress to false and carries out none. */
static __device__ __forceinline__ uint32_t carry_out_some(struct sw_cache_tile g,
                                                          const struct sw_cache_table_batch *batch,
                                                          uint64_t first, uint32_t id,
                                                          struct share *share, uint32_t *words,
                                                          bool *progress)
{
    uint64_t key = batch->scratch.keys[first + id];
    struct sw_cache_candidates candidates = sw_cache_candidates_of(&batch->slots, key);
    uint32_t *lock = sw_cache_my_lock(g, &batch->slots, &candidates);
    *progress = sw_cache_try_locks(g, lock);
    if (!*progress) {
        return id;
    }
    do {
        sw_cache_carry_out(g, batch, &candidates, key, first + id, words);
        share->from = id + 1;
        id = next_of(g, share);
    } while (id != SW_CACHE_NONE && batch->scratch.keys[first + id] == key);
    sw_cache_leave_locks(g, lock);
    return id;
}

/* Each tile carries out one bin after the other. A tile never waits for a lock while it holds
 * one. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS, 3)
    few_kernel(const struct sw_cache_table_batch batch, uint64_t first)
{
    __shared__ uint32_t words[SW_CACHE_WORD_COUNT];
    const struct sw_cache_bins *bins = &batch.scratch.bins;
    sw_cuda_follow();
    uint32_t count = __ldcg(&bins->numbers->few);
    uint32_t tiles = SW_CACHE_THREADS / SW_CACHE_LANES;
    if (blockIdx.x * tiles >= count) {
        return;
    }
    sw_cache_open_words(words);
    struct sw_cache_tile g = sw_cache_my_tile();
    uint32_t at = blockIdx.x * tiles + threadIdx.x / SW_CACHE_LANES;
    uint32_t id = SW_CACHE_NONE;
    struct share share;
    while (__any_sync(0xffffffffU, at < count)) {
        bool progress = false;
        if (at < count) {
            if (id == SW_CACHE_NONE) {
                open_bin(g, bins, at, &share);
                id = next_of(g, &share);
            }
            id = carry_out_some(g, &batch, first, id, &share, words, &progress);
            at += id == SW_CACHE_NONE ? gridDim.x * tiles : 0;
        }
        if (!__any_sync(0xffffffffU, progress)) {
            sw_cache_pause();
        }
    }
    sw_cache_close_words(&batch, words);
}

/* --- all of it -------------------------------------------------------------------------------- */

cudaError_t sw_cache_launch_bins(const struct sw_cache_table_batch *batch,
                                 const struct sw_cache_chosen *chosen, bool follows,
                                 cudaStream_t stream)
{
    bool listed = chosen->ids != NULL;
    uint32_t blocks = listed ? LISTED_BLOCKS : sw_cache_blocks(chosen->count);
    uint64_t tiles = (uint64_t)chosen->count * SW_CACHE_LANES;
    uint32_t few_blocks = sw_cache_look_up_blocks(listed ? UINT32_MAX : tiles);
    cudaError_t error = sw_cuda_launch_following(follows, count_kernel, blocks, SW_CACHE_THREADS,
                                                 stream, *batch, *chosen);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_following(true, begin_kernel, blocks, SW_CACHE_THREADS, stream,
                                         *batch, *chosen);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_following(true, place_kernel, blocks, SW_CACHE_THREADS, stream,
                                         *batch, *chosen);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_following(true, few_kernel, few_blocks, SW_CACHE_THREADS, stream,
                                         *batch, chosen->first);
    }
    return error == cudaSuccess ? sw_cache_launch_many(batch, chosen->first, chosen->count, stream)
                                : error;
}
