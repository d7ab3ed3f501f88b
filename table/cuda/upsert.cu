/* SPDX-License-Identifier: MIT
 *
 * upsert.cu - batches of upserts of one kind that are sure to fit, or of deletes: few kernels.
 *
 * Repeated keys meet in cells, a hash table of the batch's own keys that stays in L2; those of
 * large batches of SET by sorting (upsert_ordered.cu), which brings the table's buckets in order,
 * too. Then the last operation on each key stands for all: it finds the key and writes the combined
 * value in place, or lists it as absent, or as one to remove; the lists are carried out (walk.cu)
 * once nothing is looked up any more. These are phases A and B of table/README.md, rule 5.
 */
#include "table/cuda/cells.cuh"

template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    collect_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                   bool only_if_failed)
{
    typedef sw_width<BITS> W;
    if (is_off<BITS>(device, only_if_failed)) {
        return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (!only_if_failed) { /* else it was decided before the entries moved */
            device.control->mode =
                batch.op == SW_DELETE ? SW_CUDA_COMMIT : sw_mode_of_upserts(&device.table);
        }
        sw_note_stash(device.control, device.table.state);
    }
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < batch.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        collect_one<BITS>(device, batch, i, W::mix(&device.table, batch.keys[i]));
    }
}

template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    apply_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                 bool only_if_failed)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    if (is_off<BITS>(device, only_if_failed) || !sw_is_admitted(control)) {
        return;
    }
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t rounds = (batch.count + step - 1) / step;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t r = 0; r < rounds; r++, i += step) {
        const bool stands = i < batch.count && stands_for_key<BITS>(scratch, i);
        if (batch.op == SW_DELETE) {
            struct sw_cuda_removal<BITS> removal;
            bool present =
                stands && remove_cell<BITS>(device, i, batch.found != NULL, &removal, &probes);
            uint32_t at = sw_list_append(&control->deletes, present);
            if (present) {
                scratch->deletes[at] = removal;
            }
            continue;
        }
        typename W::slot entry;
        bool absent = stands && apply_one<BITS>(device, batch, i, &entry, &probes);
        uint32_t at = sw_list_append(&control->inserts, absent);
        if (absent) {
            scratch->inserts[at] = entry;
        }
    }
    sw_block_add(&control->counters.by_class[sw_op_class_of(batch.op)].probes, probes);
}

/* Answers, which apply_kernel made known. */
template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    answer_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                  bool only_if_failed)
{
    if (is_off<BITS>(device, only_if_failed) || !sw_is_admitted(device.control)) {
        return;
    }
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t padded = ((uint64_t)batch.count + 63) / 64 * 64;
    uint64_t rounds = (padded + step - 1) / step;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t r = 0; r < rounds; r++, i += step) {
        bool found = i < batch.count && was_found<BITS>(&device.scratch, batch.op, i);
        uint32_t word = __ballot_sync(SW_WARP_ALL, found);
        if (i % 32 == 0 && i < padded) {
            batch.found[i / 32] = word;
        }
    }
}

/* Frees the cells, and counts. */
template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    free_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                bool only_if_failed)
{
    if (is_off<BITS>(device, only_if_failed)) {
        return;
    }
    uint64_t start = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t i = start; i < batch.count; i += (uint64_t)gridDim.x * blockDim.x) {
        free_cell<BITS>(device, batch, i);
    }
    if (start == 0) {
        conclude<BITS>(device, batch);
    }
}

template <int BITS, typename POLICY>
static cudaError_t launch_collect(const struct launches<BITS, POLICY> &with)
{
    return shaped(with, [&](auto shape) {
        collect_kernel<BITS, decltype(shape)>
            <<<blocks_for(with.batch->count, with.threads, POLICY::grd), with.threads, 0,
               with.stream>>>(with.device, *with.batch, with.only_if_failed);
    });
}

template <int BITS, typename POLICY>
static cudaError_t launch_upsert(const struct launches<BITS, POLICY> &with)
{
    uint32_t blocks = blocks_for(with.batch->count, with.threads, POLICY::grd);
    cudaError_t error = launch_ask(with);
    if (error != cudaSuccess) {
        return error;
    }
    error = shaped(with, [&](auto shape) {
        apply_kernel<BITS, decltype(shape)><<<blocks, with.threads, 0, with.stream>>>(
            with.device, *with.batch, with.only_if_failed);
    });
    if (error == cudaSuccess && with.batch->found != NULL) {
        error = shaped(with, [&](auto shape) {
            answer_kernel<BITS, decltype(shape)><<<blocks, with.threads, 0, with.stream>>>(
                with.device, *with.batch, with.only_if_failed);
        });
    }
    if (error == cudaSuccess) {
        error = shaped(with, [&](auto shape) {
            free_kernel<BITS, decltype(shape)><<<blocks, with.threads, 0, with.stream>>>(
                with.device, *with.batch, with.only_if_failed);
        });
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_collect(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_batch<BITS> *batch, bool only_if_failed,
                                   cudaStream_t stream)
{
    switch (SW_POLICY_ARCH(device)) {
    case 90:
        return launch_collect(launches<BITS, sw_policy_upsert_cells<90, BITS>>(
            device, batch, only_if_failed, stream));
    default:
        return launch_collect(
            launches<BITS, sw_policy_upsert_cells<0, BITS>>(device, batch, only_if_failed, stream));
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_upsert(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, bool only_if_failed,
                                  cudaStream_t stream)
{
    switch (SW_POLICY_ARCH(device)) {
    case 90:
        return launch_upsert(launches<BITS, sw_policy_upsert_cells<90, BITS>>(
            device, batch, only_if_failed, stream));
    default:
        return launch_upsert(
            launches<BITS, sw_policy_upsert_cells<0, BITS>>(device, batch, only_if_failed, stream));
    }
}

#define INSTANTIATE(BITS)                                                                       \
    template cudaError_t sw_cuda_launch_collect<BITS>(const struct sw_cuda_device<BITS> *,      \
                                                      const struct sw_cuda_batch<BITS> *, bool, \
                                                      cudaStream_t);                            \
    template cudaError_t sw_cuda_launch_upsert<BITS>(const struct sw_cuda_device<BITS> *,       \
                                                     const struct sw_cuda_batch<BITS> *, bool,  \
                                                     cudaStream_t);
#ifdef SW_TUNE
INSTANTIATE(SW_TUNE_SLOT)
#else
INSTANTIATE(64)
INSTANTIATE(128)
#endif
