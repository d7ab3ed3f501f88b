/* SPDX-License-Identifier: MIT
 *
 * rows.h - batches of a table with rows, and what moves or audits rows.
 *
 * Threads: the caller is in the phase that the function needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROWS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROWS_H

#include "table/robin_hood/cpu/batch.h"

/* A batch that only reads, in a read phase; one that writes, in a write phase. */
void sw_run_row_reads_s64(struct sw_cpu *cpu, struct sw_batch *batch);
void sw_run_row_reads_s128(struct sw_cpu *cpu, struct sw_batch *batch);
void sw_run_row_writes_s64(struct sw_cpu *cpu, struct sw_batch *batch,
                           const struct sw_cpu_mix *mix);
void sw_run_row_writes_s128(struct sw_cpu *cpu, struct sw_batch *batch,
                            const struct sw_cpu_mix *mix);

/* A read phase: replaces the numbers of `count` rows, words of the table's width, by the rows. */
void sw_cpu_scan_rows(const struct sw_cpu *cpu, const void *words, void *rows, uint32_t count);

/* A write phase: gives back the memory of rows that the table's capacity has no use for, having
 * moved those in use there. */
void sw_cpu_lower_rows(struct sw_cpu *cpu);

/* A read phase: I11, I12 and I13 (table/robin_hood/README.md). SW_OK; SW_E_INVALID with the first
 * violation as text; SW_E_NOMEM. */
int sw_cpu_check_rows(const struct sw_cpu *cpu, char *violation, size_t violation_size);

#endif
