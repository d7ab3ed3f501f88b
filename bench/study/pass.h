/* SPDX-License-Identifier: MIT
 *
 * pass.h - submits batches to a queue, marks their streams (span.h) and waits for them: one batch,
 * or a pass of many, back to back.
 */
#ifndef SHERWOOD_BENCH_STUDY_PASS_H
#define SHERWOOD_BENCH_STUDY_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

/* Arrays as in struct sw_batch, of all operations; they may lie in device memory. */
struct sw_study_pass {
    enum sw_op op;
    uint32_t key_bytes; /* of a key, and of a value */
    const void *keys;
    const void *values;
    void *previous;
    uint64_t *found;
    void *leftover_keys; /* tables without a stash: the entries of a batch begin at the index of its
                            first operation */
    void *leftover_values;
    uint32_t *leftovers; /* out, host memory: entries handed back by each batch; or NULL */
    uint64_t count;
    uint32_t batch_ops; /* a multiple of 64, so that no two batches share a word of `found` */
    bool on_device;     /* keys and values lie in device memory */
};

struct sw_study_passed {
    uint64_t batches;
    struct sw_counters counters;
};

/* Does what sw_batch_run does, with marks. */
int sw_study_batch_run(struct sw_queue *queue, struct sw_batch *batch);

/* Runs two batches in one stream: submits the second before it waits for the first. Returns the
 * status of the first batch that failed. */
int sw_study_batches_run(struct sw_queue *queue, struct sw_batch *one, struct sw_batch *two);

/* Returns the status of the first batch that failed, or SW_OK. No batch is in flight after. */
int sw_study_pass_run(struct sw_queue *queue, const struct sw_study_pass *pass,
                      struct sw_study_passed *out);

#endif
