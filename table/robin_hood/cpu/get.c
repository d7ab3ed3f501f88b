/* SPDX-License-Identifier: MIT
 *
 * get.c - look-ups of integers, for both widths.
 */
#include "table/robin_hood/cpu/get.h"

#include <assert.h>

#include "table/robin_hood/cpu/cpu.h"
#include "table/robin_hood/cpu/search.h"

#define SW_WIDTH_BODY "table/robin_hood/cpu/get.inl"
#include "table/each_width.inl"
