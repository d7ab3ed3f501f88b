/* SPDX-License-Identifier: MIT
 *
 * row_passes.h - passes over the rows of a table: scans, moves to lower rows, the check.
 *
 * Threads: the caller is in the phase that the function needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_PASSES_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_PASSES_H

#include "table/robin_hood/cpu/cpu.h"

/* Copies the rows of `count` row numbers, which are words of the table's width. In a read phase. */
void sw_cpu_scan_rows(const struct sw_cpu *cpu, const void *words, void *rows, uint32_t count);

/* Moves entries to lower rows and unmaps the rows that the table's capacity does not need. In a
 * write phase. */
void sw_cpu_lower_rows(struct sw_cpu *cpu);

/* Checks I11, I12 and I13 (table/robin_hood/README.md). In a read phase. Returns SW_OK;
 * SW_E_INVALID with the first violation as text; SW_E_NOMEM. */
int sw_cpu_check_rows(const struct sw_cpu *cpu, char *violation, size_t violation_size);

#endif
