/* SPDX-License-Identifier: MIT
 *
 * table_ranges.cu - counts and erases entries by their scores: a thread reads 16 slots.
 */
#include "table/cache/cuda/table_end.cuh"

/* Slots per thread: one load reads their digests. */
#define SLOTS 16

struct range {
    uint64_t min;
    uint64_t max;
};

/* Returns the slots of [first, first + SLOTS) that have an entry with a score in the range: bit k
 * for first + k. `digests` are the slots' digests. */
static __device__ __forceinline__ uint32_t matches(const struct sw_cache_slots *slots,
                                                   struct range range, uint64_t first,
                                                   const uint32_t *digests)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < SLOTS; k++) {
        if ((digests[k / 4] >> (8 * (k % 4)) & 0xff) != 0) {
            uint64_t score = __ldcg(&sw_cache_entry_at(slots, first + k)->score);
            bits |= (uint32_t)(score >= range.min && score <= range.max) << k;
        }
    }
    return bits;
}

/* Clears the digests of these slots. */
static __device__ __forceinline__ void erase(const struct sw_cache_slots *slots, uint64_t first,
                                             uint32_t bits)
{
    for (; bits != 0; bits &= bits - 1) {
        slots->digests[first + (uint32_t)__ffs((int)bits) - 1] = 0;
    }
}

template <bool ERASES>
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    range_kernel(const struct sw_cache_table_batch batch, const struct range range)
{
    const struct sw_cache_slots *slots = &batch.slots;
    uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    uint64_t step = (uint64_t)gridDim.x * SW_CACHE_THREADS * SLOTS;
    uint64_t first = ((uint64_t)blockIdx.x * SW_CACHE_THREADS + threadIdx.x) * SLOTS;
    uint64_t count = 0;
    for (; first < capacity; first += step) {
        uint4 words = __ldcg((const uint4 *)(slots->digests + first));
        const uint32_t digests[] = {words.x, words.y, words.z, words.w};
        uint32_t bits = matches(slots, range, first, digests);
        count += (uint32_t)__popc(bits);
        if (ERASES) {
            erase(slots, first, bits);
        }
    }
    sw_cache_add_to(ERASES ? &batch.tally->words[SW_CACHE_WORD_DELETED] : &batch.tally->list.listed,
                    count);
    __syncthreads(); /* M2, M7: what the block wrote, before thread 0 fences it */
    if (threadIdx.x == 0) {
        sw_cache_end_table_block(&batch);
    }
}

static uint32_t blocks_of(const struct sw_cache_table_batch *batch)
{
    return sw_cache_look_up_blocks(batch->slots.buckets * SW_CACHE_BUCKET_SLOTS / SLOTS);
}

cudaError_t sw_cache_table_count(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream)
{
    const struct range range = {min, max};
    range_kernel<false><<<blocks_of(batch), SW_CACHE_THREADS, 0, stream>>>(*batch, range);
    return cudaGetLastError();
}

cudaError_t sw_cache_table_erase(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream)
{
    const struct range range = {min, max};
    range_kernel<true><<<blocks_of(batch), SW_CACHE_THREADS, 0, stream>>>(*batch, range);
    return cudaGetLastError();
}
