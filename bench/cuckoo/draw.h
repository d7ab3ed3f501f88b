/* SPDX-License-Identifier: MIT
 *
 * draw.h - the keys of the cuckoo study, one formula for host and device.
 *
 * Key number i is a bijection of i: numbers below 2^32 give distinct keys, and disjoint ranges of
 * numbers disjoint sets. Nothing is remembered, so no bitset of 2^32 bits is needed. Every key may
 * be drawn, including the key of all ones.
 *
 * The stored set S of n keys has the numbers 0 .. n - 1. Query j of S_i asks for number order(j) of
 * them, or for number n + order(j) if it is one of the i tenths that shall miss.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_DRAW_H
#define SHERWOOD_BENCH_CUCKOO_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "table/mix.h"

/* Two rounds of fmix32, which is a bijection, with different seeds. */
SW_HD static inline uint32_t sw_cbench_key(uint32_t number, uint64_t seed)
{
    return sw_mix_32(sw_mix_32(number, seed) + 0x9e3779b9U, ~seed * 0x9e3779b97f4a7c15ULL);
}

/* An order of `count` queries (below 2^32): step and count have no common divisor. */
struct sw_cbench_order {
    uint64_t count;
    uint64_t step;
    uint64_t start;
    uint64_t misses; /* number of queries that shall miss; their places are spread evenly */
    uint64_t seed;   /* seed of the keys */
};

/* Returns whether query j shall miss: one query in count / misses does. */
SW_HD static inline bool sw_cbench_misses(const struct sw_cbench_order *order, uint64_t j)
{
    return (j + 1) * order->misses / order->count != j * order->misses / order->count;
}

SW_HD static inline uint32_t sw_cbench_query(const struct sw_cbench_order *order, uint64_t j)
{
    uint64_t number = (j * order->step + order->start) % order->count;
    return sw_cbench_key((uint32_t)(sw_cbench_misses(order, j) ? number + order->count : number),
                         order->seed);
}

#endif
