/* SPDX-License-Identifier: MIT
 *
 * each_format.inl - includes the file SW_WIDTH_BODY once for each format of slots (widths.h): for
 * the two of each_width.inl and the two of each_set.inl.
 */
#define SW_WIDTH_MORE
#include "table/each_width.inl"
#undef SW_WIDTH_MORE
#include "table/each_set.inl"
