/* SPDX-License-Identifier: MIT
 *
 * write_together.cu - submit and poll of combined launches of several writes.
 */
#include "table/robin_hood/cuda/times/expiry.cuh"

/* Summarizes the operations of all batches of the launch. */
static struct sw_cuda_mix mix_of_all(const struct sw_together *together, bool rows)
{
    struct sw_cuda_mix all = {};
    for (uint32_t p = 0; p < together->count; p++) {
        const struct sw_cuda_mix mix = sw_cuda_mix_of(together->parts[p], rows);
        all.deletes = all.deletes || mix.deletes;
        all.upserts += mix.upserts;
        all.strings = all.strings || mix.strings;
    }
    return all;
}

/* Enqueues the combined launch. Before that, grows the table if it must grow. */
static cudaError_t enqueue(struct sw_cuda_queue *queue, struct sw_together *together,
                           struct sw_cuda_mix mix, uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    cudaError_t error = cudaSuccess;
    if (sw_cuda_keeps_times(table) || /* the table has expiry times */
        sw_expiry_gives_or_buries(together->parts[0])) {
        return sw_cuda_write_timed(queue, together, mix, ticket);
    }
    for (uint32_t p = 0; p < together->count; p++) {
        sw_cuda_tell_clock(table, together->parts[p]);
    }
    if (sw_cuda_must_grow(table, mix.upserts)) {
        error = sw_cuda_grow_for(queue, mix.upserts, ticket);
    }
    if (error != cudaSuccess) {
        return error;
    }
    return SW_BY_BITS(table->slot_bits, sw_cuda_enqueue_together, queue, &table->together, together,
                      mix, ticket, sw_cuda_record_of(queue, ticket));
}

int sw_cuda_submit_together(void *context, struct sw_together *together)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    /* before the mutex is locked: the summary may read all operations */
    const struct sw_cuda_mix mix = mix_of_all(together, sw_cuda_has_rows(queue->table));
    return sw_cuda_together_submit(
        queue, together, [&](uint64_t ticket) { return enqueue(queue, together, mix, ticket); });
}

int sw_cuda_poll_together(void *context, struct sw_together *together)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    int status = sw_cuda_poll(queue, &together->whole);
    if (status == SW_OK || status == SW_E_FULL) { /* sw_cuda_poll has counted the combined batch as
                                                     one batch */
        sw_cuda_count_way(queue->table, &together->whole, together->count - 1, 0);
    }
    if (status != SW_PENDING) {
        sw_cuda_together_finish(&queue->table->together, together);
        sw_cuda_timed_polled(queue->table, together);
    }
    return status;
}
