/* SPDX-License-Identifier: MIT
 *
 * stream_table.cu - operations that stream the whole table: merges of large batches, and moves to
 * other arrays.
 *
 * A merge sorts the batch by segment (the top bits of m) and rebuilds the table (rebuild.cu). If
 * the batch wants `found`, the numbers of the operations are sorted, and then their operands are
 * gathered. If the rebuild fails, the device uses a fallback without the host. In place, it upserts
 * the batch. In a move to other arrays, it first inserts every old entry into the emptied arrays.
 */
#include "table/device/counts.cuh"
#include "table/device/sort.cuh"
#include "table/robin_hood/cuda/displacement/displace.cuh"
#include "table/robin_hood/cuda/rebuild/rebuild.cuh"
#include "table/robin_hood/cuda/writes/upsert.cuh"

/* Operations of a thread that mixes keys.
 *
 * %RANGE% SW_MIX_PER_THREAD kpt {1,2,4,8}
 */
#ifndef SW_MIX_PER_THREAD
#define SW_MIX_PER_THREAD 4
#endif

/* Initializes the arrays to be sorted for a batch that wants answers. */
template <int BITS>
static __device__ inline void keep(const struct sw_cuda_scratch<BITS> &scratch,
                                   const struct sw_cuda_batch<BITS> &batch, uint64_t i)
{
    scratch.index[i] = (uint32_t)i;
    if constexpr (!sw_width<BITS>::is_set) {
        scratch.operands[i] = __ldcs(batch.values + i);
    }
    if (i % 64 == 0) {
        scratch.found[i / 64] = 0;
    }
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    mix_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch)
{
    typename sw_width<BITS>::word key[SW_MIX_PER_THREAD];
    uint64_t start = (uint64_t)blockIdx.x * SW_CUDA_BLOCK * SW_MIX_PER_THREAD + threadIdx.x;
    if (start == 0) {
        struct sw_cuda_control *control = device.control;
        const struct sw_state *state = device.table.state;
        /* keys of the batch may be in the stash, and a rebuild does not read the stash */
        control->rebuild_off = state->stash_occupied != 0;
        control->rebuild_failed = control->rebuild_off;
        control->mode = sw_mode_of_upserts(&device.table);
        sw_note_stash(control, state);
    }
#pragma unroll
    for (int k = 0; k < SW_MIX_PER_THREAD; k++) {
        uint64_t i = start + k * SW_CUDA_BLOCK;
        key[k] = i < batch.count ? __ldcs(batch.keys + i) : 0;
    }
#pragma unroll
    for (int k = 0; k < SW_MIX_PER_THREAD; k++) {
        uint64_t i = start + k * SW_CUDA_BLOCK;
        if (i < batch.count) {
            device.scratch.m[i] = sw_width<BITS>::mix(&device.table, key[k]);
            if (batch.found != NULL) {
                keep<BITS>(device.scratch, batch, i);
            }
        }
    }
}

/* Gathers the operands in the order of the sorted operations. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    bring_kernel(const struct sw_cuda_scratch<BITS> scratch, uint32_t count)
{
    uint64_t i = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i < count) {
        scratch.previous[i] = scratch.operands[scratch.index_sorted[i]];
    }
}

/* Records the stash's number of entries, before a move without a batch. */
template <int BITS> static __global__ void note_kernel(const struct sw_cuda_device<BITS> device)
{
    sw_note_stash(device.control, device.table.state);
}

