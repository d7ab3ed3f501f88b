/* SPDX-License-Identifier: MIT
 *
 * queue.cu - queues: from submit to the launch of a batch. channel.cuh keeps their order.
 */
#include "table/robin_hood/cuda/host.cuh"

#include <stdlib.h>
#include <string.h>

/* Batches of reads up to this size share launches. A larger one has the device busy for longer than
 * a launch takes. */
#define SMALL_READ_MAX 32768

/* --- submit ----------------------------------------------------------------------------------- */

/* The batch with types, and where it reports. */
template <int BITS>
static struct sw_cuda_batch<BITS> typed_batch(struct sw_cuda_queue *queue,
                                              const struct sw_batch *batch, uint64_t ticket) {
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_batch<BITS> typed = {
    };
    typed.record = sw_cuda_record_of(queue, ticket);
    typed.ticket = ticket;
    typed.group_count = 1;
    if (batch->kind != SW_BATCH_OPERATIONS) {
        return typed;
    }
    typed.op = batch->op;
    typed.count = batch->count;
    typed.ops = batch->ops;
    typed.keys = (const word *)batch->keys;
    typed.values = (const word *)batch->values;
    typed.previous = (word *)batch->previous;
    typed.found = (uint32_t *)batch->found;
    if (batch->group_count > 0) {
        typed.group_count = batch->group_count;
        typed.group_ends = batch->group_ends;
        typed.group_refused = batch->group_refused;
    }
    typed.leftover_keys = (word *)batch->leftover_keys;
    typed.leftover_values = (word *)batch->leftover_values;
    return typed;
}

/* The operations of a batch, summed up. */
struct mix {
    bool deletes;     /* some may */
    uint32_t upserts; /* how many may insert */
    bool reads;       /* all do */
};

/* Of integers all writes but deletes count as such. */
static bool may_insert(uint32_t op, bool rows)
{
    return rows ? sw_row_effect(op, false) == SW_EFFECT_WRITE : op != SW_GET && op != SW_DELETE;
}

static struct mix mix_of(const struct sw_batch *batch, bool rows)
{
    struct mix mix = {false, 0, false};
    if (batch == NULL || batch->kind != SW_BATCH_OPERATIONS) {
        return mix;
    }
    if (batch->ops == NULL) {
        mix.reads = batch->op == SW_GET;
        mix.deletes = batch->op == SW_DELETE;
        mix.upserts = may_insert(batch->op, rows) ? batch->count : 0;
        return mix;
    }
    uint32_t gets = 0;
    uint32_t deletes = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        gets += batch->ops[i] == SW_GET;
        deletes += batch->ops[i] == SW_DELETE;
        mix.upserts += may_insert(batch->ops[i], rows);
    }
    mix.reads = gets == batch->count;
    mix.deletes = deletes != 0;
    return mix;
}

bool sw_cuda_hints_pay(const struct sw_cuda_table *table)
{
    return table->config.tuning.hints == SW_CHOICE_ALWAYS ||
           sw_cuda_load(table) > SW_CUDA_HINTS_LOAD;
}

/* Launches reads: the batches given, of one filter, as one. What they follow on the stream was
 * submitted before. */
template <int BITS, int N>
static cudaError_t launch_reads(struct sw_cuda_queue *queue, const struct sw_batch *const *batches,
                                const uint64_t *tickets, uint32_t count)
{
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_reads<BITS, N> reads;
    reads.batch_count = count;
    reads.filter = batches[0]->filter;
    for (uint32_t b = 0; b < count; b++) {
        bool keys = batches[b]->kind == SW_BATCH_OPERATIONS;
        struct sw_cuda_read<BITS> *read = &reads.batches[b];
        read->count = keys ? batches[b]->count : 0;
        read->keys = (const word *)batches[b]->keys;
        read->previous = (word *)batches[b]->previous;
        read->found = (uint32_t *)batches[b]->found;
        read->record = sw_cuda_record_of(queue, tickets[b]);
        read->tally = &queue->tallies[tickets[b] % SW_CUDA_IN_FLIGHT_MAX];
        read->ticket = tickets[b];
    }
    queue->reads_pending = true;
    struct sw_cuda_table *table = queue->table;
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    const bool use_hints = sw_cuda_hints_pay(table);
    for (uint32_t b = 0; b < count && table->config.key_text_bytes > 0; b++) {
        const cudaError_t error = sw_cuda_launch_row_text_reads<BITS>(
            device, &table->arena.view, batches[b], reads.batches[b].record, queue->stream);
        if (error != cudaSuccess) {
            return error;
        }
    }
    return sw_cuda_has_rows(table)
               ? sw_cuda_launch_row_get<BITS, N>(device, &table->arena.view, use_hints, &reads,
                                                 queue->stream)
               : sw_cuda_launch_get<BITS, N>(device, use_hints, &reads, queue->stream);
}

