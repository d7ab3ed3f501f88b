/* SPDX-License-Identifier: MIT
 *
 * image.h - images of a cache: its arrays as they were at one instant, and the entries in them.
 *
 * Threads: one thread at a time uses an image.
 */
#ifndef SHERWOOD_TABLE_CACHE_IMAGE_H
#define SHERWOOD_TABLE_CACHE_IMAGE_H

#include "table/backend.h"
#include "table/cache/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the entries of the first `count` slots to the columns, from slot *at on, until the columns
 * are full. Sets *at to the first slot that was not read. Uses the digests, entries and values of
 * `slots`. */
void sw_cache_image_gather(const struct sw_cache_slots *slots, uint32_t key_bytes, uint64_t count,
                           uint64_t *at, struct sw_image_columns *columns);

struct sw_cache_cpu_table;

/* Executes a batch of SW_BATCH_IMAGE. Copies the arrays beside reads, while no batch writes. The
 * score of an entry that is used meanwhile may be that from before or after the use. */
void sw_cache_cpu_take_image(struct sw_cache_cpu_table *table, struct sw_batch *batch);
/* Implement image_read and image_drop of the CPU backend. */
int sw_cache_cpu_image_read(void *image, struct sw_image_columns *columns);
void sw_cache_cpu_image_drop(void *image);

/* Call it for a batch that restores scores: advances the clocks, so that later uses get higher
 * scores. `clock` is for LRU, `rounds` for EPOCH_LRU. */
void sw_cache_image_clocks(uint32_t policy, uint64_t epoch, const uint64_t *scores, uint32_t count,
                           uint64_t *clock, uint64_t *rounds);

#ifdef __cplusplus
}
#endif

#endif
