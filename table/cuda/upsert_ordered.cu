/* SPDX-License-Identifier: MIT
 *
 * upsert_ordered.cu - the upserts of upsert.cu, of a batch that has been brought in order of its
 * keys: equal ones are neighbours, and neighbours look at neighbouring buckets.
 */
#include "table/cuda/upsert.cuh"

/* The operations on the key at sorted position i, the last of its run. */
template <int BITS>
static __device__ inline bool apply_run(const struct sw_cuda_device<BITS> &device, uint32_t op,
                                        uint64_t i, typename sw_width<BITS>::slot *entry,
                                        uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    typename W::place place = W::locate_hinted(&device.table, device.hints, entry->m, probes);
    if (op != SW_SET) { /* sums and extremes may be taken in any order */
        for (uint64_t j = i; j > 0 && scratch->m_sorted[j - 1] == entry->m; j--) {
            W::decide(op, true, scratch->previous[j - 1], entry->value, &entry->value);
        }
        W::decide(op, place.found, place.value, entry->value, &entry->value);
    }
    return write_one<BITS>(device, place, *entry);
}

/* The last of a run of equal keys stands for it. inserts[i] is what to insert, EMPTY for the rest:
 * in order, too. */
template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    apply_ordered_kernel(const struct sw_cuda_device<BITS> device, uint32_t op, uint32_t count)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    uint64_t absent = 0;
    if (!sw_is_admitted(control)) {
        return;
    }
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        typename W::slot entry;
        entry.m = scratch->m_sorted[i];
        entry.value = scratch->previous[i];
        if ((i + 1 == count || scratch->m_sorted[i + 1] != entry.m) &&
            apply_run<BITS>(device, op, i, &entry, &probes)) {
            absent = 1;
        } else {
            entry.m = W::empty;
        }
        scratch->inserts[i] = entry;
    }
    sw_block_add(&control->ordered_inserts, absent);
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
}

/* Inserts what apply_ordered_kernel left. */
template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    insert_ordered_kernel(const struct sw_cuda_device<BITS> device, uint32_t count)
{
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    uint64_t failures = 0;
    if (!sw_is_admitted(control)) {
        return;
    }
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        typename sw_width<BITS>::slot entry = device.scratch.inserts[i];
        failures = entry.m != sw_width<BITS>::empty && !insert_one<BITS>(device, entry, &probes);
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
    sw_block_add(&control->counters.failures, failures);
}

template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    conclude_kernel(const struct sw_cuda_device<BITS> device,
                    const struct sw_cuda_batch<BITS> batch)
{
    conclude<BITS>(device, batch);
}

template <int BITS, typename POLICY>
static cudaError_t launch_ordered(const struct launches<BITS, POLICY> &with)
{
    uint32_t blocks = blocks_for(with.batch->count, with.threads, UINT32_MAX);
    uint32_t count = with.batch->count;
    cudaError_t error = launch_ask(with);
    if (error != cudaSuccess) {
        return error;
    }
    error = shaped(with, [&](auto shape) {
        apply_ordered_kernel<BITS, decltype(shape)>
            <<<blocks, with.threads, 0, with.stream>>>(with.device, with.batch->op, count);
    });
    if (error == cudaSuccess) {
        error = shaped(with, [&](auto shape) {
            insert_ordered_kernel<BITS, decltype(shape)>
                <<<blocks, with.threads, 0, with.stream>>>(with.device, count);
        });
    }
    if (error == cudaSuccess) {
        error = shaped(with, [&](auto shape) {
            conclude_kernel<BITS, decltype(shape)>
                <<<1, 1, 0, with.stream>>>(with.device, *with.batch);
        });
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_upsert_ordered(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_batch<BITS> *batch,
                                          cudaStream_t stream)
{
    switch (SW_POLICY_ARCH(device)) {
    case 90:
        return launch_ordered(
            launches<BITS, sw_policy_upsert_ordered<90, BITS>>(device, batch, false, stream));
    default:
        return launch_ordered(
            launches<BITS, sw_policy_upsert_ordered<0, BITS>>(device, batch, false, stream));
    }
}

#define INSTANTIATE(BITS)                                     \
    template cudaError_t sw_cuda_launch_upsert_ordered<BITS>( \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
#ifdef SW_TUNE
INSTANTIATE(SW_TUNE_SLOT)
#else
INSTANTIATE(64)
INSTANTIATE(128)
#endif
