/* SPDX-License-Identifier: MIT
 *
 * keys.cuh - the keys and their right values: the oracle of the runner.
 *
 * Key number i is a bijection of i, so keys are distinct and look random; its value follows from i
 * and a generation. Numbers from SW_TUNE_FRESH on are of keys that are not stored.
 */
#ifndef SHERWOOD_BENCH_TUNE_RUNNER_KEYS_CUH
#define SHERWOOD_BENCH_TUNE_RUNNER_KEYS_CUH

#include <stdint.h>

#include "table/robin_hood/cuda/width.cuh"

#define SW_TUNE_FRESH (1ULL << 31)

template <int BITS>
static __device__ inline typename sw_width<BITS>::word sw_tune_key(uint64_t number)
{
    if (BITS == 64) {
        uint32_t x = (uint32_t)number * 0x9e3779b1U;
        x = (x ^ (x >> 15)) * 0x2c1b3c6dU;
        x = (x ^ (x >> 12)) * 0x297a2d39U;
        return (typename sw_width<BITS>::word)(x ^ (x >> 15));
    }
    uint64_t z = number * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (typename sw_width<BITS>::word)(z ^ (z >> 31));
}

template <int BITS>
static __device__ inline typename sw_width<BITS>::word sw_tune_value(uint64_t number,
                                                                     uint32_t generation)
{
    return (typename sw_width<BITS>::word)((number + 1) * 0x85ebca6bULL +
                                           generation * 0x10001000fULL);
}

/* Which keys a batch has. */
struct sw_tune_draw {
    uint64_t first;      /* of the batch; differs from batch to batch */
    uint64_t stored;     /* keys 0 .. stored - 1 are */
    double hit;          /* the part of the batch that is */
    uint32_t generation; /* of their values */
    bool distinct;       /* each key once */
};

/* The number of the key at place j of the batch. */
static __device__ inline uint64_t sw_tune_number(const struct sw_tune_draw &draw, uint64_t j)
{
    uint64_t at = draw.first + j;
    uint64_t z = (at + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    bool hit = (double)(z & 0xFFFF) < draw.hit * 65536;
    uint64_t pick = draw.distinct ? at : z >> 16;
    return hit ? pick % draw.stored : SW_TUNE_FRESH + pick % SW_TUNE_FRESH;
}

#endif
