/* SPDX-License-Identifier: MIT
 *
 * write_paths.c - the write paths of the batches of the tested table.
 */
#include "tests/gpu/write_paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/gpu/known.h"

struct write_paths write_paths_now(const struct pair *pair)
{
    struct sw_table_stats stats = stats_of(pair, 1);
    struct write_paths now;
    memcpy(now.counted, stats.write_paths, sizeof(now.counted));
    return now;
}

uint32_t path_where_certain(const struct pair *pair)
{
    return pair->ranges == SW_CHOICE_NEVER ? PATH_BIT(SW_WRITE_PATH_GENERAL)
                                           : PATH_BIT(SW_WRITE_PATH_RANGES);
}

/* Returns the number of batches since then that took one of the write paths. */
static uint64_t batches_since(const struct pair *pair, const struct write_paths *since,
                              uint32_t paths)
{
    const struct write_paths now = write_paths_now(pair);
    uint64_t batches = 0;
    for (unsigned w = 0; w < SW_WRITE_PATH_COUNT; w++) {
        if ((paths & PATH_BIT(w)) != 0) {
            batches += now.counted[w].batches - since->counted[w].batches;
        }
    }
    return batches;
}

/* Fails the pair with the counters. Returns false. */
static bool fail_paths(struct pair *pair, const struct write_paths *since, const char *what,
                       uint32_t paths)
{
    const struct write_paths now = write_paths_now(pair);
    char text[256] = "";
    for (unsigned w = 0; w < SW_WRITE_PATH_COUNT; w++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s %" PRIu64,
                 (paths & PATH_BIT(w)) != 0 ? " *" : " ", sw_write_path_name((enum sw_write_path)w),
                 now.counted[w].batches - since->counted[w].batches);
    }
    return pair_fail(pair, "%s took a write path marked *; batches:%s", what, text);
}

bool write_paths_taken(struct pair *pair, const struct write_paths *since, uint32_t paths)
{
    if (info_of(pair, 1).backend == SW_BACKEND_CPU) {
        return batches_since(pair, since, ~0U) == 0 ||
               fail_paths(pair, since, "on the CPU a batch", ~0U);
    }
    return batches_since(pair, since, paths) > 0 || fail_paths(pair, since, "no batch", paths);
}

bool write_paths_not_taken(struct pair *pair, const struct write_paths *since, uint32_t paths)
{
    return batches_since(pair, since, paths) == 0 || fail_paths(pair, since, "a batch", paths);
}

bool write_paths_of_bulk(struct pair *pair, const struct write_paths *since, uint32_t others)
{
    const uint32_t streamed = PATH_BIT(SW_WRITE_PATH_STREAM);
    switch (pair->bulk) {
    case SW_CHOICE_ALWAYS:
        return write_paths_taken(pair, since, streamed);
    case SW_CHOICE_NEVER:
        return write_paths_taken(pair, since, others) &&
               write_paths_not_taken(pair, since, streamed);
    default:
        return write_paths_taken(pair, since, others | streamed);
    }
}