/* Launches the reads that were held back. */
template <int BITS> static cudaError_t launch_held(struct sw_cuda_queue *queue)
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
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    return count == 1 ? launch_reads<BITS, 1>(queue, queue->held, tickets, 1)
                      : launch_reads<BITS, SW_CUDA_READS_MAX>(queue, queue->held, tickets, count);
}

template <int BITS>
static cudaError_t submit_operations(struct sw_cuda_queue *queue, struct sw_batch *batch,
                                     struct mix mix, uint64_t ticket)
{
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    if (mix.reads || batch->count == 0) {
        return launch_reads<BITS, 1>(queue, &batch, &ticket, 1);
    }
    struct sw_cuda_batch<BITS> typed = typed_batch<BITS>(queue, batch, ticket);
    error = sw_cuda_write<BITS>(queue, batch, &typed, mix.upserts, mix.deletes);
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

template <int BITS>
static cudaError_t submit_clear(struct sw_cuda_queue *queue, const struct sw_batch *batch,
                                uint64_t ticket)
{
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    struct sw_cuda_batch<BITS> typed = typed_batch<BITS>(queue, batch, ticket);
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_clear<BITS>(device, queue->table->arrays.geometry.slots_total,
                                           queue->stream);
    }
    if (error == cudaSuccess && sw_cuda_has_rows(queue->table)) {
        error = sw_cuda_arena_clear(&queue->table->arena, queue->stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_finish<BITS>(device, &typed, queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

/* The report is that of a batch without operations. */
template <int BITS>
static cudaError_t submit_resize(struct sw_cuda_queue *queue, struct sw_batch *batch,
                                 uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_batch<BITS> typed = typed_batch<BITS>(queue, batch, ticket);
    uint64_t entries = __atomic_load_n(&table->entries, __ATOMIC_RELAXED);
    uint64_t capacity = sw_geometry_admitting(&table->config, batch->capacity, entries);
    uint64_t most = sw_geometry_capacity_max(&table->config);
    cudaError_t error = cudaSuccess;
    /* the bound counts what is in flight; the entries themselves fit the largest capacity */
    int status = sw_cuda_resize(queue, capacity < most ? capacity : most, &error);
    table->resized += status == SW_OK;
    table->resize_failed += status != SW_OK;
    queue->resize_status = status;
    queue->trim_ticket = ticket;
    batch->capacity = table->arrays.geometry.buckets * SW_BUCKET_SLOTS;
    if (error == cudaSuccess) {
        error = sw_cuda_launch_finish<BITS>(sw_cuda_device_of<BITS>(table), &typed, queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

/* Copies the windows, then completes the record as an empty batch of reads would. Where the keys
 * are known, their rows are read. */
template <int BITS>
static cudaError_t submit_scan(struct sw_cuda_queue *queue, const struct sw_batch *batch,
                               uint64_t ticket)
{
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess && queue->scan.reads_rows) {
        batch = &queue->scan.rows;
    } else if (error == cudaSuccess) {
        queue->reads_pending = true;
        error = sw_cuda_scan_copy(queue, batch);
    }
    return error == cudaSuccess ? launch_reads<BITS, 1>(queue, &batch, &ticket, 1) : error;
}

/* The reads held back, then `batch`, unless it is NULL. */
template <int BITS>
static cudaError_t enqueue(struct sw_cuda_queue *queue, struct sw_batch *batch, struct mix mix,
                           uint64_t ticket)
{
    cudaError_t error = launch_held<BITS>(queue);
    if (error != cudaSuccess || batch == NULL) {
        return error;
    }
    switch (batch->kind) {
    case SW_BATCH_CLEAR:
        return submit_clear<BITS>(queue, batch, ticket);
    case SW_BATCH_RESIZE:
        return submit_resize<BITS>(queue, batch, ticket);
    case SW_BATCH_SCAN:
        return submit_scan<BITS>(queue, batch, ticket);
    default:
        return submit_operations<BITS>(queue, batch, mix, ticket);
    }
}

static bool enqueue_in_order(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket)
{
    /* before the mutex: it may read all operations */
    const struct mix mix = mix_of(batch, sw_cuda_has_rows(queue->table));
    cudaError_t error = cudaSuccess;
    if (!sw_cuda_channel_begin(queue)) {
        return false;
    }
    if (sw_cuda_must_grow(queue->table, mix.upserts)) {
        error = sw_cuda_grow_for(queue, mix.upserts, ticket);
    }
    if (error == cudaSuccess) {
        error = SW_BY_BITS(queue->table->slot_bits, enqueue, queue, batch, mix, ticket);
    }
    return sw_cuda_channel_end(queue, error);
}

bool sw_cuda_enqueue(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket)
{
    if (batch == NULL || batch->kind != SW_BATCH_RESIZE) {
        return enqueue_in_order(queue, batch, ticket);
    }
    pthread_mutex_lock(&queue->table->growth); /* before `order` */
    bool good = enqueue_in_order(queue, batch, ticket);
    pthread_mutex_unlock(&queue->table->growth);
    return good;
}

/* Small batches of reads are held back until the queue is polled or has as many as a launch takes.
 * A caller cannot tell before it polls. */
static bool is_small_read(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_OPERATIONS && batch->ops == NULL && batch->op == SW_GET &&
           batch->count <= SMALL_READ_MAX;
}

static bool hold(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket)
{
    if (queue->held_count > 0 && queue->held[0]->filter != batch->filter &&
        !sw_cuda_enqueue(queue, NULL, 0)) {
        return false;
    }
    batch->_ticket = ticket;
    queue->held[queue->held_count++] = batch;
    return queue->held_count < SW_CUDA_READS_MAX || sw_cuda_enqueue(queue, NULL, 0);
}

int sw_cuda_submit(void *context, struct sw_batch *batch)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    uint64_t ticket = sw_cuda_channel_ticket(queue);
    if (sw_cuda_is_lost(queue->table)) {
        return SW_E_DEVICE;
    }
    if (batch->kind == SW_BATCH_IMAGE) {
        return sw_cuda_submit_image(queue, batch);
    }
    if (ticket == 0 || (batch->kind == SW_BATCH_SCAN && queue->scan.running)) {
        return SW_E_BUSY;
    }
    if (batch->kind == SW_BATCH_RESIZE && !sw_cuda_can_resize(queue->table)) {
        return SW_E_INVALID;
    }
    if (batch->kind == SW_BATCH_OPERATIONS && batch->group_refused != NULL) {
        memset(batch->group_refused, 0, batch->group_count);
    }
    if (!(is_small_read(batch) ? hold(queue, batch, ticket)
                               : sw_cuda_enqueue(queue, batch, ticket))) {
        return SW_E_DEVICE;
    }
    sw_cuda_channel_submitted(queue, ticket);
    queue->scan.running |= batch->kind == SW_BATCH_SCAN;
    batch->_ticket = ticket;
    return SW_OK;
}

void sw_cuda_flush(void *context, uint32_t stream)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    for (uint32_t h = 0; h < queue->held_count; h++) {
        if (queue->held[h]->stream == stream) {
            (void)sw_cuda_enqueue(queue, NULL, 0); /* a failure shows as a lost table */
            return;
        }
    }
}

/* --- several writes together ------------------------------------------------------------------ */

/* The engine skips what was looked up before, if `looked_up` is not NULL. */
template <int BITS>
static cudaError_t carry_out(struct sw_cuda_queue *queue, struct sw_together *together,
                             struct mix mix, uint64_t ticket, const uint64_t *looked_up)
{
    struct sw_cuda_batch<BITS> typed = typed_batch<BITS>(queue, &together->whole, ticket);
    typed.record = (struct sw_cuda_record *)queue->table->together.record;
    typed.collected = true;
    typed.skips = (const uint32_t *)looked_up;
    if (looked_up != NULL && mix.upserts == 0) { /* it has nothing to do but to report */
        return sw_cuda_launch_close<BITS>(sw_cuda_device_of<BITS>(queue->table), &typed,
                                          queue->stream);
    }
    return sw_cuda_write<BITS>(queue, &together->whole, &typed, mix.upserts, mix.deletes);
}

/* The same of a table with rows, and what is done with their bytes. */
template <int BITS>
static cudaError_t carry_out_on_rows(struct sw_cuda_queue *queue, struct sw_together *together,
                                     struct mix mix, uint64_t ticket)
{
    struct sw_cuda_row_batch<BITS> rows;
    cudaError_t error = sw_cuda_rows_begin<BITS>(queue, together, mix.upserts, mix.deletes, &rows);
    if (error == cudaSuccess) {
        error = carry_out<BITS>(queue, together, mix, ticket, rows.looked_up ? rows.found : NULL);
    }
    return error == cudaSuccess ? sw_cuda_rows_end<BITS>(queue, &rows) : error;
}

template <int BITS>
static cudaError_t enqueue_together(struct sw_cuda_queue *queue, struct sw_together *together,
                                    struct mix mix, uint64_t ticket)
{
    struct sw_cuda_together *memory = &queue->table->together;
    struct sw_cuda_record *record = (struct sw_cuda_record *)memory->record;
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess) {
        error = sw_cuda_together_collect(memory, together, queue->stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_has_rows(queue->table)
                    ? carry_out_on_rows<BITS>(queue, together, mix, ticket)
                    : carry_out<BITS>(queue, together, mix, ticket, NULL);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_together_deal(memory, together, &record->status,
                                      sw_cuda_record_of(queue, ticket), queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

/* What the operations of all parts are. */
static struct mix mix_of_all(const struct sw_together *together, bool rows)
{
    struct mix all = {false, 0, false};
    for (uint32_t p = 0; p < together->count; p++) {
        const struct mix mix = mix_of(together->parts[p], rows);
        all.deletes = all.deletes || mix.deletes;
        all.upserts += mix.upserts;
    }
    return all;
}

int sw_cuda_submit_together(void *context, struct sw_together *together)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    /* before the mutex: it may read all operations */
    const struct mix mix = mix_of_all(together, sw_cuda_has_rows(queue->table));
    return sw_cuda_together_submit(queue, together, [&](uint64_t ticket) {
        cudaError_t error = cudaSuccess;
        if (sw_cuda_must_grow(queue->table, mix.upserts)) {
            error = sw_cuda_grow_for(queue, mix.upserts, ticket);
        }
        if (error != cudaSuccess) {
            return error;
        }
        return SW_BY_BITS(queue->table->slot_bits, enqueue_together, queue, together, mix, ticket);
    });
}

int sw_cuda_poll_together(void *context, struct sw_together *together)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    int status = sw_cuda_poll(queue, &together->whole);
    if (status == SW_OK || status == SW_E_FULL) { /* the whole is counted as one of them */
        sw_cuda_count_way(queue->table, &together->whole, together->count - 1, 0);
    }
    if (status != SW_PENDING) {
        sw_cuda_together_finish(&queue->table->together, together);
    }
    return status;
}

/* --- open and close --------------------------------------------------------------------------- */

static_assert(offsetof(struct sw_cuda_record, done) == 0, "channels poll the first word");

static cudaError_t allocate(struct sw_cuda_queue *queue)
{
    const size_t tallies_bytes = SW_CUDA_IN_FLIGHT_MAX * sizeof(struct sw_cuda_tally);
    cudaError_t error = sw_cuda_channel_open(queue, queue->table, sizeof(struct sw_cuda_record));
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&queue->tallies, tallies_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(queue->tallies, 0, tallies_bytes, queue->stream);
    }
    if (error == cudaSuccess) {
        pthread_mutex_lock(&queue->table->order); /* the arrays may change their size */
        uint64_t window = (uint64_t)queue->table->arrays.geometry.max_probe + 2;
        error = sw_cuda_scan_reserve(queue, window > SW_SCAN_WINDOW ? window : SW_SCAN_WINDOW);
        pthread_mutex_unlock(&queue->table->order);
    }
    if (error == cudaSuccess && sw_cuda_has_rows(queue->table)) {
        const uint64_t words = ((uint64_t)queue->table->config.batch_ops_max + 63) / 64;
        error = cudaHostAlloc((void **)&queue->scan.found, words * sizeof(uint64_t),
                              cudaHostAllocMapped | cudaHostAllocPortable);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(queue->stream) : error;
}

void sw_cuda_queue_close(void *context)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    sw_cuda_channel_close(queue);
    (void)cudaFree(queue->tallies);
    (void)cudaFreeHost(queue->scan.staging);
    (void)cudaFreeHost(queue->scan.found);
    free(queue);
}

int sw_cuda_queue_open(void *context, void **out)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)calloc(1, sizeof(*queue));
    *out = NULL;
    if (queue == NULL) {
        return SW_E_NOMEM;
    }
    queue->table = table;
    cudaError_t error = allocate(queue);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* leaves the context as it was */
        sw_cuda_queue_close(queue);
        return SW_E_NOMEM;
    }
    if (!sw_cuda_check(table, error, "a new queue")) {
        sw_cuda_queue_close(queue);
        return SW_E_DEVICE;
    }
    *out = queue;
    return SW_OK;
}
