/* SPDX-License-Identifier: MIT
 *
 * backend_grow.cu - growth, RESIZE and EPOCH of the cache as a table's engine on CUDA.
 */
#include "table/cache/cuda/backend.cuh"
#include "table/cache/cuda/table_move.cuh"
#include "table/growth.h"

/* Moves all entries to `buckets` buckets, for which the owner has permitted the memory. */
static cudaError_t move_permitted(struct sw_cache_cuda_queue *queue, uint64_t buckets, bool *done)
{
    struct sw_cache_cuda_table *table = queue->table;
    uint64_t before = table->arrays.bytes;
    cudaError_t error =
        sw_cache_table_move(&table->arrays, buckets, table->loaded.marks == NULL,
                            &queue->tallies->words[SW_CACHE_WORD_EVICTED], queue->stream);
    *done = error == cudaSuccess;
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* clears the runtime's last error */
        return cudaSuccess;
    }
    if (*done) {
        table->bytes += table->arrays.bytes - before;
        sw_cache_growth_moved(&table->growth, buckets, table->bytes);
    }
    return error;
}

/* Moves all entries to `buckets` buckets; the next batch counts the evictions. If memory is short,
 * sets *done to false and changes nothing. */
static cudaError_t move_to(struct sw_cache_cuda_queue *queue, uint64_t buckets, bool *done)
{
    const struct sw_cache_cuda_table *table = queue->table;
    struct sw_cache_slots slots = table->arrays.slots;
    slots.buckets = buckets;
    const uint64_t bytes = sw_cache_arrays_bytes(&slots, table->arrays.writing);
    const uint64_t host = slots.apart ? sw_cache_values_bytes(&slots) : 0;
    struct sw_growth *owner = table->growth.owner;
    cudaError_t error = cudaSuccess;
    *done = false;
    if (!sw_growth_permits(owner, buckets * SW_CACHE_BUCKET_SLOTS, bytes)) {
        return cudaSuccess;
    }
    if (sw_growth_permits_host(owner, host)) {
        error = move_permitted(queue, buckets, done);
        sw_growth_has_host(owner, table->arrays.values.mapped);
        sw_growth_settled_host(owner, host);
    }
    sw_growth_settled(owner, bytes);
    return error;
}

/* The host reads the number of entries from the device only if the upper bound exceeds half of the
 * slots. Reading makes a batch wait. So the table also grows if the bound would soon exceed half of
 * the slots again. */
cudaError_t sw_cache_cuda_grow_for(struct sw_cache_cuda_queue *queue, uint64_t upserts)
{
    struct sw_cache_cuda_table *table = queue->table;
    uint64_t half = table->growth.buckets * (SW_CACHE_BUCKET_SLOTS / 2);
    bool done = false;
    table->held_most += upserts;
    if (table->growth.buckets >= table->growth.most || table->held_most <= half) {
        return cudaSuccess;
    }
    if (sw_cache_growth_wanted(&table->growth, half + 1) == table->growth.buckets) {
        return cudaSuccess; /* growth has failed, and it is too soon to try again */
    }
    cudaError_t error = sw_cache_table_entries(&table->arrays, &table->held_most, queue->stream);
    table->held_most += upserts;
    if (error != cudaSuccess || table->held_most <= half - half / 16) {
        return error;
    }
    uint64_t wanted = table->held_most > half ? table->held_most : half + 1;
    uint64_t buckets = sw_cache_growth_wanted(&table->growth, wanted);
    if (buckets != table->growth.buckets) {
        error = move_to(queue, buckets, &done);
        sw_cache_growth_tried(&table->growth, done);
    }
    return error;
}

cudaError_t sw_cache_cuda_resize(struct sw_cache_cuda_queue *queue, struct sw_batch *batch)
{
    struct sw_cache_growth *growth = &queue->table->growth;
    uint64_t buckets = sw_cache_growth_buckets(growth, batch->capacity);
    cudaError_t error = cudaSuccess;
    bool done = true;
    if (buckets != growth->buckets) {
        error = move_to(queue, buckets, &done);
    }
    sw_cache_growth_resized(growth, done);
    batch->status = done ? SW_OK : SW_E_NOMEM;
    batch->capacity = growth->buckets * SW_CACHE_BUCKET_SLOTS;
    return error;
}

/* Counts upserts only if the table may grow: operations lie in memory that is slow to read. */
uint64_t sw_cache_cuda_upserts(const struct sw_cache_cuda_table *table, struct sw_batch *batch)
{
    if (table->growth.buckets >= table->growth.most || batch->kind != SW_BATCH_OPERATIONS) {
        return 0;
    }
    sw_cache_count_upserts(batch);
    return batch->_upserts;
}

void sw_cache_cuda_set_epoch(struct sw_cache_cuda_table *table, struct sw_batch *batch)
{
    if (batch->epoch != 0 && batch->epoch < table->epoch) {
        batch->status = SW_E_INVALID;
    } else if (batch->epoch > table->epoch) {
        __atomic_store_n(&table->epoch, batch->epoch, __ATOMIC_RELAXED);
        table->rounds = 0;
    }
    batch->epoch = table->epoch;
}
