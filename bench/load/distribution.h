/* SPDX-License-Identifier: MIT
 *
 * distribution.h - which of the keys of a run are drawn how often.
 *
 * uniform: each alike. zipf: index r with probability proportional to (r + 1)^-theta; as keys are a
 * scattering of the indexes, the popular ones lie anywhere. latest: the same from the other end, so
 * the key written last is the most popular. sequential: one after the other, round and round.
 * Read-only after init; any thread.
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
/* Fills `keys` by random draws, the distribution being of workload->keys keys and not SEQUENTIAL
 * (sw_load_fill_range is for that); *random is the generator's state. */
void sw_load_fill_drawn(const struct sw_load_workload *workload,
                        const struct sw_load_distribution *distribution, uint64_t *random,
                        size_t count, void *keys);
/* Fills `keys` with key number first, first + 1, ..., beginning again behind the last. */
void sw_load_fill_range(const struct sw_load_workload *workload, uint64_t first, size_t count,
                        void *keys);

#endif
