/* SPDX-License-Identifier: MIT
 *
 * bits.h - bitmaps as batches write them: bit i is bit i % 64 of word i / 64. Pure functions.
 */
#ifndef SHERWOOD_SERVER_BATCH_BITS_H
#define SHERWOOD_SERVER_BATCH_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool sw_bit_at(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

/* Copies `count` bits of `from`, beginning with bit `first`, to the beginning of `to`, and clears
 * the remaining bits of the last word. With `to` NULL it only counts. Returns how many of the
 * copied bits are set. */
uint32_t sw_copy_bits(uint64_t *to, const uint64_t *from, uint32_t first, uint32_t count);

#endif
