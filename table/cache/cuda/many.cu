/* SPDX-License-Identifier: MIT
 *
 * many.cu - bins of many operations (bins.cuh). A block carries out a bin in order. Once an
 * operation has found or inserted the entry of a key, the block folds the following operations on
 * the key, while the buckets are locked (fold.cuh).
 */
#include "table/cache/cuda/bins.cuh"
#include "table/cache/cuda/device.cuh"
#include "table/cache/cuda/fold.cuh"
#include "table/device/follow.cuh"
#include "table/device/occupancy.cuh"

#define BLOCKS_MAX 264U

/* SORTED_AT_ONCE operation numbers are sorted at a time, with one bit each. A thread has WORDS
 * words of bits. One word of padding between threads puts their first words in different banks of
 * shared memory. */
#define WORDS 16U
#define SORTED_AT_ONCE (32 * WORDS * THREADS)

static_assert((WORDS + 1) * THREADS * 4 <= ARENA_BYTES_SMALL, "the bits have room");

/* --- order ------------------------------------------------------------------------------------ */

/* Writes the numbers of a bin's operations, all below `limit`, in ascending order. All threads. */
static __device__ __forceinline__ void sort(const struct sw_cache_bins *bins, struct block *block,
                                            uint32_t *bits, struct sw_cache_bin bin, uint32_t limit)
{
    uint32_t *sorted = bins->sorted + bin.first;
    for (uint32_t base = 0; base < limit; base += SORTED_AT_ONCE) {
        uint32_t *its = bits + threadIdx.x * (WORDS + 1);
        for (uint32_t w = 0; w < WORDS; w++) {
            its[w] = 0;
        }
        __syncthreads(); /* M2: the bits are zero */
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < bin.count; i += THREADS) {
            uint32_t id = bins->ids[bin.first + i] - base;
            if (id < SORTED_AT_ONCE) {
                uint32_t word = id / 32;
                atomicOr(bits + word + word / WORDS, 1U << id % 32);
            }
        }
        __syncthreads(); /* M2: the bits of all operations */
        uint32_t count = 0;
        for (uint32_t w = 0; w < WORDS; w++) {
            count += (uint32_t)__popc(its[w]);
        }
        uint32_t total;
        uint32_t at = sum_before(block, count, &total);
        for (uint32_t w = 0; w < WORDS; w++) {
            for (uint32_t word = its[w]; word != 0; word &= word - 1) {
                sorted[at++] =
                    base + (threadIdx.x * WORDS + w) * 32 + (uint32_t)__ffs((int)word) - 1;
            }
        }
        sorted += total;
        __syncthreads(); /* M2: all threads have read the bits before the next round clears them */
    }
}

/* --- operations that are not folded ----------------------------------------------------------- */

/* Returns the slot of the block's key, or SW_CACHE_NOWHERE. By a tile. */
static __device__ __forceinline__ uint64_t seek(struct sw_cache_tile g,
                                                const struct sw_cache_slots *slots,
                                                const struct sw_cache_candidates *candidates,
                                                uint64_t key)
{
    struct sw_cache_line first = sw_cache_read_line(g, slots->digests, candidates->first);
    struct sw_cache_line second = first;
    if (slots->two) {
        second = sw_cache_read_line(g, slots->digests, candidates->second);
    }
    return sw_cache_seek_candidates(g, slots, candidates, &first, &second, key);
}

/* Takes the locks of the block's key, and finds it. All threads. */
static __device__ __forceinline__ void lock(const struct sw_cache_table_batch *batch,
                                            struct block *block)
{
    if (threadIdx.x < SW_CACHE_LANES) {
        struct sw_cache_tile g = sw_cache_my_tile();
        struct sw_cache_candidates candidates = sw_cache_candidates_of(&batch->slots, block->key);
        uint32_t *its = sw_cache_my_lock(g, &batch->slots, &candidates);
        while (!sw_cache_try_locks(g, its)) {
            sw_cache_pause();
        }
        uint64_t slot = seek(g, &batch->slots, &candidates, block->key);
        if (g.lane == 0) {
            block->slot = slot;
        }
    }
    __syncthreads(); /* M2: `slot`; M5: the acquire of the tile also holds for the other threads of
                        the block */
}

