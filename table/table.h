/* SPDX-License-Identifier: MIT
 *
 * table.h - the hash table behind one small C interface, whatever it runs on.
 *
 * A table maps unsigned integer keys of 32 or 64 bits to values of a fixed size: unsigned integers
 * of the keys' width, or any bytes (rows, and the cache engine). It lives in GPU memory (CUDA
 * backend) or in host memory (CPU backend). What holds the entries is its engine: ordered Robin
 * Hood (robin_hood.h), of which both backends hold the same keys in the same buckets after the same
 * batches (the exceptions, all at the probe cap: table/README.md, "Batches"); cuckoo; or a cache
 * that is never full. What is said below of the stash, max_probe, growth and left-overs is said of
 * Robin Hood unless the engine is named.
 *
 * Work arrives in batches. A batch takes effect as if its operations were applied one after the
 * other in array order, repeated keys included. Batches of one stream of one queue take effect in
 * the order of their submission. All others take effect in some one order: writes never overlap
 * each other or a read, reads overlap freely. Writes that wait for a device are carried out
 * together, whatever queue they are of (combine.h); each is admitted and reported by itself.
 *
 * Threads: a table may be used by any number of threads; a queue by one thread at a time.
 * Memory: everything is allocated by sw_table_create and sw_queue_create, nothing per batch; only a
 * table that grows, or is told to resize, takes new arrays and gives the old ones back.
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
 * NULL) receives one sentence that says what to do. The caller owns *out. On SW_BACKEND_AUTO the
 * engine's CUDA backend is taken if the build has it and a device answers, otherwise its CPU
 * backend. */
int sw_table_create(const struct sw_table_config *config, struct sw_table **out, char *reason,
                    size_t reason_size);

/* Frees the table. Every queue must have been destroyed. NULL is allowed. */
void sw_table_destroy(struct sw_table *table);

/* Audits the whole table: the invariants of table/robin_hood/README.md by a full scan.
 * Blocks; no batch may be in flight. Returns SW_OK, or SW_E_INVALID with the first violation as
 * text in `violation`; SW_E_UNSUPPORTED where the engine has no audit. */
int sw_table_check(struct sw_table *table, char *violation, size_t violation_size);

/* Copies all slots (buckets + max_probe tail buckets, in order; then the stash's) to host memory
 * for tests that compare backends bucket by bucket. `slots` has room for sw_table_raw_bytes().
 * Robin Hood only: of another engine there are 0 bytes, and copying is SW_E_UNSUPPORTED. */
size_t sw_table_raw_bytes(const struct sw_table *table);
int sw_table_raw_copy(struct sw_table *table, void *slots);

#ifdef __cplusplus
}
#endif

#endif
