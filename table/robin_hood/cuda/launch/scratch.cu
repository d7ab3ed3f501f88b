/* SPDX-License-Identifier: MIT
 *
 * scratch.cu - the scratch of write launches: memory that all tables of a device share, one area
 * for each width of slots. A launch uses it while it has the turn (device/launcher.cuh). Between
 * launches some arrays have known contents (sw_cuda_scratch), so the tables of a width place the
 * arrays alike.
 */
#include "table/device/cutter.cuh"
#include "table/robin_hood/cuda/host.cuh"

/* Places the arrays that share the memory of the lists of n net effects. */
template <int BITS> static void share_scratch(struct sw_cuda_scratch<BITS> *scratch, uint64_t n)
{
    struct sw_cuda_groups *groups = &scratch->groups;
    static_assert(sizeof(*scratch->long_removals) >= 4 * sizeof(uint32_t) &&
                      sizeof(*scratch->long_inserts) >= 2 * sizeof(uint32_t) &&
                      sizeof(*scratch->updates) >= sizeof(int8_t),
                  "they have room");
    groups->most = (uint32_t)n;
    groups->claims = (uint32_t *)scratch->long_removals;
    groups->refused = groups->claims + n;
    groups->ends = groups->refused + n;
    groups->inserts = groups->ends + n;
    groups->deletes = (uint32_t *)scratch->long_inserts;
    groups->peaks = (int32_t *)(groups->deletes + n);
    groups->effects = (int8_t *)scratch->updates;
    static_assert(sizeof(*scratch->undo) <=
                      sizeof(*scratch->long_removals) + sizeof(*scratch->long_inserts),
                  "both lists, which follow each other");
    scratch->undo = (typename sw_width<BITS>::undo *)scratch->long_removals;
}

/* Returns the bytes of a scratch for n operations. */
template <int BITS>
static size_t cut_scratch(struct sw_cuda_scratch<BITS> *scratch, void *base, uint64_t n,
                          bool leftovers, size_t sort_bytes)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    char *sort = NULL;
    sw_cuda_cut(&cutter, &scratch->keys, n);
    sw_cuda_cut(&cutter, &scratch->operands, n);
    sw_cuda_cut(&cutter, &scratch->ops, n);
    sw_cuda_cut(&cutter, &scratch->previous, n);
    sw_cuda_cut(&cutter, &scratch->found, (n + 63) / 64);
    sw_cuda_cut(&cutter, &scratch->m, n);
    sw_cuda_cut(&cutter, &scratch->index, n);
    sw_cuda_cut(&cutter, &scratch->m_sorted, n);
    sw_cuda_cut(&cutter, &scratch->index_sorted, n);
    sw_cuda_cut(&cutter, &scratch->updates, n);
    sw_cuda_cut(&cutter, &scratch->deletes, n);
    sw_cuda_cut(&cutter, &scratch->inserts, n);
    sw_cuda_cut(&cutter, &scratch->long_removals, n);
    sw_cuda_cut(&cutter, &scratch->long_inserts, n);
    sw_cuda_cut(&cutter, &scratch->key_slots.m, 2 * n + 1);
    sw_cuda_cut(&cutter, &scratch->key_slots.value, 2 * n + 1);
    sw_cuda_cut(&cutter, &scratch->key_slots.last, 2 * n + 1);
    sw_cuda_cut(&cutter, &scratch->key_slots.first, 2 * n + 1);
    sw_cuda_cut(&cutter, &scratch->ranged.moved, sw_cuda_range_slots((uint32_t)n));
    sw_cuda_cut(&cutter, &scratch->ranged.lengths, SW_CUDA_RANGES_MAX);
    sw_cuda_cut(&cutter, &scratch->ranged.counts, SW_CUDA_OVERFULL_COUNTS);
    sw_cuda_cut(&cutter, &sort, sort_bytes);
    scratch->sort = sort;
    scratch->sort_bytes = sort_bytes;
    scratch->leftovers = NULL;
    if (leftovers) {
        sw_cuda_cut(&cutter, &scratch->leftovers, n);
    }
    share_scratch<BITS>(scratch, n);
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

