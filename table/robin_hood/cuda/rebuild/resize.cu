/* SPDX-License-Identifier: MIT
 *
 * resize.cu - other arrays for the table: growth and resizes; and batches that stream the whole
 * table, which leave it where it is, but for deletes from one with a large cap.
 *
 * The host enqueues the move and from then on launches with the new arrays; the old ones are freed
 * in the order of the stream. The host knows only a bound of the entries, those in flight included,
 * so a table may grow up to one round of batches early, but never refuses a write it could grow
 * for.
 *
 * Memory for growth is allocated while other queues submit. Only who holds `growth` does so, and
 * decides again whether to grow once `order` is held again: the table may have been resized,
 * cleared or filled meanwhile. A second queue that must grow waits for the first, and then finds
 * the table large enough; it never competes for the same memory.
 */
#include "table/robin_hood/cuda/host.cuh"
#include "table/robin_hood/cuda/rebuild/rebuild.cuh"

#include <string.h>
#include <time.h>

/* Pause after a growth that found no memory. */
#define RETRY_NS 1000000000ULL

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static uint64_t capacity_of(const struct sw_cuda_table *table)
{
    return table->arrays.geometry.buckets * SW_BUCKET_SLOTS;
}

/* What meets the cap in a move has no batch to be handed back in, so there must be a stash; and the
 * cap must be one that hardly ever is met, or the stash may not hold it all. */
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

/* Enqueues what comes before entries move, with a batch or without; ends with the wait for
 * reads. */
template <int BITS>
static cudaError_t prepare(struct sw_cuda_queue *queue, const struct sw_geometry *geometry,
                           const struct sw_cuda_batch<BITS> *batch)
{
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    if (batch->count == 0 || batch->op != SW_DELETE) {
        cudaError_t error =
            sw_cuda_launch_merge_sort<BITS>(device, batch, geometry->buckets, queue->stream);
        return error == cudaSuccess ? sw_cuda_wait_for_reads(queue) : error;
    }
    cudaError_t error = sw_cuda_launch_net_effects<BITS>(device, batch, queue->stream);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    return error == cudaSuccess ? sw_cuda_launch_tombstones<BITS>(device, batch, queue->stream)
                                : error;
}

/* New arrays of this geometry, in the order of the queue's stream; they take the memory of arrays
 * freed before the last write the stream waits for. False if there is no memory for them. */
static bool open_arrays(const struct sw_cuda_queue *queue, const struct sw_geometry *geometry,
                        struct sw_cuda_arrays *arrays)
{
    const struct sw_cuda_table *table = queue->table;
    if (sw_cuda_arrays_open(arrays, geometry, table->slot_bits, table->has_hints, false,
                            table->pool.memory, queue->stream) != cudaSuccess) {
        (void)cudaGetLastError(); /* a refusal, of whatever kind, is no failure of later launches */
        return false;
    }
    return true;
}

/* Has memory for the rows of this geometry, if the table has rows. What was mapped stays so, also
 * where the table becomes smaller. */
