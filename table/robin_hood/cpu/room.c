/* SPDX-License-Identifier: MIT
 *
 * room.c - room for a batch: entries, threads.
 */
#include "table/robin_hood/cpu/room.h"

#include <string.h>

#include "table/robin_hood/cpu/resize.h"

bool sw_cpu_try_parallel(struct sw_cpu *cpu)
{
    return sw_pool_threads(cpu->pool) > 1 && sw_pool_try_lock(cpu->pool);
}

void sw_cpu_admit_all(struct sw_batch *batch)
{
    if (batch->group_refused != NULL && batch->group_count > 0) {
        memset(batch->group_refused, 0, batch->group_count);
    }
}

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/room.inl"
#include "table/each_width.inl"
