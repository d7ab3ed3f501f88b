/* SPDX-License-Identifier: MIT
 *
 * write_paths.h - the write paths of the batches of the tested table. A batch of a CPU table has no
 * write path, so nothing is checked there.
 */
#ifndef SHERWOOD_TESTS_GPU_WRITE_PATHS_H
#define SHERWOOD_TESTS_GPU_WRITE_PATHS_H

#include "tests/gpu/pair.h"

#define PATH_BIT(path) (1U << (path))
struct write_paths {
    struct sw_write_path_counters counted[SW_WRITE_PATH_COUNT];
};

/* Returns the counters of side 1. */
struct write_paths write_paths_now(const struct pair *pair);

/* Returns the write path of batches that are sure to fit and are not streamed: of up to 2^22
 * operations, or of any number if the table has a stash. */
uint32_t path_where_certain(const struct pair *pair);

/* These fail the pair and return false. Return whether batches since then took one
 * of the write paths. */
bool write_paths_taken(struct pair *pair, const struct write_paths *since, uint32_t paths);
/* Returns whether no batch since then did. */
bool write_paths_not_taken(struct pair *pair, const struct write_paths *since, uint32_t paths);
/* If the tuning says always, batches that may be streamed must have been streamed. If it says
 * never, none may be, and they took one of the `others`. Otherwise both are right. */
bool write_paths_of_bulk(struct pair *pair, const struct write_paths *since, uint32_t others);

#endif
