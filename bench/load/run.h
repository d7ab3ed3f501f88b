/* SPDX-License-Identifier: MIT
 *
 * run.h - runs a load: connections, threads, one to three phases, and their results.
 */
#ifndef SHERWOOD_LOAD_RUN_H
#define SHERWOOD_LOAD_RUN_H

#include "bench/load/worker.h"

#define SW_LOAD_PHASES_MAX 3

struct sw_load_phase_result {
    enum sw_load_operation operation;
    uint64_t keys;
    double seconds; /* from the start of the first worker to the last reply */
    uint64_t missing;
    uint64_t wrong;
    uint64_t expired; /* absent keys that had expired, or may have expired */
    uint64_t operations[SW_LOAD_MIX_OPERATIONS]; /* MIX phase: keys of each operation */
    uint64_t hits; /* bulk: keys that existed; in a MIX phase, only of its gets */
    uint64_t rate; /* requested keys per second; 0: closed loop */
    uint64_t late; /* units that were sent late, see limits.h */
    uint64_t late_max_ns;
    uint64_t unsent; /* due units that were dropped */
    struct sw_load_traffic traffic;
    double cpu_seconds; /* of all threads */
    struct sw_load_example example;
    struct sw_load_histogram latency; /* of units, in ns; its count is that of the units */
};

struct sw_load_result {
    struct sw_load_server server;
    struct sw_load_workload workload;
    struct sw_load_nodes nodes; /* counts of each node of a cluster, over all phases */
    uint32_t idle_alive;        /* idle connections that were still open at the end */
    uint32_t phases_count;
    struct sw_load_phase_result phases[SW_LOAD_PHASES_MAX];
};

/* Runs what the options ask for. Returns an sw_load_status: MISMATCH if a phase found a missing or
 * wrong key (the run goes to its end first). For other failures `error` (SW_LOAD_ERROR_BYTES) has
 * one sentence, and `out` is not to be used. `out` is the caller's, about 1.5 MB. Blocks; starts
 * threads and joins them. */
int sw_load_run(const struct sw_load_options *options, struct sw_load_result *out, char *error);

#endif
