/* SPDX-License-Identifier: MIT
 *
 * get.h - look-ups of integers.
 *
 * Threads: any number, in a read phase.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_GET_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_GET_H

#include "table/robin_hood/robin_hood.h"

/* Answers the reads [begin, end) of the work; begin is a multiple of 64. Counts only GETs. */
void sw_get_range_s64(const struct sw_table_s64 *table, const struct sw_work_s64 *work,
                      uint32_t begin, uint32_t end, struct sw_counters *counters);
void sw_get_range_s128(const struct sw_table_s128 *table, const struct sw_work_s128 *work,
                       uint32_t begin, uint32_t end, struct sw_counters *counters);

#endif
