/* SPDX-License-Identifier: MIT
 *
 * choose_write_path.cu - chooses the write path of a batch: by ranges, by merge, by a rebuild
 * without the deleted entries, or general. table/robin_hood/README.md, "The CUDA backend", lists
 * the paths. All paths leave the same entries in the same buckets.
 */
#include "table/robin_hood/cuda/displacement/displace.cuh"
#include "table/robin_hood/cuda/host.cuh"

/* Costs of the write paths, in nanoseconds on an H200. A merge reads the whole table twice and
 * writes it once. A merge into an empty table only writes: 1.8 to 2.0 ms for 2^27 slots of 64 bits
 * and 2^20 keys. An upsert of an absent key at load f moves about 1 / (1 - f)^2 other entries. In a
 * table of 2^26 slots, batches of 2^16 and 2^18 new keys took 115 and 262 us at f 0.85, and 192 and
 * 464 us at 0.93. The copy from host memory took 0.16 ns per key. 2^18 updates took 32 us. */
#define MERGE_SLOT_NS 0.013
#define BUILD_SLOT_NS 0.009
#define MERGE_OP_NS 0.05
#define UPSERT_OP_NS 0.12
#define UPSERT_NEW_NS 0.30
#define UPSERT_MOVE_NS 0.004
/* A removal moves other entries back. */
#define DELETE_OP_NS 0.25
#define DELETE_MOVE_NS 0.012

/* Rebuild the hints after about slots / HINTS_PART inserts. */
#define HINTS_PART 32
/* The hints are rebuilt only from this load on, unless tuning.hints requires it. */
#define HINTS_LOAD 0.8

/* Returns whether the table's entries are sure to stay within the limit during the batch. The stash
 * may still be a reason to refuse some groups. Then the batch is applied again from its arrays,
 * which must belong to the table (`gathered`). */
static bool is_certain(const struct sw_cuda_table *table, const struct sw_batch *batch,
                       bool gathered, uint64_t before, uint32_t upserts)
{
    const struct sw_geometry *geometry = &table->arrays.geometry;
    if (batch->ops != NULL &&
        __atomic_load_n(&table->stash, __ATOMIC_RELAXED) > geometry->stash_max) {
        return false; /* one thread would apply the batch */
    }
    return upserts == 0 ||
           ((batch->group_count <= 1 || gathered) && before + upserts <= geometry->occupied_max);
}

/* Returns whether a rebuild can merge the batch. */
static bool is_mergeable(const struct sw_batch *batch)
{
    const bool op =
        batch->op == SW_SET || batch->op == SW_SUM || batch->op == SW_MIN || batch->op == SW_MAX;
    return op && batch->ops == NULL && batch->previous == NULL;
}

/* Returns whether to rebuild the table without the deleted entries. */
static bool is_large_delete(const struct sw_cuda_table *table, const struct sw_batch *batch,
                            uint64_t entries)
{
    double slots = (double)(table->arrays.geometry.buckets * SW_BUCKET_SLOTS);
    double room = 1.0 - (double)entries / slots;
    room = room < 0.0001 ? 0.0001 : room;
    double in_place = (double)batch->count * (DELETE_OP_NS + DELETE_MOVE_NS / (room * room));
    if (batch->ops != NULL || batch->op != SW_DELETE) {
        return false;
    }
    return table->config.tuning.bulk == SW_CHOICE_ALWAYS ||
           (table->config.tuning.bulk == SW_CHOICE_AUTO && batch->count >= SW_CUDA_LARGE_MIN &&
            in_place > slots * MERGE_SLOT_NS);
}

/* Estimates how many of the upserts insert, from the share in recent batches. */
static double fresh_of(const struct sw_cuda_table *table, double upserts)
{
    return upserts * (double)__atomic_load_n(&table->new_keys, __ATOMIC_RELAXED) /
           SW_CUDA_NEW_KEYS_ALL;
}

/* Returns whether to stream the whole table. `entries` is the number before the batch. The host
 * does not know how many keys are new: it assumes the share of recent batches. */
static bool is_large(const struct sw_cuda_table *table, const struct sw_batch *batch,
                     uint64_t entries)
{
    double slots = (double)(table->arrays.geometry.buckets * SW_BUCKET_SLOTS);
    double count = (double)batch->count;
    double fresh = entries == 0 ? count : fresh_of(table, count);
    double room = 1.0 - ((double)entries + fresh) / slots;
    room = room < 0.01 ? 0.01 : room; /* the batch may have fewer keys than operations */
    double merge = slots * (entries == 0 ? BUILD_SLOT_NS : MERGE_SLOT_NS) + count * MERGE_OP_NS;
    double upsert = count * UPSERT_OP_NS + fresh * (UPSERT_NEW_NS + UPSERT_MOVE_NS / (room * room));
    switch (table->config.tuning.bulk) {
    case SW_CHOICE_ALWAYS:
        return true;
    case SW_CHOICE_NEVER:
        return false;
    default:
        return batch->count >= SW_CUDA_LARGE_MIN && merge < upsert;
    }
}

