/* SPDX-License-Identifier: MIT
 *
 * ceilings.h - repetitions of copies and gathers (bench/study/ceilings.h), and their rows.
 */
#ifndef SHERWOOD_BENCH_TIMING_CEILINGS_H
#define SHERWOOD_BENCH_TIMING_CEILINGS_H

#include "bench/timing/options.h"
#include "bench/timing/report.h"

/* All of them, at each width over as many bytes as the table's slots will take. On false one line
 * on stderr says why. */
bool sw_timing_measure_ceilings(const struct sw_timing_options *options,
                                struct sw_timing_report *report);

#endif
