/* SPDX-License-Identifier: MIT
 *
 * backend.cu - the cache as a table's engine on CUDA. channel.cuh defines the order of batches.
 */
#include <stdlib.h>

#include "table/cache/cache_backend.h"
#include "table/cache/cuda/backend.cuh"
#include "table/cache/cuda/table_move.cuh"
#include "table/device/cutter.cuh"
#include "table/device/shell.cuh"

namespace
{

/* --- tables ----------------------------------------------------------------------------------- */

/* Maximum operations of a slice that is put in bins. */
uint32_t piece_ops_max(uint32_t batch_ops_max)
{
    return batch_ops_max < SW_CACHE_BINS_PIECE_MAX ? batch_ops_max : SW_CACHE_BINS_PIECE_MAX;
}

uint32_t bins_of(uint32_t ops_max)
{
    uint32_t bins = 1024;
    while (bins < 2 * ops_max) {
        bins *= 2;
    }
    return bins;
}

void cut_bins(struct sw_cuda_cutter *cutter, struct sw_cache_bins *bins, uint32_t ops_max)
{
    uint64_t count = bins_of(ops_max);
    bins->ops_max = ops_max;
    bins->mask = (uint32_t)count - 1;
    sw_cuda_cut(cutter, &bins->counts, count);
    sw_cuda_cut(cutter, &bins->firsts, count);
    sw_cuda_cut(cutter, &bins->ranks, ops_max);
    sw_cuda_cut(cutter, &bins->ids, ops_max);
    sw_cuda_cut(cutter, &bins->sorted, ops_max);
    sw_cuda_cut(cutter, &bins->few, ops_max);
    sw_cuda_cut(cutter, &bins->many, ops_max / SW_CACHE_BIN_FEW + 1);
    sw_cuda_cut(cutter, &bins->numbers, 1);
}

/* Cuts the scratch out of memory at `base`; returns the bytes it needs. */
size_t cut_scratch(struct sw_cache_scratch *scratch, void *base, uint32_t n)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    sw_cuda_cut(&cutter, &scratch->keys, n);
    sw_cuda_cut(&cutter, &scratch->ops, n);
    sw_cuda_cut(&cutter, &scratch->results, n);
    sw_cuda_cut(&cutter, &scratch->left, n);
    sw_cuda_cut(&cutter, &scratch->places, n);
    sw_cuda_cut(&cutter, &scratch->zeros, SW_CACHE_VALUE_BYTES_MAX);
    sw_cuda_cut(&cutter, &scratch->ones, sizeof(uint64_t));
    cut_bins(&cutter, &scratch->bins, piece_ops_max(n));
    return cutter.used;
}

void table_close(void *context)
{
    struct sw_cache_cuda_table *table = (struct sw_cache_cuda_table *)context;
    sw_cuda_owner_close(table);
    sw_cache_ids_end_load(&table->loaded);
    sw_cache_settling_close(&table->settling);
    sw_cache_arrays_close(&table->arrays);
    (void)cudaFree(table->scratch_memory);
    free(table);
}

/* Fills the arrays of zeros and ones, and clears the counters that are zero between batches. */
cudaError_t clear_scratch(const struct sw_cache_scratch *scratch)
{
    const struct sw_cache_bins *bins = &scratch->bins;
    cudaError_t error = cudaMemset(scratch->zeros, 0, SW_CACHE_VALUE_BYTES_MAX);
    if (error == cudaSuccess) {
        error = cudaMemset(scratch->ones, 0xff, sizeof(uint64_t));
    }
    if (error == cudaSuccess) {
        error = cudaMemset(bins->counts, 0, (bins->mask + 1ULL) * sizeof(*bins->counts));
    }
    return error == cudaSuccess ? cudaMemset(bins->numbers, 0, sizeof(*bins->numbers)) : error;
}

cudaError_t allocate_arrays(struct sw_cache_cuda_table *table, const struct sw_cache_slots *slots,
                            enum sw_cache_writing writing)
{
    size_t bytes = cut_scratch(&table->scratch, NULL, table->batch_ops_max);
    cudaError_t error = sw_cache_arrays_open(&table->arrays, slots, writing);
    table->bytes = table->arrays.bytes + bytes;
    if (error == cudaSuccess) {
        error = cudaMalloc(&table->scratch_memory, bytes);
    }
    if (error == cudaSuccess) {
        cut_scratch(&table->scratch, table->scratch_memory, table->batch_ops_max);
        error = clear_scratch(&table->scratch);
    }
    return error;
}

