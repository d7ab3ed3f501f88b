/* SPDX-License-Identifier: MIT
 *
 * table.h - the hash table behind one small C interface, for all backends and engines.
 *
 * A table maps unsigned integer keys of 32 or 64 bits to values of a fixed size. Values are
 * unsigned integers of the keys' width, or any bytes (rows, and the cache engine). The table lives
 * in GPU memory (CUDA backend) or in host memory (CPU backend). Its engine stores the entries:
 * ordered Robin Hood (robin_hood.h), cuckoo, or a cache that is never full. With Robin Hood both
 * backends store the same keys in the same buckets after the same batches (table/README.md,
 * "Batches", lists the exceptions, all at the probe cap). Comments below about the stash,
 * max_probe, growth and left-overs concern Robin Hood unless they name the engine.
 *
 * Work arrives in batches. A batch takes effect as if its operations were applied one after the
 * other in array order, repeated keys included. Batches of one stream of one queue take effect in
 * the order of their submission. All others take effect in some one order: a write never overlaps
 * another write or a read, reads may overlap. Writes that wait for a device are launched together,
 * from all queues (write_combiner.h); each is admitted and reported by itself.
 *
 * Threads: a table may be used by any number of threads; a queue by one thread at a time. Memory:
 * sw_table_create and sw_queue_create allocate everything; batches allocate nothing. Growth and
 * RESIZE are the exceptions: they allocate new arrays and free the old ones. So are scans on CUDA:
 * a queue's first one allocates pinned memory for the part of the table that it reads.
 */
#ifndef SHERWOOD_TABLE_TABLE_H
#define SHERWOOD_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/batch.h"
#include "table/configuration.h"
#include "table/info.h"
#include "table/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_table;

/* Creates an empty table. On failure *out is NULL, the status is returned and `reason` (if not
 * NULL) receives one sentence that says what to do. The caller owns *out. SW_BACKEND_AUTO chooses
 * the engine's CUDA backend if the build has it and a device answers, otherwise its CPU backend. */
SW_MUST_CHECK int sw_table_create(const struct sw_table_config *config, struct sw_table **out,
                                  char *reason, size_t reason_size);

/* Frees the table. The caller destroys every queue first. NULL is allowed. */
void sw_table_destroy(struct sw_table *table);

/* Checks the invariants of table/robin_hood/README.md by a full scan of the table. Blocks; no batch
 * may be in flight. Returns SW_OK, SW_E_INVALID with the first violation as text in `violation`, or
 * SW_E_UNSUPPORTED if the engine has no such check. */
SW_MUST_CHECK int sw_table_check(struct sw_table *table, char *violation, size_t violation_size);

/* Copies all slots (buckets + max_probe tail buckets, in order; then the stash's) to host memory
 * for tests that compare backends bucket by bucket. `slots` has room for sw_table_raw_bytes().
 * Robin Hood only: for another engine sw_table_raw_bytes returns 0, and sw_table_raw_copy returns
 * SW_E_UNSUPPORTED. */
size_t sw_table_raw_bytes(const struct sw_table *table);
SW_MUST_CHECK int sw_table_raw_copy(struct sw_table *table, void *slots);

#ifdef __cplusplus
}
#endif

#endif
