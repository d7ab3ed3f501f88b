/* SPDX-License-Identifier: MIT
 *
 * choose_write_path.cu - chooses the write path of a batch: by ranges, by merge, by a rebuild
 * without the deleted entries, or general. table/robin_hood/README.md, "The CUDA backend", lists
 * the paths. All paths leave the same entries in the same buckets.
 */
#include "table/robin_hood/cuda/displacement/displace.cuh"
#include "table/robin_hood/cuda/host.cuh"
#include "table/robin_hood/cuda/rebuild/rebuild.cuh"
#include "table/robin_hood/write_choice.h"

/* Rebuild the hints after about slots / HINTS_PART inserts. */
#define HINTS_PART 32
/* The hints are rebuilt only from this load on, unless tuning.hints requires it. */
#define HINTS_LOAD 0.8

/* The base and its alternatives: the costs of struct sw_write_costs, in percent.
 *
 * %RANGE% SW_WRITE_PASS pas {50,71,100,141,200}
 * %RANGE% SW_WRITE_MOVES mov {50,100,200}
 */
#ifndef SW_WRITE_PASS
#define SW_WRITE_PASS 100
#endif
#ifndef SW_WRITE_MOVES
#define SW_WRITE_MOVES 100
#endif
template <int ARCH, int BITS> struct sw_policy_write_choice {
    static constexpr int pass_percent = SW_WRITE_PASS;
    static constexpr int moves_percent = SW_WRITE_MOVES;
};
#define SW_POLICY_CHOOSE_WRITE_PATH
#include "table/robin_hood/cuda/policy.cuh"
#undef SW_POLICY_CHOOSE_WRITE_PATH

template <class POLICY> static struct sw_write_costs costs_by()
{
    struct sw_write_costs costs = {};
    costs.pass = POLICY::pass_percent / 100.0;
    costs.moves = POLICY::moves_percent / 100.0;
    return costs;
}

template <int BITS> static struct sw_write_costs costs_of(struct sw_cuda_table *table)
{
    constexpr int PAIRS = BITS & ~(int)SW_FORMAT_SET; /* a key set has the costs of pairs */
    switch (SW_POLICY_ARCH(sw_cuda_device_of<BITS>(table))) {
    case 90:
        return costs_by<sw_policy_write_choice<90, PAIRS>>();
    default:
        return costs_by<sw_policy_write_choice<0, PAIRS>>();
    }
}

