/* SPDX-License-Identifier: MIT
 *
 * run.h - a whole run: connections, threads, one to three phases, and what came of them.
 */
#ifndef SHERWOOD_LOAD_RUN_H
#define SHERWOOD_LOAD_RUN_H

#include "bench/load/worker.h"

#define SW_LOAD_PHASES_MAX 3

struct sw_load_phase_result {
    enum sw_load_operation operation;
    uint64_t keys;
    double seconds; /* from the first worker's start to the last answer */
    uint64_t missing;
    uint64_t wrong;
    uint64_t expired; /* absent keys whose time was over, or may have been over */
    uint64_t operations[SW_LOAD_MIX_OPERATIONS]; /* of a MIX phase: keys */
    uint64_t hits; /* bulk: keys that existed; in a MIX phase, only of its gets */
    uint64_t rate; /* keys a second asked for; 0: closed loop */
    uint64_t late; /* units sent late, see limits.h */
    uint64_t late_max_ns;
    uint64_t unsent; /* units due that were given up */
    struct sw_load_traffic traffic;
    double cpu_seconds; /* of all threads of the run */
    struct sw_load_example example;
    struct sw_load_histogram latency; /* ns, of a unit; its count is the number of units */
};

struct sw_load_result {
    struct sw_load_server server;
    struct sw_load_workload workload;
    struct sw_load_nodes nodes; /* what went to each node of a cluster, in all phases */
    uint32_t idle_alive;        /* of options->idle_connections, those still open at the end */
    uint32_t phases_count;
    struct sw_load_phase_result phases[SW_LOAD_PHASES_MAX];
};

/* Runs what the options ask for. Returns an sw_load_status: MISMATCH if a phase found a missing or
 * wrong key (the run goes to its end first). For other failures `error` (SW_LOAD_ERROR_BYTES) has
 * one sentence, and `out` is not to be used. `out` is the caller's, about 1.5 MB. Blocks; starts
 * threads and joins them. */
int sw_load_run(const struct sw_load_options *options, struct sw_load_result *out, char *error);

#endif
