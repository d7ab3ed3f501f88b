/* SPDX-License-Identifier: MIT
 *
 * ways.h - counters of batches by execution strategy. Included by info.h.
 */
#ifndef SHERWOOD_TABLE_WAYS_H
#define SHERWOOD_TABLE_WAYS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Execution strategies (ways) for batches of writes in Robin Hood on CUDA
 * (table/robin_hood/README.md, "The CUDA backend"): name, text. */
#define SW_WAY_MAP(X)            \
    X(SW_WAY_RANGES, "ranges")   \
    X(SW_WAY_STREAM, "stream")   \
    X(SW_WAY_GENERAL, "general") \
    X(SW_WAY_SERIAL, "serial")

enum sw_way {
#define SW_WAY_ENUM(name, text) name,
    SW_WAY_MAP(SW_WAY_ENUM) SW_WAY_COUNT
#undef SW_WAY_ENUM
};
/* Returns "ranges", "stream", ..: static storage. */
const char *sw_way_name(enum sw_way way);

struct sw_way_counters {
    uint64_t batches;
    uint64_t operations; /* in those batches */
};

#ifdef __cplusplus
}
#endif

#endif
