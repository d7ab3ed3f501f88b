/* SPDX-License-Identifier: MIT
 *
 * mix.h - a mix of operations: "get=50,set=50", or a preset of YCSB. Pure; any thread.
 */
#ifndef SHERWOOD_LOAD_MIX_H
#define SHERWOOD_LOAD_MIX_H

#include "bench/load/distribution.h"

#include <stdbool.h>
#include <stdint.h>

/* Operations of the mix phase. INSERT is a set of an absent key. */
enum sw_load_mix_operation {
    SW_LOAD_MIX_GET,
    SW_LOAD_MIX_SET,
    SW_LOAD_MIX_SUM,
    SW_LOAD_MIX_DELETE,
    SW_LOAD_MIX_INSERT,
    SW_LOAD_MIX_OPERATIONS
};

#define SW_LOAD_MIX_WEIGHT_MAX 1000000

struct sw_load_mix {
    uint32_t weights[SW_LOAD_MIX_OPERATIONS];
    uint32_t total; /* 0: no mix */
};

const char *sw_load_mix_name(enum sw_load_mix_operation operation);

/* Reads "name=weight,...". Each name occurs at most once; weights are 0 .. SW_LOAD_MIX_WEIGHT_MAX,
 * and at least one is positive. Returns false for anything else. */
bool sw_load_mix_parse(const char *text, struct sw_load_mix *mix);
/* Stores the preset "a", "b", "c", "d" or "f" of the Yahoo! Cloud Serving Benchmark, and its
 * distribution. Returns false for another name. */
bool sw_load_mix_preset(const char *name, struct sw_load_mix *mix,
                        enum sw_load_distribution_kind *distribution);

/* Returns the operation for a draw of 64 random bits; mix->total is not 0. */
enum sw_load_mix_operation sw_load_mix_draw(const struct sw_load_mix *mix, uint64_t draw);

#endif