static bool map_rows(struct sw_cuda_table *table, const struct sw_geometry *geometry)
{
    if (sw_cuda_has_rows(table) &&
        sw_cuda_arena_map(&table->arena, geometry->occupied_max) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return true;
}

/* The same, of this capacity, and what its entries need beside them. */
static bool open_arrays_of(const struct sw_cuda_queue *queue, uint64_t capacity,
                           struct sw_cuda_arrays *arrays)
{
    struct sw_table_config config = queue->table->config;
    struct sw_geometry geometry;
    config.capacity_slots = capacity;
    /* capacities without a geometry are not asked for */
    return sw_geometry_compute(&config, &geometry, NULL, 0) == SW_OK &&
           map_rows(queue->table, &geometry) && open_arrays(queue, &geometry, arrays);
}

/* Moves everything to these arrays, and carries out a batch on the way, of upserts of one kind or
 * of deletes; takes the arrays in any case. The stream waits for the last write. The old arrays are
 * freed after, or are the caller's if `replaced` is not NULL. */
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
        sw_cuda_arrays_close(arrays, queue->stream); /* the table is lost, with the old ones */
        return error;
    }
    table->arrays = *arrays;
    sw_cuda_arrays_use<BITS>(arrays, device);
    error = sw_cuda_launch_merge<BITS>(device, batch->op == SW_DELETE ? &none : batch, &old_table,
                                       queue->stream);
    if (replaced != NULL) {
        *replaced = old;
    } else {
        sw_cuda_arrays_close(&old, queue->stream);
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

/* Without a batch. */
static cudaError_t move_only(struct sw_cuda_queue *queue, struct sw_cuda_arrays *arrays,
                             struct sw_cuda_arrays *replaced)
{
    struct sw_cuda_table *table = queue->table;
    __atomic_store_n(&table->hints_age, 0, __ATOMIC_RELAXED);
    table->stream_failed = false; /* there may be memory from now on */
    return SW_BY_BITS(table->slot_bits, move_nothing, queue, arrays, replaced);
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
    SW_BY_BITS(table->slot_bits, use_arrays, table, arrays);
}

/* Reads what the device holds of the table besides its arrays, once it has done all that is on the
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

/* Returns to the old arrays. */
static cudaError_t take_back(struct sw_cuda_queue *queue, const struct sw_cuda_arrays *old,
                             const struct sw_state *state)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_arrays half_written = table->arrays;
    use(table, old);
    sw_cuda_arrays_close(&half_written, queue->stream);
    cudaError_t error =
        cudaMemcpyAsync(table->state, state, sizeof(*state), cudaMemcpyHostToDevice, queue->stream);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(table->control, 0, sizeof(*table->control), queue->stream);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(queue->stream) : error;
}

/* A resize leaves at most stash_slots entries in the stash, or as many as before. */
static uint64_t table_stash_max(const struct sw_cuda_table *table, const struct sw_state *before)
{
    uint64_t stash_max = table->arrays.geometry.stash_max;
    return before->stash_occupied > stash_max ? before->stash_occupied : stash_max;
}

int sw_cuda_resize(struct sw_cuda_queue *queue, uint64_t capacity, cudaError_t *error)
{
    struct sw_state before;
    struct sw_state after;
    struct sw_cuda_control control;
    struct sw_cuda_arrays arrays;
    struct sw_cuda_arrays old = {};
    *error = sw_cuda_wait_for_write(queue);
    if (*error == cudaSuccess) {
        *error = read_state(queue, &before, &control);
    }
    if (*error != cudaSuccess || !open_arrays_of(queue, capacity, &arrays)) {
        return SW_E_NOMEM;
    }
    *error = move_only(queue, &arrays, &old);
    if (*error == cudaSuccess) {
        *error = read_state(queue, &after, &control);
    }
    if (*error != cudaSuccess) {
        sw_cuda_arrays_close(&old, queue->stream); /* the table is lost */
        return SW_E_DEVICE;
    }
    uint64_t stash_max = table_stash_max(queue->table, &before);
    if (control.lost != 0 || after.stash_occupied > stash_max) {
        *error = take_back(queue, &old, &before);
        return SW_E_NOMEM;
    }
    sw_cuda_arrays_close(&old, queue->stream);
    return SW_OK;
}

/* The capacity the table should have before a batch that may insert `more` entries; 0: the one it
 * has, or there is none that it may grow to now. */
static uint64_t capacity_for(const struct sw_cuda_table *table, uint64_t more)
{
    uint64_t entries = __atomic_load_n(&table->entries, __ATOMIC_RELAXED) + more;
    uint64_t stash = __atomic_load_n(&table->stash, __ATOMIC_RELAXED);
    uint64_t capacity = capacity_of(table);
    const struct sw_geometry *geometry = &table->arrays.geometry;
    bool fits = entries <= geometry->occupied_max && stash <= geometry->stash_max;
    if (fits || more == 0 || !sw_cuda_can_resize(table) ||
        capacity >= sw_geometry_capacity_max(&table->config) ||
        (table->grow_after_ns != 0 && now_ns() < table->grow_after_ns)) {
        return 0;
    }
    return sw_geometry_grown(&table->config, capacity, entries);
}

