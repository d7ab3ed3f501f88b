/* SPDX-License-Identifier: MIT
 *
 * row_passes.h - passes over the rows of a table: scans, moves to lower rows, the check.
 *
 * Threads: the caller is in the phase that the function needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_PASSES_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_PASSES_H

#include "table/robin_hood/cpu/cpu.h"

/* A read phase: replaces the numbers of `count` rows, words of the table's width, by the rows. */
void sw_cpu_scan_rows(const struct sw_cpu *cpu, const void *words, void *rows, uint32_t count);

/* A write phase: gives back the memory of rows that the table's capacity has no use for, having
 * moved those in use there. */
void sw_cpu_lower_rows(struct sw_cpu *cpu);

/* A read phase: I11, I12 and I13 (table/robin_hood/README.md). SW_OK; SW_E_INVALID with the first
 * violation as text; SW_E_NOMEM. */
int sw_cpu_check_rows(const struct sw_cpu *cpu, char *violation, size_t violation_size);

#endif
