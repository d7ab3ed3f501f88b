/* SPDX-License-Identifier: MIT
 *
 * resize.cu - growth and resizes, which move the table to other arrays; and batches that stream the
 * whole table. A streamed batch stays in the same arrays, unless it has too many operations per
 * segment, or deletes from a table with a large probe cap.
 *
 * The host enqueues the move, and from then on launches kernels with the new arrays. The old arrays
 * are freed in the order of the stream. The host knows only an upper bound of the entries, which
 * includes the batches in flight. So a table may grow early, by at most the batches in flight. It
 * never refuses a write for which it could grow.
 *
 * A queue allocates memory for growth while other queues submit. It holds `growth` meanwhile. When
 * it has locked `order` again, it decides again whether to grow: the table may have been resized,
 * cleared or filled. A second queue that must grow waits for the first, and then finds the table
 * large enough. It never competes for the same memory.
 */
#include "table/device/direct.cuh"
#include "table/growth.h"
#include "table/host/parts.h"
#include "table/robin_hood/cuda/rebuild/rebuild.cuh"
#include "table/robin_hood/cuda/rebuild/reserve.cuh"

#include <string.h>

static uint64_t capacity_of(const struct sw_cuda_table *table)
{
    return table->arrays.geometry.buckets * SW_BUCKET_SLOTS;
}

/* A move has no batch that could return leftovers, so entries that meet the probe cap need a stash.
 * The cap must hardly ever be met, or the stash may not have room for all of them. */
bool sw_cuda_may_resize(const struct sw_table_config *config)
{
    uint64_t buckets = sw_geometry_capacity_max(config) / SW_BUCKET_SLOTS;
    return config->stash_slots > 0 &&
           (config->max_probe == 0 ||
            config->max_probe >= sw_geometry_max_probe(config->max_load, buckets, SW_BUCKET_SLOTS));
}

bool sw_cuda_can_resize(const struct sw_cuda_table *table)
{
    return sw_cuda_may_resize(&table->config);
}

/* Replaces the entries that a batch deletes by tombstones, or by holes in a key set. */
template <int BITS>
static cudaError_t remove_first(struct sw_cuda_queue *queue,
                                const struct sw_cuda_batch<BITS> *batch)
{
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    cudaError_t error = sw_cuda_launch_net_effects<BITS>(device, batch, queue->stream);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    return error == cudaSuccess ? sw_cuda_launch_tombstones<BITS>(device, batch, queue->stream)
                                : error;
}

/* Enqueues the steps before entries move, with or without a batch. The stream waits for reads
 * before the table changes. */
template <int BITS>
static cudaError_t prepare(struct sw_cuda_queue *queue, const struct sw_geometry *geometry,
                           const struct sw_cuda_batch<BITS> *batch)
{
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    if (batch->count != 0 && batch->op == SW_DELETE) {
        return remove_first<BITS>(queue, batch);
    }
    cudaError_t error =
        sw_cuda_launch_merge_sort<BITS>(device, batch, geometry->buckets, queue->stream);
    return error == cudaSuccess ? sw_cuda_wait_for_reads(queue) : error;
}

/* Moves all entries to these arrays, and carries out a batch during the move: upserts of one kind,
 * or deletes. Owns `arrays` even if it fails. The stream already waits for the last write. If
 * `replaced` is NULL, frees the old arrays after the move; otherwise the caller gets them. */
template <int BITS>
static cudaError_t move(struct sw_cuda_queue *queue, struct sw_cuda_arrays *arrays,
                        const struct sw_cuda_batch<BITS> *batch, struct sw_cuda_arrays *replaced)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    struct sw_cuda_arrays old = table->arrays;
    const struct sw_cuda_batch<BITS> none = {
    };
    typename sw_width<BITS>::table old_table = device->table;
    cudaError_t error = prepare<BITS>(queue, &arrays->geometry, batch);
    if (error != cudaSuccess) {
        sw_cuda_arrays_close(arrays, queue->table->pool, queue->stream); /* the table is lost; it
                                                        keeps the old arrays */
        return error;
    }
    table->arrays = *arrays;
    sw_cuda_direct_renew(table);
    sw_cuda_arrays_use<BITS>(arrays, device);
    error = sw_cuda_launch_merge<BITS>(device, batch->op == SW_DELETE ? &none : batch, &old_table,
                                       queue->stream);
    if (replaced != NULL) {
        *replaced = old;
    } else {
        sw_cuda_arrays_close(&old, queue->table->pool, queue->stream);
    }
    return error;
}

