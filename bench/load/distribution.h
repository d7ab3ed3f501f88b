/* SPDX-License-Identifier: MIT
 *
 * distribution.h - how often each key of a run is drawn.
 *
 * uniform: each alike. zipf: index r with probability proportional to (r + 1)^-theta; keys are a
 * permutation of the indexes, so the popular keys are spread over all keys. latest: the same,
 * counted back from the key written last, which is the most popular. sequential: one after the
 * other, and again from the first. Read-only after init; any thread.
 */
#ifndef SHERWOOD_LOAD_DISTRIBUTION_H
#define SHERWOOD_LOAD_DISTRIBUTION_H

#include "bench/load/workload.h"
#include "bench/load/zipf.h"

enum sw_load_distribution_kind {
    SW_LOAD_UNIFORM,
    SW_LOAD_ZIPF,
    SW_LOAD_LATEST,
    SW_LOAD_SEQUENTIAL
};

struct sw_load_distribution {
    enum sw_load_distribution_kind kind;
    struct sw_load_zipf zipf; /* zipf, latest */
};

void sw_load_distribution_init(struct sw_load_distribution *distribution,
                               enum sw_load_distribution_kind kind, double theta, uint64_t keys);
/* Fills `keys` by random draws from workload->keys keys. The distribution is not SEQUENTIAL: use
 * sw_load_fill_range for that. *random is the generator's state. */
void sw_load_fill_drawn(const struct sw_load_workload *workload,
                        const struct sw_load_distribution *distribution, uint64_t *random,
                        size_t count, void *keys);
/* Fills `keys` with key number first, first + 1, ..; after the last number it begins again at 0. */
void sw_load_fill_range(const struct sw_load_workload *workload, uint64_t first, size_t count,
                        void *keys);

#endif
