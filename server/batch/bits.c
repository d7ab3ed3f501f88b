/* SPDX-License-Identifier: MIT
 *
 * bits.c - copying bitmaps.
 */
#include "server/batch/bits.h"

#include <stddef.h>

uint32_t sw_copy_bits(uint64_t *to, const uint64_t *from, uint32_t first, uint32_t count)
{
    uint32_t shift = first % 64;
    uint32_t last = (first + count + 63) / 64; /* number of words of `from` */
    uint32_t set = 0;
    for (uint32_t i = 0; i < (count + 63) / 64; i++) {
        uint32_t at = first / 64 + i;
        uint32_t left = count - 64 * i;
        uint64_t word = from[at] >> shift;
        if (shift > 0 && at + 1 < last) {
            word |= from[at + 1] << (64 - shift);
        }
        if (left < 64) {
            word &= (1ULL << left) - 1;
        }
        if (to != NULL) {
            to[i] = word;
        }
        set += (uint32_t)__builtin_popcountll(word);
    }
    return set;
}
