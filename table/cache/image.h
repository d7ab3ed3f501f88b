/* SPDX-License-Identifier: MIT
 *
 * image.h - images of a cache: its arrays as they were at one instant, and the entries in them.
 *
 * Threads: an image belongs to one at a time.
 */
#ifndef SHERWOOD_TABLE_CACHE_IMAGE_H
#define SHERWOOD_TABLE_CACHE_IMAGE_H

#include "table/backend.h"
#include "table/cache/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the entries of the first `count` slots, from number *at on, until the columns are full; *at
 * receives the first one that was not looked at. Of `slots` digests, entries and values are used.
 */
void sw_cache_image_gather(const struct sw_cache_slots *slots, uint32_t key_bytes, uint64_t count,
                           uint64_t *at, struct sw_image_columns *columns);

struct sw_cache_cpu_table;

/* Carries out a batch of SW_BATCH_IMAGE: the arrays are copied while nothing else runs, since reads
 * change scores. */
void sw_cache_cpu_take_image(struct sw_cache_cpu_table *table, struct sw_batch *batch);
/* image_read and image_drop of the CPU backend. */
int sw_cache_cpu_image_read(void *image, struct sw_image_columns *columns);
void sw_cache_cpu_image_drop(void *image);

/* After a batch that restores scores: later uses are later than those. `clock` is of LRU, `rounds`
 * of EPOCH_LRU. */
void sw_cache_image_clocks(uint32_t policy, uint64_t epoch, const uint64_t *scores, uint32_t count,
                           uint64_t *clock, uint64_t *rounds);

#ifdef __cplusplus
}
#endif

#endif
