/* SPDX-License-Identifier: MIT
 *
 * net_effects.cu - first half of a write batch: computes its net effects. It does not change the
 * table, so it may run beside reads.
 *
 * The batch is copied to the device, mixed, and sorted by mixed key. The sort is stable, so that a
 * key's operations stay in order. One thread looks up each key and folds its operations (rule 7).
 * Each key has at most one net effect, in one of three lists: update, delete, insert.
 */
#include "table/device/counts.cuh"
#include "table/device/sort.cuh"
#include "table/robin_hood/cuda/writes/admit.cuh"

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    copy_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    uint64_t i = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i % 64 == 0 && i < batch.count) {
        scratch->found[i / 64] = 0;
    }
    if (i >= batch.count) {
        return;
    }
    typename sw_width<BITS>::word key = batch.keys[i];
    scratch->keys[i] = key;
    /* a skipped operation is sorted by its own key, so that skipped operations do not form a long
     * run */
    scratch->m[i] = sw_is_skipped<BITS>(batch, i) ? (typename sw_width<BITS>::word)i
                                                  : sw_width<BITS>::mix(&device.table, key);
    scratch->index[i] = (uint32_t)i;
    scratch->operands[i] = batch.values != NULL ? batch.values[i] : 0;
    if (batch.ops != NULL) {
        scratch->ops[i] = batch.ops[i];
    }
}

/* Folds the operations on the key at sorted position i into one net effect. With AGAIN, leaves out
 * the operations of refused groups. PAIRS: the batch has operations of SW_OPS_PAIR. Sets *place to
 * the key's entry before the batch, and *value to its new value. */
template <int BITS, bool AGAIN, bool PAIRS>
static __device__ inline enum sw_cuda_net
fold_run(const struct sw_cuda_device<BITS> *device, const struct sw_cuda_batch<BITS> *batch,
         uint32_t i, typename sw_width<BITS>::place *place, typename sw_width<BITS>::word *value,
         struct fold_counts *counts)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device->scratch;
    typename W::word m = scratch->m_sorted[i];
    uint64_t probes = 0;
    bool written = false;
    *place = W::locate_hinted(&device->table, device->hints, m, &probes);
    bool exists = place->found;
    *value = place->value;
    for (uint32_t j = i; j < batch->count && scratch->m_sorted[j] == m; j++) {
        uint32_t index = scratch->index_sorted[j];
        uint32_t op = batch->ops != NULL ? scratch->ops[index] : batch->op;
        typename W::word out = 0;
        if (AGAIN && sw_is_of_refused(&scratch->groups, j)) {
            counts->refused++;
            continue;
        }
        if (sw_is_skipped<BITS>(*batch, index)) {
            continue;
        }
        const enum sw_effect effect =
            PAIRS && SW_OPS_HAS(SW_OPS_PAIR, op)
                ? W::decide_pair(exists, *value, batch->expected[index], scratch->operands[index],
                                 &out)
                : W::decide(op, exists, *value, scratch->operands[index], &out);
        scratch->previous[index] = *value;
        if (exists) { /* M6: other threads set other bits of the word */
            atomicOr((uint32_t *)scratch->found + index / 32, 1U << (index % 32));
        }
        count_operation(counts, op, exists, effect);
        if (j == i) {
            count_probes(counts, op, probes);
        }
        if (effect == SW_EFFECT_WRITE) {
            *value = out;
            exists = true;
            written = true;
        } else if (effect == SW_EFFECT_REMOVE) {
            *value = 0;
            exists = false;
        }
    }
    if (place->found) {
        return !exists ? SW_NET_DELETE : written ? SW_NET_UPDATE : SW_NET_NONE;
    }
    return exists ? SW_NET_INSERT : SW_NET_NONE;
}

