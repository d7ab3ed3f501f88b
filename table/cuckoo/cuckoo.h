/* SPDX-License-Identifier: MIT
 *
 * cuckoo.h - the cuckoo algorithm, one source for CPU and CUDA, both widths.
 *
 * Instantiates cell.inl and cuckoo.inl for cells of a 32-bit key and value (names end in _s64) and
 * of a 64-bit key and value (_s128). README.md says how the table works and which rules keep it
 * right.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUCKOO_H
#define SHERWOOD_TABLE_CUCKOO_CUCKOO_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/cuckoo/xxhash.h"

#define SW_CUCKOO_FUNCTIONS_MAX 3

/* Cells of one array. The place in it is 32 bits of hash scaled to the array, which must leave
 * enough of them to be even. */
#define SW_CUCKOO_CELLS_EACH_MAX (1ULL << 30)

/* Keys that one thread of a GPU has on their way at once, at most. */
#define SW_CUCKOO_IN_FLIGHT_MAX 8

/* Inlined where a count is a constant, so that a GPU keeps the arrays in registers. */
#ifdef __CUDACC__
#define SW_CUCKOO_INLINE static __host__ __device__ __forceinline__
#else
#define SW_CUCKOO_INLINE static inline
#endif
#ifdef __CUDA_ARCH__
#define SW_CUCKOO_UNROLL _Pragma("unroll")
#else
#define SW_CUCKOO_UNROLL
#endif

/* The seed of function i under seeds number `number`: splitmix64's finalizer (Sebastiano Vigna,
 * public domain) of both. */
SW_CUCKOO_INLINE uint32_t sw_cuckoo_seed_of(uint32_t number, uint32_t i)
{
    uint64_t z = ((uint64_t)number * SW_CUCKOO_FUNCTIONS_MAX + i + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

/* What shape the arrays have and where keys go in them; the same for every kind of cell. */
struct sw_cuckoo_shape {
    uint64_t each;      /* cells of one array, at most SW_CUCKOO_CELLS_EACH_MAX */
    uint32_t functions; /* arrays, and functions: 2 or 3 */
    uint32_t chain_max; /* exchanges after which the carried entry is given up */
    uint32_t seeds[SW_CUCKOO_FUNCTIONS_MAX];
};

SW_CUCKOO_INLINE uint64_t sw_cuckoo_cells(const struct sw_cuckoo_shape *shape)
{
    return shape->each * shape->functions;
}

/* Of function i, without an index into memory. */
SW_CUCKOO_INLINE uint32_t sw_cuckoo_seed(const struct sw_cuckoo_shape *shape, uint32_t i)
{
    return i == 0 ? shape->seeds[0] : i == 1 ? shape->seeds[1] : shape->seeds[2];
}

/* The cell, counted from the first array's first, in which array i would hold a key of this hash.
 */
SW_CUCKOO_INLINE uint64_t sw_cuckoo_place_of(const struct sw_cuckoo_shape *shape, uint32_t hash,
                                             uint32_t i)
{
    return i * shape->each + (((uint64_t)hash * shape->each) >> 32);
}

#ifndef __CUDACC__
__extension__ typedef unsigned __int128 sw_cuckoo_u128;
#else
typedef unsigned __int128 sw_cuckoo_u128;
#include "table/device/wide.cuh"
#endif

#define CK_BITS SW_WIDTH_BITS
#define CK_WORD SW_WIDTH_WORD
#define CK_ONES SW_WIDTH_ONES
#define CK(name) SW_WIDTH_NAMED(sw_cuckoo_##name)
#define SW_WIDTH_BODY "table/cuckoo/cell.inl"
#include "table/each_width.inl"
#define SW_WIDTH_BODY "table/cuckoo/cuckoo.inl"
#include "table/each_width.inl"

#endif
