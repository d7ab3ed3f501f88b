/* SPDX-License-Identifier: MIT
 *
 * range_rest.cu - the third kernel of a batch by ranges (ranges.cu). It carries out the overfull
 * ranges (overfull_range.cuh), and copies the answers.
 *
 * If few keys of the batch are new, the batch also ends here: the kernel inserts these keys and
 * completes the record. So the host launches three kernels less. Small batches take less time on
 * the device than their launches take on the host.
 */
#include "table/device/cooperative_blocks.cuh"
#include "table/robin_hood/cuda/displacement/insert.cuh"
#include "table/robin_hood/cuda/writes/overfull_range.cuh"
#include "table/robin_hood/cuda/writes/range_layout.cuh"
#include "table/robin_hood/cuda/writes/report.cuh"

/* Buckets that a thread visits to insert an entry, before chains insert it. */
#define BUCKETS_ALONE 4

static_assert(OVERFULL_THREADS >= SW_CUDA_BLOCK, "report_write has a thread a word");

/* Assigns key slots to the operations of the overfull ranges, and no key slot to the others. */
template <int BITS>
static __device__ inline void assign_key_slots(const struct sw_cuda_device<BITS> &device,
                                               const struct sw_cuda_batch<BITS> &batch,
                                               const struct range_layout &layout, uint32_t keys_max,
                                               const struct grid_stride &stride)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    for (uint64_t i = stride.start; i / 32 * 32 < batch.count; i += stride.step) {
        typename W::word m = i < batch.count ? W::mix(&device.table, batch.keys[i]) : 0;
        const bool mine = i < batch.count && !sw_is_skipped<BITS>(batch, i) &&
                          scratch->ranged.lengths[range_of<BITS>(m, layout)] > layout.room;
        if (i < batch.count && !mine) {
            scratch->index_sorted[i] = NO_KEY_SLOT;
        }
        if (!layout.in_order) {
            assign_key_slot<BITS>(device, batch, i, m, mine, keys_max);
        } else if (mine) {
            scratch->m[i] = m;
            scratch->operands[i] = operand_of<BITS>(batch, i);
            scratch->ops[i] = (uint8_t)op_of<BITS>(batch, i);
            scratch->index_sorted[i] = claim_key_slot<BITS>(scratch->key_slots, m, keys_max);
        }
    }
}

/* Copies the answers to the batch's arrays. */
template <int BITS>
static __device__ inline void
copy_answers(const struct sw_cuda_device<BITS> &device, const struct sw_cuda_batch<BITS> &batch,
             const struct wanted<BITS> &wanted, const struct grid_stride &stride)
{
    typedef typename sw_width<BITS>::word word;
    copy_found<BITS>(device, batch, stride);
    if (wanted.previous != batch.previous) {
        for (uint64_t i = stride.start; i < batch.count; i += stride.step) {
            /* M4: other blocks wrote it before the last barrier; L1 may have an older word */
            batch.previous[i] = ((volatile word *)wanted.previous)[i];
        }
    }
}

/* Inserts the entries that the batch listed. Rule 5 of table/robin_hood/README.md holds by M4: the
 * list is complete, by M1 or by the last barrier of the overfull ranges, and so is every update. */
template <int BITS>
static __device__ inline void insert_listed(const struct sw_cuda_device<BITS> &device,
                                            const struct grid_stride &stride)
{
    struct sw_counters *counters = &device.control->counters;
    uint64_t probes = 0;
    uint64_t failures = 0;
    if (device.control->inserts == 0) {
        return; /* in all threads */
    }
    insert_listed_short<BITS>(device, stride.start, stride.step, BUCKETS_ALONE, &probes);
    cooperative_groups::this_grid().sync(); /* M4: the list of the long inserts */
    insert_listed_long<BITS>(device, stride.start, stride.step, &probes, &failures);
    sw_warp_add(&counters->by_class[SW_CLASS_UPSERT].probes, probes);
    sw_warp_add(&counters->failures, failures);
}

/* All blocks together carry out the overfull ranges, copy the answers, and compute the counters. If
 * the batch ends here, they also insert what it listed, and complete its record. */
template <int BITS>
static __global__ void __launch_bounds__(OVERFULL_THREADS, OVERFULL_BLOCKS_PER_SM)
    rest_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                const struct wanted<BITS> wanted, struct range_layout layout)
{
    struct sw_cuda_control *control = device.control;
    const struct grid_stride stride = stride_of_thread();
    if (sw_is_admitted(control)) {
        const uint32_t keys_max = control->overfull;
        if (keys_max != 0) {
            clear_key_slots<BITS>(device, batch, keys_max, !layout.in_order, stride.start,
                                  stride.step);
            cooperative_groups::this_grid().sync(); /* M4: the key slots are free */
            assign_key_slots<BITS>(device, batch, layout, keys_max, stride);
            cooperative_groups::this_grid().sync(); /* M4: key slots of all blocks */
            if (layout.in_order) {
                apply_in_order<BITS>(device, batch, wanted, keys_max);
            } else {
                apply_key_slots<BITS>(device, batch, stride);
            }
        }
        copy_answers<BITS>(device, batch, wanted, stride);
        if (batch.ends) {
            insert_listed<BITS>(device, stride);
        }
    }
    for (uint64_t r = stride.start; r < layout.ranges; r += stride.step) {
        device.scratch.ranged.lengths[r] = 0;
    }
    const bool last = sw_last_block(&control->blocks_done, gridDim.x);
    if (last && threadIdx.x == 0) {
        control->blocks_done = 0;
        count_and_enter<BITS>(device, batch, layout.in_order);
    }
    if (last && batch.ends) {
        __syncthreads(); /* M2: thread 0 has counted */
        report_write(control, device.table.state, batch.record, batch.ticket, batch.gathered);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_range_rest(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch,
                                      struct range_layout layout, cudaStream_t stream)
{
    struct sw_cuda_device<BITS> to = *device;
    struct sw_cuda_batch<BITS> what = *batch;
    struct wanted<BITS> wanted = wanted_of<BITS>(device, batch);
    void *arguments[] = {&to, &what, &wanted, &layout};
    return cudaLaunchCooperativeKernel((const void *)rest_kernel<BITS>,
                                       dim3(sw_cuda_cooperative_grid(device, device->rest_blocks)),
                                       dim3(OVERFULL_THREADS), arguments, 0, stream);
}

template <int BITS> cudaError_t sw_cuda_range_blocks(uint32_t multiprocessors, uint32_t *blocks)
{
    cudaError_t error = sw_cuda_cooperative_blocks(rest_kernel<BITS>, OVERFULL_THREADS,
                                                   multiprocessors, OVERFULL_BLOCKS_PER_SM, blocks);
    *blocks = *blocks < SW_CUDA_REST_BLOCKS_MAX ? *blocks : SW_CUDA_REST_BLOCKS_MAX;
    return error;
}

#define INSTANTIATE(BITS, ...)                                                                \
    template cudaError_t sw_cuda_range_blocks<BITS>(uint32_t, uint32_t *);                    \
    template cudaError_t sw_cuda_launch_range_rest<BITS>(const struct sw_cuda_device<BITS> *, \
                                                         const struct sw_cuda_batch<BITS> *,  \
                                                         struct range_layout, cudaStream_t);
SW_FORMATS(INSTANTIATE)
