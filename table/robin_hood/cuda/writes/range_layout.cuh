/* SPDX-License-Identifier: MIT
 *
 * range_layout.cuh - the number and the room of the ranges of a batch, and access to its
 * operations.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_LAYOUT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_LAYOUT_CUH

#include "table/robin_hood/cuda/writes/fold.cuh"

/* Up to RANGES_FEW ranges, a range has about RANGE_FEW operations. So enough blocks to fill a GPU
 * share a batch of 2^16. */
#define RANGE_FEW 256
#define RANGES_FEW 256

struct range_layout {
    uint32_t ranges; /* a power of two */
    uint32_t ranges_log2;
    uint32_t room;
    bool in_order; /* operations on a key are folded in array order */
};

static inline struct range_layout layout_of(uint32_t count)
{
    struct range_layout layout = {1, 0, 0, false};
    while (((uint64_t)layout.ranges * RANGE_FEW < count && layout.ranges < RANGES_FEW) ||
           ((uint64_t)layout.ranges * RANGE_WANTED < count && layout.ranges < SW_CUDA_RANGES_MAX)) {
        layout.ranges *= 2;
        layout.ranges_log2++;
    }
    uint32_t share = (count + layout.ranges - 1) / layout.ranges;
    uint32_t root = 1;
    while (root * root < share) {
        root++;
    }
    layout.room = (share + 8 * root + 31) / 32 * 32;
    return layout;
}

template <int BITS>
static inline struct range_layout layout_for(const struct sw_cuda_batch<BITS> *batch)
{
    struct range_layout layout = layout_of(batch->count);
    switch (batch->op) {
    case SW_SET:
    case SW_SUM:
    case SW_MIN:
    case SW_MAX:
    case SW_SET_PRESENT:
    case SW_DELETE:
        layout.in_order = batch->ops != NULL || batch->previous != NULL;
        break;
    default: /* in a key set all operations of one kind on a key do the same */
        layout.in_order = !sw_width<BITS>::is_set || batch->ops != NULL || batch->previous != NULL;
    }
    return layout;
}

template <int BITS>
static __device__ inline uint32_t range_of(typename sw_width<BITS>::word m,
                                           struct range_layout layout)
{
    return (uint32_t)((uint64_t)m >> 1 >> (BITS / 2 - 1 - layout.ranges_log2));
}

template <int BITS>
static __device__ inline uint32_t op_of(const struct sw_cuda_batch<BITS> &batch, uint64_t i)
{
    return batch.ops != NULL ? batch.ops[i] : batch.op;
}

template <int BITS>
static __device__ inline typename sw_width<BITS>::word
operand_of(const struct sw_cuda_batch<BITS> &batch, uint64_t i)
{
    const bool none = batch.values == NULL || (batch.ops == NULL && batch.op == SW_DELETE);
    return none ? 0 : batch.values[i];
}

/* Launches the third kernel (range_rest.cu). */
template <int BITS>
cudaError_t sw_cuda_launch_range_rest(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch,
                                      struct range_layout layout, cudaStream_t stream);

#endif
