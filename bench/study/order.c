/* SPDX-License-Identifier: MIT
 *
 * order.c - draws an order of 0 .. count - 1.
 */
#include "bench/study/order.h"

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct sw_study_order sw_study_order_draw(uint64_t count, uint64_t random)
{
    struct sw_study_order order = {
        .step = count > 1 ? (random >> 32) % count | 1 : 1,
        .start = random % count,
    };
    while (common_divisor(order.step, count) != 1) {
        order.step += 2;
    }
    return order;
}
