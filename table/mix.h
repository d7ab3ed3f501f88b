/* SPDX-License-Identifier: MIT
 *
 * mix.h - bijective mixing of keys, for host and device.
 *
 * The table stores m = mix(key ^ seed) instead of the key. m is spread evenly over the width, so
 * the home bucket is a multiply-high of m. The inverse computes the key from m. fmix32 and fmix64
 * are the finalizers of MurmurHash3 (Austin Appleby, public domain); the inverses use the modular
 * inverses of their multipliers.
 */
#ifndef SHERWOOD_TABLE_MIX_H
#define SHERWOOD_TABLE_MIX_H

#include <stdint.h>

#ifdef __CUDACC__
#define SW_HD __host__ __device__
#else
#define SW_HD
#endif

SW_HD static inline uint32_t sw_mix_32(uint32_t key, uint64_t seed)
{
    uint32_t x = key ^ (uint32_t)(seed ^ (seed >> 32));
    x ^= x >> 16;
    x *= 0x85ebca6bU;
    x ^= x >> 13;
    x *= 0xc2b2ae35U;
    x ^= x >> 16;
    return x;
}

SW_HD static inline uint32_t sw_unmix_32(uint32_t m, uint64_t seed)
{
    uint32_t x = m;
    x ^= x >> 16;
    x *= 0x7ed1b41dU; /* 0xc2b2ae35 * 0x7ed1b41d == 1 (mod 2^32) */
    x ^= (x >> 13) ^ (x >> 26);
    x *= 0xa5cb9243U; /* 0x85ebca6b * 0xa5cb9243 == 1 (mod 2^32) */
    x ^= x >> 16;
    return x ^ (uint32_t)(seed ^ (seed >> 32));
}

SW_HD static inline uint64_t sw_mix_64(uint64_t key, uint64_t seed)
{
    uint64_t x = key ^ seed;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    x ^= x >> 33;
    return x;
}

SW_HD static inline uint64_t sw_unmix_64(uint64_t m, uint64_t seed)
{
    uint64_t x = m;
    x ^= x >> 33;
    x *= 0x9cb4b2f8129337dbULL; /* inverse of 0xc4ceb9fe1a85ec53 */
    x ^= x >> 33;
    x *= 0x4f74430c22a54005ULL; /* inverse of 0xff51afd7ed558ccd */
    x ^= x >> 33;
    return x ^ seed;
}

#endif