static __device__ __forceinline__ void unlock(const struct sw_cache_table_batch *batch,
                                              struct block *block)
{
    __syncthreads(); /* M2, M5: the stores of all threads come before the release */
    if (threadIdx.x < SW_CACHE_LANES) {
        struct sw_cache_tile g = sw_cache_my_tile();
        struct sw_cache_candidates candidates = sw_cache_candidates_of(&batch->slots, block->key);
        sw_cache_leave_locks(g, sw_cache_my_lock(g, &batch->slots, &candidates));
    }
    __syncthreads(); /* M2: the tile has read `key` before thread 0 writes the next one */
}

/* Carries out the operation at `place` by one tile, then looks the key up again. All threads. */
static __device__ __forceinline__ void carry_out_one(const struct sw_cache_table_batch *batch,
                                                     struct block *block, uint32_t place)
{
    __syncthreads(); /* M2: the earlier stores of the block come before those of the tile */
    if (threadIdx.x < SW_CACHE_LANES) {
        struct sw_cache_tile g = sw_cache_my_tile();
        struct sw_cache_candidates candidates = sw_cache_candidates_of(&batch->slots, block->key);
        uint32_t result = sw_cache_carry_out(g, batch, &candidates, block->key,
                                             block->indexes[place], block->words);
        uint64_t slot = seek(g, &batch->slots, &candidates, block->key);
        if (g.lane == 0) {
            block->result = result;
            block->slot = slot;
        }
    }
    __syncthreads(); /* M2: `result`, `slot`, and what the tile stored */
}

/* --- bins ------------------------------------------------------------------------------------- */

/* Carries out operations on an absent key, from place `done` up to the first that may insert it.
 * The operations before that one change nothing. If *was_refused, a new entry with the score
 * *refused was not admitted and the buckets have not changed since, so entries with scores no
 * higher are not tried. Returns the next place. All threads. */
static __device__ __forceinline__ uint32_t enter(const struct sw_cache_table_batch *batch,
                                                 struct block *block, const struct mine *mine,
                                                 uint32_t done, uint32_t count_all,
                                                 uint64_t *refused, bool *was_refused)
{
    uint64_t score =
        sw_cache_score_new(batch->slots.policy, &batch->time, mine->index, mine->given);
    bool tries = (mine->actions & SW_CACHE_DO_INSERT) != 0 && !(*was_refused && score <= *refused);
    bool left = threadIdx.x >= done && threadIdx.x < count_all;
    uint32_t until = first_of(block, left && tries, count_all);
    miss(batch, block, mine, left && threadIdx.x < until);
    if (until == count_all) {
        return until;
    }
    if (threadIdx.x == until) {
        block->score = score;
    }
    carry_out_one(batch, block, until);
    if (block->result == SW_CACHE_REFUSED) {
        *refused = block->score;
        *was_refused = true;
    }
    return until + 1;
}

/* Carries out the operations of the first `count_all` threads, which are all on the block's key.
 * All threads. */
static __device__ __forceinline__ void carry_out_key(const struct sw_cache_table_batch *batch,
                                                     struct block *block, uint8_t *arena,
                                                     const struct mine *mine, uint32_t count_all)
{
    uint64_t refused = 0;
    bool was_refused = false;
    lock(batch, block);
    for (uint32_t done = 0; done < count_all;) {
        uint64_t slot = block->slot;
        if (slot == SW_CACHE_NOWHERE) {
            done = enter(batch, block, mine, done, count_all, &refused, &was_refused);
            continue;
        }
        if (threadIdx.x == done) {
            block->kind = mine->kind;
        }
        __syncthreads(); /* M2: `kind` */
        uint32_t kind = block->kind;
        bool other = threadIdx.x > done && threadIdx.x < count_all && mine->kind != kind;
        uint32_t until = first_of(block, other, count_all);
        if (kind == KIND_ERASES) {
            carry_out_one(batch, block, done);
            was_refused = false;
            done++;
        } else {
            fold(batch, block, arena, mine, slot, kind, done, until);
            done = until;
        }
    }
    unlock(batch, block);
}

static __device__ __forceinline__ uint32_t kind_of(uint32_t op, uint32_t actions)
{
    if (actions & SW_CACHE_DO_ERASE) {
        return KIND_ERASES;
    }
    return actions & SW_CACHE_DO_ADD ? KIND_ADDS + sw_cache_table_element(op) : KIND_PLAIN;
}

/* Executes the operations of a bin, in order. Each step takes at most THREADS operations with the
 * same key. All threads. */