cudaError_t open_combined(struct sw_cache_cuda_table *table)
{
    struct sw_cuda_combined *combined = &table->combined;
    combined->key_bytes = table->key_bytes;
    combined->value_bytes = table->arrays.slots.value_bytes;
    combined->record_bytes = sizeof(struct sw_cache_record);
    combined->operations_max =
        sw_cuda_combined_max(SW_COMBINED_OPERATIONS_MAX, table->batch_ops_max, combined->key_bytes,
                             combined->value_bytes);
    return sw_cuda_combined_open(combined, true, table->launcher);
}

cudaError_t warm_up(struct sw_cache_cuda_table *table)
{
    struct sw_cache_table_batch nothing = sw_cache_table_batch();
    nothing.slots = table->arrays.slots;
    nothing.scratch = table->scratch;
    nothing.totals = table->arrays.totals;
    nothing.key_bytes = table->key_bytes;
    cudaError_t error =
        sw_cache_table_move_warm_up(&table->arrays.slots, &table->arrays.totals->evicted);
    return error == cudaSuccess ? sw_cache_table_warm_up(&nothing, &table->arrays.rows) : error;
}

cudaError_t allocate_for(struct sw_cache_cuda_table *table, const struct sw_table_config *config)
{
    struct sw_cache_slots slots = sw_cache_slots_of(config);
    slots.apart = config->rows_in == SW_ROWS_IN_HOST;
    table->batch_ops_max = config->batch_ops_max;
    table->key_bytes = config->slot_bits / 16;
    table->growth.owner = config->growth;
    table->growth.most = sw_cache_buckets_max(config);
    table->growth.two = slots.two != 0;
    cudaError_t error = allocate_arrays(table, &slots, config->tuning.cache_writing);
    if (error == cudaSuccess) {
        error = open_combined(table);
    }
    if (error == cudaSuccess) {
        error = warm_up(table);
    }
    if (error == cudaSuccess) {
        sw_cache_growth_begin(&table->growth, table->arrays.slots.buckets, table->bytes);
    }
    return error;
}

void table_facts(void *context, struct sw_backend_facts *facts)
{
    const struct sw_cache_cuda_table *table = (const struct sw_cache_cuda_table *)context;
    sw_cache_growth_facts(&table->growth, facts);
    facts->bytes_reserved += sw_cuda_owner_bytes(table);
    facts->bus_id = table->bus_id;
    facts->combined_ops_max = facts->gathered_ops_max = table->combined.operations_max;
    facts->epoch = __atomic_load_n(&table->epoch, __ATOMIC_RELAXED);
    facts->image_bytes = sw_cache_cuda_image_bytes(table);
    facts->row_bytes_host = table->arrays.values.mapped;
}

int table_check(void *context, char *violation, size_t violation_size)
{
    struct sw_cache_cuda_table *table = (struct sw_cache_cuda_table *)context;
    struct sw_cache_snapshot snapshot;
    cudaError_t error = cudaSetDevice(table->device);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_channels(table);
    }
    if (!sw_cuda_check(table, error, "waiting for the device")) {
        return SW_E_DEVICE;
    }
    int status = sw_cache_arrays_snapshot(&table->arrays, &snapshot, &error);
    if (!sw_cuda_check(table, error, "reading the cache back") || status != SW_OK) {
        return status;
    }
    snapshot.loose = table->loaded.marks != NULL;
    status = sw_cache_check_snapshot(&snapshot, violation, violation_size);
    free(snapshot.memory);
    return status;
}

/* --- batches ---------------------------------------------------------------------------------- */

