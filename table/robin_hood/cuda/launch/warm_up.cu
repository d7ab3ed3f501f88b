/* SPDX-License-Identifier: MIT
 *
 * warm_up.cu - launches every kernel once, so that the runtime loads no kernel while the table
 * serves.
 */
#include <string.h>

#include "table/device/cutter.cuh"
#include "table/robin_hood/cuda/device.cuh"

/* Operations of the larger of the two batches that load the kernels. */
#define WARM_UP_OPS (1U << 14)

template <int BITS, int N>
static cudaError_t warm_up_get(const struct sw_cuda_device<BITS> *device,
                               const struct sw_cuda_batch<BITS> *batch, bool use_hints,
                               struct sw_cuda_tally *tally)
{
    struct sw_cuda_reads<BITS, N> reads;
    memset(&reads, 0, sizeof(reads));
    reads.batch_count = 1;
    reads.batches[0].keys = batch->keys;
    reads.batches[0].count = batch->count;
    reads.batches[0].record = batch->record;
    reads.batches[0].tally = tally;
    return sw_cuda_launch_get<BITS, N>(device, use_hints, &reads, cudaStreamPerThread);
}

template <int BITS>
static cudaError_t warm_up_gets(const struct sw_cuda_device<BITS> *device,
                                const struct sw_cuda_batch<BITS> *batch,
                                struct sw_cuda_tally *tally)
{
    cudaError_t error = cudaSuccess;
    for (int hints = 0; hints < 2 && error == cudaSuccess; hints++) {
        error = warm_up_get<BITS, 1>(device, batch, hints != 0, tally);
        if (error == cudaSuccess) {
            error = warm_up_get<BITS, SW_CUDA_READS_MAX>(device, batch, hints != 0, tally);
        }
    }
    return error;
}

/* Completes the batch, empties the table, and completes a record for that. */
template <int BITS>
static cudaError_t finish_and_clear(const struct sw_cuda_device<BITS> *device,
                                    const struct sw_cuda_batch<BITS> *batch, uint64_t slots_total)
{
    cudaError_t error = sw_cuda_launch_finish<BITS>(device, batch, cudaStreamPerThread);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_clear<BITS>(device, slots_total, cudaStreamPerThread);
    }
    return error == cudaSuccess ? sw_cuda_launch_finish<BITS>(device, batch, cudaStreamPerThread)
                                : error;
}

/* Runs SETs of key 0 by ranges, folded in any order, in array order, and direct. Then removes key 0
 * from the empty table, without and with holes. */
