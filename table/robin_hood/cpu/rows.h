/* SPDX-License-Identifier: MIT
 *
 * rows.h - batches of a table with rows.
 *
 * Threads: the caller is in the phase that the function needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROWS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROWS_H

#include "table/robin_hood/cpu/room.h"

/* Carries out a batch: reads in a read phase, writes in a write phase. */
void sw_run_row_reads_s64(struct sw_cpu *cpu, struct sw_batch *batch);
void sw_run_row_reads_s128(struct sw_cpu *cpu, struct sw_batch *batch);
void sw_run_row_writes_s64(struct sw_cpu *cpu, struct sw_batch *batch,
                           const struct sw_cpu_mix *mix);
void sw_run_row_writes_s128(struct sw_cpu *cpu, struct sw_batch *batch,
                            const struct sw_cpu_mix *mix);

#endif
