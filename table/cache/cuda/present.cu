/* SPDX-License-Identifier: MIT
 *
 * present.cu - what a piece of a batch does to entries that are present, in MEMORY mode: a thread
 * looks a key up, uses its entry, and puts the operation in its row (rows.cuh). Nothing else writes
 * meanwhile.
 */
#include "table/cache/cuda/look_up.cuh"
#include "table/cache/cuda/places.cuh"

/* Blocks of a multiprocessor at a time, at least. */
#ifndef SW_CACHE_PRESENT_BLOCKS
#define SW_CACHE_PRESENT_BLOCKS 4
#endif

/* Puts operation `id` in the row of its bucket. `slot`: its entry's, or SW_CACHE_NOWHERE. */
static __device__ __forceinline__ void put(const struct sw_cache_rows *rows,
                                           const struct sw_cache_home *home, uint32_t rank,
                                           uint32_t id, uint64_t slot)
{
    uint32_t entry = id | SW_CACHE_ROW_ABSENT | home->digest << 24;
    uint64_t place = sw_cache_place(SW_CACHE_PLACE_NONE, SW_CACHE_MISS);
    if (slot != SW_CACHE_NOWHERE) {
        entry = id | sw_cache_row_code(home, slot) << 24;
        place = sw_cache_place(slot, SW_CACHE_HIT);
    }
    rows->entries[home->first * SW_CACHE_ROW + rank] = entry;
    rows->places[id] = place;
}

/* Puts the operations of a piece in rows, once present keys are used. Those of a row that has no
 * room for all of them are left for later, all. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_PRESENT_BLOCKS)
    rows_kernel(const struct sw_cache_piece piece)
{
    sw_cuda_follow();
    const struct sw_cache_slots *slots = &piece.batch.slots;
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    bool full = false;
    if (id < piece.count) {
        uint64_t index = piece.first + id;
        uint64_t key = piece.batch.scratch.keys[index];
        struct sw_cache_home home = sw_cache_home_of(slots, key);
        uint32_t rank = (uint32_t)piece.rows.places[id];
        full = __ldcg(piece.rows.counts + home.first) > SW_CACHE_ROW;
        if (full) {
            piece.rows.places[id] = sw_cache_place(SW_CACHE_PLACE_NONE, SW_CACHE_ROW_REST);
        } else {
            uint64_t slot = sw_cache_find_one(slots, &home, key);
            if (slot != SW_CACHE_NOWHERE) {
                uint64_t given = sw_cache_table_given(piece.batch.scores, slots->policy, index);
                sw_cache_touch(slots, &piece.batch.time, index, given, slot);
            }
            put(&piece.rows, &home, rank, id, slot);
        }
    }
    sw_cache_leave_for_later(&piece.rows, full, id);
}

cudaError_t sw_cache_launch_present(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, rows_kernel, sw_cache_blocks(piece->count),
                                    SW_CACHE_THREADS, stream, *piece);
}
