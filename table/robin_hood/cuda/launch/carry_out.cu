/* SPDX-License-Identifier: MIT
 *
 * carry_out.cu - combined launches of several writes: enqueues all steps, from the gather of the
 * operations to the scatter of the answers (device/combined_launch.cuh).
 */
#include "table/robin_hood/cuda/host.cuh"

/* Carries out the combined batch. Unless `looked_up` is NULL, the engine skips the operations that
 * it marks, whose keys were looked up before. */
template <int BITS>
static cudaError_t carry_out(struct sw_cuda_queue *queue, const struct sw_cuda_combined *memory,
                             struct sw_combined_launch *combined, struct sw_cuda_mix mix,
                             uint64_t ticket, const uint64_t *looked_up)
{
    struct sw_cuda_batch<BITS> typed = sw_cuda_typed_batch<BITS>(queue, &combined->whole, ticket);
    typed.record = (struct sw_cuda_record *)memory->record;
    typed.gathered = true;
    typed.skips = (const uint32_t *)looked_up;
    if (looked_up != NULL && mix.upserts == 0) { /* the engine only has to report */
        return sw_cuda_launch_close<BITS>(sw_cuda_device_of<BITS>(queue->table), &typed,
                                          queue->stream);
    }
    return sw_cuda_write<BITS>(queue, &combined->whole, &typed, mix.upserts, mix.deletes);
}

/* The same for a table with rows, including the moves of row bytes. */
template <int BITS>
static cudaError_t
carry_out_on_rows(struct sw_cuda_queue *queue, const struct sw_cuda_combined *memory,
                  struct sw_combined_launch *combined, struct sw_cuda_mix mix, uint64_t ticket)
{
    struct sw_cuda_row_batch<BITS> rows;
    cudaError_t error = sw_cuda_rows_begin<BITS>(queue, memory, combined, mix, &rows);
    if (error == cudaSuccess) {
        error = carry_out<BITS>(queue, memory, combined, mix, ticket,
                                rows.looked_up ? rows.found : NULL);
    }
    return error == cudaSuccess ? sw_cuda_rows_end<BITS>(queue, &rows) : error;
}

/* The same for a table of ids (ids/ids.cuh). */
template <int BITS>
static cudaError_t
carry_out_on_ids(struct sw_cuda_queue *queue, const struct sw_cuda_combined *memory,
                 struct sw_combined_launch *combined, struct sw_cuda_mix mix, uint64_t ticket)
{
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_table *table = queue->table;
    struct sw_batch *whole = &combined->whole;
    const struct sw_cuda_gathered *gathered = &memory->gathered[combined->number];
    whole->values = gathered->values;
    whole->previous = memory->previous;
    whole->found = memory->found;
    struct sw_cuda_id_batch<BITS> ids = {
    };
    ids.count = whole->count;
    ids.op = whole->op;
    ids.ops = whole->ops;
    ids.keys = (const word *)whole->keys;
    ids.values = (word *)gathered->values;
    ids.previous = (word *)whole->previous;
    ids.found = whole->found;
    ids.group_count = whole->group_count;
    ids.group_ends = whole->group_ends;
    ids.group_refused = whole->group_refused;
    ids.status = &((const struct sw_cuda_record *)memory->record)->status;
    ids.only_takes = !mix.deletes && !mix.puts;
    ids.only_frees = mix.removes;
    ids.parts = gathered->parts;
    ids.part_words = memory->words;
    cudaError_t error = sw_cuda_launch_ids_begin<BITS>(&table->ids, &ids, queue->stream);
    if (error == cudaSuccess) {
        error = carry_out<BITS>(queue, memory, combined, mix, ticket, NULL);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue); /* if the engine has not waited */
    }
    return error == cudaSuccess
               ? sw_cuda_launch_ids_end<BITS>(&table->ids, sw_cuda_device_of<BITS>(table), &ids,
                                              queue->stream)
               : error;
}

template <int BITS>
cudaError_t sw_cuda_carry_out(struct sw_cuda_queue *queue, struct sw_cuda_combined *memory,
                              struct sw_combined_launch *combined, struct sw_cuda_mix mix,
                              uint64_t ticket)
{
    if constexpr (!sw_width<BITS>::is_set) {
        if (sw_cuda_has_ids(queue->table)) {
            return carry_out_on_ids<BITS>(queue, memory, combined, mix, ticket);
        }
        if (sw_cuda_has_rows(queue->table)) {
            return carry_out_on_rows<BITS>(queue, memory, combined, mix, ticket);
        }
    }
    return carry_out<BITS>(queue, memory, combined, mix, ticket, NULL);
}

cudaError_t sw_cuda_gather(struct sw_cuda_queue *queue, struct sw_cuda_combined *memory,
                           struct sw_combined_launch *combined)
{
    struct sw_batch *whole = &combined->whole;
    const cudaError_t error = sw_cuda_combined_gather(memory, combined, queue->stream);
    if (error != cudaSuccess || !sw_cuda_has_ids(queue->table)) {
        return error;
    }
    if (SW_OPS_HAS(SW_OPS_ABSENT, (uint32_t)whole->op)) {
        whole->op = SW_SET_ABSENT;
    }
    return whole->ops != NULL ? sw_cuda_launch_ids_gathered(memory->gathered[combined->number].ops,
                                                            whole->count, queue->stream)
                              : cudaSuccess;
}

/* For a batch that sets no expiry time in a table without expiring entries: reports "no expiry
 * time" for every key. To the engine EXPIRE and similar operations have no effect. */
static cudaError_t answer_no_times(struct sw_cuda_queue *queue, const struct sw_batch *batch)
{
    return batch->expires_out != NULL
               ? cudaMemsetAsync(batch->expires_out, 0,
                                 (uint64_t)batch->count * sizeof(*batch->expires_out),
                                 queue->stream)
               : cudaSuccess;
}

template <int BITS>
cudaError_t sw_cuda_enqueue_combined(struct sw_cuda_queue *queue, struct sw_cuda_combined *memory,
                                     struct sw_combined_launch *combined, struct sw_cuda_mix mix,
                                     uint64_t ticket, void *record)
{
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess) {
        error = sw_cuda_gather(queue, memory, combined);
    }
    if (error == cudaSuccess && combined->parts[0]->_times) {
        error = answer_no_times(queue, combined->parts[0]);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_carry_out<BITS>(queue, memory, combined, mix, ticket);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_combined_scatter(memory, combined,
                                         &((struct sw_cuda_record *)memory->record)->status, record,
                                         queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

#define INSTANTIATE(BITS, ...)                                                          \
    template cudaError_t sw_cuda_carry_out<BITS>(                                       \
        struct sw_cuda_queue *, struct sw_cuda_combined *, struct sw_combined_launch *, \
        struct sw_cuda_mix, uint64_t);                                                  \
    template cudaError_t sw_cuda_enqueue_combined<BITS>(                                \
        struct sw_cuda_queue *, struct sw_cuda_combined *, struct sw_combined_launch *, \
        struct sw_cuda_mix, uint64_t, void *);
SW_FORMATS(INSTANTIATE)
