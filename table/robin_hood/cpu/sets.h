/* SPDX-License-Identifier: MIT
 *
 * sets.h - batches of operations of a key set (set_backend.h).
 *
 * Threads: the caller is in the phase that the batch needs; writes have scratch.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_SETS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_SETS_H

#include "table/robin_hood/cpu/room.h"

void sw_run_set_reads(struct sw_cpu *cpu, struct sw_batch *batch);
void sw_run_set_writes(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix);

#endif
