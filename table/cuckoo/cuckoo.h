/* SPDX-License-Identifier: MIT
 *
 * cuckoo.h - the cuckoo algorithm, one source for CPU and CUDA, both widths.
 *
 * Instantiates cell.inl and cuckoo.inl for cells of a 32-bit key and value (names end in _s64) and
 * of a 64-bit key and value (_s128). README.md explains how the table works, and the rules that
 * keep it correct.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUCKOO_H
#define SHERWOOD_TABLE_CUCKOO_CUCKOO_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/cuckoo/xxhash.h"

#define SW_CUCKOO_FUNCTIONS_MAX 3

/* Maximum cells of one array. A 32-bit hash, scaled to the array, selects the cell. A larger array
 * would spread keys unevenly. */
#define SW_CUCKOO_CELLS_EACH_MAX (1ULL << 30)

/* Maximum keys that one GPU thread processes at once. */
#define SW_CUCKOO_IN_FLIGHT_MAX 8

/* Inlined where counts are constants, so that a GPU keeps the local arrays in registers. */
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

/* Returns the seed of function i in the seed set `number`: the finalizer of splitmix64 (Sebastiano
 * Vigna, public domain), applied to both numbers. */
SW_CUCKOO_INLINE uint32_t sw_cuckoo_seed_of(uint32_t number, uint32_t i)
{
    uint64_t z = ((uint64_t)number * SW_CUCKOO_FUNCTIONS_MAX + i + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

/* The shape of the arrays and the places of keys in them; the same for both widths of cells. */
struct sw_cuckoo_shape {
    uint64_t each;      /* cells of one array, at most SW_CUCKOO_CELLS_EACH_MAX */
    uint32_t functions; /* number of arrays and of hash functions: 2 or 3 */
    uint32_t chain_max; /* maximum exchanges of an insert; then its carried entry goes to the
                           stash */
    uint32_t seeds[SW_CUCKOO_FUNCTIONS_MAX];
};

SW_CUCKOO_INLINE uint64_t sw_cuckoo_cells(const struct sw_cuckoo_shape *shape)
{
    return shape->each * shape->functions;
}

/* Returns the seed of function i. Selects it instead of indexing, so that a GPU keeps the seeds in
 * registers. */
SW_CUCKOO_INLINE uint32_t sw_cuckoo_seed(const struct sw_cuckoo_shape *shape, uint32_t i)
{
    return i == 0 ? shape->seeds[0] : i == 1 ? shape->seeds[1] : shape->seeds[2];
}

/* Returns the number of the cell of array i for a key with this hash, counted from the first cell
 * of array 0. */
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
