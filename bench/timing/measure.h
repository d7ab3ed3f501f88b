/* SPDX-License-Identifier: MIT
 *
 * measure.h - the measurements of a library, each at the study's F.
 *
 * On false something failed, one line on stderr says what, and nothing more can be expected of the
 * table. Wrong results are reported, not failures (study.h). Threads: one.
 */
#ifndef SHERWOOD_BENCH_TIMING_MEASURE_H
#define SHERWOOD_BENCH_TIMING_MEASURE_H

#include "bench/timing/study.h"

/* Measures one library at one width, at each F. */
bool sw_timing_measure_library(struct sw_timing_study *study);

/* Inserts all keys into an empty table. Leaves the table filled. */
bool sw_timing_measure_insert(struct sw_timing_study *study);

/* These need a filled table. The gets leave it unchanged. */
bool sw_timing_measure_get(struct sw_timing_study *study, uint32_t miss_percent);
bool sw_timing_measure_get_batches(struct sw_timing_study *study);
bool sw_timing_measure_upsert(struct sw_timing_study *study, uint32_t configuration);
bool sw_timing_measure_delete(struct sw_timing_study *study, uint32_t configuration);

/* These fill the table with other keys, and leave more keys in it. */
bool sw_timing_measure_insert_batch(struct sw_timing_study *study, uint32_t configuration);
bool sw_timing_measure_beside(struct sw_timing_study *study, const char *operation);

/* Copies and gathers (bench/study/ceilings.h), at each width over the number of bytes of the
 * table's slots. */
bool sw_timing_measure_ceilings(const struct sw_timing_options *options,
                                struct sw_timing_report *report);

#endif