/* If the rebuild failed, makes every slot EMPTY. Sets the stash's number of entries to 0 in any
 * case: the new arrays have an empty stash. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    empty_kernel(const struct sw_cuda_device<BITS> device)
{
    typedef typename sw_width<BITS>::slot slot;
    typedef typename sw_pack<BITS>::type pack;
    const typename sw_width<BITS>::table *table = &device.table;
    uint64_t start = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    if (start == 0) {
        table->state->stash_occupied = 0;
    }
    if (device.control->rebuild_failed == 0) {
        return;
    }
    uint64_t slots = (table->main.buckets_total +
                      (table->stash.slots != NULL ? table->stash.buckets_total : 0)) *
                     SW_BUCKET_SLOTS;
    for (uint64_t i = start; i < slots * sizeof(slot) / sizeof(pack); i += step) {
        ((pack *)table->main.slots)[i] = sw_pack<BITS>::empty();
    }
    for (uint64_t g = start; device.hints != NULL && g < sw_hint_count(table->main.buckets);
         g += step) {
        device.hints[g] = 0;
    }
}

/* Moves the stash to `aside`, tombstones included, unless it is empty. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    set_aside_kernel(const struct sw_cuda_device<BITS> device, typename sw_width<BITS>::slot *aside)
{
    typedef typename sw_width<BITS>::slot slot;
    typedef typename sw_pack<BITS>::type pack;
    const typename sw_width<BITS>::table *table = &device.table;
    uint64_t start = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    uint64_t packs = table->stash.buckets_total * SW_BUCKET_SLOTS * sizeof(slot) / sizeof(pack);
    if (device.control->stash_before == 0) {
        return;
    }
    if (start == 0) {
        table->state->stash_occupied = 0;
    }
    for (uint64_t i = start; i < packs; i += (uint64_t)gridDim.x * SW_CUDA_BLOCK) {
        ((pack *)aside)[i] = ((pack *)table->stash.slots)[i];
        ((pack *)table->stash.slots)[i] = sw_pack<BITS>::empty();
    }
}

/* Inserts the entries that the rebuild left out: the old stash, or all entries if the rebuild
 * failed. Inserts run beside inserts: rules 1 to 4. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    move_kernel(const struct sw_cuda_device<BITS> device, const typename sw_width<BITS>::table old)
{
    typedef sw_width<BITS> W;
    struct sw_cuda_control *control = device.control;
    uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    uint64_t main_slots = old.main.buckets_total * SW_BUCKET_SLOTS;
    uint64_t slots = main_slots + old.stash.buckets_total * SW_BUCKET_SLOTS;
    uint64_t first = control->rebuild_failed != 0 ? 0 : main_slots;
    if (control->rebuild_failed == 0 && control->stash_before == 0) {
        return;
    }
    for (uint64_t i = first + (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x; i < slots;
         i += step) {
        typename W::slot carried = old.main.slots[i]; /* the stash follows */
        uint64_t probes = 0;
        const bool is_hole = i < main_slots && W::hole_at(i / SW_BUCKET_SLOTS, carried.m);
        if (carried.m != W::empty && !is_hole &&
            !W::insert_absent(&device.table.main, &carried, &probes)) {
            /* M6: a count, as `lost` below */
            atomicAdd((unsigned long long *)&device.table.state->stash_occupied, 1ULL);
            if (!W::insert_absent(&device.table.stash, &carried, &probes)) {
                atomicAdd(&control->lost, 1U);
            }
        }
    }
}

/* Completes a batch that the rebuild merged: copies its answers, adds its counters, and writes the
 * side cell. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    merged_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch)
{
    struct sw_cuda_control *control = device.control;
    struct sw_state *state = device.table.state;
    const uint64_t word = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (control->rebuild_failed != 0 || batch.count == 0) {
        return;
    }
    if (batch.found != NULL && word < ((uint64_t)batch.count + 63) / 64) {
        ((uint64_t *)batch.found)[word] = device.scratch.found[word];
    }
    if (word != 0) {
        return;
    }
    uint64_t inserted = control->counters.inserted + (control->side_effect == SW_NET_INSERT);
    if (control->side_effect != SW_NET_NONE) {
        state->side_present = 1;
        state->side_value = control->side_value;
    }
    state->occupied += inserted;
    count_upserts<BITS>(&control->counters, batch, inserted);
    control->counters.by_class[SW_CLASS_UPSERT].probes = device.table.main.buckets_total;
}

template <int BITS, typename VALUE>
static cudaError_t sort(const struct sw_cuda_scratch<BITS> *scratch, const VALUE *values,
                        VALUE *sorted, void *temporary, size_t *bytes, uint32_t count,
                        uint32_t bits, cudaStream_t stream)
{
    return sw_cuda_sort(temporary, bytes, (const typename sw_width<BITS>::word *)scratch->m,
                        scratch->m_sorted, values, sorted, count, BITS / 2 - (int)bits, BITS / 2,
                        stream);
}

/* Sorts m alone. */
template <int BITS>
static cudaError_t sort_keys(const struct sw_cuda_scratch<BITS> *scratch, void *temporary,
                             size_t *bytes, uint32_t count, uint32_t bits, cudaStream_t stream)
{
    return sw_cuda_sort_keys(temporary, bytes, (const typename sw_width<BITS>::word *)scratch->m,
                             scratch->m_sorted, count, BITS / 2 - (int)bits, BITS / 2, stream);
}