template <int BITS>
static cudaError_t warm_up_ranges(const struct sw_cuda_device<BITS> *device,
                                  struct sw_cuda_batch<BITS> batch, uint64_t slots_total)
{
    cudaError_t error = cudaSuccess;
    batch.values = batch.keys;
    for (int form = 0; form < 5 && error == cudaSuccess; form++) {
        struct sw_state *begun = NULL;
        batch.op = form < 3 ? SW_SET : SW_DELETE;
        batch.previous = form == 1 ? device->scratch.previous : NULL;
        batch.direct = form >= 2;
        batch.leaves_holes = form == 4;
        batch.gathered = true;
        error = sw_cuda_launch_first_piece<BITS>(device, &batch, &begun, cudaStreamPerThread);
        if (error == cudaSuccess) {
            error = sw_cuda_launch_next_piece<BITS>(device, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_last_piece<BITS>(device, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_scatter<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_ranges<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess && batch.leaves_holes) {
            error = sw_cuda_launch_holes<BITS>(device, batch.count, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            batch.previous = NULL;
            batch.gathered = false;
            error = finish_and_clear<BITS>(device, &batch, slots_total);
        }
    }
    return error;
}

/* Merges SETs and SUMs of key 0 into the empty table, and empties it again. A key set merges both
 * alike. */
template <int BITS>
static cudaError_t warm_up_merges(const struct sw_cuda_device<BITS> *device,
                                  struct sw_cuda_batch<BITS> batch, uint64_t slots_total)
{
    cudaError_t error = cudaSuccess;
    batch.values = batch.keys;
    for (uint32_t op = SW_SET; op <= SW_SUM && error == cudaSuccess; op++) {
        batch.op = op;
        batch.found = op == SW_SUM ? (uint32_t *)device->scratch.found : NULL;
        error = sw_cuda_launch_merge_sort<BITS>(device, &batch, device->table.main.buckets,
                                                cudaStreamPerThread);
        if (error == cudaSuccess) {
            error = sw_cuda_launch_merge<BITS>(device, &batch, NULL, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_finish<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_merge_sort<BITS>(device, &batch, device->table.main.buckets,
                                                    cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_merge_in_place<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_finish<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_clear<BITS>(device, slots_total, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_finish<BITS>(device, &batch, cudaStreamPerThread);
        }
    }
    return error;
}

/* Launches the kernels for deletes and moves on the empty table. */
template <int BITS>
static cudaError_t warm_up_moves(const struct sw_cuda_device<BITS> *device,
                                 struct sw_cuda_batch<BITS> batch)
{
    const struct sw_cuda_batch<BITS> none = {
    };
    cudaStream_t stream = cudaStreamPerThread;
    batch.op = SW_DELETE;
    cudaError_t error = sw_cuda_launch_net_effects<BITS>(device, &batch, stream);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_tombstones<BITS>(device, &batch, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_finish<BITS>(device, &batch, stream);
    }
    batch.op = SW_SET;
    batch.count = 0;
    batch.values = batch.keys;
    if (error == cudaSuccess) {
        error = sw_cuda_launch_merge_sort<BITS>(device, &none, device->table.main.buckets, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_merge<BITS>(device, &none, &device->table, stream);
    }
    if (error == cudaSuccess) { /* the stash is empty: there is nothing to set aside */
        error = sw_cuda_launch_close_up<BITS>(
            device, (typename sw_width<BITS>::slot *)device->scratch.deletes, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_reset<BITS>(device, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_finish<BITS>(device, &batch, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_close<BITS>(device, &batch, stream);
    }
    return error;
}

/* Launches every kernel once, on operations on key 0 in the empty table. The runtime loads a kernel
 * and reserves the memory of its threads at the first launch. So a device without room for them
 * fails here, when the table opens, and not later. The scratch stays zero where it must. */
template <int BITS>
cudaError_t sw_cuda_warm_up(const struct sw_cuda_device<BITS> *device, uint32_t batch_ops_max,
                            uint64_t slots_total)
{
    struct sw_cuda_batch<BITS> batch = {
    };
    /* only overfull ranges use these counts, and these batches have none */
    struct sw_cuda_tally *tally = (struct sw_cuda_tally *)device->scratch.ranged.counts;
    batch.record = (struct sw_cuda_record *)(tally + 1);
    batch.keys = device->scratch.operands;
    batch.op = SW_GET;
    batch.group_count = 1;
    batch.count = batch_ops_max;
    cudaError_t error = warm_up_gets<BITS>(device, &batch, tally);
    /* few operations, since one thread applies all of them; both counts, because the sort has a
     * kernel for each */
    for (uint32_t count = 1; count <= WARM_UP_OPS && error == cudaSuccess; count *= WARM_UP_OPS) {
        batch.count = count < batch_ops_max ? count : batch_ops_max;
        error = warm_up_gets<BITS>(device, &batch, tally);
        if (error == cudaSuccess) {
            error = sw_cuda_launch_net_effects<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_apply<BITS>(device, &batch, true, false, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_finish<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = warm_up_merges<BITS>(device, batch, slots_total);
        }
        if (error == cudaSuccess && device->hints != NULL) {
            error = sw_cuda_launch_hints<BITS>(device, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = warm_up_ranges<BITS>(device, batch, slots_total);
        }
        if (error == cudaSuccess) {
            error = warm_up_moves<BITS>(device, batch);
        }
    }
    return error;
}

static_assert(sizeof(struct sw_cuda_tally) + sizeof(struct sw_cuda_record) <=
                      SW_CUDA_OVERFULL_COUNTS * sizeof(uint32_t) &&
                  sizeof(struct sw_cuda_tally) % alignof(struct sw_cuda_record) == 0,
              "the counts have room");

#define INSTANTIATE(BITS, ...)                                                                \
    template cudaError_t sw_cuda_warm_up<BITS>(const struct sw_cuda_device<BITS> *, uint32_t, \
                                               uint64_t);
SW_FORMATS(INSTANTIATE)
