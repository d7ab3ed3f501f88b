/* SPDX-License-Identifier: MIT
 *
 * reads.cu - launches the batches of reads of one queue.
 */
#include "table/robin_hood/cuda/times/expired_reads.cuh"
#include "table/robin_hood/cuda/times/expiry.cuh"

/* Returns a batch of reads, or a scan, with the types of BITS. */
template <int BITS>
static struct sw_cuda_read<BITS> typed_read(struct sw_cuda_queue *queue,
                                            const struct sw_batch *batch, uint64_t ticket) {
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_read<BITS> read;
    read.count = batch->kind == SW_BATCH_OPERATIONS ? batch->count : 0;
    read.keys = (const word *)batch->keys;
    read.previous = sw_width<BITS>::is_set ? NULL : (word *)batch->previous;
    read.found = (uint32_t *)batch->found;
    read.record = sw_cuda_record_of(queue, ticket);
    read.tally = &queue->tallies[ticket % SW_CUDA_IN_FLIGHT_MAX];
    read.ticket = ticket;
    return read;
}

/* Compares the stored key strings before the reads are answered, if the table has key strings. */
template <int BITS>
static cudaError_t compare_key_strings(struct sw_cuda_queue *queue, const struct sw_batch *batch,
                                       struct sw_cuda_record *record,
                                       const struct sw_cuda_expiry_filter *expiry_filter)
{
    struct sw_cuda_table *table = queue->table;
    return table->config.key_text_bytes > 0
               ? sw_cuda_launch_row_key_string_reads<BITS>(sw_cuda_device_of<BITS>(table),
                                                           &table->arena.view, batch, record,
                                                           expiry_filter, queue->stream)
               : cudaSuccess;
}

/* Launches one batch of reads of a table with expiring entries. */
template <int BITS>
static cudaError_t launch_unexpired(struct sw_cuda_queue *queue, const struct sw_batch *batch,
                                    uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    const struct sw_cuda_expiry_filter expiry_filter = {table->expiry->times->s128.table,
                                                        batch->clock_ms, batch->expires_out};
    struct sw_cuda_reads<BITS, 1> reads;
    reads.batch_count = 1;
    reads.filter = batch->filter;
    reads.batches[0] = typed_read<BITS>(queue, batch, ticket);
    sw_cuda_reads_launched(queue);
    const cudaError_t error =
        compare_key_strings<BITS>(queue, batch, reads.batches[0].record, &expiry_filter);
    if (error != cudaSuccess) {
        return error;
    }
    return sw_cuda_has_rows(table)
               ? sw_cuda_launch_unexpired_row_get<BITS>(device, &table->arena.view, &reads,
                                                        &expiry_filter, queue->stream)
               : sw_cuda_launch_unexpired_get<BITS>(device, &reads, &expiry_filter, queue->stream);
}

/* Before reads are launched: reports their clocks to the table. Unless `some` entry expires, also
 * sets all requested expiry times to 0. */
static cudaError_t answer_times(struct sw_cuda_queue *queue, struct sw_batch *const *batches,
                                uint32_t count, bool some)
{
    cudaError_t error = cudaSuccess;
    for (uint32_t b = 0; b < count && error == cudaSuccess; b++) {
        sw_cuda_report_clock(queue->table, batches[b]);
        if (!some && batches[b]->expires_out != NULL) {
            error = cudaMemsetAsync(batches[b]->expires_out, 0,
                                    batches[b]->count * sizeof(uint64_t), queue->stream);
        }
    }
    return error;
}

/* Launches batches of reads with the same filter. They share one launch, unless some entry expires.
 * The stream already waits for earlier writes. */
template <int BITS, int N>
static cudaError_t launch_reads(struct sw_cuda_queue *queue, struct sw_batch *const *batches,
                                const uint64_t *tickets, uint32_t count)
{
    struct sw_cuda_table *table = queue->table;
    const bool some = sw_cuda_keeps_times(table) && batches[0]->kind == SW_BATCH_OPERATIONS;
    cudaError_t error = answer_times(queue, batches, count, some);
    if constexpr (!sw_width<BITS>::is_set) {
        for (uint32_t b = 0; b < count && some && error == cudaSuccess; b++) {
            error = launch_unexpired<BITS>(queue, batches[b], tickets[b]);
        }
    }
    if (some || error != cudaSuccess) {
        return error;
    }
    struct sw_cuda_reads<BITS, N> reads;
    reads.batch_count = count;
    reads.filter = batches[0]->filter;
    for (uint32_t b = 0; b < count; b++) {
        reads.batches[b] = typed_read<BITS>(queue, batches[b], tickets[b]);
    }
    sw_cuda_reads_launched(queue);
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    const bool use_hints = sw_cuda_hints_pay(table);
    if constexpr (!sw_width<BITS>::is_set) {
        for (uint32_t b = 0; b < count && error == cudaSuccess; b++) {
            error = compare_key_strings<BITS>(queue, batches[b], reads.batches[b].record, NULL);
        }
        if (error != cudaSuccess) {
            return error;
        }
        if (sw_cuda_has_rows(table)) {
            return sw_cuda_launch_row_get<BITS, N>(device, &table->arena.view, use_hints, &reads,
                                                   queue->stream);
        }
    }
    return sw_cuda_launch_get<BITS, N>(device, use_hints, &reads, queue->stream);
}

template <int BITS> cudaError_t sw_cuda_launch_held(struct sw_cuda_queue *queue)
{
    uint64_t tickets[SW_CUDA_READS_MAX];
    uint32_t count = queue->held_count;
    if (count == 0) {
        return cudaSuccess;
    }
    for (uint32_t b = 0; b < count; b++) {
        tickets[b] = queue->held[b]->_ticket;
    }
    queue->held_count = 0;
    sw_cuda_reader_remove(queue);
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    return count == 1 ? launch_reads<BITS, 1>(queue, queue->held, tickets, 1)
                      : launch_reads<BITS, SW_CUDA_READS_MAX>(queue, queue->held, tickets, count);
}

template <int BITS>
cudaError_t sw_cuda_launch_read(struct sw_cuda_queue *queue, struct sw_batch *batch,
                                uint64_t ticket)
{
    return launch_reads<BITS, 1>(queue, &batch, &ticket, 1);
}

#define INSTANTIATE(BITS, ...)                                                                \
    template cudaError_t sw_cuda_launch_held<BITS>(struct sw_cuda_queue *);                   \
    template cudaError_t sw_cuda_launch_read<BITS>(struct sw_cuda_queue *, struct sw_batch *, \
                                                   uint64_t);
SW_FORMATS(INSTANTIATE)