/* The scratch of a width is that of its pairs and its key sets. */
template <int BITS> cudaError_t sw_cuda_merge_sort_bytes(uint32_t n_max, size_t *bytes)
{
    struct sw_cuda_scratch<BITS> none = {
    };
    *bytes = 0;
    for (uint64_t n = 1; n < 2 * (uint64_t)n_max; n *= 2) {
        const uint32_t count = (uint32_t)(n < n_max ? n : n_max);
        size_t need = 0;
        size_t need_of_keys = 0;
        cudaError_t error = sort<BITS>(&none, (const typename sw_width<BITS>::word *)NULL,
                                       none.previous, NULL, &need, count, BITS / 2, NULL);
        if (error == cudaSuccess) {
            error = sort_keys<BITS>(&none, NULL, &need_of_keys, count, BITS / 2, NULL);
        }
        if (error != cudaSuccess) {
            return error;
        }
        *bytes = need > *bytes ? need : *bytes;
        *bytes = need_of_keys > *bytes ? need_of_keys : *bytes;
    }
    return cudaSuccess;
}

/* Sorts the batch stably by the top `bits` of m. The results are m_sorted, and unless this is a key
 * set the operands in `previous`. If the batch wants `found`, index_sorted is also a result, and
 * the scratch's `found` is zero. Sets control->mode by the room in the stash. */