bool sw_cuda_must_grow(const struct sw_cuda_table *table, uint64_t more)
{
    return capacity_for(table, more) != 0;
}

/* Under `growth`: gives `order` up while it allocates arrays of this capacity, which are zero if
 * there is no memory for them. */
static cudaError_t allocate_aside(struct sw_cuda_queue *queue, uint64_t capacity,
                                  struct sw_cuda_arrays *arrays)
{
    struct sw_cuda_table *table = queue->table;
    cudaError_t error = sw_cuda_wait_for_write(queue);
    memset(arrays, 0, sizeof(*arrays));
    if (error != cudaSuccess) {
        return error;
    }
    pthread_mutex_unlock(&table->order);
    (void)open_arrays_of(queue, capacity, arrays);
    pthread_mutex_lock(&table->order);
    if (!sw_cuda_is_lost(table)) {
        error = sw_cuda_wait_for_write(queue); /* there may have been others */
    } else {
        error = cudaErrorUnknown; /* what it was has been told */
    }
    if (error != cudaSuccess) {
        sw_cuda_arrays_close(arrays, queue->stream);
    }
    return error;
}

/* Under `growth`. */
static cudaError_t grow(struct sw_cuda_queue *queue, uint64_t more, uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_arrays arrays;
    uint64_t capacity = capacity_for(table, more);
    while (capacity != 0) {
        cudaError_t error = allocate_aside(queue, capacity, &arrays);
        if (error != cudaSuccess) {
            return error;
        }
        bool allocated = arrays.memory != NULL;
        uint64_t wanted = capacity_for(table, more);
        if (allocated && wanted != 0 && wanted <= capacity) {
            break;
        }
        sw_cuda_arrays_close(&arrays, queue->stream);
        if (!allocated && wanted != 0) {
            table->resize_failed++;
            table->grow_after_ns = now_ns() + RETRY_NS;
            return cudaSuccess;
        }
        capacity = wanted;
    }
    if (capacity == 0) {
        return cudaSuccess;
    }
    table->grown++;
    table->grow_after_ns = 0;
    queue->trim_ticket = ticket;
    cudaError_t error = move_only(queue, &arrays, NULL);
    if (error != cudaSuccess) {
        return error;
    }
    return SW_BY_BITS(table->slot_bits, launch_reset, queue);
}

cudaError_t sw_cuda_grow_for(struct sw_cuda_queue *queue, uint64_t more, uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    pthread_mutex_unlock(&table->order); /* `growth` is taken first */
    pthread_mutex_lock(&table->growth);
    pthread_mutex_lock(&table->order);
    cudaError_t error = sw_cuda_is_lost(table) ? cudaErrorUnknown : grow(queue, more, ticket);
    pthread_mutex_unlock(&table->growth);
    return error;
}

/* Merges a batch of upserts into the table as it lies. */
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

/* Deletes entries of the table as it lies. False if there is no memory for a copy of the stash. */
template <int BITS>
static bool delete_in_place(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                            cudaError_t *error)
{
    typedef typename sw_width<BITS>::slot slot;
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    const size_t bytes = device->table.stash.buckets_total * SW_BUCKET_SLOTS * sizeof(slot);
    void *aside = NULL;
    if (bytes != 0 && cudaMallocFromPoolAsync(&aside, bytes, queue->table->pool.memory,
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

/* Carries a batch out on the way to other arrays. False if there is no memory for them. */
template <int BITS>
static bool stream_and_move(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                            cudaError_t *error)
{
    struct sw_cuda_table *table = queue->table;
    const struct sw_geometry geometry = table->arrays.geometry;
    struct sw_cuda_arrays arrays;
    table->stream_failed = !open_arrays(queue, &geometry, &arrays);
    if (!table->stream_failed) {
        *error = move<BITS>(queue, &arrays, batch, NULL);
    }
    return !table->stream_failed;
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
    /* only a merge in place is done again one by one where it meets the cap */
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
SW_WIDTHS(INSTANTIATE)
