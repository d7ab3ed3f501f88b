/* SPDX-License-Identifier: MIT
 *
 * write_combiner_queue.c - submit and poll of a queue whose writes are combined.
 *
 * Threads: the queue's.
 */
#include <assert.h>
#include <string.h>

#include "table/write_combiner_parts.h"

void sw_combiner_queue_init(struct sw_combiner_queue *queue, struct sw_combiner *combiner,
                            void *backend_queue)
{
    memset(queue, 0, sizeof(*queue));
    queue->combiner = combiner;
    queue->backend_queue = backend_queue;
    queue->deferred_end = &queue->deferred;
    queue->finding_end = &queue->finding;
}

static uint32_t stream_of(const struct sw_batch *batch)
{
    return batch->stream % SW_COMBINER_STREAMS;
}

/* Returns whether all writes of the batch's stream are launched. */
static bool writes_are_launched(const struct sw_combiner_queue *queue, const struct sw_batch *batch)
{
    return queue->last_write[stream_of(batch)] <=
           __atomic_load_n(&queue->combiner->launched, __ATOMIC_ACQUIRE);
}

/* Appends a write to the order. First flushes earlier reads of its stream that the backend still
 * holds back. */
static void push(struct sw_combiner_queue *queue, struct sw_batch *batch)
{
    struct sw_combiner *combiner = queue->combiner;
    if (combiner->backend->flush != NULL) {
        combiner->backend->flush(queue->backend_queue, batch->stream);
    }
    batch->_next = NULL;
    sw_batch_set_stage(batch, WAITING);
    const bool sweeps = sw_batch_is_sweep(batch);
    struct sw_batch ***end = sweeps ? &combiner->sweeps_end : &combiner->waiting_end;
    pthread_mutex_lock(&combiner->lock);
    if (batch->kind == SW_BATCH_IMAGE) {
        batch->image.sequence = combiner->sequence;
    } else if (!sweeps) {
        batch->write_sequence = sw_sequencer_next(combiner->sequencer);
        __atomic_store_n(&combiner->sequence, batch->write_sequence, __ATOMIC_RELEASE);
    }
    uint64_t sequence = combiner->sequence;
    **end = batch;
    *end = &batch->_next;
    __atomic_fetch_add(sweeps ? &combiner->sweeping : &combiner->gathered, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&combiner->lock);
    queue->last_write[stream_of(batch)] = sequence; /* `batch` may be done already */
}

/* Takes a place in the queue for a read. Returns false if the queue is full. */
static bool begin_read(struct sw_combiner_queue *queue, const struct sw_batch *batch)
{
    bool scan = batch->kind == SW_BATCH_SCAN;
    if (queue->reads == SW_READS_MAX || (scan && queue->scans)) {
        return false;
    }
    queue->reads++;
    queue->scans = queue->scans || scan;
    return true;
}

static void end_read(struct sw_combiner_queue *queue, const struct sw_batch *batch)
{
    assert(queue->reads > 0 && (batch->kind != SW_BATCH_SCAN || queue->scans));
    queue->reads--;
    queue->scans = queue->scans && batch->kind != SW_BATCH_SCAN;
}

/* --- batches that find their keys first ------------------------------------------------------- */

/* Returns whether a batch may run as a GET first. */
static bool may_find(const struct sw_combiner_queue *queue, const struct sw_batch *batch)
{
    return queue->combiner->finds_first && batch->kind == SW_BATCH_OPERATIONS && batch->count > 0 &&
           batch->ops == NULL && SW_OPS_HAS(SW_OPS_ABSENT, (uint32_t)batch->op) &&
           batch->remove_count == 0;
}

/* Returns whether a batch runs as a GET first now. If writes of its stream still wait, it waits
 * behind them as a write. */
static bool finds_first(const struct sw_combiner_queue *queue, const struct sw_batch *batch)
{
    return may_find(queue, batch) && queue->reads < SW_READS_MAX &&
           writes_are_launched(queue, batch);
}

/* Submits the batch as a GET: meanwhile that is its operation. Returns false if the backend does
 * not take it. */
static bool find(struct sw_combiner_queue *queue, struct sw_batch *batch)
{
    const enum sw_op op = batch->op;
    if (!begin_read(queue, batch)) {
        return false;
    }
    batch->op = SW_GET;
    sw_batch_set_stage(batch, FINDING);
    if (queue->combiner->backend->submit(queue->backend_queue, batch) != SW_OK) {
        batch->op = op;
        end_read(queue, batch);
        return false;
    }
    batch->_next = NULL;
    *queue->finding_end = batch;
    queue->finding_end = &batch->_next;
    queue->finding_of[stream_of(batch)]++;
    return true;
}

/* Ends the part of a batch that was a GET, which ended with `status`. */
static void found(struct sw_combiner_queue *queue, struct sw_batch *batch, int status)
{
    struct sw_op_counters *reads = &batch->counters.by_class[SW_CLASS_GET];
    const bool all = reads->hits == batch->count;
    batch->op = SW_FIND_OR_INSERT;
    queue->finding_of[stream_of(batch)]--;
    end_read(queue, batch);
    if (status != SW_OK || all) {
        batch->counters.by_class[SW_CLASS_UPSERT] = *reads;
        *reads = (struct sw_op_counters){0};
        batch->status = status;
        sw_batch_set_stage(batch, DONE);
        return;
    }
    memset(&batch->counters, 0, sizeof(batch->counters));
    push(queue, batch);
}