template <int BITS>
static cudaError_t move_nothing(struct sw_cuda_queue *queue, struct sw_cuda_arrays *arrays,
                                struct sw_cuda_arrays *replaced)
{
    const struct sw_cuda_batch<BITS> none = {
    };
    return move<BITS>(queue, arrays, &none, replaced);
}

/* Moves all entries without a batch. */
static cudaError_t move_only(struct sw_cuda_queue *queue, struct sw_cuda_arrays *arrays,
                             struct sw_cuda_arrays *replaced)
{
    struct sw_cuda_table *table = queue->table;
    __atomic_store_n(&table->hints_age, 0, __ATOMIC_RELAXED);
    table->stream_failed = false; /* there may be memory again */
    return SW_BY_FORMAT_NUMBER(table->format, move_nothing, queue, arrays, replaced);
}

template <int BITS> static cudaError_t launch_reset(struct sw_cuda_queue *queue)
{
    return sw_cuda_launch_reset<BITS>(sw_cuda_device_of<BITS>(queue->table), queue->stream);
}

template <int BITS>
static void use_arrays(struct sw_cuda_table *table, const struct sw_cuda_arrays *arrays)
{
    sw_cuda_arrays_use<BITS>(arrays, sw_cuda_device_of<BITS>(table));
}

static void use(struct sw_cuda_table *table, const struct sw_cuda_arrays *arrays)
{
    table->arrays = *arrays;
    sw_cuda_direct_renew(table);
    SW_BY_FORMAT_NUMBER(table->format, use_arrays, table, arrays);
}

/* Reads the table's state and control block, after the device has finished all work on the
 * stream. */
static cudaError_t read_state(struct sw_cuda_queue *queue, struct sw_state *state,
                              struct sw_cuda_control *control)
{
    struct sw_cuda_table *table = queue->table;
    cudaError_t error =
        cudaMemcpyAsync(state, table->state, sizeof(*state), cudaMemcpyDeviceToHost, queue->stream);
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(control, table->control, sizeof(*control), cudaMemcpyDeviceToHost,
                                queue->stream);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(queue->stream) : error;
}

/* Restores the old arrays and the state before the move. */
static cudaError_t take_back(struct sw_cuda_queue *queue, const struct sw_cuda_arrays *old,
                             const struct sw_state *state)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_arrays half_written = table->arrays;
    use(table, old);
    sw_cuda_arrays_close(&half_written, queue->table->pool, queue->stream);
    cudaError_t error =
        cudaMemcpyAsync(table->state, state, sizeof(*state), cudaMemcpyHostToDevice, queue->stream);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(table->control, 0, sizeof(*table->control), queue->stream);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(queue->stream) : error;
}

/* Returns the most entries that a resize may leave in the stash: stash_max, or the number before if
 * that is larger. */
static uint64_t table_stash_max(const struct sw_cuda_table *table, const struct sw_state *before)
{
    uint64_t stash_max = table->arrays.geometry.stash_max;
    return before->stash_occupied > stash_max ? before->stash_occupied : stash_max;
}

