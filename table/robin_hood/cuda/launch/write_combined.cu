/* SPDX-License-Identifier: MIT
 *
 * write_combined.cu - submit and poll of combined launches of several writes.
 */
#include "table/robin_hood/cuda/times/expiry.cuh"

/* Summarizes the operations of all batches of the launch. */
static struct sw_cuda_mix mix_of_all(const struct sw_combined_launch *combined, bool rows)
{
    struct sw_cuda_mix all = {};
    all.removes = true;
    for (uint32_t p = 0; p < combined->count; p++) {
        const struct sw_cuda_mix mix = sw_cuda_mix_of(combined->parts[p], rows);
        all.deletes = all.deletes || mix.deletes;
        all.removes = all.removes && mix.removes;
        all.upserts += mix.upserts;
        all.in_order = all.in_order || mix.in_order;
        all.puts = all.puts || mix.puts;
    }
    return all;
}

static uint32_t operations_of(const struct sw_combined_launch *combined)
{
    uint32_t operations = 0;
    for (uint32_t p = 0; p < combined->count; p++) {
        operations += combined->parts[p]->count;
    }
    return operations;
}

/* Enqueues the combined launch. Before that, grows the table if it must grow. */
static cudaError_t enqueue(struct sw_cuda_queue *queue, struct sw_combined_launch *combined,
                           struct sw_cuda_mix mix, uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    const bool timed = sw_cuda_keeps_times(table) || /* the table has expiry times */
                       sw_expiry_sets_or_removes(combined->parts[0]);
    cudaError_t error = mix.removes && !timed ? cudaSuccess : sw_cuda_close_holes(queue);
    if (error == cudaSuccess && timed) {
        error = sw_cuda_begin_launch(queue, UINT32_MAX);
        if (error == cudaSuccess) {
            error = sw_cuda_write_timed(queue, combined, mix, ticket);
        }
        return sw_cuda_turn_end(queue, error);
    }
    for (uint32_t p = 0; p < combined->count; p++) {
        sw_cuda_report_clock(table, combined->parts[p]);
    }
    if (error == cudaSuccess && sw_cuda_must_grow(table, mix.upserts)) {
        error = sw_cuda_grow_for(queue, mix.upserts, ticket);
    }
    if (error != cudaSuccess) {
        return error;
    }
    error = sw_cuda_begin_launch(queue, operations_of(combined));
    if (error == cudaSuccess) {
        error =
            SW_BY_FORMAT_NUMBER(table->format, sw_cuda_enqueue_combined, queue, &table->combined,
                                combined, mix, ticket, sw_cuda_record_of(queue, ticket));
    }
    return sw_cuda_turn_end(queue, error);
}

int sw_cuda_submit_combined(void *context, struct sw_combined_launch *combined)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    /* before the mutex is locked: the summary may read all operations */
    const struct sw_cuda_mix mix = mix_of_all(combined, sw_cuda_has_rows(queue->table));
    return sw_cuda_combined_submit(queue, &queue->table->combined, combined, [&](uint64_t ticket) {
        return enqueue(queue, combined, mix, ticket);
    });
}

int sw_cuda_poll_combined(void *context, struct sw_combined_launch *combined)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    int status = sw_cuda_poll(queue, &combined->whole);
    if (status == SW_OK || status == SW_E_FULL) { /* sw_cuda_poll has counted the combined batch as
                                                     one batch */
        sw_cuda_count_write_path(queue->table, &combined->whole, combined->count - 1, 0);
    }
    if (status != SW_PENDING) {
        sw_cuda_combined_finish(&queue->table->combined, combined, queue);
        sw_cuda_timed_polled(queue->table, combined);
    }
    return status;
}
