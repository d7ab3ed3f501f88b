/* SPDX-License-Identifier: MIT
 *
 * present.cu - what a batch does to entries that are present: a thread looks a key up and uses or
 * erases its entry. Operations of a large batch that does more, in MEMORY mode, are put in rows
 * (rows.cuh).
 *
 * Nothing else writes meanwhile, but digests are cleared: of those that erase one entry, the one
 * that clears its digest has erased it.
 */
#include "table/cache/cuda/look_up.cuh"
#include "table/cache/cuda/places.cuh"

/* Blocks of a multiprocessor at a time, at least. */
#ifndef SW_CACHE_PRESENT_BLOCKS
#define SW_CACHE_PRESENT_BLOCKS 4
#endif

static __device__ __forceinline__ bool erase(const struct sw_cache_slots *slots, uint64_t slot)
{
    uint32_t digest = 0xffU << (8 * (slot % 4));
    return (atomicAnd((uint32_t *)(slots->digests + slot / 4 * 4), ~digest) & digest) != 0;
}

/* Does what the operation does to the entry at `slot`; whether it was still there. */
template <uint32_t OP>
static __device__ __forceinline__ bool use_entry(const struct sw_cache_launch *launch,
                                                 uint64_t index, uint64_t slot)
{
    const struct sw_cache_batch *batch = &launch->work.batch;
    const uint32_t acts = sw_cache_acts(OP, false);
    if (acts & SW_CACHE_ACT_ERASE) {
        return erase(&launch->slots, slot);
    }
    if (acts & SW_CACHE_ACT_USE) {
        uint64_t score = sw_cache_touch(&launch->slots, &launch->work.time, index,
                                        sw_cache_given(&launch->work, index), slot);
        if (OP == SW_CACHE_FIND_OR_INSERT && batch->scores_out != NULL) {
            batch->scores_out[index] = score;
        }
    }
    return true;
}

/* Puts operation `id` in the row of its bucket. `slot`: its entry's, or SW_CACHE_NOWHERE. */
template <uint32_t OP>
static __device__ __forceinline__ void put(const struct sw_cache_rows *rows,
                                           const struct sw_cache_home *home, uint32_t rank,
                                           uint32_t id, uint64_t slot)
{
    uint64_t reads = sw_cache_acts(OP, false) & SW_CACHE_ACT_READ ? SW_CACHE_PLACE_READ : 0;
    uint32_t entry = id | SW_CACHE_ROW_ABSENT | home->digest << 24;
    uint64_t place = sw_cache_place(SW_CACHE_PLACE_NONE, SW_CACHE_MISS);
    if (slot != SW_CACHE_NOWHERE) {
        entry = id | sw_cache_row_code(home, slot) << 24;
        place = sw_cache_place(reads | slot, SW_CACHE_HIT);
    }
    if (rank < SW_CACHE_ROW) {
        rows->entries[home->first * SW_CACHE_ROW + rank] = entry;
    } else {
        rows->rest[atomicAdd(rows->rest_count, 1U)] = id;
        place = sw_cache_place(SW_CACHE_PLACE_NONE, SW_CACHE_ROW_REST);
    }
    rows->places[id] = place;
}

/* Puts the operations of a piece in rows, once present keys are used. */
template <uint32_t OP>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_PRESENT_BLOCKS)
    rows_kernel(const struct sw_cache_piece piece)
{
    sw_cuda_follow();
    const struct sw_cache_slots *slots = &piece.launch.slots;
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    if (id >= piece.count) {
        return;
    }
    uint64_t index = piece.first + id;
    uint64_t key = piece.launch.work.batch.keys[index];
    struct sw_cache_home home = sw_cache_home_of(slots, key);
    uint32_t rank = atomicAdd(piece.rows.counts + home.first, 1U);
    uint64_t slot = sw_cache_find_one(slots, &home, key);
    if (rank < SW_CACHE_ROW && slot != SW_CACHE_NOWHERE) {
        use_entry<OP>(&piece.launch, index, slot);
    }
    put<OP>(&piece.rows, &home, rank, id, slot);
}

/* Carries out a batch that does no more. */
template <uint32_t OP>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_PRESENT_BLOCKS)
    present_kernel(const struct sw_cache_launch launch)
{
    const struct sw_cache_slots *slots = &launch.slots;
    const struct sw_cache_batch *batch = &launch.work.batch;
    uint32_t hits = 0;
    uint32_t misses = 0;
    for (uint32_t index = blockIdx.x * SW_CACHE_THREADS + threadIdx.x; index < batch->count;
         index += gridDim.x * SW_CACHE_THREADS) {
        uint64_t key = batch->keys[index];
        struct sw_cache_home home = sw_cache_home_of(slots, key);
        uint64_t slot = sw_cache_find_one(slots, &home, key);
        bool hit = slot != SW_CACHE_NOWHERE && use_entry<OP>(&launch, index, slot);
        if (batch->results != NULL) {
            batch->results[index] = hit ? SW_CACHE_HIT : SW_CACHE_MISS;
        }
        hits += hit;
        misses += !hit;
    }
    sw_cache_count_look_ups(launch.tally, hits, misses, OP == SW_CACHE_ERASE);
    if (threadIdx.x == 0) {
        sw_cache_end_block(launch.tally, &launch.totals);
    }
}

cudaError_t sw_cache_launch_present(const struct sw_cache_launch *launch, cudaStream_t stream)
{
    uint32_t blocks = sw_cache_look_up_blocks(launch->work.batch.count);
    if (launch->work.batch.op == SW_CACHE_ERASE) {
        present_kernel<SW_CACHE_ERASE><<<blocks, SW_CACHE_THREADS, 0, stream>>>(*launch);
    } else {
        present_kernel<SW_CACHE_ASSIGN_SCORES><<<blocks, SW_CACHE_THREADS, 0, stream>>>(*launch);
    }
    return cudaGetLastError();
}

template <uint32_t OP>
static cudaError_t launch_one(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    return sw_cuda_launch_following(piece->first != 0, rows_kernel<OP>,
                                    sw_cache_blocks(piece->count), SW_CACHE_THREADS, stream,
                                    *piece);
}

cudaError_t sw_cache_launch_present_in_rows(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    switch (piece->launch.work.batch.op) {
    case SW_CACHE_INSERT_OR_ASSIGN:
        return launch_one<SW_CACHE_INSERT_OR_ASSIGN>(piece, stream);
    case SW_CACHE_FIND_OR_INSERT:
        return launch_one<SW_CACHE_FIND_OR_INSERT>(piece, stream);
    case SW_CACHE_ASSIGN:
        return launch_one<SW_CACHE_ASSIGN>(piece, stream);
    default:
        return launch_one<SW_CACHE_ASSIGN_VALUES>(piece, stream);
    }
}
