/* SPDX-License-Identifier: MIT
 *
 * write_path.h - counters of batches by execution strategy. Included by info.h.
 */
#ifndef SHERWOOD_TABLE_WRITE_PATH_H
#define SHERWOOD_TABLE_WRITE_PATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Execution strategies of batches of writes in Robin Hood on CUDA (table/robin_hood/README.md, "The
 * CUDA backend"): name, text. */
#define SW_WRITE_PATH_MAP(X)            \
    X(SW_WRITE_PATH_RANGES, "ranges")   \
    X(SW_WRITE_PATH_STREAM, "stream")   \
    X(SW_WRITE_PATH_GENERAL, "general") \
    X(SW_WRITE_PATH_SERIAL, "serial")

enum sw_write_path {
#define SW_WRITE_PATH_ENUM(name, text) name,
    SW_WRITE_PATH_MAP(SW_WRITE_PATH_ENUM) SW_WRITE_PATH_COUNT
#undef SW_WRITE_PATH_ENUM
};
/* Returns "ranges", "stream", ..: static storage. */
const char *sw_write_path_name(enum sw_write_path path);

struct sw_write_path_counters {
    uint64_t batches;
    uint64_t operations; /* in those batches */
};

#ifdef __cplusplus
}
#endif

#endif
