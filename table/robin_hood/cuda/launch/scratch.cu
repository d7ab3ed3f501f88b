/* SPDX-License-Identifier: MIT
 *
 * scratch.cu - the scratch of write launches: memory that all tables of a device share, one area
 * for each width of keys. A launch uses it while it has the turn (device/launcher.cuh). Between
 * launches ranged.lengths is zero, so the tables of a width place this array alike. Key sets use
 * the areas of pairs, and less of them.
 */
#include "table/device/cutter.cuh"
#include "table/device/zeroed.cuh"
#include "table/host/parts.h"
#include "table/robin_hood/cuda/host.cuh"

/* Sets the cutter behind what another cutter cut from the same place. */
static void pass(struct sw_cuda_cutter *cutter, const struct sw_cuda_cutter &other)
{
    cutter->used = other.used > cutter->used ? other.used : cutter->used;
}

/* The arrays of the general path, from its sort on, and what follows it. The sort has ended before
 * the groups are decided. Lists are written after that, and the long lists when the table is
 * updated. One thread uses `undo` and `leftovers` if all lists are empty; other threads use
 * `leftovers` beside the long list of inserts. */
template <int BITS>
static void cut_general(struct sw_cuda_cutter *cutter, struct sw_cuda_scratch<BITS> *scratch,
                        uint64_t n)
{
    struct sw_cuda_groups *groups = &scratch->groups;
    char *sort = NULL;
    sw_cuda_cut(cutter, &scratch->keys, n);
    struct sw_cuda_cutter serial = *cutter;
    sw_cuda_cut(&serial, &scratch->leftovers, n);
    sw_cuda_cut(cutter, &scratch->m_sorted, n);
    struct sw_cuda_cutter sorting = *cutter;
    sw_cuda_cut(&sorting, &scratch->index, n);
    sw_cuda_cut(&sorting, &sort, scratch->sort_bytes);
    scratch->sort = sort;
    sw_cuda_cut(cutter, &groups->claims, n);
    sw_cuda_cut(cutter, &groups->refused, n);
    pass(cutter, serial);
    sw_cuda_cut(&serial, &scratch->undo, n);
    struct sw_cuda_cutter deciding = *cutter;
    sw_cuda_cut(&deciding, &groups->ends, n);
    sw_cuda_cut(&deciding, &groups->inserts, n);
    sw_cuda_cut(&deciding, &groups->deletes, n);
    sw_cuda_cut(&deciding, &groups->peaks, n);
    groups->effects = (int8_t *)scratch->deletes;
    groups->most = (uint32_t)n;
    struct sw_cuda_cutter removing = *cutter, inserting = *cutter;
    sw_cuda_cut(&removing, &scratch->long_removals, n);
    sw_cuda_cut(&inserting, &scratch->long_inserts, n);
    sw_cuda_cut(cutter, &scratch->updates, n);
    pass(cutter, sorting);
    pass(cutter, serial);
    pass(cutter, deciding);
    pass(cutter, removing);
    pass(cutter, inserting);
}

/* The arrays of key slots. The operations are sorted when the key slots are no longer needed. */
template <int BITS>
static void cut_key_slots(struct sw_cuda_cutter *cutter, struct sw_cuda_scratch<BITS> *scratch,
                          uint64_t n)
{
    const uint64_t slices = sw_slices_of((uint32_t)n) + 1;
    struct sw_cuda_cutter sorting = *cutter;
    sw_cuda_cut(&sorting, &scratch->overfull, 2 * n);
    sw_cuda_cut(cutter, &scratch->key_slots.m, 2 * n + 1);
    sw_cuda_cut(cutter, &scratch->key_slots.value, 2 * n + 1);
    sw_cuda_cut(cutter, &scratch->key_slots.last, 2 * n + 1);
    sw_cuda_cut(cutter, &scratch->key_slots.first, 2 * n + 1);
    pass(cutter, sorting);
    sw_cuda_cut(cutter, &scratch->runs.changes, slices);
    sw_cuda_cut(cutter, &scratch->runs.begun, slices);
    sw_cuda_cut(cutter, &scratch->runs.entering, slices);
}

/* Returns the bytes of a scratch for n operations. Places the arrays. Three sets of arrays share
 * memory, because no kernel uses arrays of two sets: those of the general path and of what follows
 * the look-ups of any path (cut_general), key slots, and the operations moved to their ranges. The
 * key slots of overfull ranges are used after the ranges. */
