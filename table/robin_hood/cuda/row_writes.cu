/* SPDX-License-Identifier: MIT
 *
 * row_writes.cu - launches of writes on rows: the engine of integers carries out a batch on the
 * numbers of rows, and the bytes are moved behind it (rows.cuh).
 */
#include "table/robin_hood/cuda/host.cuh"

template <int BITS>
cudaError_t sw_cuda_rows_begin(struct sw_cuda_queue *queue, struct sw_together *together,
                               bool inserts, struct sw_cuda_row_batch<BITS> *rows)
{
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_arena *arena = &queue->table->arena;
    const struct sw_cuda_together *memory = &queue->table->together;
    struct sw_batch *whole = &together->whole;
    *rows = {};
    rows->count = whole->count;
    rows->op = whole->op;
    rows->ops = whole->ops;
    rows->inserts = inserts;
    rows->engine_ops = whole->ops != NULL ? arena->engine_ops : NULL;
    rows->tentative = (word *)arena->tentative;
    rows->previous = (const word *)arena->previous;
    rows->found = memory->found;
    rows->group_count = whole->group_count;
    rows->group_ends = whole->group_ends;
    rows->group_refused = whole->group_refused;
    rows->status = &((const struct sw_cuda_record *)memory->record)->status;
    rows->parts = memory->collected[together->number].parts;
    rows->part_count = together->count;
    rows->chunks = sw_cuda_together_chunks(memory, together);

    whole->op = (enum sw_op)sw_cuda_row_engine_op(rows->op);
    whole->ops = rows->engine_ops;
    whole->values = inserts ? rows->tentative : NULL;
    whole->previous = arena->previous;
    whole->found = memory->found;
    return sw_cuda_launch_row_prepare<BITS>(&arena->view, rows, queue->stream);
}

template <int BITS>
cudaError_t sw_cuda_rows_look_up(struct sw_cuda_queue *queue,
                                 const struct sw_cuda_batch<BITS> *batch)
{
    struct sw_cuda_reads<BITS, 1> reads;
    struct sw_cuda_read<BITS> *read = &reads.batches[0];
    reads.batch_count = 1;
    reads.filter = NULL;
    read->keys = batch->keys;
    read->previous = batch->previous;
    read->found = batch->found;
    read->record = batch->record;
    read->tally = &queue->tallies[batch->ticket % SW_CUDA_IN_FLIGHT_MAX];
    read->ticket = batch->ticket;
    read->count = batch->count;
    return sw_cuda_launch_get<BITS, 1>(sw_cuda_device_of<BITS>(queue->table),
                                       sw_cuda_hints_pay(queue->table), &reads, queue->stream);
}

template <int BITS>
cudaError_t sw_cuda_rows_end(struct sw_cuda_queue *queue,
                             const struct sw_cuda_row_batch<BITS> *rows)
{
    cudaError_t error = sw_cuda_wait_for_reads(queue); /* a look-up has not waited */
    return error == cudaSuccess
               ? sw_cuda_launch_row_data<BITS>(&queue->table->arena.view, rows, queue->stream)
               : error;
}

#define INSTANTIATE(BITS, ...)                                                                  \
    template cudaError_t sw_cuda_rows_begin<BITS>(struct sw_cuda_queue *, struct sw_together *, \
                                                  bool, struct sw_cuda_row_batch<BITS> *);      \
    template cudaError_t sw_cuda_rows_look_up<BITS>(struct sw_cuda_queue *,                     \
                                                    const struct sw_cuda_batch<BITS> *);        \
    template cudaError_t sw_cuda_rows_end<BITS>(struct sw_cuda_queue *,                         \
                                                const struct sw_cuda_row_batch<BITS> *);
SW_WIDTHS(INSTANTIATE)
