/* SPDX-License-Identifier: MIT
 *
 * image.h - images of a table: its contents at one instant, and claims that give one reader of
 * images precedence.
 *
 * Some engines allow one image at a time, and every image needs memory. A reader that must not wait
 * claims the image. The other readers poll the claim and drop their images.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_TABLE_IMAGE_H
#define SHERWOOD_TABLE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "table/status.h"

struct sw_queue;
struct sw_table;

/* An image: the contents of a table at one instant, between two writes. robin_hood on the CPU
 * copies nothing beforehand: a write first copies the slots that it changes and the image has not
 * read. If there is no memory for the copy, the image is lost. Elsewhere writes wait while the
 * arrays are copied. Reads continue in host memory: a score of a cache is from some moment of the
 * copy. On a device later reads wait for its copy. With `borrow` nothing is copied: the caller
 * submits no batch that writes before it drops the image. The calling thread alone makes the copy.
 * Blocks; the queue must be idle. SW_OK; SW_E_NOMEM: no memory for another sw_image_bytes where the
 * slots lie; SW_E_BUSY: another image exists; SW_E_UNSUPPORTED; SW_E_DEVICE. Drop images before
 * sw_table_destroy. */
struct sw_image;
SW_MUST_CHECK int sw_image_take(struct sw_queue *queue, bool borrow, struct sw_image **out);
uint64_t sw_image_bytes(const struct sw_table *table); /* 0: unsupported */
/* Return the write_sequence of the image's last write; how long writes waited, if known; a cache's
 * epoch. */
uint64_t sw_image_sequence(const struct sw_image *image);
uint64_t sw_image_held_ns(const struct sw_image *image);
uint64_t sw_image_epoch(const struct sw_image *image);
/* Reads the next `count` entries, in any order, each once; fewer only at the end. The arrays may
 * lie in any memory. `scores`: scores of a cache, or times (expiring.h); or NULL. SW_OK;
 * SW_E_NOMEM: the image is lost; SW_E_DEVICE. */
SW_MUST_CHECK int sw_image_read(struct sw_image *image, uint32_t count, void *keys, void *values,
                                uint64_t *scores, uint32_t *got);
void sw_image_drop(struct sw_image *image); /* NULL is allowed */

/* Begin and end a claim. The table only counts the claims: sw_image_take ignores them. */
void sw_image_claim(struct sw_table *table);
void sw_image_unclaim(struct sw_table *table);
bool sw_image_is_claimed(const struct sw_table *table);
/* Returns the number of claims that have begun; it wraps. If it is the same before and after an
 * image was taken without a claim, none began meanwhile. */
uint32_t sw_image_claims(const struct sw_table *table);

/* Returns the number of images taken and not yet dropped. */
uint32_t sw_table_images(const struct sw_table *table);

/* Returns the last write_sequence assigned, after a write that is taking its number. So a number of
 * the sequencer that was read before is that of a write of this table only if it is not above the
 * result. Any thread. */
uint64_t sw_table_last_given(struct sw_table *table);

#endif