template <int BITS>
static size_t cut_scratch(struct sw_cuda_scratch<BITS> *scratch, void *base, uint64_t n,
                          size_t sort_bytes)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    char *pieces = NULL;
    scratch->sort_bytes = sort_bytes;
    sw_cuda_cut(&cutter, &scratch->operands, n);
    sw_cuda_cut(&cutter, &scratch->ops, n);
    sw_cuda_cut(&cutter, &scratch->previous, n);
    sw_cuda_cut(&cutter, &scratch->found, (n + 63) / 64);
    sw_cuda_cut(&cutter, &scratch->m, n);
    sw_cuda_cut(&cutter, &scratch->index_sorted, n);
    sw_cuda_cut(&cutter, &scratch->deletes, n);
    scratch->inserts_end = (typename sw_width<BITS>::slot *)(scratch->deletes + n);
    sw_cuda_cut(&cutter, &scratch->ranged.lengths, SW_CUDA_RANGES_MAX);
    sw_cuda_cut(&cutter, &scratch->ranged.counts, SW_CUDA_OVERFULL_COUNTS);
    sw_cuda_cut(&cutter, &pieces, SW_CUDA_CUT_ALIGN);
    scratch->pieces = pieces;
    struct sw_cuda_cutter key_slots = cutter, ranged = cutter;
    cut_general<BITS>(&cutter, scratch, n);
    cut_key_slots<BITS>(&key_slots, scratch, n);
    sw_cuda_cut(&ranged, &scratch->ranged.moved, sw_cuda_range_slots((uint32_t)n));
    pass(&cutter, key_slots);
    pass(&cutter, ranged);
    return cutter.used;
}

/* Slots of the table per operation of a launch that streams it. On an H200, with 2^26 slots, frames
 * of 2^18 keys and loads from .85 to .95: 2^21 operations instead of 2^20 made deletes 1.4 times as
 * fast, and inserts 1.3 times. 2^22 operations made deletes another 1.15 times as fast, and inserts
 * no faster. */
#define SLOTS_PER_STREAMED 32

/* Returns the operations for which the write scratch has room: the larger of a batch and of a
 * launch that streams. */
uint32_t sw_cuda_scratch_ops(const struct sw_table_config *config,
                             const struct sw_geometry *geometry)
{
    const uint64_t slots = geometry->buckets * SW_BUCKET_SLOTS;
    uint64_t streamed = slots / SLOTS_PER_STREAMED;
    streamed = streamed < SW_COMBINED_STREAMED_MAX ? streamed : SW_COMBINED_STREAMED_MAX;
    if (config->value_bytes != 0) {
        return config->batch_ops_max; /* the arena reserves only the rows that one batch may need */
    }
    return config->batch_ops_max > streamed ? config->batch_ops_max : (uint32_t)streamed;
}

/* Returns the bytes that sorting needs for n operations. */
template <int BITS> static cudaError_t sort_bytes_of(uint32_t n, size_t *bytes)
{
    size_t merge_bytes = 0;
    cudaError_t error = sw_cuda_sort_bytes<BITS>(n, bytes);
    if (error == cudaSuccess) {
        error = sw_cuda_merge_sort_bytes<BITS>(n, &merge_bytes);
    }
    *bytes = merge_bytes > *bytes ? merge_bytes : *bytes;
    return error;
}

/* Returns the area of this width of keys among those of the launches alone, or of a lane. */
template <int BITS>
static struct sw_cuda_scratch_area *area_of(const struct sw_cuda_table *table,
                                            struct sw_cuda_lane *lane)
{
    return &(lane != NULL ? lane->areas : table->launcher->areas)[BITS < 128 ? 0 : 1];
}

