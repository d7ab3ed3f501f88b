/* SPDX-License-Identifier: MIT
 *
 * change.h - what operations on one key, one after the other, make of it, whatever it was before:
 * so a key that is repeated very often can be taken through its operations by many threads, a
 * stretch of them each. One source for CPU and CUDA, both widths (names end in _s64 and _s128).
 *
 * An absent key has one state, and goes through the operations itself. So does a present one after
 * a SET, SET_PRESENT or DELETE, after which its value before does not matter. Until then its value
 * v becomes min(max(v, low), high) + add, for all v in [from, to]: these functions are closed under
 * MIN, MAX, SUM, INCREMENT and DECREMENT as long as all v meet the same fate in each of them, so
 * [from, to] is made smaller where only some would overflow. What becomes of other values has to be
 * found by going through the operations again.
 */
#ifndef SHERWOOD_TABLE_CHANGE_H
#define SHERWOOD_TABLE_CHANGE_H

#include <string.h>

#include "table/operation.h"

#define CH_WORD SW_WIDTH_WORD
#define CH_MAX SW_WIDTH_ONES
#define CH(name) SW_WIDTH_NAMED(sw_##name)
#define CH_ENUM(name) SW_WIDTH_NAMED(SW_CHANGE_##name)
#define SW_WIDTH_BODY "table/change.inl"
#include "table/each_width.inl"

#endif
