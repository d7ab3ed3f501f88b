/* SPDX-License-Identifier: MIT
 *
 * queue.cu - queues: from submit to the launch of a batch. channel.cuh orders the queues' launches.
 */
#include "table/robin_hood/cuda/times/expiry.cuh"

#include <string.h>

/* Batches of at most SMALL_READ_MAX reads are deferred, so that several share a launch. */
#define SMALL_READ_MAX 32768

/* --- submit ----------------------------------------------------------------------------------- */

/* Returns whether an operation may insert. Without rows every operation may, except reads, deletes,
 * EXPIRE and operations with two operands. */
static bool may_insert(uint32_t op, bool rows)
{
    return rows ? sw_row_effect(op, false) == SW_EFFECT_WRITE
                : !SW_OPS_HAS(SW_OPS_READ | SW_OPS_DELETE | SW_OPS_EXPIRE | SW_OPS_PAIR, op);
}

struct sw_cuda_mix sw_cuda_mix_of(const struct sw_batch *batch, bool rows)
{
    struct sw_cuda_mix mix = {};
    if (batch == NULL || batch->kind != SW_BATCH_OPERATIONS) {
        return mix;
    }
    if (batch->ops == NULL) {
        mix.reads = batch->op == SW_GET;
        mix.deletes = batch->op == SW_DELETE;
        mix.removes = mix.deletes;
        mix.puts = SW_OPS_HAS(SW_OPS_PUT, (uint32_t)batch->op);
        mix.upserts = may_insert(batch->op, rows) ? batch->count : 0;
        mix.in_order = sw_row_is_in_order(batch->op);
        return mix;
    }
    uint32_t gets = 0;
    uint32_t deletes = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        gets += batch->ops[i] == SW_GET;
        deletes += batch->ops[i] == SW_DELETE;
        mix.upserts += may_insert(batch->ops[i], rows);
        mix.puts |= SW_OPS_HAS(SW_OPS_PUT, batch->ops[i]);
        mix.in_order |= sw_row_is_in_order(batch->ops[i]);
    }
    mix.reads = gets == batch->count;
    mix.deletes = deletes != 0;
    return mix;
}

template <int BITS>
static cudaError_t submit_operations(struct sw_cuda_queue *queue, struct sw_batch *batch,
                                     struct sw_cuda_mix mix, uint64_t ticket)
{
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    if (mix.reads || batch->count == 0) {
        return sw_cuda_launch_read<BITS>(queue, batch, ticket);
    }
    sw_cuda_report_clock(queue->table, batch);
    struct sw_cuda_batch<BITS> typed = sw_cuda_typed_batch<BITS>(queue, batch, ticket);
    error = sw_cuda_begin_launch(queue, batch->count);
    if (error == cudaSuccess) {
        error = sw_cuda_write<BITS>(queue, batch, &typed, mix.upserts, mix.deletes);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_write_submitted(queue);
    }
    return sw_cuda_turn_end(queue, error);
}

