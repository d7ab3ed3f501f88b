/* SPDX-License-Identifier: MIT
 *
 * sets.c - the batches of batch.c, parallel.c, get.c and room.c for key sets. They are a unit of
 * their own: beside the code for pairs they would change which functions the compiler inlines
 * there.
 */
#include "table/robin_hood/cpu/sets.h"

#include <assert.h>
#include <string.h>

#include "table/robin_hood/cpu/combined.h"
#include "table/robin_hood/cpu/get.h"
#include "table/robin_hood/cpu/parallel.h"
#include "table/robin_hood/cpu/resize.h"
#include "table/robin_hood/cpu/search.h"

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/get.inl"
#include "table/each_set.inl"
#define SW_WIDTH_BODY "table/robin_hood/cpu/room.inl"
#include "table/each_set.inl"
#define SW_WIDTH_BODY "table/robin_hood/cpu/parallel.inl"
#include "table/each_set.inl"
#define SW_WIDTH_BODY "table/robin_hood/cpu/combined.inl"
#include "table/each_set.inl"
#define SW_WIDTH_BODY "table/robin_hood/cpu/batch.inl"
#include "table/each_set.inl"

void sw_run_set_reads(struct sw_cpu *cpu, struct sw_batch *batch)
{
    SW_BY_SET(cpu->config.slot_bits, sw_run_reads, cpu, batch);
}

void sw_run_set_writes(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    SW_BY_SET(cpu->config.slot_bits, sw_run_writes, cpu, batch, mix);
}