/* Reads table->arrays without `order`: only the leader replaces the arrays, and only the leader
 * calls this function. */
uint32_t sw_cuda_combined_ops(void *context, enum sw_op op)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    const uint32_t most = table->combined.operations_max;
    const uint64_t entries = __atomic_load_n(&table->entries, __ATOMIC_RELAXED);
    struct sw_batch batch = {};
    batch.op = op;
    batch.count = most;
    const bool has_room = entries + most <= table->arrays.geometry.occupied_max;
    const bool streams = is_large_delete(table, &batch, entries) ||
                         (has_room && is_mergeable(&batch) && is_large(table, &batch, entries));
    return streams ? most : sw_cuda_combined_usual(table);
}

/* Up to this load removals do not clear hints. Hints are not used before the load is higher, and
 * clearing them would take up to a third of a removal. */
#define HINTS_TOLD_LOAD 0.85

/* Before a batch: marks the hints stale, or rebuilds stale hints if they will be used again.
 * Between the two loads at least a hundredth of the slots must be filled. */
template <int BITS> static cudaError_t choose_hints(struct sw_cuda_queue *queue, bool deletes)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_arrays *arrays = &table->arrays;
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    cudaError_t error = cudaSuccess;
    if (!table->has_hints) {
        return cudaSuccess;
    }
    if (arrays->hints_stale && sw_cuda_hints_pay(table)) {
        arrays->hints_stale = false;
        __atomic_store_n(&table->hints_age, 0, __ATOMIC_RELAXED);
        sw_cuda_arrays_use<BITS>(arrays, device);
        error = cudaMemsetAsync(arrays->hints, 0, sw_hint_count(arrays->geometry.buckets),
                                queue->stream);
        return error == cudaSuccess ? sw_cuda_launch_hints<BITS>(device, queue->stream) : error;
    }
    if (deletes && !arrays->hints_stale && table->config.tuning.hints != SW_CHOICE_ALWAYS &&
        sw_cuda_load(table) <= HINTS_TOLD_LOAD) {
        arrays->hints_stale = true;
        sw_cuda_arrays_use<BITS>(arrays, device);
    }
    return cudaSuccess;
}

/* Rebuilds the hints if inserts made them inexact, or are likely to. */
template <int BITS> static cudaError_t refresh_hints(struct sw_cuda_queue *queue, uint32_t upserts)
{
    struct sw_cuda_table *table = queue->table;
    uint64_t slots = table->arrays.geometry.buckets * SW_BUCKET_SLOTS;
    bool always = table->config.tuning.hints == SW_CHOICE_ALWAYS;
    const uint64_t age = __atomic_load_n(&table->hints_age, __ATOMIC_RELAXED) +
                         (uint64_t)fresh_of(table, (double)upserts);
    if (upserts == 0 || !table->has_hints || table->arrays.hints_stale ||
        age < slots / HINTS_PART || (!always && sw_cuda_load(table) < HINTS_LOAD)) {
        return cudaSuccess;
    }
    __atomic_store_n(&table->hints_age, 0, __ATOMIC_RELAXED);
    return sw_cuda_launch_hints<BITS>(sw_cuda_device_of<BITS>(table), queue->stream);
}

/* Merges the batch into the empty table, or with its entries. Returns false if that is not
 * possible. */
template <int BITS>
static bool merge(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                  bool into_empty, cudaError_t *error)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    if (!into_empty) {
        return sw_cuda_stream<BITS>(queue, batch, error);
    }
    *error =
        sw_cuda_launch_merge_sort<BITS>(device, batch, device->table.main.buckets, queue->stream);
    if (*error == cudaSuccess) {
        *error = sw_cuda_wait_for_reads(queue);
    }
    if (*error == cudaSuccess) {
        *error = sw_cuda_launch_merge<BITS>(device, batch, NULL, queue->stream);
    }
    return true;
}

/* Returns whether a batch that is certain to fit is cut into ranges. */
static bool is_ranged(const struct sw_cuda_table *table, const struct sw_batch *batch)
{
    return table->config.tuning.ranges != SW_CHOICE_NEVER && batch->count <= SW_CUDA_RANGED_MAX;
}

/* Carries out the removals and inserts that a batch by ranges listed. `device` may have no hints,
 * for look-ups and inserts. Removals use the table's own view, because they must clear the hints
 * that exist. */
template <int BITS>
static cudaError_t
move_listed(struct sw_cuda_queue *queue, const struct sw_cuda_device<BITS> *device,
            const struct sw_cuda_batch<BITS> *batch, uint32_t upserts, bool deletes)
{
    cudaError_t error = cudaSuccess;
    if (deletes) {
        error = sw_cuda_launch_removals<BITS>(sw_cuda_device_of<BITS>(queue->table), batch->count,
                                              queue->stream);
    }
    if (error == cudaSuccess && upserts > 0 &&
        (batch->ops != NULL || batch->op != SW_SET_PRESENT)) {
        error = sw_cuda_launch_inserts<BITS>(device, batch->count, queue->stream);
    }
    return error;
}

