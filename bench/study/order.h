/* SPDX-License-Identifier: MIT
 *
 * order.h - orders of 0 .. count - 1: each draw gives another permutation of one formula.
 */
#ifndef SHERWOOD_BENCH_STUDY_ORDER_H
#define SHERWOOD_BENCH_STUDY_ORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* i goes to (i * step + start) mod count: a permutation, as step and count have no common divisor.
 * count is below 2^32, so the product fits. */
struct sw_study_order {
    uint64_t step;
    uint64_t start;
};

/* Draws an order from 64 random bits. count is at least 1. */
struct sw_study_order sw_study_order_draw(uint64_t count, uint64_t random);

#ifdef __cplusplus
}
#endif

#endif
