/* SPDX-License-Identifier: MIT
 *
 * order.c - draws an order of 0 .. count - 1.
 */
#include "bench/timing/order.h"

/* splitmix64's finalizer (Sebastiano Vigna, public domain) */
static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct sw_timing_order sw_timing_order_draw(uint64_t count, struct sw_study_draw draw)
{
    uint64_t random = mixed(draw.seed * 0x9e3779b97f4a7c15ULL + draw.number);
    struct sw_timing_order order = {random % count, mixed(random + 1) % count};
    while (common_divisor(order.step, count) != 1) {
        order.step++;
    }
    return order;
}
