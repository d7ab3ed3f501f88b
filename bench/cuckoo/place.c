/* SPDX-License-Identifier: MIT
 *
 * place.c - the study's arrays in host memory, and orders of queries.
 */
#include "bench/cuckoo/place.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

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

static bool host_choose(int device)
{
    (void)device;
    return true;
}

static void host_describe(int device, FILE *out)
{
    (void)device;
    (void)out;
}

static void *host_alloc(size_t bytes)
{
    return aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
}

static bool host_draw_keys(uint32_t *keys, uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count; i++) {
        keys[i] = sw_cbench_key((uint32_t)i, seed);
    }
    return true;
}

static bool host_draw_queries(uint32_t *queries, const struct sw_cbench_order *order)
{
    for (uint64_t j = 0; j < order->count; j++) {
        queries[j] = sw_cbench_query(order, j);
    }
    return true;
}

static bool host_judge(const uint32_t *found, const struct sw_cbench_order *order,
                       struct sw_cbench_verdict *verdict)
{
    memset(verdict, 0, sizeof(*verdict));
    for (uint64_t j = 0; j < order->count; j++) {
        bool hit = (found[j / 32] >> j % 32 & 1) != 0;
        bool must_miss = sw_cbench_misses(order, j);
        verdict->missed += !must_miss && !hit;
        verdict->phantom += must_miss && hit;
    }
    return true;
}

const struct sw_cbench_place sw_cbench_host = {
    .name = "cpu",
    .choose = host_choose,
    .describe = host_describe,
    .alloc = host_alloc,
    .free = free,
    .draw_keys = host_draw_keys,
    .draw_queries = host_draw_queries,
    .judge = host_judge,
};
