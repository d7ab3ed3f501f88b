/* SPDX-License-Identifier: MIT
 *
 * pass.h - one pass over many operations: batches submitted back to back on one queue, timed.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_PASS_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_PASS_H

#include <stdint.h>

#include "table/table.h"

/* Arrays as in struct sw_batch, of all operations, keys and values of 32 bits; in device memory. A
 * batch's part of each begins where its operations begin. */
struct sw_bandwidth_pass {
    enum sw_op op;
    const uint32_t *keys;
    const uint32_t *values;
    uint32_t *previous;
    uint64_t *found;
    uint32_t *leftover_keys;
    uint32_t *leftover_values;
    uint64_t count;
    uint32_t batch_ops;  /* a multiple of 64: each batch has words of `found` to itself */
    uint32_t *leftovers; /* out, host memory: entries handed back by each batch; or NULL */
};

struct sw_bandwidth_passed {
    double seconds; /* host clock, from before the first submit to after the last completion */
    uint64_t batches;
    struct sw_counters counters;
};

/* Returns the status of the first batch that failed, or SW_OK. No batch is in flight after. */
int sw_bandwidth_pass_run(struct sw_queue *queue, const struct sw_bandwidth_pass *pass,
                          struct sw_bandwidth_passed *out);

/* Host clock in seconds. */
double sw_bandwidth_clock(void);

#endif