template <int BITS>
static cudaError_t submit_clear(struct sw_cuda_queue *queue, const struct sw_batch *batch,
                                uint64_t ticket)
{
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    struct sw_cuda_batch<BITS> typed = sw_cuda_typed_batch<BITS>(queue, batch, ticket);
    cudaError_t error = sw_cuda_wait_for_write(queue);
    queue->table->holes.most = 0; /* the state counts none afterwards */
    device->table.main.no_jumps = 0;
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_clear<BITS>(device, queue->table->arrays.geometry.slots_total,
                                           queue->stream);
    }
    if (error == cudaSuccess && sw_cuda_has_rows(queue->table)) {
        error = sw_cuda_arena_clear(&queue->table->arena, queue->stream);
    }
    if (error == cudaSuccess && sw_cuda_has_ids(queue->table)) {
        error = sw_cuda_ids_clear(&queue->table->ids, queue->stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_expiry_clear(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_finish<BITS>(device, &typed, queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

/* Resizes the table. The report is the same as for a batch without operations. */
template <int BITS>
static cudaError_t submit_resize(struct sw_cuda_queue *queue, struct sw_batch *batch,
                                 uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_batch<BITS> typed = sw_cuda_typed_batch<BITS>(queue, batch, ticket);
    uint64_t entries = __atomic_load_n(&table->entries, __ATOMIC_RELAXED);
    uint64_t capacity = sw_geometry_admitting(&table->config, batch->capacity, entries);
    uint64_t most = sw_geometry_capacity_max(&table->config);
    cudaError_t error = cudaSuccess;
    /* the bound includes batches in flight; the entries themselves fit the largest capacity */
    int status = sw_cuda_resize(queue, capacity < most ? capacity : most, &error);
    table->resized += status == SW_OK;
    table->resize_failed += status != SW_OK;
    queue->resize_status = status;
    queue->freed_ticket = ticket;
    batch->capacity = table->arrays.geometry.buckets * SW_BUCKET_SLOTS;
    if (error == cudaSuccess) {
        error = sw_cuda_expiry_resize(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_finish<BITS>(sw_cuda_device_of<BITS>(table), &typed, queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

/* Copies the windows, then completes the record like an empty batch of reads. If the scan already
 * has its keys, reads their values instead. */
template <int BITS>
static cudaError_t submit_scan(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket)
{
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess && queue->scan.reads_rows) {
        batch = &queue->scan.rows;
    } else if (error == cudaSuccess) {
        sw_cuda_reads_launched(queue);
        queue->scan.filters_expired = sw_cuda_keeps_times(queue->table);
        error = sw_cuda_scan_copy(queue, batch);
    }
    return error == cudaSuccess ? sw_cuda_launch_read<BITS>(queue, batch, ticket) : error;
}

/* Enqueues the deferred reads, then `batch` unless it is NULL. */
template <int BITS>
static cudaError_t enqueue(struct sw_cuda_queue *queue, struct sw_batch *batch,
                           struct sw_cuda_mix mix, uint64_t ticket)
{
    cudaError_t error = sw_cuda_launch_held<BITS>(queue);
    if (error != cudaSuccess || batch == NULL) {
        return error;
    }
    switch (batch->kind) {
    case SW_BATCH_CLEAR:
        return submit_clear<BITS>(queue, batch, ticket);
    case SW_BATCH_RESIZE:
        return submit_resize<BITS>(queue, batch, ticket);
    case SW_BATCH_SCAN:
        return submit_scan<BITS>(queue, batch, ticket);
    default:
        return submit_operations<BITS>(queue, batch, mix, ticket);
    }
}

static bool enqueue_in_order(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket)
{
    /* before the mutex is locked: the summary may read all operations */
    const struct sw_cuda_mix mix = sw_cuda_mix_of(batch, sw_cuda_has_rows(queue->table));
    cudaError_t error = cudaSuccess;
    if (!sw_cuda_channel_begin(queue)) {
        return false;
    }
    if (batch != NULL && batch->kind != SW_BATCH_CLEAR && !mix.reads && !mix.removes) {
        error = sw_cuda_close_holes(queue);
    }
    if (error == cudaSuccess && sw_cuda_must_grow(queue->table, mix.upserts)) {
        error = sw_cuda_grow_for(queue, mix.upserts, ticket);
    }
    if (error == cudaSuccess) {
        error = SW_BY_FORMAT_NUMBER(queue->table->format, enqueue, queue, batch, mix, ticket);
    }
    return sw_cuda_channel_end(queue, error);
}

bool sw_cuda_enqueue(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket)
{
    if (queue->held_count > 0) {
        sw_cuda_share_reads(queue);
        if (queue->held_count == 0 && batch == NULL) {
            return !sw_cuda_is_lost(queue->table);
        }
    }
    if (batch == NULL || batch->kind != SW_BATCH_RESIZE) {
        return enqueue_in_order(queue, batch, ticket);
    }
    pthread_mutex_lock(&queue->table->growth); /* before `order` */
    bool good = enqueue_in_order(queue, batch, ticket);
    pthread_mutex_unlock(&queue->table->growth);
    return good;
}

/* Returns whether a batch is deferred until a poll, a flush, a batch of another kind, or until the
 * next batch does not fit its launch. A caller cannot notice the delay before it polls. A small
 * batch of reads is always deferred. A larger one is deferred only behind another batch of the
 * queue: one that is deferred, or one that was launched and not polled yet. So a lone batch starts
 * at once. Batches of more than SW_CUDA_READ_KEYS_MAX keys, and larger ones in device memory,
 * always start at once: the device would be idle until the poll. */
static bool is_deferred(const struct sw_cuda_queue *queue, const struct sw_batch *batch)
{
    if (batch->kind != SW_BATCH_OPERATIONS || batch->ops != NULL || batch->op != SW_GET) {
        return false;
    }
    const bool is_behind = queue->held_count > 0 || sw_cuda_channel_is_busy(queue);
    return batch->count <= SMALL_READ_MAX ||
           (is_behind && batch->count <= SW_CUDA_READ_KEYS_MAX && !batch->on_device);
}

/* Returns whether a batch may join the deferred ones. */
static bool fits(const struct sw_cuda_queue *queue, const struct sw_batch *batch)
{
    uint64_t keys = batch->count;
    for (uint32_t h = 0; h < queue->held_count; h++) {
        keys += queue->held[h]->count;
    }
    return keys <= SW_CUDA_READ_KEYS_MAX && queue->held[0]->filter == batch->filter;
}

static bool hold(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket)
{
    if (queue->held_count > 0 && !fits(queue, batch) && !sw_cuda_enqueue(queue, NULL, 0)) {
        return false;
    }
    batch->_ticket = ticket;
    queue->held[queue->held_count++] = batch;
    if (queue->held_count == 1) {
        sw_cuda_reader_add(queue);
    }
    if (queue->held_count < SW_CUDA_READS_MAX || sw_cuda_enqueue(queue, NULL, 0)) {
        return true;
    }
    sw_cuda_forget_held(queue); /* the submit fails, so the caller may free this batch */
    return false;
}

int sw_cuda_submit(void *context, struct sw_batch *batch)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    uint64_t ticket = sw_cuda_channel_ticket(queue);
    if (sw_cuda_is_lost(queue->table)) {
        return SW_E_DEVICE;
    }
    if (batch->kind == SW_BATCH_IMAGE) {
        return sw_cuda_submit_image(queue, batch);
    }
    if (batch->kind == SW_BATCH_SWEEP) {
        return sw_cuda_sweep(queue, batch);
    }
    if (ticket == 0 || (batch->kind == SW_BATCH_SCAN && queue->scan.running)) {
        return SW_E_BUSY;
    }
    if (batch->kind == SW_BATCH_RESIZE && !sw_cuda_can_resize(queue->table)) {
        return SW_E_INVALID;
    }
    if (batch->kind == SW_BATCH_OPERATIONS && batch->group_refused != NULL) {
        memset(batch->group_refused, 0, batch->group_count);
    }
    if (!(is_deferred(queue, batch) ? hold(queue, batch, ticket)
                                    : sw_cuda_enqueue(queue, batch, ticket))) {
        return SW_E_DEVICE;
    }
    sw_cuda_channel_submitted(queue, ticket);
    queue->scan.running |= batch->kind == SW_BATCH_SCAN;
    batch->_ticket = ticket;
    return SW_OK;
}

void sw_cuda_flush(void *context, uint32_t stream)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    for (uint32_t h = 0; h < queue->held_count; h++) {
        if (queue->held[h]->stream == stream) {
            (void)sw_cuda_enqueue(queue, NULL, 0); /* a failure marks the table as lost */
            return;
        }
    }
}

/* --- open and close --------------------------------------------------------------------------- */

void sw_cuda_queue_free(struct sw_cuda_queue *queue)
{
    (void)cudaFree(queue->view);
    (void)cudaFreeHost(queue->scan.staging);
    (void)cudaFreeHost(queue->scan.found);
}
