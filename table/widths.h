/* SPDX-License-Identifier: MIT
 *
 * widths.h - the formats of slots: the widths of slots with a key and its value, and of slots with
 * a key alone. Only this file, each_width.inl, each_set.inl and each_format.inl name them.
 */
#ifndef SHERWOOD_TABLE_WIDTHS_H
#define SHERWOOD_TABLE_WIDTHS_H

#include <stdbool.h>
#include <stdint.h>

/* Slots of a key and a value: their bits, the type of both, and the suffix of names. */
#define SW_WIDTHS(X)     \
    X(64, uint32_t, s64) \
    X(128, uint64_t, s128)
/* The slots of key sets, with the number of their format. */
#define SW_SETS(X)       \
    X(65, uint32_t, k32) \
    X(129, uint64_t, k64)
#define SW_FORMATS(X) \
    SW_WIDTHS(X)      \
    SW_SETS(X)

/* A format as a number: twice the bits of a key, and SW_FORMAT_SET if slots hold keys alone. So the
 * bytes of a key are a sixteenth of it, and its bits are half of it. */
#define SW_FORMAT_SET 1U

static inline uint32_t sw_format(uint32_t slot_bits, bool is_set)
{
    return slot_bits | (is_set ? SW_FORMAT_SET : 0);
}

static inline uint32_t sw_format_slot_bytes(uint32_t format)
{
    return (format & SW_FORMAT_SET) != 0 ? format / 16 : format / 8;
}

/* Calls x_s64 or x_s128, by the bits of a slot. */
#define SW_BY_WIDTH(bits, x, ...) ((bits) == 64 ? x##_s64(__VA_ARGS__) : x##_s128(__VA_ARGS__))

/* Calls x_k32 or x_k64, by twice the bits of a key. */
#define SW_BY_SET(bits, x, ...) ((bits) < 128 ? x##_k32(__VA_ARGS__) : x##_k64(__VA_ARGS__))

/* Calls x_s64, x_s128, x_k32 or x_k64. */
#define SW_BY_FORMAT(format, x, ...)                                     \
    (((format)&SW_FORMAT_SET) == 0 ? SW_BY_WIDTH(format, x, __VA_ARGS__) \
                                   : SW_BY_SET(format, x, __VA_ARGS__))

/* Calls x<64> or x<128> of a template. */
#define SW_BY_BITS(bits, x, ...) ((bits) == 64 ? x<64>(__VA_ARGS__) : x<128>(__VA_ARGS__))

/* Calls x<64>, x<128>, x<65> or x<129>. */
#define SW_BY_FORMAT_NUMBER(format, x, ...)                               \
    (((format)&SW_FORMAT_SET) == 0 ? SW_BY_BITS((format), x, __VA_ARGS__) \
     : (format) == 65              ? x<65>(__VA_ARGS__)                   \
                                   : x<129>(__VA_ARGS__))

#endif
