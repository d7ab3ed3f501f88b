/* SPDX-License-Identifier: MIT
 *
 * write_combiner_parts.h - what the two files of the write combiner share.
 */
#ifndef SHERWOOD_TABLE_WRITE_COMBINER_PARTS_H
#define SHERWOOD_TABLE_WRITE_COMBINER_PARTS_H

#include "table/write_combiner.h"

/* Stages of a batch: sw_batch._stage. */
enum stage { IN_QUEUE, DEFERRED, FINDING, WAITING, DONE };

static inline enum stage sw_batch_stage(const struct sw_batch *batch)
{
    return (enum stage)__atomic_load_n(&batch->_stage, __ATOMIC_ACQUIRE);
}

static inline void sw_batch_set_stage(struct sw_batch *batch, enum stage stage)
{
    __atomic_store_n(&batch->_stage, (int)stage, __ATOMIC_RELEASE);
}

/* Returns whether a batch is a sweep that finds the expired entries by itself. */
static inline bool sw_batch_is_sweep(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_SWEEP && batch->remove_count == 0;
}

/* Completes finished launches and launches waiting batches, unless another thread leads. A batch
 * that arrives too late for that thread is launched by the next poll. */
void sw_combiner_lead(struct sw_combiner *combiner, const struct sw_batch *own);

#endif
