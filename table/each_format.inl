/* SPDX-License-Identifier: MIT
 *
 * each_format.inl - includes the file SW_WIDTH_BODY once for each format of slots (widths.h): for
 * the two of each_width.inl, and in C for the two of each_set.inl. Kernels have no key sets.
 */
#ifdef __cplusplus
#include "table/each_width.inl"
#else
#define SW_WIDTH_MORE
#include "table/each_width.inl"
#undef SW_WIDTH_MORE
#include "table/each_set.inl"
#endif
