/* SPDX-License-Identifier: MIT
 *
 * each_set.inl - includes the file SW_WIDTH_BODY once for each format of slots without values
 * (widths.h). SW_WIDTH_NAMED(x) is x_k32 or x_k64 there; SW_WIDTH_BITS is twice the bits of a key,
 * and SW_WIDTH_SET is defined.
 */
#define SW_WIDTH_SET
#define SW_WIDTH_BITS 64
#define SW_WIDTH_WORD uint32_t
#define SW_WIDTH_ONES UINT32_MAX
#define SW_WIDTH_SUFFIX k32
#define SW_WIDTH_NAMED(name) name##_k32
#include SW_WIDTH_BODY
#undef SW_WIDTH_BITS
#undef SW_WIDTH_WORD
#undef SW_WIDTH_ONES
#undef SW_WIDTH_SUFFIX
#undef SW_WIDTH_NAMED

#define SW_WIDTH_BITS 128
#define SW_WIDTH_WORD uint64_t
#define SW_WIDTH_ONES UINT64_MAX
#define SW_WIDTH_SUFFIX k64
#define SW_WIDTH_NAMED(name) name##_k64
#include SW_WIDTH_BODY
#undef SW_WIDTH_BITS
#undef SW_WIDTH_WORD
#undef SW_WIDTH_ONES
#undef SW_WIDTH_SUFFIX
#undef SW_WIDTH_NAMED
#undef SW_WIDTH_BODY
#undef SW_WIDTH_SET