static __device__ __forceinline__ void carry_out_bin(const struct sw_cache_table_batch *batch,
                                                     struct block *block, uint8_t *arena,
                                                     struct sw_cache_bin bin, uint64_t first)
{
    const uint32_t *sorted = batch->scratch.bins.sorted + bin.first;
    for (uint32_t at = 0; at < bin.count;) {
        uint32_t left = min(bin.count - at, (uint32_t)THREADS);
        struct mine mine = {};
        uint64_t key = 0;
        if (threadIdx.x < left) {
            mine.index = first + __ldcg(sorted + at + threadIdx.x);
            key = batch->scratch.keys[mine.index];
            mine.op = sw_cache_op_of(batch, mine.index);
            mine.actions = sw_cache_actions_of(batch, mine.op);
            mine.given = sw_cache_table_given(batch->scores, batch->slots.policy, mine.index);
            mine.kind = kind_of(mine.op, mine.actions);
        }
        block->indexes[threadIdx.x] = (uint32_t)mine.index;
        if (threadIdx.x == 0) {
            block->key = key;
        }
        __syncthreads(); /* M2: `key` and indexes[] */
        bool other = threadIdx.x < left && key != block->key;
        uint32_t until = first_of(block, other, left);
        carry_out_key(batch, block, arena, &mine, until);
        at += until;
    }
}

/* Returns the next bin that no block has taken, and takes it. All threads. */
static __device__ __forceinline__ uint32_t take_bin(const struct sw_cache_bins *bins,
                                                    struct block *block)
{
    __syncthreads(); /* M2: `taken` was read */
    if (threadIdx.x == 0) {
        block->taken = atomicAdd(&bins->numbers->taken, 1U);
    }
    __syncthreads(); /* M2: `taken` */
    return block->taken;
}

/* Ends a block; the last block sets the counters to zero. One thread of each block calls it. */
static __device__ __forceinline__ void end_block(const struct sw_cache_bins *bins)
{
    __threadfence(); /* M7: the accesses of this block to `numbers` come before its count */
    if (atomicAdd(&bins->numbers->blocks, 1U) == gridDim.x - 1) {
        *bins->numbers = sw_cache_bin_numbers();
    }
}

static __global__ void __launch_bounds__(THREADS)
    many_kernel(const struct sw_cache_table_batch batch, uint64_t first, uint32_t limit)
{
    __shared__ struct block block;
    extern __shared__ uint4 arena[];
    const struct sw_cache_bins *bins = &batch.scratch.bins;
    sw_cuda_follow();
    uint32_t count_all = __ldcg(&bins->numbers->many);
    if (count_all > 0) {
        sw_cache_open_words(block.words);
        for (uint32_t at = take_bin(bins, &block); at < count_all; at = take_bin(bins, &block)) {
            struct sw_cache_bin bin = bins->many[at];
            sort(bins, &block, (uint32_t *)arena, bin, limit);
            carry_out_bin(&batch, &block, (uint8_t *)arena, bin, first);
        }
        sw_cache_close_words(&batch, block.words);
    }
    if (threadIdx.x == 0) {
        end_block(bins);
    }
}

/* The dynamic shared memory of a block. A GPU with room for only the small size runs code compiled
 * for that size. */
static cudaError_t arena_bytes(uint32_t *bytes)
{
    size_t most = 0;
    cudaError_t error = sw_cuda_shared_most(&most);
    *bytes = most > ARENA_BYTES_LARGE ? ARENA_BYTES_LARGE : ARENA_BYTES_SMALL;
    return error;
}

cudaError_t sw_cache_allow_many(void)
{
    uint32_t bytes = 0;
    cudaError_t error = arena_bytes(&bytes);
    return error == cudaSuccess
               ? cudaFuncSetAttribute(many_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)bytes)
               : error;
}

cudaError_t sw_cache_launch_many(const struct sw_cache_table_batch *batch, uint64_t first,
                                 uint32_t limit, cudaStream_t stream)
{
    uint32_t bins_max = limit / SW_CACHE_BIN_FEW + 1;
    uint32_t blocks = bins_max < BLOCKS_MAX ? bins_max : BLOCKS_MAX;
    uint32_t bytes = 0;
    cudaError_t error = arena_bytes(&bytes);
    return error == cudaSuccess ? sw_cuda_launch_following_with(true, many_kernel, blocks, THREADS,
                                                                bytes, stream, *batch, first, limit)
                                : error;
}
