/* SPDX-License-Identifier: MIT
 *
 * backend_ids.cu - loads and settles the ids of a table's cache on CUDA (table/cache/ids.h).
 */
#include "table/cache/cuda/backend.cuh"
#include "table/cache/cuda/table_move.cuh"

/* Allocates the memory to settle a load. SW_E_NOMEM: memory is short. */
static cudaError_t open_settling(struct sw_cache_cuda_table *table, int *status)
{
    if (table->settling.memory != NULL || *status != SW_OK) {
        return cudaSuccess;
    }
    const cudaError_t error = sw_cache_settling_open(&table->settling, table->arrays.slots.ids,
                                                     table->growth.most * SW_CACHE_BUCKET_SLOTS);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* clears the runtime's last error */
        *status = SW_E_NOMEM;
        return cudaSuccess;
    }
    return error;
}

static cudaError_t load(struct sw_cache_cuda_queue *queue, struct sw_batch *batch)
{
    struct sw_cache_cuda_table *table = queue->table;
    const struct sw_cache_slots *slots = &table->arrays.slots;
    uint64_t held = 0;
    if (table->loaded.marks == NULL) {
        const cudaError_t error = sw_cache_table_entries(&table->arrays, &held, queue->stream);
        if (error != cudaSuccess) {
            return error;
        }
    }
    batch->status = sw_cache_ids_load(&table->loaded, slots->ids, held, slots->value_bytes, batch);
    return open_settling(table, &batch->status);
}

/* Ends a load, whose kernels use `settling`. */
static cudaError_t end_load(struct sw_cache_cuda_queue *queue)
{
    const cudaError_t error = cudaStreamSynchronize(queue->stream);
    sw_cache_settling_close(&queue->table->settling);
    sw_cache_ids_end_load(&queue->table->loaded);
    return error;
}

cudaError_t sw_cache_cuda_prepare_ids(struct sw_cache_cuda_queue *queue, struct sw_batch *batch)
{
    struct sw_cache_cuda_table *table = queue->table;
    const bool clears = batch->kind == SW_BATCH_CLEAR;
    if (table->arrays.slots.ids == 0 || (batch->kind != SW_BATCH_OPERATIONS && !clears)) {
        return cudaSuccess;
    }
    if (!clears && batch->restores) {
        return load(queue, batch);
    }
    if (table->loaded.marks == NULL) {
        return cudaSuccess;
    }
    /* without the memory no batch of the load was carried out */
    const cudaError_t error =
        clears || table->settling.memory == NULL
            ? sw_cache_launch_number(&table->arrays.slots, queue->stream)
            : sw_cache_launch_settle(&table->arrays.slots, &table->settling, queue->stream);
    return error == cudaSuccess ? end_load(queue) : error;
}
