/* SPDX-License-Identifier: MIT
 *
 * cell.h - the cuckoo algorithm of table/cuckoo for cells of a 32-bit key alone, and look-ups in
 * all arrays. Host and device; names end in _k32.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_SET_CELL_H
#define SHERWOOD_BENCH_CUCKOO_SET_CELL_H

#include "table/cuckoo/cuckoo.h"

/* All ones = EMPTY; the key of that value lies beside the arrays. */
#define SW_CSET_EMPTY UINT32_MAX

struct sw_cuckoo_cell_k32 {
    uint32_t key;
};

SW_CUCKOO_INLINE struct sw_cuckoo_cell_k32 sw_cuckoo_cell_of_k32(uint32_t key, uint32_t value)
{
    struct sw_cuckoo_cell_k32 cell;
    (void)value;
    cell.key = key;
    return cell;
}

/* As table/cuckoo/cell.inl has them of cells with values. */
SW_CUCKOO_INLINE struct sw_cuckoo_cell_k32
sw_cuckoo_cell_read_k32(const struct sw_cuckoo_cell_k32 *cell)
{
#ifdef __CUDA_ARCH__
    return sw_cuckoo_cell_of_k32(__ldcg((const unsigned int *)cell), 0);
#else
    return *cell;
#endif
}

SW_CUCKOO_INLINE struct sw_cuckoo_cell_k32
sw_cuckoo_cell_exchange_k32(struct sw_cuckoo_cell_k32 *cell, struct sw_cuckoo_cell_k32 entry)
{
#ifdef __CUDA_ARCH__
    return sw_cuckoo_cell_of_k32(atomicExch((unsigned int *)cell, entry.key), 0);
#else
    return sw_cuckoo_cell_of_k32(__atomic_exchange_n(&cell->key, entry.key, __ATOMIC_RELAXED), 0);
#endif
}

#define SW_WIDTH_BITS 32
#define SW_WIDTH_WORD uint32_t
#define SW_WIDTH_ONES SW_CSET_EMPTY
#define SW_WIDTH_NAMED(name) name##_k32
#include "table/cuckoo/cuckoo.inl"
#undef SW_WIDTH_BITS
#undef SW_WIDTH_WORD
#undef SW_WIDTH_ONES
#undef SW_WIDTH_NAMED

/* Looks up the keys of `wanted` (bits; EMPTY must not be among them), `count` of which are here, in
 * one array after the other, as far as needed. Returns the bits of those found. */
SW_CUCKOO_INLINE uint32_t sw_cset_look_up(const struct sw_cuckoo_view_k32 *view,
                                          const uint32_t *keys, uint32_t wanted, uint32_t count,
                                          uint32_t functions)
{
    struct sw_cuckoo_cell_k32 cells[SW_CUCKOO_IN_FLIGHT_MAX];
    uint32_t found = 0;
    SW_CUCKOO_UNROLL
    for (uint32_t i = 0; i < functions; i++) {
        found |= sw_cuckoo_look_in_k32(view, keys, wanted & ~found, cells, count, i);
    }
    return found;
}

/* The same, but every array is read before any cell is looked at. */
SW_CUCKOO_INLINE uint32_t sw_cset_look_up_together(const struct sw_cuckoo_view_k32 *view,
                                                   const uint32_t *keys, uint32_t wanted,
                                                   uint32_t count, uint32_t functions)
{
    uint32_t held[SW_CUCKOO_FUNCTIONS_MAX][SW_CUCKOO_IN_FLIGHT_MAX];
    uint32_t found = 0;
    SW_CUCKOO_UNROLL
    for (uint32_t i = 0; i < functions; i++) {
        SW_CUCKOO_UNROLL
        for (uint32_t k = 0; k < count; k++) {
            held[i][k] = SW_CSET_EMPTY;
            if ((wanted >> k & 1) != 0) {
                held[i][k] = sw_cuckoo_cell_read_k32(sw_cuckoo_cell_at_k32(view, keys[k], i)).key;
            }
        }
    }
    SW_CUCKOO_UNROLL
    for (uint32_t i = 0; i < functions; i++) {
        SW_CUCKOO_UNROLL
        for (uint32_t k = 0; k < count; k++) {
            found |= (wanted >> k & 1) != 0 && held[i][k] == keys[k] ? 1U << k : 0;
        }
    }
    return found;
}

#endif
