/* SPDX-License-Identifier: MIT
 *
 * ways.c - which ways the batches of the tested table went.
 */
#include "tests/gpu/ways.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/gpu/known.h"

struct ways ways_now(const struct pair *pair)
{
    struct sw_table_stats stats = stats_of(pair, 1);
    struct ways now;
    memcpy(now.counted, stats.ways, sizeof(now.counted));
    return now;
}

uint32_t way_where_certain(const struct pair *pair)
{
    return pair->ranges == SW_CHOICE_NEVER ? WAY(SW_WRITE_PATH_GENERAL) : WAY(SW_WRITE_PATH_RANGES);
}

/* Batches that went one of the ways. */
static uint64_t batches_since(const struct pair *pair, const struct ways *since, uint32_t ways)
{
    const struct ways now = ways_now(pair);
    uint64_t batches = 0;
    for (unsigned w = 0; w < SW_WRITE_PATH_COUNT; w++) {
        if ((ways & WAY(w)) != 0) {
            batches += now.counted[w].batches - since->counted[w].batches;
        }
    }
    return batches;
}

/* Fails with what was counted. */
static bool fail(struct pair *pair, const struct ways *since, const char *what, uint32_t ways)
{
    const struct ways now = ways_now(pair);
    char text[256] = "";
    for (unsigned w = 0; w < SW_WRITE_PATH_COUNT; w++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s %" PRIu64,
                 (ways & WAY(w)) != 0 ? " *" : " ", sw_write_path_name((enum sw_write_path)w),
                 now.counted[w].batches - since->counted[w].batches);
    }
    return pair_fail(pair, "%s went a way marked *; batches:%s", what, text);
}

bool ways_taken(struct pair *pair, const struct ways *since, uint32_t ways)
{
    if (info_of(pair, 1).backend == SW_BACKEND_CPU) {
        return batches_since(pair, since, ~0U) == 0 || fail(pair, since, "on the CPU a batch", ~0U);
    }
    return batches_since(pair, since, ways) > 0 || fail(pair, since, "no batch", ways);
}

bool ways_not_taken(struct pair *pair, const struct ways *since, uint32_t ways)
{
    return batches_since(pair, since, ways) == 0 || fail(pair, since, "a batch", ways);
}

bool ways_of_bulk(struct pair *pair, const struct ways *since, uint32_t others)
{
    const uint32_t streamed = WAY(SW_WRITE_PATH_STREAM);
    switch (pair->bulk) {
    case SW_CHOICE_ALWAYS:
        return ways_taken(pair, since, streamed);
    case SW_CHOICE_NEVER:
        return ways_taken(pair, since, others) && ways_not_taken(pair, since, streamed);
    default:
        return ways_taken(pair, since, others | streamed);
    }
}
