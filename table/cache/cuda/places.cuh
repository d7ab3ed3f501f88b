/* SPDX-License-Identifier: MIT
 *
 * places.cuh - data that the kernels of MEMORY mode exchange: rows of operations, and the result of
 * each operation (rows.cuh).
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_PLACES_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_PLACES_CUH

#include "table/cache/cuda/rows.cuh"

/* An operation in a row: its number in the slice; whether its key was absent; its code. The code of
 * an absent key is its digest. The code of a present key is its slot in the first bucket, or 128 +
 * its slot in the second. */
#define SW_CACHE_ROW_ID(entry) ((entry)&0x7fffffU)
#define SW_CACHE_ROW_ABSENT 0x800000U
#define SW_CACHE_ROW_CODE(entry) ((entry) >> 24)

/* Returns the code of a key that is at `slot`. */
SW_HD static inline uint32_t sw_cache_row_code(const struct sw_cache_candidates *candidates,
                                               uint64_t slot)
{
    uint32_t second = slot / SW_CACHE_BUCKET_SLOTS != candidates->first ? SW_CACHE_BUCKET_SLOTS : 0;
    return second + (uint32_t)(slot % SW_CACHE_BUCKET_SLOTS);
}

/* The result of an operation and the destination of its value. Bits 0 to 47: the slot to write.
 * Bits 48 to 50: its enum sw_cache_result, or SW_CACHE_ROW_REST if its row does not execute it.
 * SW_CACHE_PLACE_NONE: the value goes nowhere. */
#define SW_CACHE_PLACE_NONE (1ULL << 61) /* nowhere */
#define SW_CACHE_PLACE_SLOT(place) ((place) & ((1ULL << 48) - 1))
#define SW_CACHE_PLACE_RESULT(place) ((uint32_t)((place) >> 48) & 7)
#define SW_CACHE_ROW_REST 7U

SW_HD static inline uint64_t sw_cache_place(uint64_t where, uint32_t result)
{
    return where | (uint64_t)result << 48;
}

#endif
