/* SPDX-License-Identifier: MIT
 *
 * expiry_sweep.cu - sweeps, which remove expired entries that no batch names; the rule for
 * suspended keys; and clear. A sweep is complete when submit returns.
 */
#include "table/robin_hood/cuda/times/expiry.cuh"

void sw_cuda_suspend_expiry(void *context, bool (*is_suspended)(const void *context, uint64_t key),
                            const void *suspended_context)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    pthread_mutex_lock(&table->order);
    table->is_suspended = is_suspended;
    table->suspended_context = suspended_context;
    pthread_mutex_unlock(&table->order);
}

/* Returns whether a sweep has work. */
static bool is_due(const struct sw_expiry_pass *pass, uint64_t clock_ms, bool goes_back)
{
    return goes_back || pass->cursor != 0 || pass->next <= clock_ms;
}

/* Updates the mean of the expiry times. It removes nothing, so neither table waits for reads. */
static cudaError_t survey(struct sw_cuda_expiry *expiry, uint64_t clock_ms)
{
    struct sw_batch scan = {};
    scan.kind = SW_BATCH_SCAN;
    scan.count = SW_EXPIRY_PIECE;
    scan.scan.cursor = expiry->pass.survey_cursor;
    scan.scan.keys = expiry->piece_keys;
    scan.scan.values = expiry->piece_times;
    const cudaError_t error = sw_cuda_times_run(expiry, &scan);
    if (error == cudaSuccess) {
        sw_expiry_survey(&expiry->pass, expiry->piece_times, scan.scan.got, scan.scan.cursor,
                         clock_ms);
    }
    return error;
}

/* Removes the keys that a sweep of another table has removed. */
static cudaError_t sweep_named(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    struct sw_cuda_table *table = queue->table;
    if (!sw_cuda_keeps_times(table)) {
        batch->status = SW_E_INVALID;
        return cudaSuccess;
    }
    cudaError_t error = sw_cuda_settle(queue);
    sw_cuda_expiry_activate(table->expiry, batch);
    if (error == cudaSuccess) {
        error = sw_cuda_remove_named(queue, batch);
    }
    batch->_stash_change = table->expiry->now.stash_change;
    batch->status = table->expiry->now.invalid ? SW_E_INVALID : SW_OK;
    sw_cuda_expiry_deactivate(table, batch);
    return error;
}

static void end_sweep(struct sw_cuda_table *table, uint64_t clock_ms, uint64_t wall_ms,
                      bool goes_back)
{
    struct sw_expiry_pass *pass = &table->expiry->pass;
    sw_expiry_pass_end(pass, clock_ms);
    if (pass->steps_back && goes_back) {
        pass->clock_steps++;
        __atomic_store_n(&table->clock_ms, wall_ms, __ATOMIC_RELAXED);
    }
    pass->steps_back = false;
}

/* Sweeps `count` entries, at the clock in the batch. */
static cudaError_t sweep(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t wall_ms,
                         bool goes_back)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_expiry *expiry = table->expiry;
    cudaError_t error = sw_cuda_settle(queue);
    sw_cuda_expiry_activate(table->expiry, batch);
    if (goes_back && !expiry->pass.steps_back) {
        expiry->pass.steps_back = true;
        expiry->pass.cursor = 0;
    }
    while (batch->sweep.looked < batch->count && !expiry->failed && error == cudaSuccess) {
        uint32_t looked = 0;
        error = sw_cuda_sweep_piece(queue, batch->clock_ms,
                                    batch->count - (uint32_t)batch->sweep.looked, batch->count,
                                    &looked);
        batch->sweep.looked += looked;
        if (expiry->pass.cursor == 0) {
            end_sweep(table, batch->clock_ms, wall_ms, goes_back);
            break;
        }
    }
    if (error == cudaSuccess) {
        error = sw_cuda_remove_listed(queue);
    }
    batch->sweep.cursor = expiry->pass.cursor;
    batch->_stash_change = expiry->now.stash_change;
    sw_cuda_expiry_deactivate(table, batch);
    return error;
}

/* Removals are write launches: runs them in one turn. */
template <typename SWEEP> static cudaError_t with_turn(struct sw_cuda_queue *queue, SWEEP run)
{
    cudaError_t error = sw_cuda_begin_launch(queue, UINT32_MAX);
    if (error == cudaSuccess) {
        error = run();
    }
    return sw_cuda_turn_end(queue, error);
}

/* Under `order`. */
static cudaError_t carry_out(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    struct sw_cuda_table *table = queue->table;
    const uint64_t wall_ms = batch->clock_ms;
    const uint64_t last = sw_cuda_clock(table);
    const bool goes_back = wall_ms != 0 && last > wall_ms && last - wall_ms > SW_CLOCK_HOLD_MS;
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    if (batch->remove_count > 0) {
        return with_turn(queue, [&] { return sweep_named(queue, batch); });
    }
    if (batch->count == 0) { /* the clock may go back; nothing is removed */
        if (goes_back) {
            __atomic_store_n(&table->clock_ms, wall_ms, __ATOMIC_RELAXED);
        }
        return cudaSuccess;
    }
    batch->clock_ms = sw_cuda_advance_clock(table, wall_ms);
    batch->sweep.cursor = 0;
    struct sw_cuda_expiry *expiry = table->expiry;
    if (batch->clock_ms == 0 || expiry == NULL) {
        return cudaSuccess;
    }
    if (is_due(&expiry->pass, batch->clock_ms, goes_back)) {
        return with_turn(queue, [&] { return sweep(queue, batch, wall_ms, goes_back); });
    }
    return sw_cuda_keeps_times(table) && sw_expiry_survey_is_due(&expiry->pass, batch->clock_ms)
               ? survey(expiry, batch->clock_ms)
               : cudaSuccess;
}

int sw_cuda_sweep(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    if (!sw_cuda_channel_begin(queue)) {
        return SW_E_DEVICE;
    }
    return sw_cuda_channel_end(queue, carry_out(queue, batch)) ? SW_OK : SW_E_DEVICE;
}

cudaError_t sw_cuda_expiry_clear(struct sw_cuda_queue *queue)
{
    struct sw_cuda_expiry *expiry = queue->table->expiry;
    if (!sw_cuda_keeps_times(queue->table)) {
        return cudaSuccess;
    }
    struct sw_batch clear = {};
    clear.kind = SW_BATCH_CLEAR;
    cudaError_t error = sw_cuda_settle(queue);
    if (error == cudaSuccess) {
        error = sw_cuda_times_run(expiry, &clear);
    }
    __atomic_store_n(&expiry->held, 0, __ATOMIC_RELAXED);
    sw_expiry_pass_clear(&expiry->pass);
    return error;
}
