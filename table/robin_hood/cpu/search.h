/* SPDX-License-Identifier: MIT
 *
 * search.h - searches of one bucket without a branch, for look-ups and updates.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_SEARCH_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_SEARCH_H

#include "table/robin_hood/robin_hood.h"

#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* Returns the first slot of a set of slots, or slot 0 of the empty set. */
static inline uint32_t sw_first_slot(uint32_t slots)
{
    return (uint32_t)__builtin_ctz(slots | 1U << SW_BUCKET_SLOTS) % SW_BUCKET_SLOTS;
}

#define SW_WIDTH_BODY "table/robin_hood/cpu/search.inl"
#include "table/each_format.inl"

#endif