/* Polls the batches that run as a GET, in the order of their submission: those of one stream that
 * become writes keep it. */
static void poll_finding(struct sw_combiner_queue *queue)
{
    while (queue->finding != NULL) {
        struct sw_batch *batch = queue->finding;
        const int status = queue->combiner->backend->poll(queue->backend_queue, batch);
        if (status == SW_PENDING) {
            return;
        }
        queue->finding = batch->_next;
        if (queue->finding == NULL) {
            queue->finding_end = &queue->finding;
        }
        found(queue, batch, status);
    }
}

/* --- submit and poll -------------------------------------------------------------------------- */

/* Returns whether a batch may be submitted, given that its stream has no deferred batch before it.
 * Only batches that run as a GET first may overtake one that does. */
static bool may_go(const struct sw_combiner_queue *queue, const struct sw_batch *batch)
{
    if (queue->finding_of[stream_of(batch)] > 0) {
        return finds_first(queue, batch);
    }
    return !sw_batch_is_read(batch) || writes_are_launched(queue, batch);
}

static int go(struct sw_combiner_queue *queue, struct sw_batch *batch)
{
    if (!sw_batch_is_read(batch)) {
        if (!finds_first(queue, batch) || !find(queue, batch)) {
            push(queue, batch);
        }
        return SW_OK;
    }
    sw_batch_set_stage(batch, IN_QUEUE);
    return queue->combiner->backend->submit(queue->backend_queue, batch);
}

static void defer(struct sw_combiner_queue *queue, struct sw_batch *batch)
{
    batch->_next = NULL;
    sw_batch_set_stage(batch, DEFERRED);
    *queue->deferred_end = batch;
    queue->deferred_end = &batch->_next;
    queue->deferred_of[stream_of(batch)]++;
}

/* Submits the deferred batches that may go. A batch stays deferred if an earlier batch of its
 * stream stays. */
static void send_deferred(struct sw_combiner_queue *queue)
{
    bool stays[SW_COMBINER_STREAMS] = {false};
    struct sw_batch **at = &queue->deferred;
    while (*at != NULL) {
        struct sw_batch *batch = *at;
        struct sw_batch *next = batch->_next;
        uint32_t stream = stream_of(batch);
        int status = SW_E_BUSY;
        if (!stays[stream] && may_go(queue, batch)) {
            status = go(queue, batch);
        }
        if (status == SW_E_BUSY) {
            sw_batch_set_stage(batch, DEFERRED);
            stays[stream] = true;
            at = &batch->_next;
            continue;
        }
        *at = next;
        queue->deferred_of[stream]--;
        if (status != SW_OK) {
            batch->status = status;
            sw_batch_set_stage(batch, DONE);
        }
    }
    queue->deferred_end = at;
}

/* Forgets the numbers of earlier eras: they are invalid after the sequence decreased. */
static void forget_other_eras(struct sw_combiner_queue *queue)
{
    uint64_t era = __atomic_load_n(&queue->combiner->era, __ATOMIC_ACQUIRE);
    if (queue->era != era) {
        memset(queue->last_write, 0, sizeof(queue->last_write));
        queue->era = era;
    }
}

/* Returns whether batches wait for a launch, or sweeps for their turn. */
static bool some_wait(const struct sw_combiner *combiner)
{
    return __atomic_load_n(&combiner->gathered, __ATOMIC_ACQUIRE) > 0 ||
           __atomic_load_n(&combiner->sweeping, __ATOMIC_ACQUIRE) > 0;
}

int sw_combiner_submit(struct sw_combiner_queue *queue, struct sw_batch *batch)
{
    bool reads = sw_batch_is_read(batch);
    forget_other_eras(queue);
    batch->write_sequence = 0;
    if (reads && !begin_read(queue, batch)) {
        return SW_E_BUSY;
    }
    if (queue->deferred_of[stream_of(batch)] > 0 || !may_go(queue, batch)) {
        defer(queue, batch);
        return SW_OK;
    }
    int status = go(queue, batch);
    if (reads && status != SW_OK) {
        end_read(queue, batch);
    }
    /* Threads that only read would contend for the lead in vain. */
    if (!reads || some_wait(queue->combiner)) {
        sw_combiner_lead(queue->combiner, batch);
    }
    return status;
}

/* Returns the status of a batch. Leads if the batch still waits. */
static int status_of(struct sw_combiner_queue *queue, struct sw_batch *batch)
{
    if (sw_batch_stage(batch) == IN_QUEUE) {
        return queue->combiner->backend->poll(queue->backend_queue, batch);
    }
    if (sw_batch_stage(batch) != DONE) {
        sw_combiner_lead(queue->combiner, batch);
    }
    return sw_batch_stage(batch) == DONE ? batch->status : SW_PENDING;
}

int sw_combiner_poll(struct sw_combiner_queue *queue, struct sw_batch *batch)
{
    poll_finding(queue);
    if (queue->deferred != NULL) {
        send_deferred(queue);
    }
    int status = status_of(queue, batch);
    if (status != SW_PENDING && batch->write_sequence == 0 && batch->kind != SW_BATCH_IMAGE &&
        batch->kind != SW_BATCH_SWEEP && !may_find(queue, batch)) {
        end_read(queue, batch);
    }
    return status;
}
