/* SPDX-License-Identifier: MIT
 *
 * each_width.inl - includes the file SW_WIDTH_BODY once for each width of slots (widths.h).
 * SW_WIDTH_NAMED(x) is x_s64 or x_s128 there.
 */
#define SW_WIDTH_BITS 64
#define SW_WIDTH_WORD uint32_t
#define SW_WIDTH_ONES UINT32_MAX
#define SW_WIDTH_SUFFIX s64
#define SW_WIDTH_NAMED(name) name##_s64
#include SW_WIDTH_BODY
#undef SW_WIDTH_BITS
#undef SW_WIDTH_WORD
#undef SW_WIDTH_ONES
#undef SW_WIDTH_SUFFIX
#undef SW_WIDTH_NAMED

#define SW_WIDTH_BITS 128
#define SW_WIDTH_WORD uint64_t
#define SW_WIDTH_ONES UINT64_MAX
#define SW_WIDTH_SUFFIX s128
#define SW_WIDTH_NAMED(name) name##_s128
#include SW_WIDTH_BODY
#undef SW_WIDTH_BITS
#undef SW_WIDTH_WORD
#undef SW_WIDTH_ONES
#undef SW_WIDTH_SUFFIX
#undef SW_WIDTH_NAMED
#ifndef SW_WIDTH_MORE /* each_format.inl */
#undef SW_WIDTH_BODY
#endif
