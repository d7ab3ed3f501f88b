/* SPDX-License-Identifier: MIT
 *
 * present.cu - what a batch does to entries that are present: a thread looks a key up and uses or
 * erases its entry. Operations of a large batch that does more are put in rows (rows.cuh).
 *
 * Nothing else writes meanwhile, but digests are cleared: of those that erase one entry, the one
 * that clears its digest has erased it.
 */
#include "table/cache/cuda/look_up.cuh"
#include "table/cache/cuda/rows.cuh"

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
    if (OP == SW_CACHE_INSERT_AND_EVICT) {
        rows->left[id] = SW_CACHE_PLACE_NONE;
    }
}

template <uint32_t OP, bool ROWS>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_PRESENT_BLOCKS)
    present_kernel(const struct sw_cache_piece piece)
{
    const struct sw_cache_slots *slots = &piece.launch.slots;
    const struct sw_cache_batch *batch = &piece.launch.work.batch;
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    uint64_t index = piece.first + id;
    bool valid = id < piece.count;
    uint64_t key = valid ? batch->keys[index] : 0;
    struct sw_cache_home home = sw_cache_home_of(slots, key);
    uint32_t rank = ROWS && valid ? atomicAdd(piece.rows.counts + home.first, 1U) : 0;
    uint64_t slot = valid ? sw_cache_find_one(slots, &home, key) : SW_CACHE_NOWHERE;
    bool hit = valid && rank < SW_CACHE_ROW && slot != SW_CACHE_NOWHERE &&
               use_entry<OP>(&piece.launch, index, slot);
    if (ROWS) {
        if (valid) {
            put<OP>(&piece.rows, &home, rank, id, slot);
        }
        return;
    }
    if (valid && batch->results != NULL) {
        batch->results[index] = hit ? SW_CACHE_HIT : SW_CACHE_MISS;
    }
    sw_cache_count_results(piece.launch.tally, hit ? SW_CACHE_HIT : SW_CACHE_MISS, !valid,
                           OP == SW_CACHE_ERASE);
    if (threadIdx.x == 0) {
        sw_cache_end_block(piece.launch.tally, &piece.launch.totals);
    }
}

template <uint32_t OP, bool ROWS>
static cudaError_t launch_one(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    present_kernel<OP, ROWS>
        <<<sw_cache_blocks(piece->count), SW_CACHE_THREADS, 0, stream>>>(*piece);
    return cudaGetLastError();
}

cudaError_t sw_cache_launch_present(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    switch (piece->launch.work.batch.op) {
    case SW_CACHE_ERASE:
        return launch_one<SW_CACHE_ERASE, false>(piece, stream);
    case SW_CACHE_ASSIGN_SCORES:
        return launch_one<SW_CACHE_ASSIGN_SCORES, false>(piece, stream);
    case SW_CACHE_INSERT_OR_ASSIGN:
        return launch_one<SW_CACHE_INSERT_OR_ASSIGN, true>(piece, stream);
    case SW_CACHE_INSERT_AND_EVICT:
        return launch_one<SW_CACHE_INSERT_AND_EVICT, true>(piece, stream);
    case SW_CACHE_FIND_OR_INSERT:
        return launch_one<SW_CACHE_FIND_OR_INSERT, true>(piece, stream);
    case SW_CACHE_ASSIGN:
        return launch_one<SW_CACHE_ASSIGN, true>(piece, stream);
    default:
        return launch_one<SW_CACHE_ASSIGN_VALUES, true>(piece, stream);
    }
}
