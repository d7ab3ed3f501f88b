/* SPDX-License-Identifier: MIT
 *
 * ops.h - draws operations from the rows of proto/ops/operations.h, so that tests include
 * operations that are added later.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_OPS_H
#define SHERWOOD_TESTS_SUPPORT_OPS_H

#include "proto/ops/operations.h"
#include "tests/support/random.h"

/* The operations of tables of integers. */
#define OPS_ON_INTEGERS (SW_OPS_INTEGERS | SW_OPS_PAIR)

/* Number of operations in a set. */
#define OPS_COUNT(set) ((uint32_t)__builtin_popcountll(set))

/* Operation i of a set, in order. i is smaller than OPS_COUNT(set). */
static inline uint32_t ops_at(uint64_t set, uint32_t i)
{
    for (; i > 0; i--) {
        set &= set - 1;
    }
    return (uint32_t)__builtin_ctzll(set);
}

static inline uint32_t ops_draw(struct random *random, uint64_t set)
{
    return ops_at(set, (uint32_t)random_below(random, OPS_COUNT(set)));
}

#endif
