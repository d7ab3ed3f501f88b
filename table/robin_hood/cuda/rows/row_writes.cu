/* SPDX-License-Identifier: MIT
 *
 * row_writes.cu - launches of writes on rows: the engine of integers runs a batch on row numbers,
 * then the bytes are copied (rows.cuh).
 */
#include "table/robin_hood/cuda/host.cuh"

/* Looks up the keys of the batch. Also starts to copy rows if no insert can be refused for lack of
 * room. */
template <int BITS>
static cudaError_t look_up(struct sw_cuda_queue *queue, const struct sw_batch *whole,
                           const struct sw_cuda_row_batch<BITS> *rows)
{
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_arena *arena = &table->arena;
    cudaError_t error = sw_cuda_launch_row_look_up<BITS>(
        sw_cuda_device_of<BITS>(table), &arena->view, (const word *)whole->keys,
        sw_cuda_hints_pay(table), rows, queue->stream);
    if (error != cudaSuccess || !rows->may_be_early) {
        return error;
    }
    error = sw_cuda_wait_for_reads(queue);
    if (error == cudaSuccess) {
        error = cudaEventRecord(arena->looked_up, queue->stream);
    }
    if (error == cudaSuccess) {
        error = cudaStreamWaitEvent(arena->stream, arena->looked_up, 0);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_row_early<BITS>(&arena->view, rows, arena->stream);
    }
    return error == cudaSuccess ? cudaEventRecord(arena->moved, arena->stream) : error;
}

template <int BITS>
cudaError_t sw_cuda_rows_begin(struct sw_cuda_queue *queue, const struct sw_cuda_combined *memory,
                               struct sw_combined_launch *combined, struct sw_cuda_mix mix,
                               struct sw_cuda_row_batch<BITS> *rows)
{
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_arena *arena = &queue->table->arena;
    struct sw_batch *whole = &combined->whole;
    const struct sw_cuda_gathered *gathered = &memory->gathered[combined->number];
    const uint64_t entries = __atomic_load_n(&queue->table->entries, __ATOMIC_RELAXED);
    const bool key_strings = arena->view.key_string_bytes > 0;
    *rows = {};
    rows->count = whole->count;
    rows->op = whole->op;
    rows->collides = key_strings && !mix.decided;
    rows->ops = rows->collides ? gathered->ops : whole->ops;
    rows->inserts = mix.upserts > 0;
    rows->wide = combined->parts[0]->wide_operands;
    rows->in_order = mix.in_order;
    rows->engine_ops = rows->ops != NULL ? arena->engine_ops : NULL;
    rows->preallocated = (word *)arena->preallocated;
    rows->previous = (const word *)arena->previous;
    rows->found = memory->found;
    rows->looked_up = !mix.deletes && !key_strings;
    rows->may_be_early = rows->looked_up && rows->inserts &&
                         entries + mix.upserts <= queue->table->arrays.geometry.occupied_max;
    rows->answers = whole->previous != NULL;
    rows->engine_found = rows->looked_up && rows->inserts ? arena->engine_found : NULL;
    rows->group_count = whole->group_count;
    rows->group_ends = whole->group_ends;
    rows->group_refused = whole->group_refused;
    rows->status = &((struct sw_cuda_record *)memory->record)->status;
    rows->parts = gathered->parts;
    rows->part_count = combined->count;
    rows->chunks = sw_cuda_combined_chunks(memory, combined);

    whole->op = (enum sw_op)sw_cuda_row_engine_op(rows->op);
    whole->ops = rows->engine_ops;
    whole->values = rows->inserts ? rows->preallocated : NULL;
    whole->previous = arena->previous;
    whole->found = rows->looked_up ? arena->engine_found : memory->found;
    cudaError_t error = cudaSuccess;
    if (rows->collides) {
        error = sw_cuda_launch_row_key_strings<BITS>(sw_cuda_device_of<BITS>(queue->table),
                                                     &arena->view, (const word *)whole->keys, rows,
                                                     queue->stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_row_prepare<BITS>(&arena->view, rows, queue->stream);
    }
    return error == cudaSuccess && rows->looked_up ? look_up<BITS>(queue, whole, rows) : error;
}

template <int BITS>
cudaError_t sw_cuda_rows_end(struct sw_cuda_queue *queue,
                             const struct sw_cuda_row_batch<BITS> *rows)
{
    struct sw_cuda_arena *arena = &queue->table->arena;
    cudaError_t error = rows->may_be_early
                            ? cudaStreamWaitEvent(queue->stream, arena->moved, 0)
                            : sw_cuda_wait_for_reads(queue); /* if the engine has not waited */
    if (error == cudaSuccess && rows->collides) {
        error = sw_cuda_launch_row_refused<BITS>(&arena->view, rows, queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_launch_row_data<BITS>(&arena->view, rows, queue->stream)
                                : error;
}

#define INSTANTIATE(BITS, ...)                                                                \
    template cudaError_t sw_cuda_rows_begin<BITS>(                                            \
        struct sw_cuda_queue *, const struct sw_cuda_combined *, struct sw_combined_launch *, \
        struct sw_cuda_mix, struct sw_cuda_row_batch<BITS> *);                                \
    template cudaError_t sw_cuda_rows_end<BITS>(struct sw_cuda_queue *,                       \
                                                const struct sw_cuda_row_batch<BITS> *);
SW_WIDTHS(INSTANTIATE)