/* Moves all entries to these arrays, which it owns, unless too many of them would meet the cap. */
static int resize_to(struct sw_cuda_queue *queue, struct sw_cuda_arrays *arrays,
                     const struct sw_state *before, cudaError_t *error)
{
    struct sw_state after;
    struct sw_cuda_control control;
    struct sw_cuda_arrays old = {};
    *error = move_only(queue, arrays, &old);
    if (*error == cudaSuccess) {
        *error = read_state(queue, &after, &control);
    }
    if (*error != cudaSuccess) {
        sw_cuda_arrays_close(&old, queue->table->pool, queue->stream); /* the table is lost */
        return SW_E_DEVICE;
    }
    uint64_t stash_max = table_stash_max(queue->table, before);
    if (control.lost != 0 || after.stash_occupied > stash_max) {
        *error = take_back(queue, &old, before);
        return SW_E_NOMEM;
    }
    sw_cuda_arrays_close(&old, queue->table->pool, queue->stream);
    queue->table->grow_after_ns = 0; /* there may be memory again */
    return SW_OK;
}

int sw_cuda_resize(struct sw_cuda_queue *queue, uint64_t capacity, cudaError_t *error)
{
    struct sw_state before;
    struct sw_cuda_control control;
    struct sw_cuda_reserved reserved;
    int status = SW_E_NOMEM;
    *error = sw_cuda_wait_for_write(queue);
    if (*error == cudaSuccess) {
        *error = read_state(queue, &before, &control);
    }
    if (*error != cudaSuccess) {
        return SW_E_NOMEM;
    }
    if (sw_cuda_reserve(queue, capacity, &reserved)) {
        status = resize_to(queue, &reserved.arrays, &before, error);
    }
    sw_cuda_reserved_settle(queue->table, &reserved);
    return status;
}

/* Returns the capacity to which a table grows that has room for too few entries. */
static uint64_t grown(const struct sw_cuda_table *table, uint64_t entries)
{
    const uint64_t capacity = capacity_of(table);
    return sw_growth_slots(table->config.growth, capacity,
                           sw_geometry_grown(&table->config, capacity, entries), SW_BUCKET_SLOTS);
}

/* Returns the capacity that the table should grow to before a batch that may insert `more` entries.
 * Returns 0 if the table is large enough or must not grow now. */
static uint64_t capacity_for(const struct sw_cuda_table *table, uint64_t more)
{
    uint64_t entries = __atomic_load_n(&table->entries, __ATOMIC_RELAXED) + more;
    uint64_t stash = __atomic_load_n(&table->stash, __ATOMIC_RELAXED);
    uint64_t capacity = capacity_of(table);
    const struct sw_geometry *geometry = &table->arrays.geometry;
    const bool roomy = stash <= geometry->stash_max;
    const bool fits = entries <= geometry->occupied_max && roomy;
    /* more slots would not admit more entries: the number of rows, or of ids, is the limit */
    const bool in_vain = roomy && geometry->occupied_max >= sw_geometry_rows_max(&table->config);
    if (fits || in_vain || more == 0 || !sw_cuda_can_resize(table) ||
        capacity >= sw_geometry_capacity_max(&table->config) ||
        (table->grow_after_ns != 0 && sw_now_ns() < table->grow_after_ns &&
         !sw_growth_is_eased(table->config.growth))) {
        return 0;
    }
    return grown(table, entries);
}

/* Lets the pool map the next arrays if the table will soon grow. Looks at the clock only from half
 * of the entries on. The bound of the entries may be too high by the batches in flight, so the pace
 * comes from batches polled. */
static void expect_growth(struct sw_cuda_table *table)
{
    const uint64_t entries = __atomic_load_n(&table->entries, __ATOMIC_RELAXED);
    const uint64_t most = table->arrays.geometry.occupied_max;
    const uint64_t capacity = capacity_of(table);
    struct sw_geometry next;
    if (entries < most / 2 || table->direct != NULL || !sw_cuda_can_resize(table) ||
        capacity >= sw_geometry_capacity_max(&table->config)) {
        return;
    }
    if (!sw_ahead_is_full_soon(&table->pace, __atomic_load_n(&table->added, __ATOMIC_RELAXED),
                               most > entries ? most - entries : 0, sw_now_ns())) {
        return;
    }
    const uint64_t slots = grown(table, entries);
    if (sw_cuda_geometry_of(table, slots, &next)) {
        const uint64_t bytes = sw_cuda_arrays_bytes(&next, table->format, table->has_hints);
        if (sw_growth_would_permit(table->config.growth, slots, bytes)) {
            sw_cuda_pool_expect(table->pool, bytes);
        }
    }
}

