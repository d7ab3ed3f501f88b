/* SPDX-License-Identifier: MIT
 *
 * shared_reads.cu - launches the deferred reads of several tables together: those of the queues
 * that one thread has for tables of one width. device/reader.cuh has the rules that order such a
 * launch with the writes of the tables.
 *
 * The expiry times, holes, stash, hints and growth of each table stay its own: the kernel gets the
 * view of each table as it is under the table's `order`. A table with expiring entries, key strings
 * or a filter has launches of its own.
 */
#include "table/robin_hood/cuda/times/expiry.cuh"

#include <string.h>

/* A launch in preparation. The thread has `order` of the tables of `queues`. */
template <int BITS> struct launch {
    struct sw_cuda_shared_reads<BITS> reads;
    struct sw_cuda_queue *queues[SW_CUDA_SHARED_READS_MAX];
    uint32_t queue_count;
};

/* Returns whether the deferred reads of the queue may share a launch, apart from writes in flight.
 * Without `order` that is a first guess. */
static bool may_share(const struct sw_cuda_queue *queue)
{
    const struct sw_cuda_table *table = queue->table;
    if (sw_cuda_is_lost(table) || queue->held_count == 0 || sw_cuda_keeps_times(table) ||
        table->config.key_text_bytes > 0 || table->config.tuning.block_size != 0 ||
        queue->held[0]->filter != NULL) {
        return false;
    }
    for (uint32_t h = 0; h < queue->held_count; h++) {
        if (queue->held[h]->expires_out != NULL) {
            return false;
        }
    }
    return true;
}

static uint64_t keys_of(const struct sw_cuda_queue *queue)
{
    uint64_t keys = 0;
    for (uint32_t h = 0; h < queue->held_count; h++) {
        keys += queue->held[h]->count;
    }
    return keys;
}

/* Returns whether the reads of the table may share launches with those of the other table: both
 * have slots of one width, and values of one kind. */
static bool are_alike(const struct sw_cuda_table *table, const struct sw_cuda_table *other)
{
    return table->format == other->format && sw_cuda_has_rows(table) == sw_cuda_has_rows(other);
}

/* Chooses the queues whose deferred reads are to share a launch: `queue`, and others of its reader
 * as far as there is room. A table has one of them. They are in the order of the addresses of their
 * tables. Returns their number. */
static uint32_t choose(struct sw_cuda_queue *queue,
                       struct sw_cuda_queue *chosen[SW_CUDA_SHARED_READS_MAX])
{
    uint64_t keys = keys_of(queue);
    uint32_t batches = queue->held_count;
    uint32_t count = 0;
    for (struct sw_cuda_channel *at = queue->reader->waiting; at != NULL; at = at->next_waiting) {
        struct sw_cuda_queue *other = (struct sw_cuda_queue *)at;
        if (other != queue) {
            const bool again = other->table == queue->table ||
                               (count > 0 && chosen[count - 1]->table == other->table);
            if (again || !are_alike(queue->table, other->table) || !may_share(other) ||
                keys + keys_of(other) > SW_CUDA_READ_KEYS_MAX ||
                batches + other->held_count > SW_CUDA_SHARED_READS_MAX) {
                continue;
            }
            keys += keys_of(other);
            batches += other->held_count;
        }
        chosen[count++] = other;
    }
    return count;
}

/* Returns the view of the table as it is now. Under `order`. */
template <int BITS> static struct sw_cuda_read_view<BITS> view_of(struct sw_cuda_queue *queue) {
    struct sw_cuda_table *table = queue->table;
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    const struct sw_cuda_rows *rows = &table->arena.view;
    struct sw_cuda_read_view<BITS> view;
    memset(&view, 0, sizeof(view)); /* views are compared byte by byte */
    view.table = device->table;
    view.hints = sw_cuda_hints_pay(table) ? device->hints : NULL;
    view.tallies = queue->tallies;
    if (sw_cuda_has_rows(table)) {
        view.rows = rows->rows;
        view.further = rows->further;
        view.split = rows->split;
        view.value_bytes = rows->value_bytes;
        view.stride = rows->stride;
    }
    return view;
}

/* Stores the view in device memory, unless that has it already. The reader's stream orders it with
 * the launches that read it. */
template <int BITS>
static cudaError_t store_view(struct sw_cuda_queue *queue)
{
    const struct sw_cuda_read_view<BITS> view = view_of<BITS>(queue);
    static_assert(sizeof(view) <= sizeof(queue->viewed), "the queue has room for it");
    if (memcmp(&view, &queue->viewed, sizeof(view)) == 0) {
        return cudaSuccess;
    }
    memcpy(&queue->viewed, &view, sizeof(view));
    return sw_cuda_launch_view<BITS>(view, (struct sw_cuda_read_view<BITS> *)queue->view,
                                     queue->reader->stream);
}

