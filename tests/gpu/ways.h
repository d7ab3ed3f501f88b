/* SPDX-License-Identifier: MIT
 *
 * ways.h - which ways the batches of the tested table went. On a CPU table no batch goes any of
 * them, and nothing is asked.
 */
#ifndef SHERWOOD_TESTS_GPU_WAYS_H
#define SHERWOOD_TESTS_GPU_WAYS_H

#include "tests/gpu/pair.h"

#define WAY(way) (1U << (way))
struct ways {
    struct sw_write_path_counters counted[SW_WRITE_PATH_COUNT];
};

/* Returns the counters of side 1. */
struct ways ways_now(const struct pair *pair);

/* Of batches of up to 2^22 operations that are sure to fit and are not streamed. */
uint32_t way_where_certain(const struct pair *pair);

/* These fail the pair and return false. Whether batches since then went one of the ways. */
bool ways_taken(struct pair *pair, const struct ways *since, uint32_t ways);
/* No batch since then did. */
bool ways_not_taken(struct pair *pair, const struct ways *since, uint32_t ways);
/* If the tuning says always, batches that may be streamed must have been streamed. If it says
 * never, none may be, and they took one of the `others`. Otherwise both are right. */
bool ways_of_bulk(struct pair *pair, const struct ways *since, uint32_t others);

#endif
