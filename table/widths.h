/* SPDX-License-Identifier: MIT
 *
 * widths.h - the widths of slots: the bits of a slot, the type of its key and of its value, and the
 * suffix of names of that width. Only this list and each_width.inl name the widths.
 */
#ifndef SHERWOOD_TABLE_WIDTHS_H
#define SHERWOOD_TABLE_WIDTHS_H

#include <stdint.h>

#define SW_WIDTHS(X)     \
    X(64, uint32_t, s64) \
    X(128, uint64_t, s128)

/* Calls x_s64 or x_s128, by the bits of a slot. */
#define SW_BY_WIDTH(bits, x, ...) ((bits) == 64 ? x##_s64(__VA_ARGS__) : x##_s128(__VA_ARGS__))

/* Calls x<64> or x<128> of a template. */
#define SW_BY_BITS(bits, x, ...) ((bits) == 64 ? x<64>(__VA_ARGS__) : x<128>(__VA_ARGS__))

#endif
