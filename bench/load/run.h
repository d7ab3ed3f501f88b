/* SPDX-License-Identifier: MIT
 *
 * run.h - a whole run: connections, threads, one or two phases, and what came of them.
 */
#ifndef SHERWOOD_LOAD_RUN_H
#define SHERWOOD_LOAD_RUN_H

#include "bench/load/worker.h"

#define SW_LOAD_PHASES_MAX 2

struct sw_load_phase_result {
    enum sw_load_operation operation;
    uint64_t keys;
    double seconds; /* from the first worker's start to the last answer */
    uint64_t missing;
    uint64_t wrong;
    struct sw_load_example example;
    struct sw_load_histogram latency; /* ns, of a unit; its count is the number of units */
};

struct sw_load_result {
    struct sw_load_server server;
    struct sw_load_workload workload;
    uint32_t phases_count;
    struct sw_load_phase_result phases[SW_LOAD_PHASES_MAX];
};

/* Runs what the options ask for. Returns an sw_load_status: MISMATCH if a phase found a missing or
 * wrong key (the run goes to its end first). For other failures `error` (SW_LOAD_ERROR_BYTES) has
 * one sentence, and `out` is not to be used. `out` is the caller's, about 1 MB. Blocks; starts
 * threads and joins them. */
int sw_load_run(const struct sw_load_options *options, struct sw_load_result *out, char *error);

#endif
