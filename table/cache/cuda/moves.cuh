/* SPDX-License-Identifier: MIT
 *
 * moves.cuh - lists the values that the operations of a warp move, in shared memory, and moves them
 * as one stream. Included after operate.inl.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_MOVES_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_MOVES_CUH

#include "table/cache/cuda/copy.cuh"
#include "table/cache/cuda/rows.cuh"

/* The lists of values. Values of the list OUT are moved first, then those of ADD are added, then
 * those of IN are moved. */
enum sw_cache_list { SW_CACHE_LIST_IN, SW_CACHE_LIST_OUT, SW_CACHE_LIST_ADD };

/* The kernel of plain SETs needs only the first list. */
#define SW_CACHE_LISTS(plain) ((plain) ? 1U : 3U)

/* The lists of a warp, with room for ROOM values each. The numbers are the same in every lane. */
template <uint32_t ROOM> struct sw_cache_lists {
    struct sw_cache_transfer (*transfers)[ROOM]; /* shared memory */
    uint32_t counts[3];
    uint32_t most; /* the largest of `counts` */
};

/* Lists a value of each lane that has one. */
template <uint32_t ROOM>
static __device__ __forceinline__ void sw_cache_list_value(struct sw_cache_lists<ROOM> *lists,
                                                           enum sw_cache_list list, bool has,
                                                           const uint8_t *from, uint8_t *to)
{
    lists->counts[list] =
        sw_cache_append_transfers(lists->transfers[list], lists->counts[list], has, from, to);
    lists->most = max(lists->most, lists->counts[list]);
}

/* Lists the values that a thread's operation moves. All lanes. */
template <bool PLAIN, uint32_t ROOM>
static __device__ __forceinline__ void sw_cache_list_moves(const struct sw_cache_slots *slots,
                                                           struct sw_cache_lists<ROOM> *lists,
                                                           const struct sw_cache_moves *moves)
{
    bool has_in = moves->in_from != NULL;
    uint8_t *there = sw_cache_value_at(slots, moves->slot);
    sw_cache_list_value(lists, SW_CACHE_LIST_IN, has_in && !moves->adds, moves->in_from, there);
    if (!PLAIN) {
        sw_cache_list_value(lists, SW_CACHE_LIST_OUT, moves->out_from != NULL, moves->out_from,
                            moves->out_to);
        sw_cache_list_value(lists, SW_CACHE_LIST_ADD, has_in && moves->adds, moves->in_from, there);
    }
}

/* Moves the listed values, of `bytes` each; `element` is the type of the numbers that are added.
 * All lanes. */
template <bool PLAIN, uint32_t ROOM>
static __device__ __forceinline__ void sw_cache_move_listed(uint32_t bytes, uint32_t element,
                                                            struct sw_cache_lists<ROOM> *lists)
{
    __syncwarp(); /* M3: the lists of all lanes */
    if (!PLAIN) {
        sw_cache_copy_transfers(lists->transfers[SW_CACHE_LIST_OUT],
                                lists->counts[SW_CACHE_LIST_OUT], bytes);
        __syncwarp(); /* M3: all lanes have read the values that go out before others replace them
                       */
        sw_cache_add_transfers(lists->transfers[SW_CACHE_LIST_ADD],
                               lists->counts[SW_CACHE_LIST_ADD], bytes,
                               (enum sw_cache_element)element);
    }
    sw_cache_copy_transfers(lists->transfers[SW_CACHE_LIST_IN], lists->counts[SW_CACHE_LIST_IN],
                            bytes);
    __syncwarp(); /* M3: the lists were read */
    lists->counts[SW_CACHE_LIST_OUT] = 0;
    lists->counts[SW_CACHE_LIST_IN] = 0;
    lists->counts[SW_CACHE_LIST_ADD] = 0;
    lists->most = 0;
}

#endif