bool sw_cuda_must_grow(struct sw_cuda_table *table, uint64_t more)
{
    if (capacity_for(table, more) != 0) {
        return true;
    }
    if (more != 0) {
        expect_growth(table);
    }
    return false;
}

/* Closes arrays that no move uses. */
static void close_reserved(struct sw_cuda_queue *queue, struct sw_cuda_reserved *reserved)
{
    sw_cuda_arrays_close(&reserved->arrays, queue->table->pool, queue->stream);
    sw_cuda_reserved_settle(queue->table, reserved);
}

/* Under `growth`. Allocates arrays of this capacity, and unlocks `order` meanwhile. After an error
 * they are closed. */
static cudaError_t allocate_aside(struct sw_cuda_queue *queue, uint64_t capacity,
                                  struct sw_cuda_reserved *reserved)
{
    struct sw_cuda_table *table = queue->table;
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error != cudaSuccess) {
        return error;
    }
    pthread_mutex_unlock(&table->order);
    (void)sw_cuda_reserve(queue, capacity, reserved);
    pthread_mutex_lock(&table->order);
    if (!sw_cuda_is_lost(table)) {
        error = sw_cuda_wait_for_write(queue); /* other queues may have written meanwhile */
    } else {
        error = cudaErrorUnknown; /* the error was reported before */
    }
    if (error != cudaSuccess) {
        close_reserved(queue, reserved);
    }
    return error;
}

/* Allocates the arrays to which the table must grow. *capacity is 0 if it need not, or if there is
 * no memory. Under `growth`. */
static cudaError_t reserve_growth(struct sw_cuda_queue *queue, uint64_t more, uint64_t *capacity,
                                  struct sw_cuda_reserved *reserved)
{
    struct sw_cuda_table *table = queue->table;
    *capacity = capacity_for(table, more);
    table->grow_after_ns = *capacity != 0 ? 0 : table->grow_after_ns; /* the pause is over */
    while (*capacity != 0) {
        const cudaError_t error = allocate_aside(queue, *capacity, reserved);
        if (error != cudaSuccess) {
            return error;
        }
        const bool allocated = reserved->arrays.memory != NULL;
        const uint64_t wanted = capacity_for(table, more);
        if (allocated && wanted != 0 && wanted <= *capacity) {
            break;
        }
        close_reserved(queue, reserved);
        if (!allocated && wanted != 0) {
            table->resize_failed++;
            table->grow_after_ns = sw_now_ns() + SW_CUDA_RETRY_NS;
            *capacity = 0;
            break;
        }
        *capacity = wanted;
    }
    return cudaSuccess;
}

/* Grows the table if it still must. Under `growth`. */
static cudaError_t grow(struct sw_cuda_queue *queue, uint64_t more, uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_reserved reserved;
    uint64_t capacity = 0;
    cudaError_t error = reserve_growth(queue, more, &capacity, &reserved);
    if (error != cudaSuccess || capacity == 0) {
        return error;
    }
    table->grown++;
    table->grow_after_ns = 0;
    queue->freed_ticket = ticket;
    error = sw_cuda_close_holes(queue); /* other queues may have written meanwhile */
    if (error == cudaSuccess) {
        error = move_only(queue, &reserved.arrays, NULL);
        sw_cuda_reserved_settle(table, &reserved);
    } else {
        close_reserved(queue, &reserved);
    }
    if (error != cudaSuccess) {
        return error;
    }
    return SW_BY_FORMAT_NUMBER(table->format, launch_reset, queue);
}