template <int BITS, bool AGAIN, bool PAIRS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    fold_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    struct sw_cuda_control *control = device.control;
    uint64_t i = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    typename W::place place = {};
    typename W::word value = 0;
    typename W::word m = 0;
    struct fold_counts counts = {};
    enum sw_cuda_net net = SW_NET_NONE;

    if (AGAIN && control->mode != SW_CUDA_AGAIN) {
        return;
    }
    if (i < batch.count) {
        m = scratch->m_sorted[i];
        if (i == 0 || scratch->m_sorted[i - 1] != m) {
            net =
                fold_run<BITS, AGAIN, PAIRS>(&device, &batch, (uint32_t)i, &place, &value, &counts);
        }
    }
    if (net != SW_NET_NONE && m == W::empty) {
        control->side_effect = net;
        control->side_value = value;
        net = SW_NET_NONE;
    }
    uint64_t slot = net == SW_NET_NONE || net == SW_NET_INSERT
                        ? 0
                        : (uint64_t)(place.slot - device.table.main.slots);
    uint32_t at = sw_list_append(&control->updates, net == SW_NET_UPDATE);
    if (net == SW_NET_UPDATE) {
        scratch->updates[at].slot = slot;
        scratch->updates[at].value = value;
    }
    at = sw_list_append(&control->deletes, net == SW_NET_DELETE);
    if (net == SW_NET_DELETE) {
        scratch->deletes[at].slot = slot;
        scratch->deletes[at].m = m;
    }
    at = sw_list_append(&control->inserts, net == SW_NET_INSERT);
    if (net == SW_NET_INSERT) {
        *sw_listed_insert<BITS>(*scratch, at) = W::slot_of(m, value);
    }
    if (net == SW_NET_DELETE && place.in_stash) {
        atomicAdd(&control->deletes_in_stash, 1U); /* M6: a count */
    }
    add_counts(&control->counters, &counts);
}

/* Batches with and without operations of SW_OPS_PAIR have kernels of their own, so that these
 * operations cost the other batches nothing. */
template <int BITS, bool AGAIN>
static cudaError_t launch_fold(const struct sw_cuda_device<BITS> *device,
                               const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    const uint32_t blocks = (batch->count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    if constexpr (!sw_width<BITS>::is_set) {
        if (batch->expected != NULL) {
            fold_kernel<BITS, AGAIN, true><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*device, *batch);
            return cudaGetLastError();
        }
    }
    fold_kernel<BITS, AGAIN, false><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*device, *batch);
    return cudaGetLastError();
}

template <int BITS>
static cudaError_t sort(const struct sw_cuda_scratch<BITS> *scratch, void *temporary, size_t *bytes,
                        uint32_t count, cudaStream_t stream)
{
    return sw_cuda_sort(temporary, bytes, (const typename sw_width<BITS>::word *)scratch->m,
                        scratch->m_sorted, (const uint32_t *)scratch->index, scratch->index_sorted,
                        count, 0, BITS / 2, stream);
}

template <int BITS> cudaError_t sw_cuda_sort_bytes(uint32_t n_max, size_t *bytes)
{
    struct sw_cuda_scratch<BITS> none = {
    };
    *bytes = 0;
    /* checks sizes up to n_max, because the demand may not grow with the size */
    for (uint64_t n = 1; n < 2 * (uint64_t)n_max; n *= 2) {
        size_t need = 0;
        cudaError_t error =
            sort<BITS>(&none, NULL, &need, (uint32_t)(n < n_max ? n : n_max), (cudaStream_t)0);
        if (error != cudaSuccess) {
            return error;
        }
        *bytes = need > *bytes ? need : *bytes;
    }
    return cudaSuccess;
}

template <int BITS>
cudaError_t sw_cuda_launch_net_effects(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    uint32_t blocks = (batch->count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    size_t bytes = device->scratch.sort_bytes;
    copy_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*device, *batch);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        error = sort<BITS>(&device->scratch, device->scratch.sort, &bytes, batch->count, stream);
    }
    return error == cudaSuccess ? launch_fold<BITS, false>(device, batch, stream) : error;
}

template <int BITS>
cudaError_t sw_cuda_launch_fold_again(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    return launch_fold<BITS, true>(device, batch, stream);
}

#define INSTANTIATE(BITS, ...)                                                                  \
    template cudaError_t sw_cuda_sort_bytes<BITS>(uint32_t, size_t *);                          \
    template cudaError_t sw_cuda_launch_net_effects<BITS>(                                      \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_fold_again<BITS>(                                       \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
SW_FORMATS(INSTANTIATE)
