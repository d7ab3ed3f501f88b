/* SPDX-License-Identifier: MIT
 *
 * poll.cu - completion: what became of a batch, and what the host learns from it.
 */
#include "table/cuda/host.cuh"

/* Polls that find nothing before the stream is asked whether it still lives. */
#define IDLE_POLLS 65536

static bool is_done(struct sw_cuda_queue *queue, uint64_t ticket)
{
    return __atomic_load_n(&sw_cuda_record_of(queue, ticket)->done, __ATOMIC_ACQUIRE) == ticket;
}

/* On a lost table: whether the device may still write what batches of this queue point to. */
static bool is_running(struct sw_cuda_queue *queue)
{
    bool running = cudaStreamQuery(queue->stream) == cudaErrorNotReady;
    (void)cudaGetLastError();
    return running;
}

/* A stream that fails, or ends without the record, will never complete the batch. */
static void check_alive(struct sw_cuda_queue *queue, uint64_t ticket)
{
    cudaError_t error = cudaStreamQuery(queue->stream);
    if (error == cudaSuccess && !is_done(queue, ticket)) {
        error = cudaErrorUnknown;
    }
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* the runtime notes it as an error; the next launch must not */
        return;
    }
    sw_cuda_check(queue->table, error, "batch");
}

/* The windows were too small for the cursor to move: reads larger ones. */
static int scan_again(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    cudaError_t error = cudaSetDevice(queue->table->device);
    if (error == cudaSuccess) {
        pthread_mutex_lock(&queue->table->order); /* the arrays may change their size */
        error = sw_cuda_scan_reserve(queue, 2 * queue->scan.window);
        pthread_mutex_unlock(&queue->table->order);
    }
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return SW_E_NOMEM;
    }
    if (!sw_cuda_check(queue->table, error, "memory for a scan")) {
        return SW_E_DEVICE;
    }
    sw_cuda_record_of(queue, batch->_ticket)->done = 0;
    return sw_cuda_enqueue(queue, batch, batch->_ticket) ? SW_PENDING : SW_E_DEVICE;
}

/* Submit counted what the batch might insert; now it is known what it did. */
static void settle_entries(struct sw_cuda_table *table, const struct sw_batch *batch)
{
    const struct sw_counters *counters = &batch->counters;
    uint64_t change =
        counters->inserted - counters->deleted - batch->leftover_count - batch->_upserts;
    if (change != 0) {
        __atomic_fetch_add(&table->entries, change, __ATOMIC_RELAXED);
    }
}

/* Gives the memory of arrays that growth left behind back to the system. */
static void trim(const struct sw_cuda_table *table)
{
    cudaMemPool_t pool;
    if (cudaDeviceGetDefaultMemPool(&pool, table->device) == cudaSuccess) {
        (void)cudaMemPoolTrimTo(pool, 0);
    }
}

/* Takes the results from the record. Returns the status, SW_PENDING if the batch goes on. */
static int collect(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    const struct sw_cuda_record *record = sw_cuda_record_of(queue, batch->_ticket);
    if (record->status == SW_E_DEVICE) {
        sw_cuda_check(queue->table, cudaErrorUnknown, "an entry found no place in the stash");
        return SW_E_DEVICE;
    }
    if (batch->kind == SW_BATCH_SCAN) {
        return sw_cuda_scan_answer(queue, batch) ? SW_OK : scan_again(queue, batch);
    }
    batch->counters = record->counters;
    batch->leftover_count = record->leftover_count;
    batch->_stash_change = record->stash_change;
    __atomic_fetch_add(&queue->table->stash, (uint64_t)batch->_stash_change, __ATOMIC_RELAXED);
    if (batch->_ticket == queue->trim_ticket) {
        trim(queue->table);
    }
    if (batch->kind == SW_BATCH_RESIZE) {
        return queue->resize_status;
    }
    settle_entries(queue->table, batch);
    return record->status;
}

int sw_cuda_poll(void *context, struct sw_batch *batch)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    int status = SW_PENDING;
    /* Reads gather while older batches of the queue are in flight. */
    if (queue->held_count > 0 && batch->_ticket >= queue->held[0]->_ticket &&
        !sw_cuda_is_lost(queue->table)) {
        (void)sw_cuda_enqueue(queue, NULL, 0); /* a failure shows as a lost table below */
    }
    if (is_done(queue, batch->_ticket)) {
        status = collect(queue, batch);
    } else if (sw_cuda_is_lost(queue->table)) {
        status = is_running(queue) ? SW_PENDING : SW_E_DEVICE;
    } else if (++queue->idle_polls >= IDLE_POLLS) {
        queue->idle_polls = 0;
        check_alive(queue, batch->_ticket);
    }
    if (status == SW_PENDING) {
        return SW_PENDING;
    }
    queue->idle_polls = 0;
    queue->busy[batch->_ticket % SW_CUDA_IN_FLIGHT_MAX] = false;
    if (batch->kind == SW_BATCH_SCAN) {
        queue->scan.running = false;
    }
    batch->status = status;
    return status;
}
