/* SPDX-License-Identifier: MIT
 *
 * xxhash.h - XXH32 of inputs of 4 and of 8 bytes, for host and device.
 *
 * Written from the specification (Yann Collet, "xxHash fast digest algorithm", doc/xxhash_spec.md
 * of github.com/Cyan4973/xxHash): inputs shorter than 16 bytes skip the four accumulators. The hash
 * then begins as seed + PRIME32_5 + length; a round for each 4 bytes and the avalanche follow. Keys
 * are hashed as their little-endian bytes.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_XXHASH_H
#define SHERWOOD_TABLE_CUCKOO_XXHASH_H

#include <stdint.h>

#include "table/mix.h"

#define SW_XXH_PRIME32_2 0x85EBCA77U
#define SW_XXH_PRIME32_3 0xC2B2AE3DU
#define SW_XXH_PRIME32_4 0x27D4EB2FU
#define SW_XXH_PRIME32_5 0x165667B1U

SW_HD static inline uint32_t sw_xxh_round(uint32_t h, uint32_t lane)
{
    h += lane * SW_XXH_PRIME32_3;
    return ((h << 17) | (h >> 15)) * SW_XXH_PRIME32_4;
}

SW_HD static inline uint32_t sw_xxh_avalanche(uint32_t h)
{
    h ^= h >> 15;
    h *= SW_XXH_PRIME32_2;
    h ^= h >> 13;
    h *= SW_XXH_PRIME32_3;
    return h ^ (h >> 16);
}

SW_HD static inline uint32_t sw_xxh32_of_4(uint32_t key, uint32_t seed)
{
    return sw_xxh_avalanche(sw_xxh_round(seed + SW_XXH_PRIME32_5 + 4, key));
}

SW_HD static inline uint32_t sw_xxh32_of_8(uint64_t key, uint32_t seed)
{
    uint32_t h = sw_xxh_round(seed + SW_XXH_PRIME32_5 + 8, (uint32_t)key);
    return sw_xxh_avalanche(sw_xxh_round(h, (uint32_t)(key >> 32)));
}

#endif