/* Returns the kernel parameters of a batch, and sets its time. Under the mutex. */
struct sw_cache_table_batch typed(struct sw_cache_cuda_queue *queue, const struct sw_batch *batch,
                                  struct sw_cache_record *record, uint64_t ticket)
{
    struct sw_cache_cuda_table *table = queue->table;
    struct sw_cache_table_batch all = sw_cache_table_batch();
    all.slots = table->arrays.slots;
    all.scratch = table->scratch;
    all.totals = table->arrays.totals;
    all.tally = queue->tallies;
    all.key_bytes = table->key_bytes;
    all.record = record;
    all.ticket = ticket;
    if (batch->kind == SW_BATCH_OPERATIONS) {
        all.time.tick = table->clock;
        all.time.epoch = table->epoch;
        all.time.round = sw_cache_least(table->rounds, UINT32_MAX);
        table->clock += batch->count;
        table->rounds++;
        all.ops = batch->ops;
        all.op = batch->op;
        all.count = batch->count;
        all.keys = batch->keys;
        all.values = (const uint8_t *)batch->values;
        all.previous = (uint8_t *)batch->previous;
        all.found = (uint32_t *)batch->found;
        all.not_admitted = (uint32_t *)batch->not_admitted;
        all.scores = batch->scores;
        sw_cache_cuda_restore(table, batch, &all);
        all.scores_out = batch->scores_out;
        all.leftover_scores = batch->leftover_scores;
        all.leftover_keys = batch->leftover_keys;
        all.leftover_values = (uint8_t *)batch->leftover_values;
    }
    return all;
}

/* Scans batch->count slots, which is also the maximum number of entries returned. So the host knows
 * the next cursor. */
cudaError_t enqueue_scan(struct sw_cache_cuda_queue *queue, struct sw_batch *batch,
                         const struct sw_cache_table_batch *all)
{
    uint64_t capacity = all->slots.buckets * SW_CACHE_BUCKET_SLOTS;
    const struct sw_cache_growth *growth = &queue->table->growth;
    uint64_t first = sw_cache_growth_slot(growth, batch->scan.cursor);
    first = first < capacity ? first : capacity;
    uint64_t slots = batch->count < capacity - first ? batch->count : capacity - first;
    struct sw_cache_window what = sw_cache_window();
    batch->scan.cursor =
        first + slots < capacity ? sw_cache_growth_cursor(growth, first + slots) : 0;
    what.first = first;
    what.slots = slots;
    what.score_min = batch->scan.by_score ? batch->scan.score_min : 0;
    what.score_max = batch->scan.by_score ? batch->scan.score_max : UINT64_MAX;
    what.keys = batch->scan.keys;
    what.values = batch->scan.values;
    what.scores = batch->scan.scores;
    return sw_cache_table_scan(all, &what, queue->stream);
}

cudaError_t enqueue_read(struct sw_cache_cuda_queue *queue, struct sw_batch *batch,
                         const struct sw_cache_table_batch *all)
{
    sw_cuda_reads_launched(queue);
    switch (batch->kind) {
    case SW_BATCH_SCAN:
        return enqueue_scan(queue, batch, all);
    case SW_BATCH_COUNT_SCORES:
        return sw_cache_table_count(all, batch->range.min, batch->range.max, queue->stream);
    default:
        return sw_cache_table_read(all, queue->stream);
    }
}

/* Returns whether the batch restores ids that the cache cannot have; its status says why. */
bool is_refused(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_OPERATIONS && batch->restores && batch->status != SW_OK;
}

cudaError_t enqueue_write(struct sw_cache_cuda_queue *queue, struct sw_batch *batch,
                          const struct sw_cache_table_batch *all)
{
    switch (batch->kind) {
    case SW_BATCH_CLEAR:
        return sw_cache_table_clear(all, queue->stream);
    case SW_BATCH_ERASE_SCORES:
        return sw_cache_table_erase(all, batch->range.min, batch->range.max, queue->stream);
    case SW_BATCH_EPOCH:
        sw_cache_cuda_set_epoch(queue->table, batch);
        return sw_cache_table_end(all, queue->stream);
    case SW_BATCH_RESIZE: /* sw_cache_cuda_resize has carried it out */
        return sw_cache_table_end(all, queue->stream);
    default:
        return is_refused(batch)
                   ? sw_cache_table_end(all, queue->stream)
                   : sw_cache_table_write(all, &queue->table->arrays.rows, queue->stream);
    }
}

