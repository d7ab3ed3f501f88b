/* SPDX-License-Identifier: MIT
 *
 * robin_hood_backend.h - the backends of the Robin Hood engine, and their shared functions.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_ROBIN_HOOD_BACKEND_H
#define SHERWOOD_TABLE_ROBIN_HOOD_ROBIN_HOOD_BACKEND_H

#include "table/engine.h"
#include "table/robin_hood/geometry.h"
#include "table/robin_hood/robin_hood.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct sw_engine_parts sw_robin_hood_engine;
extern const struct sw_engine_parts sw_robin_hood_rows_engine; /* the values are rows */
extern const struct sw_backend sw_robin_hood_backend_cpu;
extern const struct sw_backend sw_robin_hood_rows_backend_cpu;
/* Returns NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_robin_hood_backend_cuda(void);
const struct sw_backend *sw_robin_hood_rows_backend_cuda(void);

/* Scan, shared by the backends: reads the entries of raw windows of the main array and the stash,
 * and writes the batch's answers and next cursor. Each window starts at the home bucket of the
 * cursor in its array; `shape` describes the arrays at that time. Backends read at least
 * SW_SCAN_WINDOW buckets a call, or the rest of the array. A window may have 0 buckets only if its
 * array has no entries (the stash at stash_occupied 0). Returns false, with the batch unchanged, if
 * the windows end before the cursor could move (a run of full buckets longer than a window). Then
 * double the windows and call again. Without scan.values it returns only keys. `format`:
 * widths.h. */
#define SW_SCAN_WINDOW 16384
struct sw_scan_window {
    const void *slots; /* host-readable; NULL if buckets is 0 */
    uint64_t first;    /* bucket number of slots[0] */
    uint64_t buckets;
};
struct sw_scan_shape {
    uint64_t seed;
    uint64_t buckets, buckets_total; /* of the main array, without and with its tail */
    uint64_t stash_buckets, stash_buckets_total;
};
bool sw_scan_collect(uint32_t format, const struct sw_scan_shape *shape,
                     const struct sw_state *state, const struct sw_scan_window *main,
                     const struct sw_scan_window *stash, struct sw_batch *batch);

/* Sets the facts up to occupied_max, raw_bytes and image_bytes. */
void sw_geometry_facts(const struct sw_table_config *config, const struct sw_geometry *geometry,
                       struct sw_backend_facts *facts);

#ifdef __cplusplus
}
#endif

#endif
