/* SPDX-License-Identifier: MIT
 *
 * place.c - keys and answers in host memory, and orders of queries.
 */
#include "bench/cuckoo/place.h"

#include "bench/cuckoo/place.inl"

struct sw_cbench_order sw_cbench_order(uint64_t count, uint64_t misses, uint64_t number,
                                       uint64_t seed)
{
    struct sw_cbench_order order = {.count = count, .misses = misses, .seed = seed};
    uint64_t drawn = sw_mix_64(number, seed);
    order.start = drawn % count;
    order.step = count > 1 ? (drawn >> 32) % count | 1 : 1;
    for (;;) {
        uint64_t a = order.step; /* Euclid's greatest common divisor */
        uint64_t b = count;
        while (b != 0) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) {
            return order;
        }
        order.step += 2;
    }
}

const struct sw_cbench_place sw_cbench_host = {&sw_study_host, draw_keys, draw_queries, judge};
