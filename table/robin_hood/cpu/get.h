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
#define SW_GET_RANGE(bits, word, suffix)                                                          \
    void sw_get_range_##suffix(const struct sw_table_##suffix *table,                             \
                               const struct sw_work_##suffix *work, uint32_t begin, uint32_t end, \
                               struct sw_counters *counters);
SW_FORMATS(SW_GET_RANGE)
#undef SW_GET_RANGE

#endif
