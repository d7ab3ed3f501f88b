/* SPDX-License-Identifier: MIT
 *
 * set_backend.h - key sets: tables of keys without values.
 *
 * A configuration with is_set. A slot holds the mixed key alone: 4 bytes for u32 keys, 8 for u64
 * keys. Its operations are GET, DELETE, SET and SET_ABSENT, which both insert an absent key and do
 * nothing else, and SET_PRESENT, which changes nothing. `found` is the answer of each: 0 after
 * SET_ABSENT means that the key is new. Batches, scans, images and restores have no values: the
 * table reads and writes no array of them, so it may be NULL. No entry expires.
 *
 * On CUDA no batch of a key set streams the table: the delete rebuild marks a tombstone by a value
 * beside an m of all ones (cuda/writes/apply.cu), and a key set has no values. A pass that closes
 * holes and a move to other arrays have no tombstones.
 *
 * Threads: constant data.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_SET_BACKEND_H
#define SHERWOOD_TABLE_ROBIN_HOOD_SET_BACKEND_H

#include "table/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SW_SET_OPERATIONS                                                  \
    (SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET) | SW_OPS_ONE(SW_SET_ABSENT) | \
     SW_OPS_ONE(SW_SET_PRESENT) | SW_OPS_ONE(SW_DELETE))

extern const struct sw_engine_parts sw_robin_hood_set_engine;
extern const struct sw_backend sw_robin_hood_set_backend_cpu;
/* Returns NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_robin_hood_set_backend_cuda(void);

#ifdef __cplusplus
}
#endif

#endif
