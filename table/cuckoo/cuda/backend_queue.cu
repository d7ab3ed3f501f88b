/* SPDX-License-Identifier: MIT
 *
 * backend_queue.cu - submission and polling of batches of a cuckoo table on CUDA. channel.cuh
 * defines the order of batches.
 */
#include "table/cuckoo/cuda/backend.cuh"

/* Write batches between two attempts to rehash, unless the stash doubles earlier. */
#define REHASH_AGAIN 4096

/* --- submit ----------------------------------------------------------------------------------- */

static struct sw_cuckoo_record *record_of(const struct sw_cuckoo_queue *queue, uint64_t ticket)
{
    return (struct sw_cuckoo_record *)sw_cuda_channel_record(queue, ticket);
}

template <int BITS>
static cudaError_t submit_read(struct sw_cuckoo_queue *queue, const struct sw_batch *batch,
                               uint64_t ticket)
{
    typedef typename sw_cuckoo_kind<BITS>::word word;
    struct sw_cuckoo_read<BITS> read = {
    };
    read.table = sw_cuckoo_parts<BITS>(queue->table)->table;
    read.keys = (const word *)batch->keys;
    read.previous = (word *)batch->previous;
    read.found = (uint32_t *)batch->found;
    read.count = batch->count;
    read.tally = queue->tallies + ticket % SW_CUDA_IN_FLIGHT_MAX;
    read.record = record_of(queue, ticket);
    read.ticket = ticket;
    sw_cuda_reads_launched(queue);
    return sw_cuckoo_launch_read<BITS>(read, queue->stream);
}

/* Returns whether to attempt a rehash: the stash has entries, and since the last attempt it has
 * more than doubled or REHASH_AGAIN write batches have passed. */
static bool wants_rehash(struct sw_cuckoo_device_table *table)
{
    uint64_t stashed = __atomic_load_n(&table->stashed, __ATOMIC_RELAXED);
    if (stashed == 0) {
        table->rehash_wanted = 0;
        return false;
    }
    if (stashed <= table->rehash_wanted && table->writes < table->rehash_after) {
        return false;
    }
    table->rehash_wanted = 2 * stashed;
    table->rehash_after = table->writes + REHASH_AGAIN;
    return true;
}

/* Launches a batch of operations. The device completes its record at `record`. */
template <int BITS>
static cudaError_t launch_write(struct sw_cuckoo_queue *queue, const struct sw_batch *batch,
                                struct sw_cuckoo_record *record, uint64_t ticket)
{
    typedef typename sw_cuckoo_kind<BITS>::word word;
    struct sw_cuckoo_device_table *table = queue->table;
    struct sw_cuckoo_write<BITS> write = *sw_cuckoo_parts<BITS>(table);
    cudaError_t error = cudaSuccess;
    write.record = record;
    write.ticket = ticket;
    write.work.ops = batch->ops;
    write.work.op = batch->op;
    write.work.count = batch->count;
    write.work.keys = (const word *)batch->keys;
    write.work.values = (const word *)batch->values;
    write.work.expected = (const word *)batch->expected;
    write.work.previous = (word *)batch->previous;
    write.work.found = batch->found;
    write.work.group_count = batch->group_count > 0 ? batch->group_count : 1;
    write.work.group_ends = batch->group_ends;
    write.work.group_refused = batch->group_count > 0 ? batch->group_refused : NULL;
    write.work.undo = write.scratch.undo;
    if (wants_rehash(table)) {
        error = sw_cuckoo_launch_rehash<BITS>(write, table->config.seed, queue->stream);
    }
    return error == cudaSuccess ? sw_cuckoo_launch_write<BITS>(write, queue->stream) : error;
}

template <int BITS>
static cudaError_t submit_write(struct sw_cuckoo_queue *queue, const struct sw_batch *batch,
                                uint64_t ticket)
{
    cudaError_t error = sw_cuda_wait_for_reads(queue);
    if (error == cudaSuccess && batch->kind == SW_BATCH_CLEAR) {
        struct sw_cuckoo_write<BITS> write = *sw_cuckoo_parts<BITS>(queue->table);
        write.record = record_of(queue, ticket);
        write.ticket = ticket;
        error = sw_cuckoo_launch_clear<BITS>(write, queue->stream);
    } else if (error == cudaSuccess) {
        error = launch_write<BITS>(queue, batch, record_of(queue, ticket), ticket);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

template <int BITS>
static cudaError_t enqueue(struct sw_cuckoo_queue *queue, const struct sw_batch *batch,
                           uint64_t ticket)
{
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    return batch->kind == SW_BATCH_OPERATIONS && sw_batch_only_reads(batch)
               ? submit_read<BITS>(queue, batch, ticket)
               : submit_write<BITS>(queue, batch, ticket);
}

cudaError_t sw_cuckoo_enqueue(struct sw_cuckoo_queue *queue, const struct sw_batch *batch,
                              uint64_t ticket)
{
    return SW_BY_BITS(queue->table->config.slot_bits, enqueue, queue, batch, ticket);
}

cudaError_t sw_cuckoo_write_combined(struct sw_cuckoo_queue *queue,
                                     struct sw_combined_launch *combined,
                                     struct sw_cuckoo_record *record, uint64_t ticket)
{
    return SW_BY_BITS(queue->table->config.slot_bits, launch_write, queue, &combined->whole, record,
                      ticket);
}

/* --- poll ------------------------------------------------------------------------------------- */

int sw_cuckoo_copy_results(struct sw_cuckoo_queue *queue, struct sw_batch *batch,
                           const struct sw_cuckoo_record *record)
{
    batch->counters = record->counters;
    batch->_stash_change = record->stash_change;
    __atomic_fetch_add(&queue->table->stashed, (uint64_t)record->stash_change, __ATOMIC_RELAXED);
    return record->status;
}
