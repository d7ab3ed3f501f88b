/* SPDX-License-Identifier: MIT
 *
 * order.h - an order of 0 .. count - 1 that is another one for each draw.
 */
#ifndef SHERWOOD_BENCH_TIMING_ORDER_H
#define SHERWOOD_BENCH_TIMING_ORDER_H

#include <stdint.h>

#include "bench/timing/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* i goes to (i * step + start) mod count: a permutation, as step and count have no common divisor.
 * count is below 2^32, so the product fits. */
struct sw_timing_order {
    uint64_t step;
    uint64_t start;
};

/* count is at least 1. */
struct sw_timing_order sw_timing_order_draw(uint64_t count, struct sw_study_draw draw);

#ifdef __cplusplus
}
#endif

#endif
