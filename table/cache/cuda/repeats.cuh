/* SPDX-License-Identifier: MIT
 *
 * repeats.cuh - of the operations of a block that write one key, one is carried out for all: else
 * they would wait for each other's lock, some microseconds each.
 *
 * It is as if the one with the highest number came first, and the one with the lowest last: so the
 * entry has the score of the former, since a use never lowers it, and the value of the latter.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_REPEATS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_REPEATS_CUH

#include "table/cache/cuda/launch.cuh"

#define SW_CACHE_REPEATS_PLACES (2 * SW_CACHE_THREADS)

/* Shared memory: a hash table of the keys of a block's operations, with linear probing; and what
 * its threads would else hold in registers meanwhile. */
struct sw_cache_repeats {
    uint64_t keys[SW_CACHE_THREADS];
    uint32_t places[SW_CACHE_THREADS];         /* of the threads' keys in the table */
    uint32_t threads[SW_CACHE_REPEATS_PLACES]; /* one that has the key, or SW_CACHE_NONE */
    uint32_t highest[SW_CACHE_REPEATS_PLACES]; /* of the numbers of its operations, */
    uint32_t lowest[SW_CACHE_REPEATS_PLACES];
    uint32_t results[SW_CACHE_REPEATS_PLACES]; /* and what became of the highest */
};

/* Whether it is so of an operation: its score depends on nothing but its number, and nothing but
 * its value is written. */
static __device__ __forceinline__ bool sw_cache_repeats_suit(uint32_t op, uint32_t policy)
{
    bool writes =
        op == SW_CACHE_INSERT_OR_ASSIGN || op == SW_CACHE_INSERT_AND_EVICT || op == SW_CACHE_ASSIGN;
    return writes && (policy == SW_CACHE_LRU || policy == SW_CACHE_EPOCH_LRU);
}

/* Finds those of a block; all threads, which may come here again when all have been told. Whether
 * a thread's operation, if it has one, stands for all of its key; *value_of becomes the number of
 * the one whose value is written. */
static __device__ __forceinline__ bool sw_cache_find_repeats(struct sw_cache_repeats *repeats,
                                                             uint32_t index, uint64_t key,
                                                             bool valid, uint32_t *value_of)
{
    repeats->keys[threadIdx.x] = key;
    for (uint32_t i = threadIdx.x; i < SW_CACHE_REPEATS_PLACES; i += SW_CACHE_THREADS) {
        repeats->threads[i] = SW_CACHE_NONE;
        repeats->highest[i] = 0;
        repeats->lowest[i] = UINT32_MAX;
    }
    __syncthreads();
    uint32_t place = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32) % SW_CACHE_REPEATS_PLACES;
    if (valid) {
        for (;;) {
            uint32_t there = atomicCAS(repeats->threads + place, SW_CACHE_NONE, threadIdx.x);
            if (there == SW_CACHE_NONE || repeats->keys[there] == key) {
                break;
            }
            place = (place + 1) % SW_CACHE_REPEATS_PLACES;
        }
        atomicMax(repeats->highest + place, index);
        atomicMin(repeats->lowest + place, index);
    }
    repeats->places[threadIdx.x] = place;
    __syncthreads();
    *value_of = repeats->lowest[place];
    return valid && repeats->highest[place] == index;
}

/* What became of a thread's operation, once those that stand for others were carried out: `result`
 * of theirs. All threads. */
static __device__ __forceinline__ uint32_t sw_cache_tell_repeats(struct sw_cache_repeats *repeats,
                                                                 uint32_t index, bool valid,
                                                                 uint32_t result)
{
    uint32_t place = repeats->places[threadIdx.x];
    bool stands = valid && repeats->highest[place] == index;
    if (stands) {
        repeats->results[place] = result;
    }
    __syncthreads();
    uint32_t its = repeats->results[place];
    bool made = its == SW_CACHE_INSERTED || its == SW_CACHE_REPLACED;
    return made && !stands ? (uint32_t)SW_CACHE_HIT : its;
}

#endif