template <int BITS>
static cudaError_t launch_order(const struct sw_cuda_device<BITS> *device,
                                const struct sw_cuda_batch<BITS> *batch, uint32_t bits,
                                cudaStream_t stream)
{
    const uint32_t per_block = SW_CUDA_BLOCK * SW_MIX_PER_THREAD;
    size_t bytes = device->scratch.sort_bytes;
    mix_kernel<BITS><<<(uint32_t)(((uint64_t)batch->count + per_block - 1) / per_block),
                       SW_CUDA_BLOCK, 0, stream>>>(*device, *batch);
    cudaError_t error = cudaGetLastError();
    const struct sw_cuda_scratch<BITS> *scratch = &device->scratch;
    if (error != cudaSuccess) {
        return error;
    }
    if (batch->found == NULL) {
        if constexpr (sw_width<BITS>::is_set) {
            return sort_keys<BITS>(scratch, scratch->sort, &bytes, batch->count, bits, stream);
        } else {
            return sort<BITS>(scratch, batch->values, scratch->previous, scratch->sort, &bytes,
                              batch->count, bits, stream);
        }
    }
    error = sort<BITS>(scratch, (const uint32_t *)scratch->index, scratch->index_sorted,
                       scratch->sort, &bytes, batch->count, bits, stream);
    if (error == cudaSuccess && !sw_width<BITS>::is_set) {
        bring_kernel<BITS>
            <<<(batch->count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK, SW_CUDA_BLOCK, 0, stream>>>(
                *scratch, batch->count);
        error = cudaGetLastError();
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_merge_sort(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, uint64_t buckets,
                                      cudaStream_t stream)
{
    if (batch->count != 0) {
        return launch_order<BITS>(device, batch, sw_cuda_segment_bits(buckets), stream);
    }
    note_kernel<BITS><<<1, 1, 0, stream>>>(*device);
    return cudaGetLastError();
}

template <int BITS>
static cudaError_t launch_rebuild(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch,
                                  const typename sw_width<BITS>::table *old, cudaStream_t stream)
{
    struct sw_cuda_rebuild<BITS> rebuild;
    uint32_t bits = sw_cuda_segment_bits(device->table.main.buckets);
    memset(&rebuild, 0, sizeof(rebuild));
    rebuild.table = device->table;
    if (old != NULL) {
        rebuild.old = old->main;
    }
    rebuild.hints = device->hints;
    rebuild.op = batch->op;
    rebuild.shift = BITS / 2 - bits;
    rebuild.segments = 1U << bits;
    rebuild.status = device->status;
    rebuild.control = device->control;
    if (batch->count > 0) {
        rebuild.m = device->scratch.m_sorted;
        rebuild.values = device->scratch.previous;
        rebuild.index = device->scratch.index_sorted;
        rebuild.found = batch->found != NULL ? (uint32_t *)device->scratch.found : NULL;
        rebuild.offsets = device->offsets;
    }
    return sw_cuda_launch_rebuild<BITS>(&rebuild, batch->count,
                                        batch->count > 0 ? device->offsets : NULL, stream);
}

/* Upserts the batch if the rebuild failed, and completes it otherwise. */
template <int BITS>
static cudaError_t launch_rest(const struct sw_cuda_device<BITS> *device,
                               const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    cudaError_t error = sw_cuda_launch_merge_fallback<BITS>(device, batch, stream);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_inserts<BITS>(device, batch->count, stream);
    }
    if (error == cudaSuccess) {
        const uint64_t words = batch->found != NULL ? ((uint64_t)batch->count + 63) / 64 : 1;
        merged_kernel<BITS>
            <<<(uint32_t)((words + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK), SW_CUDA_BLOCK, 0, stream>>>(
                *device, *batch);
        error = cudaGetLastError();
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_merge(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch,
                                 const typename sw_width<BITS>::table *old, cudaStream_t stream)
{
    cudaError_t error = launch_rebuild<BITS>(device, batch, old, stream);
    if (error == cudaSuccess) {
        empty_kernel<BITS><<<SW_CUDA_FEW_BLOCKS, SW_CUDA_BLOCK, 0, stream>>>(*device);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess && old != NULL) {
        move_kernel<BITS><<<SW_CUDA_FEW_BLOCKS, SW_CUDA_BLOCK, 0, stream>>>(*device, *old);
        error = cudaGetLastError();
    }
    return error == cudaSuccess && batch->count > 0 ? launch_rest<BITS>(device, batch, stream)
                                                    : error;
}

template <int BITS>
cudaError_t sw_cuda_launch_merge_in_place(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_batch<BITS> *batch,
                                          cudaStream_t stream)
{
    cudaError_t error = launch_rebuild<BITS>(device, batch, &device->table, stream);
    return error == cudaSuccess ? launch_rest<BITS>(device, batch, stream) : error;
}

template <int BITS>
cudaError_t sw_cuda_launch_close_up(const struct sw_cuda_device<BITS> *device,
                                    typename sw_width<BITS>::slot *aside, cudaStream_t stream)
{
    const struct sw_cuda_batch<BITS> none = {
    };
    typename sw_width<BITS>::table old = device->table;
    cudaError_t error = launch_rebuild<BITS>(device, &none, &device->table, stream);
    if (error != cudaSuccess || device->table.stash.slots == NULL || aside == NULL) {
        return error;
    }
    set_aside_kernel<BITS><<<SW_CUDA_FEW_BLOCKS, SW_CUDA_BLOCK, 0, stream>>>(*device, aside);
    error = cudaGetLastError();
    if (error == cudaSuccess) {
        old.main.slots = aside; /* only the stash */
        old.main.buckets_total = 0;
        move_kernel<BITS><<<SW_CUDA_FEW_BLOCKS, SW_CUDA_BLOCK, 0, stream>>>(*device, old);
        error = cudaGetLastError();
    }
    return error;
}

/* Makes the hints of a pair of buckets exact, by one thread. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    hint_kernel(const typename sw_width<BITS>::view view, uint8_t *hints)
{
    uint64_t g = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (g < sw_hint_count(view.buckets)) {
        hints[g] = sw_width<BITS>::hint_pair(&view, g, hints[g]);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_hints(const struct sw_cuda_device<BITS> *device, cudaStream_t stream)
{
    uint64_t pairs = sw_hint_count(device->table.main.buckets);
    hint_kernel<BITS>
        <<<(uint32_t)((pairs + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK), SW_CUDA_BLOCK, 0, stream>>>(
            device->table.main, device->hints);
    return cudaGetLastError();
}

#define INSTANTIATE(BITS, ...)                                                                \
    template cudaError_t sw_cuda_launch_merge_sort<BITS>(const struct sw_cuda_device<BITS> *, \
                                                         const struct sw_cuda_batch<BITS> *,  \
                                                         uint64_t, cudaStream_t);             \
    template cudaError_t sw_cuda_launch_merge<BITS>(                                          \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *,              \
        const typename sw_width<BITS>::table *, cudaStream_t);                                \
    template cudaError_t sw_cuda_launch_close_up<BITS>(                                       \
        const struct sw_cuda_device<BITS> *, typename sw_width<BITS>::slot *, cudaStream_t);  \
    template cudaError_t sw_cuda_launch_hints<BITS>(const struct sw_cuda_device<BITS> *,      \
                                                    cudaStream_t);                            \
    template cudaError_t sw_cuda_launch_merge_in_place<BITS>(                                 \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
SW_FORMATS(INSTANTIATE)
#define INSTANTIATE_BYTES(BITS, ...) \
    template cudaError_t sw_cuda_merge_sort_bytes<BITS>(uint32_t, size_t *);
SW_WIDTHS(INSTANTIATE_BYTES)
