/* SPDX-License-Identifier: MIT
 *
 * image_times.h - when the entries of an image expire. The second table (expiry.h) has an image of
 * the same instant; the order of both is another one, so all times are read first, into a table of
 * the image's own, and each entry that is read looks its time up there.
 *
 * Threads: the reader of the image alone.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_TIMES_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_TIMES_H

#include "table/robin_hood/cpu/cpu.h"

/* Times that are added together. */
#define SW_IMAGE_TIMES_PIECE 4096U

/* Opens a table for `count` times, which the caller closes by sw_image_times_close. SW_E_NOMEM. */
int sw_image_times_open(const struct sw_times_of *times_of, uint64_t count, uint64_t seed,
                        struct sw_cpu **out);
void sw_image_times_close(struct sw_cpu *times); /* NULL is allowed */
/* Adds `count` times of keys, at most SW_IMAGE_TIMES_PIECE. SW_E_NOMEM. */
int sw_image_times_add(struct sw_cpu *times, const uint64_t *keys, const uint64_t *values,
                       uint32_t count);

/* The times of `count` keys of `key_bytes` each; 0: never. */
void sw_image_times_fill(const struct sw_cpu *times, const void *keys, uint32_t key_bytes,
                         uint32_t count, uint64_t *out);

#endif
