/* SPDX-License-Identifier: MIT
 *
 * image_times.h - expiry times of the entries of an image. The second table (expiry.h) has an image
 * of the same instant. The two tables have different orders. So the reader first reads all times
 * into a separate table, and then looks up the time of each entry there.
 *
 * Threads: only the reader of the image.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_TIMES_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_TIMES_H

#include "table/robin_hood/cpu/cpu.h"

/* Maximum number of times in one call of sw_image_times_add. */
#define SW_IMAGE_TIMES_PIECE 4096U

/* Opens a table for `count` times of a table that has `slots`. It has the order of that one, and
 * may grow to its size: a sweep removes times in this order, so the rest may lie close together.
 * The caller closes it with sw_image_times_close. Returns SW_OK or SW_E_NOMEM. */
int sw_image_times_open(const struct sw_expiry_table_calls *expiry_calls, uint64_t count,
                        uint64_t slots, uint64_t seed, struct sw_cpu **out);
void sw_image_times_close(struct sw_cpu *times); /* NULL is allowed */
/* Adds the times of `count` keys, at most SW_IMAGE_TIMES_PIECE. Returns SW_OK or SW_E_NOMEM. */
int sw_image_times_add(struct sw_cpu *times, const uint64_t *keys, const uint64_t *values,
                       uint32_t count);

/* Looks up the times of `count` keys of `key_bytes` each; 0: never. */
void sw_image_times_fill(const struct sw_cpu *times, const void *keys, uint32_t key_bytes,
                         uint32_t count, uint64_t *out);

#endif
