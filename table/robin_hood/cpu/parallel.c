/* SPDX-License-Identifier: MIT
 *
 * parallel.c - large batches on all threads, for both widths.
 */
#include "table/robin_hood/cpu/parallel.h"

#include <assert.h>
#include <string.h>

#include "table/robin_hood/cpu/combined.h"
#include "table/robin_hood/cpu/get.h"
#include "table/robin_hood/cpu/room.h"
#include "table/robin_hood/cpu/search.h"

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/parallel.inl"
#include "table/each_width.inl"

#define SW_WIDTH_BODY "table/robin_hood/cpu/combined.inl"
#include "table/each_width.inl"

uint64_t sw_parallel_record_bytes(uint32_t slot_bits)
{
    return slot_bits == 64 ? sizeof(struct sw_record_s64) : sizeof(struct sw_record_s128);
}
