/* SPDX-License-Identifier: MIT
 *
 * ids_backend.h - tables of ids: the value of a key is a dense number that the table chooses.
 *
 * A configuration with rows_max and without value_bytes is a table of ids: ids are 0 .. rows_max -
 * 1. Its operations are GET, DELETE, the kinds of EXPIRE, and
 *
 *   FIND_OR_INSERT  gives an absent key the lowest free id. The operand is ignored, so `values` may
 *                   be NULL. `previous` receives the id of the key, and `found` is 0 if the id is
 *                   new. If the expiry time of a new key has passed by the clock of the batch, it
 *                   becomes the next millisecond after that clock.
 *   SET             gives a key the id in its operand, for logs and replicas. If the id is not
 * below rows_max, or belongs to another key, the key keeps its id, or gets the lowest free one if
 * it has none. The status of the batch is then SW_E_INVALID.
 *
 * DELETE, expiry and CLEAR free ids. A restore collects the ids of its entries; if two are equal or
 * one is too large, it ends with SW_E_INVALID.
 *
 * A batch of FIND_OR_INSERT alone first runs as a read. If all its keys are present, it ends there:
 * it is no write and has no write_sequence. Otherwise it is carried out in array order: on the CPU
 * by one thread, on CUDA as ids.cuh explains. Each group is first admitted by the presence of its
 * keys, as groups of rows are. A table has at most rows_max entries, so every insert of an admitted
 * group gets an id.
 *
 * Threads: constant data.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_IDS_BACKEND_H
#define SHERWOOD_TABLE_ROBIN_HOOD_IDS_BACKEND_H

#include "table/config.h"
#include "table/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations of a table of ids, except the kinds of EXPIRE. */
#define SW_ID_OPERATIONS                                                       \
    (SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET) | SW_OPS_ONE(SW_FIND_OR_INSERT) | \
     SW_OPS_ONE(SW_DELETE))

extern const struct sw_engine_parts sw_robin_hood_ids_engine;
extern const struct sw_backend sw_robin_hood_ids_backend_cpu;
/* Returns NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_robin_hood_ids_backend_cuda(void);

#ifdef __cplusplus
}
#endif

#endif
