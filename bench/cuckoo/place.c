/* SPDX-License-Identifier: MIT
 *
 * place.c - keys and answers in host memory, and orders of queries.
 */
#include "bench/cuckoo/place.h"

#include "bench/cuckoo/place.inl"
#include "bench/study/order.h"

struct sw_cbench_order sw_cbench_order(uint64_t count, uint64_t misses, uint64_t number,
                                       uint64_t seed)
{
    struct sw_cbench_order order = {.count = count, .misses = misses, .seed = seed};
    struct sw_study_order drawn = sw_study_order_draw(count, sw_mix_64(number, seed));
    order.start = drawn.start;
    order.step = drawn.step;
    return order;
}

const struct sw_cbench_place sw_cbench_host = {&sw_study_host, draw_keys, draw_queries, judge};
