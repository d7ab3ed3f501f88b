/* SPDX-License-Identifier: MIT
 *
 * present.cu - the second kernel of a slice in MEMORY mode: a thread looks a key up, uses its entry
 * if it is present, and puts the operation in its row (rows.cuh). Scores are raised by
 * atomics (M6); nothing else writes meanwhile.
 */
#include "table/cache/cuda/look_up.cuh"
#include "table/cache/cuda/places.cuh"

/* Least number of blocks that a multiprocessor holds.
 *
 * %RANGE% SW_CACHE_PRESENT_BLOCKS bpm {2,3,4,5,6}
 */
#ifndef SW_CACHE_PRESENT_BLOCKS
#define SW_CACHE_PRESENT_BLOCKS 4
#endif

/* Puts operation `id` in the row of its bucket. `slot`: the slot of its key, or
 * SW_CACHE_NOWHERE. */
static __device__ __forceinline__ void put(const struct sw_cache_rows *rows,
                                           const struct sw_cache_candidates *candidates,
                                           uint32_t rank, uint32_t id, uint64_t slot)
{
    uint32_t entry = id | SW_CACHE_ROW_ABSENT | candidates->digest << 24;
    uint64_t place = sw_cache_place(SW_CACHE_PLACE_NONE, SW_CACHE_MISS);
    if (slot != SW_CACHE_NOWHERE) {
        entry = id | sw_cache_row_code(candidates, slot) << 24;
        place = sw_cache_place(slot, SW_CACHE_HIT);
    }
    rows->entries[candidates->first * SW_CACHE_ROW + rank] = entry;
    rows->places[id] = place;
}

/* Uses the entries of present keys, then puts the operations of a slice in rows. If a row has no
 * room for all its operations, leaves all of them to the bins. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_PRESENT_BLOCKS)
    rows_kernel(const struct sw_cache_slice slice)
{
    sw_cuda_follow();
    const struct sw_cache_slots *slots = &slice.batch.slots;
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    bool full = false;
    if (id < slice.count) {
        uint64_t index = slice.first + id;
        uint64_t key = slice.batch.scratch.keys[index];
        struct sw_cache_candidates candidates = sw_cache_candidates_of(slots, key);
        uint32_t rank = (uint32_t)slice.rows.places[id];
        full = __ldcg(slice.rows.counts + candidates.first) > SW_CACHE_ROW;
        if (full) {
            slice.rows.places[id] = sw_cache_place(SW_CACHE_PLACE_NONE, SW_CACHE_ROW_REST);
        } else {
            uint64_t slot = sw_cache_find_one(slots, &candidates, key);
            if (slot != SW_CACHE_NOWHERE) {
                uint64_t given = sw_cache_table_given(slice.batch.scores, slots->policy, index);
                sw_cache_touch(slots, &slice.batch.time, index, given, slot);
            }
            put(&slice.rows, &candidates, rank, id, slot);
        }
    }
    sw_cache_leave_for_later(&slice.rows, full, id);
}

cudaError_t sw_cache_launch_present(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, rows_kernel, sw_cache_blocks(slice->count),
                                    SW_CACHE_THREADS, stream, *slice);
}
