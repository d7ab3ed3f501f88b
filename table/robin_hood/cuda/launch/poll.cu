/* SPDX-License-Identifier: MIT
 *
 * poll.cu - completion: copies a batch's results from its record, and updates the host's estimates.
 */
#include "table/robin_hood/cuda/host.cuh"

/* Submits the next step of a scan under the same ticket. */
static int go_on(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    sw_cuda_record_of(queue, batch->_ticket)->done = 0;
    return sw_cuda_enqueue(queue, batch, batch->_ticket) ? SW_PENDING : SW_E_DEVICE;
}

/* Reads larger windows, because the windows were too small for the cursor to move. */
static int scan_again(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    cudaError_t error = cudaSetDevice(queue->table->device);
    if (error == cudaSuccess) {
        pthread_mutex_lock(&queue->table->order); /* another queue may replace the arrays */
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
    return go_on(queue, batch);
}

/* Continues a scan after the copy of its windows or the read of its rows. */
static int go_on_scanning(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    if (queue->scan.reads_rows) {
        sw_cuda_scan_receive_rows(queue, batch);
        return SW_OK;
    }
    if (queue->scan.staging == NULL) { /* there was no memory for the windows */
        return SW_E_NOMEM;
    }
    if (!sw_cuda_scan_answer(queue, batch)) {
        return scan_again(queue, batch);
    }
    if (!sw_cuda_scan_requests_rows(queue) || batch->scan.got == 0) {
        return SW_OK;
    }
    return sw_cuda_scan_request_rows(queue, batch) ? go_on(queue, batch) : SW_E_NOMEM;
}

/* Counts the entries that the batch added. Corrects the bound of the entries: submit added every
 * upsert of the batch; the counters now have the true number of inserts and deletes. */
static void correct_bound(struct sw_cuda_table *table, const struct sw_batch *batch)
{
    uint64_t change = batch->counters.inserted - batch->counters.deleted;
    if (change != 0) {
        __atomic_fetch_add(&table->added, change, __ATOMIC_RELAXED);
    }
    if (batch->kind == SW_BATCH_OPERATIONS) {
        change -= (uint64_t)batch->leftover_count + batch->_upserts;
    }
    if (change != 0) {
        __atomic_fetch_add(&table->entries, change, __ATOMIC_RELAXED);
    }
}

/* Counts inserts that make hints inexact. A batch that rewrote the table does not count. */
static void age_hints(struct sw_cuda_table *table, const struct sw_batch *batch)
{
    if (batch->_write_path != 1 + (uint32_t)SW_WRITE_PATH_STREAM) {
        __atomic_fetch_add(&table->hints_age, batch->counters.inserted, __ATOMIC_RELAXED);
    }
}

/* Updates the estimated share of upserts with a new key, if the batch has at least
 * SW_CUDA_NEW_KEYS_MIN upserts. */
static void note_new_keys(struct sw_cuda_table *table, const struct sw_batch *batch)
{
    uint32_t before = __atomic_load_n(&table->new_keys, __ATOMIC_RELAXED);
    uint32_t now = SW_CUDA_NEW_KEYS_ALL;
    if (batch->kind == SW_BATCH_OPERATIONS) {
        if (batch->_upserts < SW_CUDA_NEW_KEYS_MIN) {
            return;
        }
        now = (uint32_t)(batch->counters.inserted * SW_CUDA_NEW_KEYS_ALL / batch->_upserts);
        now = (before + 3 * now) / 4;
    }
    __atomic_store_n(&table->new_keys, now, __ATOMIC_RELAXED);
}

/* Returns the write path that finally carried out the batch. Upserts that a rebuild could not merge
 * count as a batch by ranges. If the refused groups could not be determined, one thread carried out
 * the whole batch. */
static enum sw_write_path path_taken(const struct sw_batch *batch,
                                     const struct sw_cuda_record *record)
{
    const enum sw_write_path path = (enum sw_write_path)(batch->_write_path - 1);
    if (record->serial != 0) {
        return SW_WRITE_PATH_SERIAL;
    }
    return path == SW_WRITE_PATH_STREAM && batch->op != SW_DELETE && record->fell_back != 0
               ? SW_WRITE_PATH_RANGES
               : path;
}

void sw_cuda_count_write_path(struct sw_cuda_table *table, const struct sw_batch *batch,
                              uint64_t batches, uint64_t operations)
{
    if (batch->_write_path == 0) { /* the combined batch only looked up rows */
        return;
    }
    struct sw_write_path_counters *path = &table->write_paths[batch->_write_path - 1];
    __atomic_fetch_add(&path->batches, batches, __ATOMIC_RELAXED);
    __atomic_fetch_add(&path->operations, operations, __ATOMIC_RELAXED);
}

/* Copies the parts of the record that only batches of operations have. */
static void take_answers(struct sw_cuda_table *table, struct sw_batch *batch,
                         const struct sw_cuda_record *record)
{
    batch->leftover_count = record->leftover_count;
    batch->first_outside = record->first_outside;
    if (batch->_write_path != 0) {
        batch->_write_path = 1 + (uint32_t)path_taken(batch, record);
        sw_cuda_count_write_path(table, batch, 1, batch->count);
    }
    age_hints(table, batch);
}

/* Copies the results from the record. Returns the status, or SW_PENDING if the batch has another
 * step. */
static int copy_results(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    const struct sw_cuda_record *record = sw_cuda_record_of(queue, batch->_ticket);
    if (record->status == SW_E_DEVICE) {
        sw_cuda_check(queue->table, cudaErrorUnknown, "an entry found no place in the stash");
        return SW_E_DEVICE;
    }
    if (batch->kind == SW_BATCH_SCAN) {
        return go_on_scanning(queue, batch);
    }
    batch->counters = record->counters;
    batch->_stash_change = record->stash_change;
    if (batch->_stash_change != 0) { /* reads of all loops would contend for the line */
        __atomic_fetch_add(&queue->table->stash, (uint64_t)batch->_stash_change, __ATOMIC_RELAXED);
    }
    if (batch->_ticket == queue->freed_ticket) {
        sw_cuda_pool_freed(queue->table->pool);
    }
    if (batch->kind == SW_BATCH_RESIZE) {
        return queue->resize_status;
    }
    if (batch->kind == SW_BATCH_OPERATIONS) {
        take_answers(queue->table, batch, record);
    }
    correct_bound(queue->table, batch);
    note_new_keys(queue->table, batch);
    return record->collided != 0 ? SW_E_FULL : record->status;
}

int sw_cuda_poll(void *context, struct sw_batch *batch)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    if (batch->kind == SW_BATCH_IMAGE) {
        return sw_cuda_poll_image(batch);
    }
    if (batch->kind == SW_BATCH_SWEEP) {
        return batch->status; /* submit completed it */
    }
    /* Deferred reads accumulate while older batches of the queue are in flight. */
    if (queue->held_count > 0 && batch->_ticket >= queue->held[0]->_ticket &&
        !sw_cuda_is_lost(queue->table)) {
        (void)sw_cuda_enqueue(queue, NULL, 0); /* a failure marks the table as lost, which the poll
                                                  below reports */
    }
    int status = sw_cuda_channel_poll(queue, batch->_ticket);
    if (status == SW_OK) {
        status = copy_results(queue, batch);
    }
    if (status == SW_PENDING) {
        return SW_PENDING;
    }
    sw_cuda_channel_completed(queue, batch->_ticket);
    if (status == SW_E_DEVICE) {
        sw_cuda_forget_held(queue);
    }
    if (batch->kind == SW_BATCH_SCAN) {
        queue->scan.running = false;
        queue->scan.reads_rows = false;
    }
    batch->status = status;
    return status;
}