/* Adds the deferred reads of the queue to the launch. Under `order`. */
template <int BITS> static void add(struct launch<BITS> *launch, struct sw_cuda_queue *queue)
{
    typedef typename sw_width<BITS>::word word;
    launch->queues[launch->queue_count++] = queue;
    for (uint32_t h = 0; h < queue->held_count; h++) {
        struct sw_batch *batch = queue->held[h];
        struct sw_cuda_shared_read<BITS> *read =
            &launch->reads.batches[launch->reads.batch_count++];
        sw_cuda_report_clock(queue->table, batch);
        *read = {(const word *)batch->keys,
                 sw_width<BITS>::is_set ? NULL : (word *)batch->previous,
                 (uint32_t *)batch->found,
                 (const struct sw_cuda_read_view<BITS> *)queue->view,
                 sw_cuda_record_of(queue, batch->_ticket),
                 batch->_ticket,
                 batch->count,
                 0};
    }
}

/* Locks `order` of the queue's table and adds its deferred reads, or launches them by themselves if
 * a write of the table is in flight. Does nothing if another thread keeps `order`, or if the reads
 * may not share a launch. *tries: of the lock; 0 after a lock that failed. */
template <int BITS>
static void try_to_add(struct launch<BITS> *launch, struct sw_cuda_queue *queue, uint32_t *tries)
{
    if (!sw_cuda_channel_try_begin(queue, *tries)) {
        *tries = 0;
        return;
    }
    if (may_share(queue) && sw_cuda_writes_are_done(queue)) {
        add<BITS>(launch, queue);
        return;
    }
    (void)sw_cuda_channel_end(queue,
                              may_share(queue) ? sw_cuda_launch_held<BITS>(queue) : cudaSuccess);
}

/* Enqueues the launch. */
template <int BITS> static cudaError_t enqueue(struct launch<BITS> *launch)
{
    cudaError_t error = cudaSuccess;
    for (uint32_t q = 0; q < launch->queue_count && error == cudaSuccess; q++) {
        error = store_view<BITS>(launch->queues[q]);
    }
    for (uint32_t q = 0; q < launch->queue_count; q++) {
        launch->queues[q]->shared_reads_pending = true;
        launch->queues[q]->held_count = 0;
        sw_cuda_reader_remove(launch->queues[q]);
    }
    const cudaStream_t stream = launch->queues[0]->reader->stream;
    if (error != cudaSuccess) {
        return error;
    }
    if constexpr (!sw_width<BITS>::is_set) {
        if (sw_cuda_has_rows(launch->queues[0]->table)) {
            return sw_cuda_launch_shared_row_get<BITS>(&launch->reads, stream);
        }
    }
    return sw_cuda_launch_shared_get<BITS>(&launch->reads, stream);
}

template <int BITS>
static void share(struct sw_cuda_queue *const *chosen, uint32_t count, uint32_t tries)
{
    struct launch<BITS> launch;
    launch.reads.batch_count = 0;
    launch.queue_count = 0;
    for (uint32_t q = 0; q < count; q++) {
        try_to_add<BITS>(&launch, chosen[q], &tries);
    }
    if (launch.queue_count == 0) {
        return;
    }
    const cudaError_t error = launch.queue_count > 1 ? enqueue<BITS>(&launch)
                                                     : sw_cuda_launch_held<BITS>(launch.queues[0]);
    for (uint32_t q = 0; q < launch.queue_count; q++) {
        (void)sw_cuda_channel_end(launch.queues[q], error);
    }
}

void sw_cuda_share_reads(struct sw_cuda_queue *queue)
{
    struct sw_cuda_queue *chosen[SW_CUDA_SHARED_READS_MAX];
    if (queue->reader == NULL || queue->reader->waiting_count < 2 || !may_share(queue)) {
        return;
    }
    const uint32_t count = choose(queue, chosen);
    if (count > 1 &&
        sw_cuda_check(queue->table, sw_cuda_use_device(queue->table->device), "the device")) {
        SW_BY_FORMAT_NUMBER(queue->table->format, share, chosen, count, queue->table->order_tries);
    }
}

/* --- open ------------------------------------------------------------------------------------- */

template <int BITS> static cudaError_t open_view(struct sw_cuda_queue *queue)
{
    const cudaError_t error = sw_cuda_load_shared_get<BITS>();
    return error == cudaSuccess ? cudaMalloc(&queue->view, sizeof(struct sw_cuda_read_view<BITS>))
                                : error;
}

int sw_cuda_queue_join(void *context, uint32_t thread)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    if (queue->table->own_device != NULL) { /* no other table shares its device */
        return SW_OK;
    }
    cudaError_t error = cudaSetDevice(queue->table->device);
    if (error == cudaSuccess) {
        error = SW_BY_FORMAT_NUMBER(queue->table->format, open_view, queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_reader_join(queue, thread);
    }
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* clears the runtime's last error */
        return SW_E_NOMEM;
    }
    return sw_cuda_check(queue->table, error, "a new queue") ? SW_OK : SW_E_DEVICE;
}
