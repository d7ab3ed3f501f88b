/* SPDX-License-Identifier: MIT
 *
 * draw.h - the keys of a call of the study of rows, and the operands of ADD; one formula for host
 * and device. Numbers, keys and the floats of rows are those of the cache study.
 */
#ifndef SHERWOOD_BENCH_ROWS_DRAW_H
#define SHERWOOD_BENCH_ROWS_DRAW_H

#include "bench/cache/draw.h"

/* The keys of a call are those of `query`. With `hot`, all its fresh keys are the number
 * fresh_from; no other key repeats. */
struct sw_rowbench_keys {
    struct sw_cachebench_query query;
    bool hot;
};

SW_HD static inline uint64_t sw_rowbench_number(const struct sw_rowbench_keys *keys, uint64_t j)
{
    return keys->hot && sw_cachebench_is_fresh(&keys->query, j)
               ? keys->query.fresh_from
               : sw_cachebench_number(&keys->query, j);
}

/* Small integers: 2^20 of them can be added to a number below 2^20 exactly. */
SW_HD static inline float sw_rowbench_operand(uint64_t number, uint32_t word)
{
    return (float)(sw_mix_32((uint32_t)number * 0x9e3779b9U + word, 0x0ddba11ULL) & 7);
}

#endif