cudaError_t sw_cuda_grow_for(struct sw_cuda_queue *queue, uint64_t more, uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    const bool had_turn = queue->has_turn; /* a thread that has the turn must not lock `order` */
    cudaError_t error = had_turn ? sw_cuda_turn_end(queue, cudaSuccess) : cudaSuccess;
    pthread_mutex_unlock(&table->order); /* `growth` is locked first */
    pthread_mutex_lock(&table->growth);
    pthread_mutex_lock(&table->order);
    if (error == cudaSuccess) {
        error = sw_cuda_is_lost(table) ? cudaErrorUnknown : grow(queue, more, ticket);
    }
    pthread_mutex_unlock(&table->growth);
    if (had_turn) {
        const cudaError_t begun = sw_cuda_begin_launch(queue, UINT32_MAX);
        error = error == cudaSuccess ? begun : error;
    }
    return error;
}

/* Merges a batch of upserts into the table in place. */
template <int BITS>
static cudaError_t merge_in_place(struct sw_cuda_queue *queue,
                                  const struct sw_cuda_batch<BITS> *batch)
{
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    cudaError_t error =
        sw_cuda_launch_merge_sort<BITS>(device, batch, device->table.main.buckets, queue->stream);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    return error == cudaSuccess ? sw_cuda_launch_merge_in_place<BITS>(device, batch, queue->stream)
                                : error;
}

/* Deletes entries of the table in place. Returns false if there is no memory for a copy of the
 * stash. */
template <int BITS>
static bool delete_in_place(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                            cudaError_t *error)
{
    typedef typename sw_width<BITS>::slot slot;
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    const size_t bytes = device->table.stash.buckets_total * SW_BUCKET_SLOTS * sizeof(slot);
    void *aside = NULL;
    if (bytes != 0 && cudaMallocFromPoolAsync(&aside, bytes, queue->table->pool->memory,
                                              queue->stream) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    *error = prepare<BITS>(queue, &queue->table->arrays.geometry, batch);
    if (*error == cudaSuccess) {
        *error = sw_cuda_launch_close_up<BITS>(device, (slot *)aside, queue->stream);
    }
    if (aside != NULL) {
        (void)cudaFreeAsync(aside, queue->stream);
    }
    return true;
}

/* Carries out a batch during a move to other arrays. Returns false if there is no memory for
 * them. */
template <int BITS>
static bool stream_and_move(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                            cudaError_t *error)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_reserved reserved;
    const bool has = sw_cuda_reserve_again(queue, &reserved);
    table->stream_failed = !has && !reserved.is_refused;
    if (has) {
        *error = move<BITS>(queue, &reserved.arrays, batch, NULL);
    }
    sw_cuda_reserved_settle(table, &reserved);
    return has;
}

template <int BITS>
bool sw_cuda_stream(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                    cudaError_t *error)
{
    struct sw_cuda_table *table = queue->table;
    const struct sw_geometry *geometry = &table->arrays.geometry;
    const bool deletes = batch->op == SW_DELETE;
    const bool in_place =
        deletes ? sw_cuda_fits_in_place(geometry->buckets, geometry->max_probe)
                : batch->count >> sw_cuda_segment_bits(geometry->buckets) < SW_CUDA_MERGE_OPS_USUAL;
    /* only a merge in place has a fallback if entries meet the cap: it upserts the batch */
    if (!sw_cuda_can_resize(table) && (deletes || !in_place)) {
        return false;
    }
    if (!in_place && table->stream_failed) {
        return false;
    }
    *error = sw_cuda_wait_for_write(queue);
    if (*error != cudaSuccess) {
        return true;
    }
    if (!in_place) {
        return stream_and_move<BITS>(queue, batch, error);
    }
    if (deletes) {
        return delete_in_place<BITS>(queue, batch, error);
    }
    *error = merge_in_place<BITS>(queue, batch);
    return true;
}

#define INSTANTIATE(BITS, ...)                                                                     \
    template bool sw_cuda_stream<BITS>(struct sw_cuda_queue *, const struct sw_cuda_batch<BITS> *, \
                                       cudaError_t *);
SW_FORMATS(INSTANTIATE)