/* Replaces the memory of the area. Under its turn, when no launch uses it. */
template <int FORMAT>
static cudaError_t enlarge(struct sw_cuda_table *table, struct sw_cuda_scratch_area *area,
                           uint32_t n)
{
    constexpr int BITS = FORMAT & ~(int)SW_FORMAT_SET; /* the arrays of pairs take more */
    struct sw_cuda_scratch<BITS> scratch;
    size_t sort_bytes = 0;
    void *memory = NULL;
    cudaError_t error = sort_bytes_of<BITS>(n, &sort_bytes);
    const size_t bytes = cut_scratch<BITS>(&scratch, NULL, n, sort_bytes);
    if (area == area_of<BITS>(table, NULL)) {
        table->scratch_need = bytes;
    }
    if (error == cudaSuccess) {
        error = sw_cuda_allocate_zeroed(&memory, bytes);
    }
    if (error != cudaSuccess) {
        return error;
    }
    (void)cudaFree(area->memory);
    area->memory = memory;
    area->operations = n;
    area->sort_bytes = sort_bytes;
    area->version = 1 + __atomic_fetch_add(&table->launcher->versions, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&area->bytes, bytes, __ATOMIC_RELAXED);
    return cudaSuccess;
}

template <int BITS> cudaError_t sw_cuda_reserve_scratch(struct sw_cuda_table *table, uint32_t n)
{
    struct sw_cuda_scratch_area *area = area_of<BITS>(table, NULL);
    cudaError_t error = sw_cuda_turn_take(table->launcher);
    if (error == cudaSuccess && area->operations < n) {
        error = enlarge<BITS>(table, area, n);
    }
    sw_cuda_turn_return(table->launcher);
    return error;
}

/* Makes the lane's area fit a launch on it. Waits for the lane if the area must be replaced: its
 * size doubles, so that happens a few times. */
template <int BITS>
static cudaError_t reserve_in_lane(struct sw_cuda_table *table, struct sw_cuda_lane *lane,
                                   uint32_t operations)
{
    struct sw_cuda_scratch_area *area = area_of<BITS>(table, lane);
    uint32_t room = SW_CUDA_LANE_LEAST;
    while (room < operations) {
        room *= 2;
    }
    if (area->operations >= room) {
        return cudaSuccess;
    }
    if (sw_now_ns() < lane->short_until_ns) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t error = cudaEventSynchronize(lane->done);
    if (error == cudaSuccess) {
        error = enlarge<BITS>(table, area, room);
        lane->short_until_ns = error == cudaSuccess ? 0 : sw_now_ns() + SW_CUDA_RETRY_NS;
    }
    return error;
}

template <int BITS> static void use_area(struct sw_cuda_table *table, struct sw_cuda_lane *lane)
{
    const struct sw_cuda_scratch_area *area = area_of<BITS>(table, lane);
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    device->cooperative_max =
        lane != NULL ? device->multiprocessors / SW_CUDA_LANES_MAX : UINT32_MAX;
    if (table->scratch_version != area->version) {
        table->scratch_version = area->version;
        (void)cut_scratch<BITS>(&device->scratch, area->memory, area->operations, area->sort_bytes);
        if (table->config.stash_slots != 0) {
            device->scratch.leftovers = NULL;
        }
    }
}

template <int BITS> void sw_cuda_use_scratch(struct sw_cuda_table *table)
{
    use_area<BITS>(table, NULL);
}

/* If there is no memory for the scratch of a lane, the launch runs alone. */
template <int BITS>
static cudaError_t begin_launch(struct sw_cuda_queue *queue, uint32_t operations)
{
    struct sw_cuda_table *table = queue->table;
    cudaError_t error = sw_cuda_turn_begin(queue, operations);
    if (error == cudaSuccess && queue->lane != NULL &&
        reserve_in_lane<BITS>(table, queue->lane, operations) != cudaSuccess) {
        (void)cudaGetLastError(); /* clears the error, so that the launch does not report it */
        error = sw_cuda_turn_end(queue, cudaSuccess);
        const cudaError_t begun = sw_cuda_turn_begin(queue, UINT32_MAX);
        error = error == cudaSuccess ? begun : error;
    }
    use_area<BITS>(table, queue->lane);
    return error;
}

cudaError_t sw_cuda_begin_launch(struct sw_cuda_queue *queue, uint32_t operations)
{
    const bool is_alone = sw_cuda_has_rows(queue->table); /* row_repeats.cu needs all its blocks */
    return SW_BY_FORMAT_NUMBER(queue->table->format, begin_launch, queue,
                               is_alone ? UINT32_MAX : operations);
}

#define INSTANTIATE(BITS, ...)                                                            \
    template cudaError_t sw_cuda_reserve_scratch<BITS>(struct sw_cuda_table *, uint32_t); \
    template void sw_cuda_use_scratch<BITS>(struct sw_cuda_table *);
SW_FORMATS(INSTANTIATE)
