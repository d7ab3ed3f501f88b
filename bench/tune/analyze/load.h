/* SPDX-License-Identifier: MIT
 *
 * load.h - all results that the command line selects.
 */
#ifndef SHERWOOD_BENCH_TUNE_ANALYZE_LOAD_H
#define SHERWOOD_BENCH_TUNE_ANALYZE_LOAD_H

#include "bench/tune/analyze/options.h"
#include "bench/tune/results.h"

struct sw_tune_loaded {
    struct sw_tune_results *list; /* sorted by score; by device, kernel, workload */
    uint32_t count;
};

/* At least one, or false with a reason. On true the caller frees it. */
bool sw_tune_load(struct sw_tune_store *store, const struct sw_tune_analyze_options *options,
                  struct sw_tune_loaded *out, struct sw_tune_reason *reason);
void sw_tune_loaded_free(struct sw_tune_loaded *loaded);

/* "get[Slot=64 Operation=plain], NVIDIA H200" */
void sw_tune_title(const struct sw_tune_workload *workload, char *text, size_t size);

#endif
