/* SPDX-License-Identifier: MIT
 *
 * expiry_decide.cu - decides the effects of a batch's operations, from presence and expiry time, if
 * no group is refused. One thread carries out the operations on one key, in their order.
 */
#include "table/device/sort.cuh"
#include "table/robin_hood/cuda/times/expiry_step.cuh"

/* --- in the order of the keys ----------------------------------------------------------------- */

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    mix_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_timed<BITS> batch)
{
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i < batch.count) {
        device.scratch.m[i] = sw_width<BITS>::mix(&device.table, batch.keys[i]);
        device.scratch.index[i] = i;
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_times_sort(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_timed<BITS> *batch, cudaStream_t stream)
{
    typedef typename sw_width<BITS>::word word;
    const struct sw_cuda_scratch<BITS> *scratch = &device->scratch;
    size_t bytes = scratch->sort_bytes;
    mix_kernel<BITS><<<sw_timed_blocks(batch->count), SW_CUDA_BLOCK, 0, stream>>>(*device, *batch);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess
               ? sw_cuda_sort(scratch->sort, &bytes, (const word *)scratch->m, scratch->m_sorted,
                              (const uint32_t *)scratch->index, scratch->index_sorted, batch->count,
                              0, BITS / 2, stream)
               : error;
}

/* --- expired keys ----------------------------------------------------------------------------- */

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    expired_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_expiry_view view,
                   const struct sw_cuda_timed<BITS> batch)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const uint32_t p = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    uint64_t key = 0;
    bool expired = false;
    if (sw_timed_is_first<BITS>(*scratch, batch.count, p)) {
        uint64_t probes = 0;
        key = sw_width<BITS>::unmix(&device.table, scratch->m_sorted[p]);
        const uint64_t at =
            sw_locate_s128(&view.times, sw_mix_s128(&view.times, key), &probes).value;
        expired = at != 0 && at <= view.past;
    }
    const uint32_t place = sw_list_append(&view.control->found_expired, expired);
    if (expired) {
        view.found_expired[place] = {key, scratch->index_sorted[p]};
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_times_expired(const struct sw_cuda_device<BITS> *device,
                                         const struct sw_cuda_expiry_view *view,
                                         const struct sw_cuda_timed<BITS> *batch,
                                         cudaStream_t stream)
{
    expired_kernel<BITS>
        <<<sw_timed_blocks(batch->count), SW_CUDA_BLOCK, 0, stream>>>(*device, *view, *batch);
    return cudaGetLastError();
}

/* --- operations ------------------------------------------------------------------------------- */

/* Decides the operations on the key at sorted position p. Returns the key's final state. */
template <int BITS>
static __device__ inline struct sw_cuda_keyed
decide_run(const struct sw_cuda_device<BITS> &device, const struct sw_cuda_expiry_view &view,
           const struct sw_cuda_timed<BITS> &batch, uint32_t p, struct sw_cuda_keyed key,
           struct sw_cuda_timed_sums *sums)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const typename sw_width<BITS>::word m = scratch->m_sorted[p];
    for (; p < batch.count && scratch->m_sorted[p] == m; p++) {
        const uint32_t i = scratch->index_sorted[p];
        const struct sw_cuda_stepped step = sw_timed_step<BITS>(view, batch, i, key);
        sw_timed_answer<BITS>(view, batch, i, key, step);
        sw_timed_add(sums, key, step);
        key = step.after;
    }
    return key;
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    decide_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_expiry_view view,
                  const struct sw_cuda_timed<BITS> batch)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    struct sw_cuda_expiry_control *control = view.control;
    const uint32_t p = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    struct sw_cuda_timed_sums sums = {0, 0, 0, SW_EXPIRY_NEVER};
    struct sw_cuda_keyed before = {false, 0}, after = {false, 0};
    uint64_t word = 0;
    if (p == 0) {
        control->occupied = device.table.state->occupied;
        control->stash_full = device.table.state->stash_occupied > device.table.stash_max;
        control->disputed = batch.disputed != NULL ? *batch.disputed : 0;
    }
    if (sw_timed_is_first<BITS>(*scratch, batch.count, p)) {
        const typename sw_width<BITS>::word m = scratch->m_sorted[p];
        word = sw_width<BITS>::unmix(&device.table, m);
        before = sw_timed_key<BITS>(device, view, m);
        after = decide_run<BITS>(device, view, batch, p, before, &sums);
    }
    sw_timed_list(view, before.at != after.at, word, after);
    sw_warp_add((uint64_t *)&control->given, sums.given);
    sw_warp_add((uint64_t *)&control->inserts, sums.inserts);
    sw_warp_add((uint64_t *)&control->expired, sums.expired);
    /* M6: an old value is larger, so a thread that skips the minimum is right */
    if (sums.next < *(volatile unsigned long long *)&control->next) {
        atomicMin(&control->next, (unsigned long long)sums.next);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_times_decide(const struct sw_cuda_device<BITS> *device,
                                        const struct sw_cuda_expiry_view *view,
                                        const struct sw_cuda_timed<BITS> *batch,
                                        cudaStream_t stream)
{
    decide_kernel<BITS>
        <<<sw_timed_blocks(batch->count), SW_CUDA_BLOCK, 0, stream>>>(*device, *view, *batch);
    return cudaGetLastError();
}

#define INSTANTIATE(BITS, ...)                                                                  \
    template cudaError_t sw_cuda_launch_times_sort<BITS>(                                       \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_timed<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_times_expired<BITS>(                                    \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_expiry_view *,                \
        const struct sw_cuda_timed<BITS> *, cudaStream_t);                                      \
    template cudaError_t sw_cuda_launch_times_decide<BITS>(                                     \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_expiry_view *,                \
        const struct sw_cuda_timed<BITS> *, cudaStream_t);
SW_WIDTHS(INSTANTIATE)
