/* SPDX-License-Identifier: MIT
 *
 * change.h - the effect of several operations on one key, for any state of the key before them. If
 * a key is repeated very often, several threads fold its operations: each thread folds consecutive
 * ones. One source for CPU and CUDA, both widths (names end in _s64 and _s128).
 *
 * An absent key has one state, and goes through the operations itself. A present key does so from
 * its first SET, SET_PRESENT or DELETE on, because its earlier value no longer matters. Before
 * that, its value v becomes min(max(v, low), high) + add, for all v in [from, to]. Functions of
 * this form are closed under MIN, MAX, SUM, INCREMENT and DECREMENT as long as each operation
 * overflows for all v in [from, to] or for none. If an operation would overflow for only some v,
 * [from, to] is made smaller. For values outside [from, to] the caller runs the operations one by
 * one.
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
