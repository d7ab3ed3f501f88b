/* SPDX-License-Identifier: MIT
 *
 * export.h - the best variants as a header for each GPU architecture.
 */
#ifndef SHERWOOD_BENCH_TUNE_ANALYZE_EXPORT_H
#define SHERWOOD_BENCH_TUNE_ANALYZE_EXPORT_H

#include "bench/tune/analyze/load.h"

/* The variant to export, NULL for base. With `tells` those with a higher score that may not be are
 * named on stdout. False with a reason if base was not measured on every workload. */
bool sw_tune_choose(const struct sw_tune_results *results,
                    const struct sw_tune_analyze_options *options, bool tells,
                    const struct sw_tune_result **out, struct sw_tune_reason *reason);

/* Writes FOLDER/policy_<arch>.h for each architecture. False with a reason if it may not, or
 * cannot; a file is replaced as a whole or not at all. */
bool sw_tune_export(const struct sw_tune_loaded *loaded,
                    const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason);

#endif
