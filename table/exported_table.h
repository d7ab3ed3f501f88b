/* SPDX-License-Identifier: MIT
 *
 * exported_table.h - the device memory of a table, for kernels of other processes that look up keys
 * in it (direct reads).
 *
 * A table that is created with config.direct has a page in device memory (table/device/direct.cuh).
 * While it has readers, each write makes the page's epoch odd before it changes the table, and even
 * afterwards. A reader loads the epoch before and after its look-ups. Its answers are valid if both
 * are the same even number, and if the generation is that of its export. The generation changes
 * when the arrays are replaced, when a key gets an expiry time, when the last reader leaves, and
 * when the table is destroyed.
 */
#ifndef SHERWOOD_TABLE_EXPORTED_TABLE_H
#define SHERWOOD_TABLE_EXPORTED_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/status.h"

struct sw_table;

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of the page and of the arrays. A change of either needs another number. */
#define SW_DIRECT_LAYOUT 1
#define SW_DIRECT_HANDLE_BYTES 64

/* What a reader needs. The arrays begin with the slots of the main array; those of the stash
 * follow. */
struct sw_table_export {
    uint32_t layout; /* SW_DIRECT_LAYOUT */
    uint32_t slot_bits;
    uint64_t generation;
    uint64_t seed;
    uint64_t buckets, buckets_total, max_probe; /* as in the view of the main array */
    uint64_t stash_buckets, stash_buckets_total;
    uint64_t bytes;                                /* size of the arrays' allocation */
    uint8_t page_handle[SW_DIRECT_HANDLE_BYTES];   /* CUDA IPC; the page is its first bytes */
    uint8_t arrays_handle[SW_DIRECT_HANDLE_BYTES]; /* CUDA IPC */
};

/* Describes the table to a reader. `adds`: counts one reader more; waits for earlier writes if it
 * is the first. SW_OK; SW_E_UNSUPPORTED: only the table itself can read its entries; SW_E_DEVICE.
 * On any status except SW_OK `reason` receives one sentence. Threads: any, except the thread of a
 * queue with a batch in flight. */
SW_MUST_CHECK int sw_table_export(struct sw_table *table, bool adds, struct sw_table_export *out,
                                  char *reason, size_t reason_size);
/* Counts one reader less. After the last, direct reads that are under way or begin later are
 * invalid. */
void sw_table_unexport(struct sw_table *table);
/* Makes all exports so far invalid: direct reads that end after this call are invalid. Threads: as
 * above. */
void sw_table_end_exports(struct sw_table *table);
/* Reads what direct readers have counted. Both are 0 if the table has no page. Threads: any. */
void sw_table_direct_counts(struct sw_table *table, uint64_t *hits, uint64_t *misses);

#ifdef __cplusplus
}
#endif

#endif
