/* SPDX-License-Identifier: MIT
 *
 * list.cu - lists entries, and empties a cache.
 */
#include "table/cache/cuda/launch.cuh"
#include "table/cache/operate.inl"

/* Slots that a block checks: four per thread. */
#define TILE (4 * SW_CACHE_THREADS)

/* Returns the sum of `mine` over the threads before this one; sets *total to the sum over the
 * block. */
static __device__ uint32_t sum_before(uint32_t mine, uint32_t *total)
{
    __shared__ uint32_t sums[SW_CACHE_THREADS / 32];
    uint32_t lane = threadIdx.x % 32;
    uint32_t sum = mine;
    SW_CACHE_UNROLL
    for (uint32_t step = 1; step < 32; step *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffU, sum, step);
        sum += lane >= step ? other : 0;
    }
    if (lane == 31) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads(); /* M2: sums[] of all warps */
    uint32_t before = sum - mine;
    *total = 0;
    for (uint32_t w = 0; w < SW_CACHE_THREADS / 32; w++) {
        before += w < threadIdx.x / 32 ? sums[w] : 0;
        *total += sums[w];
    }
    return before;
}

/* Returns the slots to list among the four from `slot` on: bit k for slot + k. */
static __device__ __forceinline__ uint32_t chosen(const struct sw_cache_slots *slots,
                                                  const struct sw_cache_window *what, uint64_t slot)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < 4 && slot + k < what->first + what->slots; k++) {
        if (__ldcg(slots->digests + slot + k) != 0) {
            uint64_t score = __ldcg(&sw_cache_entry_at(slots, slot + k)->score);
            bits |= (uint32_t)(score >= what->score_min && score <= what->score_max) << k;
        }
    }
    return bits;
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    list_kernel(const struct sw_cache_slots slots_of, struct sw_cache_tally *tally,
                const struct sw_cache_window what, uint32_t key_bytes)
{
    const struct sw_cache_slots *slots = &slots_of;
    __shared__ uint64_t begin;
    __shared__ uint16_t listed[TILE];
    uint64_t tile = what.first + (uint64_t)blockIdx.x * TILE;
    uint64_t slot = tile + 4 * threadIdx.x;
    uint32_t bits = chosen(slots, &what, slot);
    uint32_t total;
    uint32_t at = sum_before(sw_cache_bits(bits), &total);
    if (threadIdx.x == 0 && total > 0) {
        begin = atomicAdd((unsigned long long *)&tally->listed, (unsigned long long)total);
    }
    __syncthreads(); /* M2: `begin` */
    for (; bits != 0; bits &= bits - 1) {
        uint32_t k = sw_cache_first_bit(bits);
        listed[at] = (uint16_t)(4 * threadIdx.x + k);
        if (key_bytes == 4) {
            ((uint32_t *)what.keys)[begin + at] = (uint32_t)sw_cache_entry_at(slots, slot + k)->key;
        } else {
            ((uint64_t *)what.keys)[begin + at] = sw_cache_entry_at(slots, slot + k)->key;
        }
        if (what.scores != NULL) {
            what.scores[begin + at] = __ldcg(&sw_cache_entry_at(slots, slot + k)->score);
        }
        at++;
    }
    __syncthreads(); /* M2: listed[] */
    uint32_t words = what.values == NULL ? 0 : slots->value_bytes / 4;
    for (uint32_t i = threadIdx.x; i < total * words; i += SW_CACHE_THREADS) {
        const uint32_t *value =
            (const uint32_t *)sw_cache_value_at(slots, tile + listed[i / words]);
        ((uint32_t *)what.values)[begin * words + i] = __ldcs(value + i % words);
    }
}

cudaError_t sw_cache_launch_list(const struct sw_cache_slots *slots, struct sw_cache_tally *tally,
                                 const struct sw_cache_window *what, uint32_t key_bytes,
                                 cudaStream_t stream)
{
    uint32_t blocks = what->slots == 0 ? 1 : (uint32_t)((what->slots + TILE - 1) / TILE);
    list_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*slots, tally, *what, key_bytes);
    return cudaGetLastError();
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    clear_kernel(const struct sw_cache_slots slots, struct sw_cache_counters *totals,
                 struct sw_cache_counters *cleared)
{
    uint64_t threads = (uint64_t)gridDim.x * SW_CACHE_THREADS;
    uint64_t thread = (uint64_t)blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    uint64_t capacity = slots.buckets * SW_CACHE_BUCKET_SLOTS;
    for (uint64_t i = thread; i < capacity / 16; i += threads) {
        ((uint4 *)slots.digests)[i] = uint4();
    }
    for (uint64_t i = thread; i < slots.buckets; i += threads) {
        slots.heads[i].shift = SW_CACHE_UNMARKED;
    }
    if (thread == 0) {
        struct sw_cache_counters emptied = sw_cache_counters();
        emptied.erased = totals->inserted - totals->erased - totals->evicted;
        sw_cache_add_counters(totals, &emptied);
        sw_cache_add_counters(cleared, &emptied);
    }
}

cudaError_t sw_cache_launch_clear(const struct sw_cache_slots *slots,
                                  struct sw_cache_counters *totals,
                                  struct sw_cache_counters *cleared, cudaStream_t stream)
{
    uint64_t threads = slots->buckets * (SW_CACHE_BUCKET_SLOTS / 16);
    uint32_t blocks = sw_cache_blocks(threads < (1U << 24) ? threads : 1U << 24);
    clear_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*slots, totals, cleared);
    return cudaGetLastError();
}
