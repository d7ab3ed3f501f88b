/* SPDX-License-Identifier: MIT
 *
 * moves.cuh - the values that the operations of a warp's threads move, listed in shared memory and
 * moved as one stream. Included after operate.inl.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_MOVES_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_MOVES_CUH

#include "table/cache/cuda/copy.cuh"
#include "table/cache/cuda/launch.cuh"

/* Values that go out are moved before those that go in. Those that are added to others come with
 * the former: no operation does both. */
enum sw_cache_list { SW_CACHE_LIST_OUT, SW_CACHE_LIST_IN, SW_CACHE_LIST_COUNT };

/* The lists of a warp, with room for ROOM values each; the same numbers in every lane. */
template <uint32_t ROOM> struct sw_cache_lists {
    struct sw_cache_way (*ways)[ROOM]; /* [SW_CACHE_LIST_COUNT], shared memory */
    uint32_t counts[SW_CACHE_LIST_COUNT];
};

/* Lists a value of each lane that has one. */
template <uint32_t ROOM>
static __device__ __forceinline__ void sw_cache_list_value(struct sw_cache_lists<ROOM> *lists,
                                                           enum sw_cache_list list, bool has,
                                                           const uint8_t *from, uint8_t *to)
{
    lists->counts[list] =
        sw_cache_append_ways(lists->ways[list], lists->counts[list], has, from, to);
}

/* Lists the values that a thread's operation moves. All lanes. */
template <uint32_t OP, uint32_t ROOM>
static __device__ __forceinline__ void sw_cache_list_moves(const struct sw_cache_slots *slots,
                                                           struct sw_cache_lists<ROOM> *lists,
                                                           const struct sw_cache_moves *moves)
{
    bool has_in = moves->in_from != NULL;
    uint8_t *there = sw_cache_value_at(slots, moves->slot);
    const uint32_t acts = sw_cache_acts(OP, false);
    if ((acts & SW_CACHE_ACT_READ) || OP == SW_CACHE_INSERT_AND_EVICT) {
        sw_cache_list_value(lists, SW_CACHE_LIST_OUT, moves->out_from != NULL, moves->out_from,
                            moves->out_to);
    }
    if (acts & SW_CACHE_ACT_ADD) {
        sw_cache_list_value(lists, SW_CACHE_LIST_OUT, has_in && moves->adds, moves->in_from, there);
    }
    if (acts & (SW_CACHE_ACT_WRITE | SW_CACHE_ACT_INSERT)) {
        sw_cache_list_value(lists, SW_CACHE_LIST_IN, has_in && !moves->adds, moves->in_from, there);
    }
}

/* Moves the values that are listed. All lanes. */
template <uint32_t OP, uint32_t ROOM>
static __device__ __forceinline__ void sw_cache_move_listed(const struct sw_cache_launch *launch,
                                                            struct sw_cache_lists<ROOM> *lists)
{
    uint32_t bytes = launch->slots.value_bytes;
    uint32_t outs = lists->counts[SW_CACHE_LIST_OUT];
    const uint32_t acts = sw_cache_acts(OP, false);
    __syncwarp();
    if ((acts & SW_CACHE_ACT_READ) || OP == SW_CACHE_INSERT_AND_EVICT) {
        sw_cache_copy_ways(lists->ways[SW_CACHE_LIST_OUT], outs, bytes);
        __syncwarp();
    }
    if (acts & SW_CACHE_ACT_ADD) {
        sw_cache_add_ways(lists->ways[SW_CACHE_LIST_OUT], outs, bytes, launch->work.batch.element);
    }
    if (acts & (SW_CACHE_ACT_WRITE | SW_CACHE_ACT_INSERT)) {
        sw_cache_copy_ways(lists->ways[SW_CACHE_LIST_IN], lists->counts[SW_CACHE_LIST_IN], bytes);
    }
    __syncwarp();
    lists->counts[SW_CACHE_LIST_OUT] = 0;
    lists->counts[SW_CACHE_LIST_IN] = 0;
}

#endif
