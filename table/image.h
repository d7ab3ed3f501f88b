/* SPDX-License-Identifier: MIT
 *
 * image.h - precedence among the readers of a table's images.
 *
 * Some engines have one image at a time, and every image needs memory. A reader that must not wait
 * claims the image; the other readers poll the claim and drop theirs.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_TABLE_IMAGE_H
#define SHERWOOD_TABLE_IMAGE_H

#include "table/table.h"

/* Begins and ends a claim. The table only keeps their number: sw_image_take does not look at it. */
void sw_image_claim(struct sw_table *table);
void sw_image_unclaim(struct sw_table *table);
bool sw_image_is_claimed(const struct sw_table *table);

/* Returns the number of images that were taken and not dropped. */
uint32_t sw_table_images(const struct sw_table *table);

#endif