template <int BITS> static struct sw_cuda_scratch_area *area_of(const struct sw_cuda_table *table)
{
    return &table->launcher->areas[BITS == 64 ? 0 : 1];
}

/* Sets the arrays as every launch finds them and leaves them. Waits. */
template <int BITS>
static cudaError_t clear_scratch(const struct sw_cuda_scratch<BITS> *scratch, void *memory,
                                 size_t bytes, uint32_t n)
{
    cudaError_t error = cudaMemsetAsync(memory, 0, bytes, cudaStreamPerThread);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(scratch->key_slots.m, 0xFF,
                                (2 * (size_t)n + 1) * sizeof(*scratch->key_slots.m),
                                cudaStreamPerThread);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : error;
}

/* Replaces the memory of the area. Under the turn, when no launch runs. */
template <int BITS>
static cudaError_t enlarge(struct sw_cuda_table *table, uint32_t n, bool leftovers)
{
    struct sw_cuda_scratch_area *area = area_of<BITS>(table);
    struct sw_cuda_scratch<BITS> scratch;
    size_t sort_bytes = 0;
    void *memory = NULL;
    cudaError_t error = sort_bytes_of<BITS>(n, &sort_bytes);
    const size_t bytes = cut_scratch<BITS>(&scratch, NULL, n, leftovers, sort_bytes);
    table->scratch_need = bytes;
    if (error == cudaSuccess) {
        error = cudaMalloc(&memory, bytes);
    }
    if (error == cudaSuccess) {
        cut_scratch<BITS>(&scratch, memory, n, leftovers, sort_bytes);
        error = clear_scratch<BITS>(&scratch, memory, bytes, n);
    }
    if (error != cudaSuccess) {
        (void)cudaFree(memory);
        return error;
    }
    (void)cudaFree(area->memory);
    area->memory = memory;
    area->operations = n;
    area->sort_bytes = sort_bytes;
    area->has_leftovers = leftovers;
    area->version++;
    __atomic_store_n(&area->bytes, bytes, __ATOMIC_RELAXED);
    return cudaSuccess;
}

template <int BITS> cudaError_t sw_cuda_reserve_scratch(struct sw_cuda_table *table, uint32_t n)
{
    struct sw_cuda_scratch_area *area = area_of<BITS>(table);
    const bool leftovers = table->config.stash_slots == 0;
    cudaError_t error = sw_cuda_turn_take(table->launcher);
    const bool fits = area->operations >= n && (area->has_leftovers || !leftovers);
    if (error == cudaSuccess && !fits) {
        error = enlarge<BITS>(table, area->operations > n ? area->operations : n,
                              area->has_leftovers || leftovers);
    }
    sw_cuda_turn_return(table->launcher);
    return error;
}

template <int BITS> void sw_cuda_use_scratch(struct sw_cuda_table *table)
{
    const struct sw_cuda_scratch_area *area = area_of<BITS>(table);
    if (table->scratch_version != area->version) {
        table->scratch_version = area->version;
        (void)cut_scratch<BITS>(&sw_cuda_device_of<BITS>(table)->scratch, area->memory,
                                area->operations, area->has_leftovers, area->sort_bytes);
    }
}

cudaError_t sw_cuda_begin_launch(struct sw_cuda_queue *queue)
{
    const cudaError_t error = sw_cuda_turn_begin(queue);
    SW_BY_BITS(queue->table->slot_bits, sw_cuda_use_scratch, queue->table);
    return error;
}

#define INSTANTIATE(BITS, ...)                                                            \
    template cudaError_t sw_cuda_reserve_scratch<BITS>(struct sw_cuda_table *, uint32_t); \
    template void sw_cuda_use_scratch<BITS>(struct sw_cuda_table *);
SW_WIDTHS(INSTANTIATE)