template <int BITS>
static cudaError_t by_ranges(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                             uint32_t upserts, bool deletes)
{
    struct sw_cuda_device<BITS> device = *sw_cuda_device_of<BITS>(queue->table);
    const cudaStream_t stream = queue->stream;
    if (!sw_cuda_hints_pay(queue->table)) {
        device.hints = NULL; /* look-ups without hints are faster */
    }
    cudaError_t error = sw_cuda_launch_scatter<BITS>(&device, batch, stream);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_ranges<BITS>(&device, batch, stream);
    }
    if (error == cudaSuccess) {
        error = move_listed<BITS>(queue, &device, batch, upserts, deletes);
    }
    return error;
}

template <int BITS>
static cudaError_t general(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                           bool deletes, bool has_room)
{
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    cudaError_t error = sw_cuda_launch_net_effects<BITS>(device, batch, queue->stream);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_apply<BITS>(device, batch, deletes, has_room, queue->stream);
    }
    return error;
}

/* Ends a batch whose answers are already in its arrays. A table with a stash has no leftovers, so
 * only the report remains. */
template <int BITS>
static cudaError_t finish(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                          bool may_refuse)
{
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    const bool leaves_over = queue->table->config.stash_slots == 0;
    struct sw_cuda_batch<BITS> rest = *batch;
    if (batch->gathered && !leaves_over) {
        return sw_cuda_launch_close<BITS>(device, batch, queue->stream);
    }
    cudaError_t error =
        may_refuse ? sw_cuda_launch_serial<BITS>(device, batch, queue->stream) : cudaSuccess;
    rest.found = NULL;
    rest.previous = NULL;
    rest.count = leaves_over ? batch->count : 0;
    return error == cudaSuccess ? sw_cuda_launch_finish<BITS>(device, &rest, queue->stream) : error;
}

template <int BITS>
cudaError_t sw_cuda_write(struct sw_cuda_queue *queue, struct sw_batch *batch,
                          const struct sw_cuda_batch<BITS> *typed, uint32_t upserts, bool deletes)
{
    struct sw_cuda_table *table = queue->table;
    enum sw_write_path path = SW_WRITE_PATH_STREAM;
    uint64_t before = __atomic_fetch_add(&table->entries, upserts, __ATOMIC_RELAXED);
    cudaError_t error = choose_hints<BITS>(queue, deletes);
    const bool is_sure = is_certain(table, batch, typed->gathered, before, upserts);
    /* the stash may be too full for some groups, or for a batch of several kinds. Only the host
     * knows that a batch has no upserts */
    const bool may_refuse = typed->ops != NULL || (upserts > 0 && typed->group_count > 1);
    bool answered = false; /* the last kernel has no answers to copy */
    uint32_t unhinted = upserts;
    batch->_upserts = upserts;
    if (error == cudaSuccess && is_large_delete(table, batch, before) &&
        sw_cuda_stream<BITS>(queue, typed, &error)) {
        /* the results are in the scratch */
    } else if (error == cudaSuccess && is_sure && is_mergeable(batch) &&
               is_large(table, batch, before) && merge<BITS>(queue, typed, before == 0, &error)) {
        /* the rebuild also wrote the hints, unless the stash was in use and prevented it */
        bool served = __atomic_load_n(&table->stash, __ATOMIC_RELAXED) == 0;
        __atomic_store_n(&table->hints_age,
                         served ? 0 : table->arrays.geometry.buckets * SW_BUCKET_SLOTS,
                         __ATOMIC_RELAXED);
        unhinted = 0;
        answered = true;
    } else if (error == cudaSuccess && is_sure && is_ranged(table, batch)) {
        path = SW_WRITE_PATH_RANGES;
        error = by_ranges<BITS>(queue, typed, upserts, deletes);
        answered = true;
    } else if (error == cudaSuccess) {
        const bool has_room = before + upserts <= table->arrays.geometry.occupied_max;
        path = SW_WRITE_PATH_GENERAL;
        error = general<BITS>(queue, typed, deletes, has_room);
    }
    batch->_write_path = 1 + (uint32_t)path;
    if (error == cudaSuccess) {
        error = refresh_hints<BITS>(queue, unhinted);
    }
    if (error != cudaSuccess) {
        return error;
    }
    return answered
               ? finish<BITS>(queue, typed, may_refuse)
               : sw_cuda_launch_finish<BITS>(sw_cuda_device_of<BITS>(table), typed, queue->stream);
}

#define INSTANTIATE(BITS, ...)                                                          \
    template cudaError_t sw_cuda_write<BITS>(struct sw_cuda_queue *, struct sw_batch *, \
                                             const struct sw_cuda_batch<BITS> *, uint32_t, bool);
SW_WIDTHS(INSTANTIATE)