/* Returns what the choice depends on. `entries` is the number before the batch. */
static struct sw_write_facts facts_of(struct sw_cuda_table *table, uint64_t entries)
{
    const struct sw_geometry *geometry = &table->arrays.geometry;
    struct sw_write_facts facts = {};
    facts.tuning = &table->config.tuning;
    facts.costs = SW_BY_FORMAT_NUMBER(table->format, costs_of, table);
    facts.slots = geometry->buckets * SW_BUCKET_SLOTS;
    facts.entries = entries;
    facts.occupied_max = geometry->occupied_max;
    facts.stash = __atomic_load_n(&table->stash, __ATOMIC_RELAXED);
    facts.stash_max = geometry->stash_max;
    facts.piece_ops = SW_CUDA_RANGED_MAX;
    facts.clears_hints = table->has_hints && !table->arrays.hints_stale;
    facts.has_stash = table->config.stash_slots != 0;
    facts.is_set = sw_cuda_is_set(table);
    facts.new_share =
        (double)__atomic_load_n(&table->new_keys, __ATOMIC_RELAXED) / SW_CUDA_NEW_KEYS_ALL;
    return facts;
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
    const struct sw_write_facts facts = facts_of(table, entries);
    const bool has_room = entries + most <= facts.occupied_max;
    const bool streams =
        sw_write_streams_delete(&facts, &batch) || (has_room && sw_write_merges(&facts, &batch));
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
                         upserts * (uint64_t)__atomic_load_n(&table->new_keys, __ATOMIC_RELAXED) /
                             SW_CUDA_NEW_KEYS_ALL;
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

/* A batch that leaves holes lists removals only if the stash has entries. Its kernels for removals
 * have blocks for this number of them. */
#define REMOVALS_WITH_HOLES 32768U

/* Carries out the removals and inserts that a batch by ranges listed. `device` may have no hints,
 * for look-ups and inserts. Removals use the table's own view, because they must clear the hints
 * that exist. */
template <int BITS>
static cudaError_t
move_listed(struct sw_cuda_queue *queue, const struct sw_cuda_device<BITS> *device,
            const struct sw_cuda_batch<BITS> *batch, uint32_t upserts, bool deletes)
{
    cudaError_t error = cudaSuccess;
    if (batch->leaves_holes) {
        error = sw_cuda_launch_holes<BITS>(device, batch->count, queue->stream);
    }
    if (error == cudaSuccess && deletes) {
        const uint32_t most = batch->leaves_holes && batch->count > REMOVALS_WITH_HOLES
                                  ? REMOVALS_WITH_HOLES
                                  : batch->count;
        error = sw_cuda_launch_removals<BITS>(sw_cuda_device_of<BITS>(queue->table), most,
                                              queue->stream);
    }
    if (error == cudaSuccess && upserts > 0 &&
        (batch->ops != NULL || batch->op != SW_SET_PRESENT)) {
        error = sw_cuda_launch_inserts<BITS>(device, batch->count, queue->stream);
    }
    return error;
}

/* Carries out a batch of at most SW_CUDA_RANGED_MAX operations, or such a piece of a batch. `begun`
 * is the state of the table when the batch began, if this is a piece. Only the first piece has to
 * wait for reads. */
template <int BITS>
static cudaError_t piece_by_ranges(struct sw_cuda_queue *queue,
                                   const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_batch<BITS> *piece, struct sw_state *begun,
                                   bool is_first, uint32_t upserts, bool deletes)
{
    struct sw_cuda_device<BITS> as_begun = *device;
    if (begun != NULL) {
        as_begun.table.state = begun;
    }
    cudaError_t error = sw_cuda_launch_scatter<BITS>(&as_begun, piece, queue->stream);
    if (error == cudaSuccess && is_first) {
        error = sw_cuda_wait_for_reads(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_ranges<BITS>(device, piece, queue->stream);
    }
    return error == cudaSuccess && !piece->ends
               ? move_listed<BITS>(queue, device, piece, upserts, deletes)
               : error;
}

/* Returns the operations [first, first + count) of a batch as a piece of it. `first` is a multiple
 * of 64. */
template <int BITS>
static struct sw_cuda_batch<BITS> piece_of(const struct sw_cuda_batch<BITS> *batch, uint32_t first,
                                           uint32_t count) {
    struct sw_cuda_batch<BITS> piece = *batch;
    piece.count = count;
    piece.ops = batch->ops != NULL ? batch->ops + first : NULL;
    piece.keys = batch->keys + first;
    piece.values = batch->values != NULL ? batch->values + first : NULL;
    piece.previous = batch->previous != NULL ? batch->previous + first : NULL;
    piece.found = batch->found != NULL ? batch->found + first / 32 : NULL;
    piece.skips = batch->skips != NULL ? batch->skips + first / 32 : NULL;
    return piece;
}

/* Carries out a batch of more than SW_CUDA_RANGED_MAX operations (writes/pieces.cu). */
template <int BITS>
static cudaError_t by_pieces(struct sw_cuda_queue *queue, const struct sw_cuda_device<BITS> *device,
                             const struct sw_cuda_batch<BITS> *batch, uint32_t upserts,
                             bool deletes)
{
    struct sw_state *begun = NULL;
    cudaError_t error = sw_cuda_launch_first_piece<BITS>(device, batch, &begun, queue->stream);
    for (uint32_t first = 0; first < batch->count && error == cudaSuccess;
         first += SW_CUDA_RANGED_MAX) {
        const uint32_t left = batch->count - first;
        const struct sw_cuda_batch<BITS> piece =
            piece_of<BITS>(batch, first, left < SW_CUDA_RANGED_MAX ? left : SW_CUDA_RANGED_MAX);
        if (first != 0) {
            error = sw_cuda_launch_next_piece<BITS>(device, queue->stream);
        }
        if (error == cudaSuccess) {
            error =
                piece_by_ranges<BITS>(queue, device, &piece, begun, first == 0, upserts, deletes);
        }
    }
    return error == cudaSuccess ? sw_cuda_launch_last_piece<BITS>(device, queue->stream) : error;
}

template <int BITS>
static cudaError_t by_ranges(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                             uint32_t upserts, bool deletes)
{
    struct sw_cuda_device<BITS> device = *sw_cuda_device_of<BITS>(queue->table);
    if (!sw_cuda_hints_pay(queue->table)) {
        device.hints = NULL; /* look-ups without hints are faster */
    }
    return batch->count > SW_CUDA_RANGED_MAX
               ? by_pieces<BITS>(queue, &device, batch, upserts, deletes)
               : piece_by_ranges<BITS>(queue, &device, batch, NULL, true, upserts, deletes);
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

/* Returns whether the table may have holes: they can be closed in place, and only look-ups read the
 * slots. */
static bool can_have_holes(const struct sw_cuda_table *table)
{
    const struct sw_geometry *geometry = &table->arrays.geometry;
    return !table->forbids_holes && table->expiry == NULL && !sw_cuda_has_rows(table) &&
           sw_cuda_can_resize(table) &&
           sw_cuda_fits_in_place(geometry->buckets, geometry->max_probe);
}

/* Decides whether the batch leaves holes. Closes the holes that the table has, if the batch needs
 * the canonical layout or if too many slots would be holes. */
static cudaError_t choose_holes(struct sw_cuda_queue *queue, const struct sw_batch *batch,
                                uint64_t entries, bool *leaves_holes)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_write_facts facts = facts_of(table, entries);
    facts.can_have_holes = can_have_holes(table);
    facts.holes = table->holes;
    *leaves_holes = sw_write_leaves_holes(&facts, batch);
    const cudaError_t error = !*leaves_holes || sw_write_fills_up(&facts, batch)
                                  ? sw_cuda_close_holes(queue)
                                  : cudaSuccess;
    sw_hole_facts_note(&table->holes, &facts, batch, *leaves_holes);
    return error;
}

/* Returns a batch as its kernels by ranges get it. */
template <int BITS>
static struct sw_cuda_batch<BITS>
ranged_batch(const struct sw_write_facts *facts, const struct sw_batch *batch,
             const struct sw_cuda_batch<BITS> *typed, bool leaves_holes, bool may_end) {
    struct sw_cuda_batch<BITS> ranged = *typed;
    ranged.direct = leaves_holes || sw_write_is_direct(facts, batch);
    ranged.leaves_holes = leaves_holes;
    ranged.ends = may_end && sw_write_ends_by_ranges(facts, batch);
    return ranged;
}

template <int BITS>
cudaError_t sw_cuda_write(struct sw_cuda_queue *queue, struct sw_batch *batch,
                          const struct sw_cuda_batch<BITS> *typed, uint32_t upserts, bool deletes)
{
    struct sw_cuda_table *table = queue->table;
    enum sw_write_path path = SW_WRITE_PATH_STREAM;
    uint64_t before = __atomic_fetch_add(&table->entries, upserts, __ATOMIC_RELAXED);
    bool leaves_holes = false;
    cudaError_t error = choose_holes(queue, batch, before, &leaves_holes);
    if (error == cudaSuccess) { /* a hole leaves the hints valid */
        error = choose_hints<BITS>(queue, deletes && !leaves_holes);
    }
    sw_cuda_device_of<BITS>(table)->table.main.no_jumps = table->holes.most != 0 ? UINT64_MAX : 0;
    const struct sw_write_facts facts = facts_of(table, before);
    const bool is_sure = sw_write_is_certain(&facts, batch, typed->gathered, upserts);
    /* the stash may be too full for some groups, or for a batch of several kinds. Only the host
     * knows that a batch has no upserts */
    const bool may_refuse = typed->ops != NULL || (upserts > 0 && typed->group_count > 1);
    bool answered = false; /* the last kernel has no answers to copy */
    bool ended = false;    /* and no record to complete */
    uint32_t unhinted = upserts;
    batch->_upserts = upserts;
    if (error == cudaSuccess && !leaves_holes && sw_write_streams_delete(&facts, batch) &&
        sw_cuda_stream<BITS>(queue, typed, &error)) {
        /* the results are in the scratch */
    } else if (error == cudaSuccess && is_sure && sw_write_merges(&facts, batch) &&
               merge<BITS>(queue, typed, before == 0, &error)) {
        /* the rebuild also wrote the hints, unless the stash was in use and prevented it */
        bool served = __atomic_load_n(&table->stash, __ATOMIC_RELAXED) == 0;
        __atomic_store_n(&table->hints_age,
                         served ? 0 : table->arrays.geometry.buckets * SW_BUCKET_SLOTS,
                         __ATOMIC_RELAXED);
        unhinted = 0;
        answered = true;
    } else if (error == cudaSuccess && is_sure && sw_write_is_ranged(&facts, batch)) {
        path = SW_WRITE_PATH_RANGES;
        const struct sw_cuda_batch<BITS> ranged =
            ranged_batch<BITS>(&facts, batch, typed, leaves_holes, !deletes && !may_refuse);
        error = by_ranges<BITS>(queue, &ranged, upserts, deletes);
        answered = true;
        ended = ranged.ends;
    } else if (error == cudaSuccess) {
        const bool has_room = before + upserts <= table->arrays.geometry.occupied_max;
        path = SW_WRITE_PATH_GENERAL;
        error = general<BITS>(queue, typed, deletes, has_room);
    }
    batch->_write_path = 1 + (uint32_t)path;
    if (error == cudaSuccess) {
        error = refresh_hints<BITS>(queue, unhinted);
    }
    if (error != cudaSuccess || ended) {
        return error;
    }
    return answered
               ? finish<BITS>(queue, typed, may_refuse)
               : sw_cuda_launch_finish<BITS>(sw_cuda_device_of<BITS>(table), typed, queue->stream);
}

#define INSTANTIATE(BITS, ...)                                                          \
    template cudaError_t sw_cuda_write<BITS>(struct sw_cuda_queue *, struct sw_batch *, \
                                             const struct sw_cuda_batch<BITS> *, uint32_t, bool);
SW_FORMATS(INSTANTIATE)
