/* SPDX-License-Identifier: MIT
 *
 * ceilings.h - measures what the table is held against: copies and random accesses.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_CEILINGS_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_CEILINGS_H

#include <stdbool.h>

#include "bench/memory_bandwidth/options.h"
#include "bench/memory_bandwidth/report.h"

/* Medians, a second. */
struct sw_bandwidth_ceilings {
    double copy;                          /* bytes, of the better copy */
    double bytes[SW_STUDY_ACCESSES];      /* of the best shape of each access */
    double operations[SW_STUDY_ACCESSES]; /* likewise */
};

/* Over as many bytes as the table's slots will take. On false something failed and one line on
 * stderr says what. */
bool sw_bandwidth_measure_ceilings(const struct sw_bandwidth_options *options,
                                   struct sw_bandwidth_report *report,
                                   struct sw_bandwidth_ceilings *ceilings);

#endif
