/* SPDX-License-Identifier: MIT
 *
 * range_apply.h - the effect of SETRANGE on a row, for host and device. The row is bytes, or a
 * string (string_apply.h).
 *
 * Threads: pure functions of their arguments. The threads of a warp may share one call.
 */
#ifndef SHERWOOD_OPS_RANGE_APPLY_H
#define SHERWOOD_OPS_RANGE_APPLY_H

#include <string.h>

#include "proto/ops/string_apply.h"

/* The part of a row that an operation replaces, in one word. The offset of a string's part counts
 * from the first byte behind the length. A row has at most 4096 bytes. */
#define SW_RANGE_SIZE_BITS 15
#define SW_RANGE_OF_STRING (1U << 31)

SW_HD static inline uint32_t sw_range_of(uint32_t offset, uint32_t size, bool is_string)
{
    return offset << SW_RANGE_SIZE_BITS | size | (is_string ? SW_RANGE_OF_STRING : 0);
}

SW_HD static inline uint32_t sw_range_size(uint32_t range)
{
    return range & ((1U << SW_RANGE_SIZE_BITS) - 1);
}

SW_HD static inline uint32_t sw_range_offset(uint32_t range)
{
    return (range & ~SW_RANGE_OF_STRING) >> SW_RANGE_SIZE_BITS;
}

/* The number of bytes of a row that the part ends within: of a string with its length. */
SW_HD static inline uint32_t sw_range_end(uint32_t range)
{
    return ((range & SW_RANGE_OF_STRING) != 0 ? SW_STRING_HEAD_BYTES : 0) + sw_range_offset(range) +
           sw_range_size(range);
}

/* Returns the bytes of a string after SETRANGE; `size` is its size before. */
SW_HD static inline uint32_t sw_range_size_after(uint32_t range, uint32_t size)
{
    const uint32_t end = sw_range_offset(range) + sw_range_size(range);
    return end > size ? end : size;
}

/* Writes the bytes first, first + step, first + 2 * step, .. of a part to a row whose string has
 * `size` bytes; zeros fill a gap behind the end. Does not write the length of a string. */
SW_HD static inline void sw_range_copy(uint32_t range, uint8_t *row, uint32_t size,
                                       const uint8_t *part, uint32_t first, uint32_t step)
{
    const bool is_string = (range & SW_RANGE_OF_STRING) != 0;
    const uint32_t offset = sw_range_offset(range), bytes = sw_range_size(range);
    uint8_t *to = row + (is_string ? SW_STRING_HEAD_BYTES : 0);
    for (uint32_t i = size + first; is_string && i < offset; i += step) {
        to[i] = 0;
    }
#if !defined(__CUDA_ARCH__)
    if (step == 1) {
        memcpy(to + offset + first, part + first, bytes - first);
        return;
    }
#endif
    for (uint32_t i = first; i < bytes; i += step) {
        to[offset + i] = part[i];
    }
}

/* Carries out SETRANGE on a row of `bytes` bytes, without its key string. The row of an absent key
 * is zeros. `part` has the new bytes. */
SW_HD static inline void sw_range_apply(uint32_t range, uint8_t *row, uint32_t bytes,
                                        const uint8_t *part)
{
    const bool is_string = (range & SW_RANGE_OF_STRING) != 0;
    const uint32_t size = is_string ? sw_string_at(row, bytes - SW_STRING_HEAD_BYTES).size : 0;
    sw_range_copy(range, row, size, part, 0, 1);
    if (is_string) {
        sw_string_set_size(row, sw_range_size_after(range, size));
    }
}

#endif
