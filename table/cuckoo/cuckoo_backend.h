/* SPDX-License-Identifier: MIT
 *
 * cuckoo_backend.h - the backends of the cuckoo engine.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUCKOO_BACKEND_H
#define SHERWOOD_TABLE_CUCKOO_CUCKOO_BACKEND_H

#include "table/cuckoo/engine.h"
#include "table/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of batches: operations (GET, upserts and deletes) and CLEAR. The table does not grow, so it
 * has no RESIZE. It has no SCAN, because inserts move entries between cells and so break any
 * cursor. */
#define SW_CUCKOO_KINDS (1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR)

extern const struct sw_engine_parts sw_cuckoo_engine;
extern const struct sw_backend sw_cuckoo_backend_cpu;
/* Returns NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_cuckoo_backend_cuda(void);

/* Sets the facts that the geometry determines: a table never changes its size. */
void sw_cuckoo_backend_facts(const struct sw_cuckoo_geometry *geometry, uint64_t bytes,
                             struct sw_backend_facts *facts);

/* Returns the batch's arrays with their types, without `undo`. */
struct sw_cuckoo_work_s64 sw_cuckoo_work_of_s64(const struct sw_batch *batch);
struct sw_cuckoo_work_s128 sw_cuckoo_work_of_s128(const struct sw_batch *batch);

/* Audits a table in host memory: every entry is in one of its key's cells or in the stash, no key
 * occurs twice, and the state has the right number of entries. `table` is struct
 * sw_cuckoo_table_s64 or _s128. Returns SW_OK, or SW_E_INVALID with the first violation as text. */
int sw_cuckoo_check(uint32_t slot_bits, const void *table, char *violation, size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