cudaError_t enqueue_batch(struct sw_cache_cuda_queue *queue, struct sw_batch *batch,
                          uint64_t ticket)
{
    struct sw_cache_record *record =
        (struct sw_cache_record *)sw_cuda_channel_record(queue, ticket);
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    if (sw_batch_is_read(batch)) {
        struct sw_cache_table_batch all = typed(queue, batch, record, ticket);
        return enqueue_read(queue, batch, &all);
    }
    error = sw_cuda_wait_for_reads(queue);
    if (error == cudaSuccess) {
        error = sw_cache_cuda_prepare_ids(queue, batch);
    }
    if (error == cudaSuccess) {
        error = batch->kind == SW_BATCH_RESIZE
                    ? sw_cache_cuda_resize(queue, batch)
                    : sw_cache_cuda_grow_for(queue, sw_cache_cuda_upserts(queue->table, batch));
    }
    if (error == cudaSuccess) {
        struct sw_cache_table_batch all = typed(queue, batch, record, ticket);
        error = enqueue_write(queue, batch, &all);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

cudaError_t write_combined(struct sw_cache_cuda_queue *queue, struct sw_combined_launch *combined,
                           struct sw_cache_record *record, uint64_t ticket)
{
    uint64_t upserts = 0;
    for (uint32_t p = 0; p < combined->count; p++) {
        upserts += sw_cache_cuda_upserts(queue->table, combined->parts[p]);
    }
    cudaError_t error = sw_cache_cuda_prepare_ids(queue, &combined->whole);
    if (error == cudaSuccess) {
        error = sw_cache_cuda_grow_for(queue, upserts);
    }
    if (error != cudaSuccess) {
        return error;
    }
    const struct sw_cache_table_batch all = typed(queue, &combined->whole, record, ticket);
    return sw_cache_table_write(&all, &queue->table->arrays.rows, queue->stream);
}

/* Submission has already set the status of EPOCH, RESIZE and restored ids. */
int copy_batch_results(struct sw_cache_cuda_queue *queue, struct sw_batch *batch,
                       const struct sw_cache_record *record)
{
    (void)queue;
    batch->counters = record->counters;
    if (batch->kind == SW_BATCH_SCAN) {
        batch->scan.got = (uint32_t)record->listed;
    } else if (batch->kind == SW_BATCH_COUNT_SCORES) {
        batch->range.matched = record->listed;
    } else if (batch->kind == SW_BATCH_OPERATIONS) {
        batch->leftover_count = (uint32_t)record->listed;
    }
    return batch->kind == SW_BATCH_EPOCH || batch->kind == SW_BATCH_RESIZE || is_refused(batch)
               ? batch->status
               : SW_OK;
}

/* --- the backend ------------------------------------------------------------------------------ */

struct cache : sw_cuda_shell_defaults {
    typedef struct sw_cache_cuda_table Table;
    typedef struct sw_cache_cuda_queue Queue;
    typedef struct sw_cache_table_tally Tally;
    typedef struct sw_cache_record Record;
    static const uint32_t TALLIES = 1;
    static constexpr auto allocate = allocate_for;
    static constexpr auto close = table_close;
    static constexpr auto prepare_image = sw_cache_cuda_prepare_image;
    static constexpr auto enqueue = enqueue_batch;
    static constexpr auto write = write_combined;
    static constexpr auto copy_results = copy_batch_results;
    static uint64_t bytes(const Table *table, const struct sw_table_config *)
    {
        return table->bytes + table->combined.bytes;
    }
    static const int32_t *status(const Record *)
    {
        return NULL;
    }
};

const struct sw_backend backend = {
    "cuda",
    SW_CACHE_ALL_OPERATIONS,
    SW_CACHE_ALL_KINDS | 1U << SW_BATCH_RESIZE,
    false,
    sw_cuda_shell_open<cache>,
    table_close,
    table_facts,
    sw_cuda_shell_io_alloc<cache>,
    sw_cuda_shell_io_free<cache>,
    sw_cuda_shell_queue_open<cache>,
    sw_cuda_shell_queue_close<cache>,
    sw_cuda_shell_submit<cache>,
    sw_cuda_shell_poll<cache>,
    sw_cuda_shell_submit_combined<cache>,
    NULL,
    sw_cuda_shell_poll_combined<cache>,
    NULL,
    table_check,
    NULL,
    sw_cache_cuda_image_read,
    sw_cache_cuda_image_drop,
    &sw_cuda_importing<sw_cache_cuda_table>,
    NULL,
};

} // namespace

const struct sw_backend *sw_cache_backend_cuda(void)
{
    return &backend;
}
