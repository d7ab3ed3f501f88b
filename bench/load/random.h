/* SPDX-License-Identifier: MIT
 *
 * random.h - splitmix64: the generator of all draws. Pure; a state belongs to one thread.
 */
#ifndef SHERWOOD_LOAD_RANDOM_H
#define SHERWOOD_LOAD_RANDOM_H

#include <stdint.h>

#define SW_LOAD_RANDOM_STEP 0x9e3779b97f4a7c15ULL

/* The finalizer of splitmix64 (Stafford's variant 13). It is invertible. */
static inline uint64_t sw_load_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static inline uint64_t sw_load_random(uint64_t *state)
{
    return sw_load_mix64(*state += SW_LOAD_RANDOM_STEP);
}

/* Returns a number below `limit`: the high half of draw * limit. */
static inline uint64_t sw_load_scale(uint64_t draw, uint64_t limit)
{
    __extension__ typedef unsigned __int128 uint128;
    return (uint64_t)((uint128)draw * limit >> 64);
}

static inline uint64_t sw_load_random_below(uint64_t *state, uint64_t limit)
{
    return sw_load_scale(sw_load_random(state), limit);
}

/* Returns a number in (0, 1] with 53 random bits. */
static inline double sw_load_random_unit(uint64_t *state)
{
    return (double)((sw_load_random(state) >> 11) + 1) * 0x1p-53;
}

#endif
