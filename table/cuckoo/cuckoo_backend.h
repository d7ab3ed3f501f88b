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

/* GET, upserts and deletes; CLEAR. It does not grow, so RESIZE is not among its kinds, nor is SCAN:
 * cells are in no order that a cursor could keep while chains move entries. */
#define SW_CUCKOO_KINDS (1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR)

extern const struct sw_engine_parts sw_cuckoo_engine;
extern const struct sw_backend sw_cuckoo_backend_cpu;
/* NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_cuckoo_backend_cuda(void);

/* Facts of a table that never changes its size. */
void sw_cuckoo_backend_facts(const struct sw_cuckoo_geometry *geometry, uint64_t bytes,
                             struct sw_backend_facts *facts);

/* The batch's arrays with their types; undo is left out. */
struct sw_cuckoo_work_s64 sw_cuckoo_work_of_s64(const struct sw_batch *batch);
struct sw_cuckoo_work_s128 sw_cuckoo_work_of_s128(const struct sw_batch *batch);

/* Audits a table in host memory: every entry is in a cell that is its own, no key is there twice,
 * and there are as many as the state says. `table` is struct sw_cuckoo_table_s64 or _s128. SW_OK,
 * or SW_E_INVALID with the first violation as text. */
int sw_cuckoo_check(uint32_t slot_bits, const void *table, char *violation, size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
