/* SPDX-License-Identifier: MIT
 *
 * image.h - what a table holds at one instant, and precedence among the readers of its images.
 *
 * Some engines have one image at a time, and every image needs memory. A reader that must not wait
 * claims the image; the other readers poll the claim and drop theirs.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_TABLE_IMAGE_H
#define SHERWOOD_TABLE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct sw_queue;
struct sw_table;

/* Images: what a table holds at one instant, between two writes. For robin_hood on the CPU nothing
 * is copied beforehand: a write first copies what it changes and the image has not read, and where
 * there is no memory for that the image is lost. Elsewhere writes wait while the arrays are copied;
 * reads go on, except those of a cache. With `borrow` nothing is copied: no batch that writes may
 * be submitted before the image is dropped. Only the calling thread is busy with the copy. Blocks;
 * the queue must be idle. SW_OK; SW_E_NOMEM: no memory for sw_image_bytes more where the slots lie;
 * SW_E_BUSY: there is an image; SW_E_UNSUPPORTED; SW_E_DEVICE. Drop images before the table. */
struct sw_image;
int sw_image_take(struct sw_queue *queue, bool borrow, struct sw_image **out);
uint64_t sw_image_bytes(const struct sw_table *table); /* 0: unsupported */
/* write_sequence of its last write; how long writes waited, if that is known; a cache's epoch. */
uint64_t sw_image_sequence(const struct sw_image *image);
uint64_t sw_image_held_ns(const struct sw_image *image);
uint64_t sw_image_epoch(const struct sw_image *image);
/* Reads the next entries, in any order, each once: `count` of them, fewer only at the end. Arrays
 * are any memory; `scores`: of a cache, or times (expiring.h); or NULL. SW_OK; SW_E_NOMEM: it is
 * lost; SW_E_DEVICE. */
int sw_image_read(struct sw_image *image, uint32_t count, void *keys, void *values,
                  uint64_t *scores, uint32_t *got);
void sw_image_drop(struct sw_image *image); /* NULL is allowed */

/* Begins and ends a claim. The table only keeps their number: sw_image_take does not look at it. */
void sw_image_claim(struct sw_table *table);
void sw_image_unclaim(struct sw_table *table);
bool sw_image_is_claimed(const struct sw_table *table);

/* Returns the number of images that were taken and not dropped. */
uint32_t sw_table_images(const struct sw_table *table);

#endif
