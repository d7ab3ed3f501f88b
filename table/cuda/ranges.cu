/* SPDX-License-Identifier: MIT
 *
 * ranges.cu - batches of upserts of one kind that are sure to fit, or of deletes, range by range:
 * three kernels.
 *
 * The batch is cut into ranges of m, so that a block finds the repeated keys of one range in shared
 * memory and looks its keys up in buckets that lie near each other. It writes the keys that are
 * present; those to insert or to remove are listed, for walk.cu: nothing moves here.
 *
 * A range with far more operations than its share, because keys are repeated, is left to the last
 * kernel, where all blocks do it together, by cells.
 */
#include <cooperative_groups.h>

#include "table/cuda/fold.cuh"

/* Base, and what may be tried in its place. Of the first kernel: threads of a block, and operations
 * of a thread. Of the second: threads of a block, for how many threads a multiprocessor there are
 * to be registers (0: the compiler decides), whether hints are read, where the table has them.
 *
 * %RANGE% SW_RANGES_SCATTER_BLOCK tps {256,512,1024} Operation{ct}=[scatter]
 * %RANGE% SW_RANGES_SCATTER_KEYS kps {2,4,8,16} Operation{ct}=[scatter]
 * %RANGE% SW_RANGES_BLOCK tpb {128,256,512} Operation{ct}=[apply]
 * %RANGE% SW_RANGES_RESIDENT tpm {0,1024,1536} Operation{ct}=[apply]
 * %RANGE% SW_RANGES_HINTS hin {0,1} Operation{ct}=[apply]
 */
#ifndef SW_RANGES_SCATTER_BLOCK
#define SW_RANGES_SCATTER_BLOCK 512
#endif
#ifndef SW_RANGES_SCATTER_KEYS
#define SW_RANGES_SCATTER_KEYS 8
#endif
#ifndef SW_RANGES_BLOCK
#define SW_RANGES_BLOCK 256
#endif
#ifndef SW_RANGES_RESIDENT
#define SW_RANGES_RESIDENT 0
#endif
#ifndef SW_RANGES_HINTS
#define SW_RANGES_HINTS 1
#endif
template <int ARCH, int BITS> struct sw_policy_ranges_scatter {
    static constexpr int tps = SW_RANGES_SCATTER_BLOCK;
    static constexpr int kps = SW_RANGES_SCATTER_KEYS;
};
template <int ARCH, int BITS> struct sw_policy_ranges_apply {
    static constexpr int tpb = SW_RANGES_BLOCK;
    static constexpr int tpm = SW_RANGES_RESIDENT;
    static constexpr int hin = SW_RANGES_HINTS;
};
#define SW_POLICY_RANGES
#include "table/cuda/policy.cuh"
#undef SW_POLICY_RANGES

template <int BLOCK, int RESIDENT> struct sw_ranges_shape {
    static constexpr int block = BLOCK;
    static constexpr int blocks_min = RESIDENT / BLOCK;
};

/* The last kernel's blocks; all of them run at once, so there are fewer where fewer fit. */
#define REST_THREADS 256
#define REST_BLOCKS_PER_SM 2

#define RANGES_MIN 256

struct plan {
    uint32_t ranges; /* a power of two */
    uint32_t ranges_log2;
    uint32_t room;
};

static struct plan plan_of(uint32_t count)
{
    struct plan plan = {RANGES_MIN, 0, 0};
    while ((uint64_t)plan.ranges * RANGE_WANTED < count && plan.ranges < SW_CUDA_RANGES_MAX) {
        plan.ranges *= 2;
    }
    while (1U << plan.ranges_log2 < plan.ranges) {
        plan.ranges_log2++;
    }
    uint32_t share = (count + plan.ranges - 1) / plan.ranges;
    uint32_t root = 1;
    while (root * root < share) {
        root++;
    }
    plan.room = (share + 8 * root + 31) / 32 * 32;
    return plan;
}

/* It grows with the batch, also where the number of ranges does. */
uint64_t sw_cuda_range_slots(uint32_t count_max)
{
    struct plan plan = plan_of(count_max < SW_CUDA_RANGED_MAX ? count_max : SW_CUDA_RANGED_MAX);
    return (uint64_t)plan.ranges * plan.room;
}

template <int BITS>
static __device__ inline uint32_t range_of(typename sw_width<BITS>::word m, struct plan plan)
{
    return (uint32_t)(m >> (BITS / 2 - plan.ranges_log2));
}

/* By all threads of the batch: whether it may insert (control->mode). */
template <int BITS>
static __device__ inline void ask(const struct sw_cuda_device<BITS> &device, uint32_t op,
                                  bool first, bool some, typename sw_width<BITS>::word m)
{
    uint32_t mode = op == SW_DELETE ? (uint32_t)SW_CUDA_COMMIT : sw_mode_of_upserts(&device.table);
    if (first) {
        device.control->mode = mode;
        sw_note_stash(device.control, device.table.state);
    }
    uint64_t probes = 0;
    if (mode == SW_CUDA_ASK && some && !sw_width<BITS>::locate(&device.table, m, &probes).found) {
        device.control->absent = 1;
    }
}

/* One store for 64-bit slots, two for 128-bit ones. */
template <int BITS>
static __device__ inline void move(struct sw_cuda_moved<BITS> *to, struct sw_cuda_moved<BITS> moved)
{
    if (BITS == 64) {
        *(uint4 *)to = make_uint4((uint32_t)moved.m, (uint32_t)moved.operand, moved.operation, 0);
    } else {
        ulonglong2 *halves = (ulonglong2 *)to;
        halves[0] = make_ulonglong2(moved.m, moved.operand);
        halves[1] = make_ulonglong2(moved.operation, 0);
    }
}

/* Brings the operations to their ranges, in no order. */
template <int BITS, int THREADS, int KEYS>
static __global__ void __launch_bounds__(THREADS)
    scatter_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                   struct plan plan)
{
    typedef sw_width<BITS> W;
    __shared__ uint32_t taken[SW_CUDA_RANGES_MAX];
    const struct sw_cuda_ranged<BITS> ranged = device.scratch.ranged;
    typename W::word m[KEYS];
    uint32_t rank[KEYS];
    uint64_t start = (uint64_t)blockIdx.x * THREADS * KEYS + threadIdx.x;
    for (uint32_t r = threadIdx.x; r < plan.ranges; r += THREADS) {
        taken[r] = 0;
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = start + k * THREADS;
        m[k] = i < batch.count ? batch.keys[i] : 0;
        if (i < batch.count && i % 64 == 0) {
            device.scratch.found[i / 64] = 0;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = start + k * THREADS;
        m[k] = W::mix(&device.table, m[k]);
        ask<BITS>(device, batch.op, i == 0, i < batch.count, m[k]);
        rank[k] = i < batch.count ? atomicAdd(&taken[range_of<BITS>(m[k], plan)], 1U) : 0;
    }
    __syncthreads();
    for (uint32_t r = threadIdx.x; r < plan.ranges; r += THREADS) {
        uint32_t here = taken[r];
        if (here != 0) {
            taken[r] = atomicAdd(&ranged.lengths[r], here);
            if (taken[r] + here > plan.room) {
                device.control->crowded = 1;
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = start + k * THREADS;
        if (i >= batch.count) {
            continue;
        }
        uint32_t range = range_of<BITS>(m[k], plan);
        uint32_t at = taken[range] + rank[k];
        if (at < plan.room) {
            struct sw_cuda_moved<BITS> moved = {
                m[k], batch.op != SW_DELETE ? batch.values[i] : 0, (uint32_t)i
            };
            move<BITS>(&ranged.moved[(uint64_t)range * plan.room + at], moved);
        }
    }
}

/* Writes one key in place, or lists it as one to insert. By all threads of a warp; `stands` for
 * those that have one. */
template <int BITS>
static __device__ inline void upsert_entry(const struct sw_cuda_device<BITS> &device,
                                           const struct fold<BITS> *fold, uint32_t op, uint32_t e,
                                           bool stands, bool answers, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    typename W::slot entry;
    bool absent = false;
    if (stands) {
        entry = fold->entries[e];
        typename W::place place = W::locate_hinted(&device.table, device.hints, entry.m, probes);
        W::decide(op, place.found, place.value, entry.value, &entry.value);
        absent = write_one<BITS>(device, place, entry);
        if (answers && place.found) {
            set_found<BITS>(device, fold->operation[e]);
        }
    }
    uint32_t at = sw_list_append(&device.control->inserts, absent);
    if (absent) {
        device.scratch.inserts[at] = entry;
    }
}

/* Lists one key as one to remove, likewise. */
template <int BITS>
static __device__ inline void remove_entry(const struct sw_cuda_device<BITS> &device,
                                           const struct fold<BITS> *fold, uint32_t e, bool stands,
                                           bool answers, uint64_t *probes)
{
    struct sw_cuda_removal<BITS> removal;
    bool found = false;
    bool leaves = stands && remove_one<BITS>(device, fold->entries[e].m, &removal, &found, probes);
    if (answers && found) {
        set_found<BITS>(device, fold->operation[e]);
    }
    uint32_t at = sw_list_append(&device.control->deletes, leaves);
    if (leaves) {
        device.scratch.deletes[at] = removal;
    }
}

/* A block looks up a range. */
template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    range_kernel(const struct sw_cuda_device<BITS> device, uint32_t op, bool answers,
                 struct plan plan)
{
    constexpr int THREADS = SHAPE::block;
    __shared__ struct fold<BITS> fold;
    const struct sw_cuda_ranged<BITS> ranged = device.scratch.ranged;
    struct sw_cuda_control *control = device.control;
    const uint32_t count = ranged.lengths[blockIdx.x];
    if (!sw_is_admitted(control) || count > plan.room) {
        return;
    }
    fold_range<BITS, THREADS>(device, &fold, op, answers,
                              ranged.moved + (uint64_t)blockIdx.x * plan.room, count);
    uint64_t probes = 0;
    for (uint32_t first = 0; first < count; first += THREADS) {
        const uint32_t e = first + threadIdx.x;
        const bool stands = e < count && fold.gave_way[e] == ALIVE;
        if (op == SW_DELETE) {
            remove_entry<BITS>(device, &fold, e, stands, answers, &probes);
        } else {
            upsert_entry<BITS>(device, &fold, op, e, stands, answers, &probes);
        }
    }
    const enum sw_op_class of_class = op == SW_DELETE ? SW_CLASS_DELETE : SW_CLASS_UPSERT;
    sw_block_add(&control->counters.by_class[of_class].probes, probes);
}

/* The ranges left out: phases of all blocks together, by cells. */
template <int BITS>
static __device__ inline void crowded_ranges(const struct sw_cuda_device<BITS> &device,
                                             const struct sw_cuda_batch<BITS> &batch,
                                             struct plan plan, uint64_t start, uint64_t step)
{
    typedef sw_width<BITS> W;
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    uint64_t probes = 0;
    for (uint64_t i = start; i < batch.count; i += step) {
        typename W::word m = W::mix(&device.table, batch.keys[i]);
        if (scratch->ranged.lengths[range_of<BITS>(m, plan)] > plan.room) {
            collect_one<BITS>(device, batch, i, m);
        } else {
            scratch->index_sorted[i] = NO_CELL;
        }
    }
    grid.sync();
    for (uint64_t i = start; i < batch.count; i += step) {
        typename W::slot entry;
        struct sw_cuda_removal<BITS> removal;
        if (scratch->index_sorted[i] == NO_CELL || !stands_for_key<BITS>(scratch, i)) {
            continue;
        }
        if (batch.op == SW_DELETE) {
            if (remove_cell<BITS>(device, i, batch.found != NULL, &removal, &probes)) {
                scratch->deletes[atomicAdd(&device.control->deletes, 1U)] = removal;
            }
        } else if (apply_one<BITS>(device, batch, i, &entry, &probes)) {
            scratch->inserts[atomicAdd(&device.control->inserts, 1U)] = entry;
        }
    }
    sw_warp_add(&device.control->counters.by_class[sw_op_class_of(batch.op)].probes, probes);
    grid.sync();
    for (uint64_t i = start; i < batch.count; i += step) {
        if (batch.found != NULL && scratch->index_sorted[i] != NO_CELL &&
            was_found<BITS>(scratch, batch.op, i)) {
            set_found<BITS>(device, (uint32_t)i);
        }
    }
    grid.sync();
    for (uint64_t i = start; i < batch.count; i += step) {
        if (scratch->index_sorted[i] != NO_CELL) {
            free_cell<BITS>(device, batch, i);
        }
    }
}

/* All blocks together: the ranges left out, the answers and the counters. */
template <int BITS>
static __global__ void __launch_bounds__(REST_THREADS)
    rest_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                struct plan plan)
{
    struct sw_cuda_control *control = device.control;
    uint64_t start = (uint64_t)blockIdx.x * REST_THREADS + threadIdx.x;
    uint64_t step = (uint64_t)gridDim.x * REST_THREADS;
    if (sw_is_admitted(control)) {
        if (control->crowded != 0) {
            crowded_ranges<BITS>(device, batch, plan, start, step);
        }
        uint64_t words = batch.found != NULL ? ((uint64_t)batch.count + 63) / 64 * 2 : 0;
        for (uint64_t w = start; w < words; w += step) {
            batch.found[w] = ((volatile uint32_t *)device.scratch.found)[w];
        }
    }
    for (uint64_t r = start; r < plan.ranges; r += step) {
        device.scratch.ranged.lengths[r] = 0;
    }
    if (sw_last_block(&control->blocks_done, gridDim.x) && threadIdx.x == 0) {
        control->blocks_done = 0;
        conclude<BITS>(device, batch);
    }
}

template <int BITS, typename POLICY>
static cudaError_t launch_scatter(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    const uint32_t share = POLICY::tps * POLICY::kps;
    scatter_kernel<BITS, POLICY::tps, POLICY::kps>
        <<<batch->count / share + 1, POLICY::tps, 0, stream>>>(*device, *batch,
                                                               plan_of(batch->count));
    return cudaGetLastError();
}

template <int BITS, typename POLICY>
static cudaError_t launch_ranges(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, struct plan plan,
                                 cudaStream_t stream)
{
    typedef sw_ranges_shape<POLICY::tpb, POLICY::tpm> shape;
    struct sw_cuda_device<BITS> to = *device;
    if (!POLICY::hin) {
        to.hints = NULL;
    }
    range_kernel<BITS, shape>
        <<<plan.ranges, POLICY::tpb, 0, stream>>>(to, batch->op, batch->found != NULL, plan);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_scatter(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    switch (SW_POLICY_ARCH(device)) {
    case 90:
        return launch_scatter<BITS, sw_policy_ranges_scatter<90, BITS>>(device, batch, stream);
    default:
        return launch_scatter<BITS, sw_policy_ranges_scatter<0, BITS>>(device, batch, stream);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_upsert_ranges(const struct sw_cuda_device<BITS> *device,
                                         const struct sw_cuda_batch<BITS> *batch,
                                         cudaStream_t stream)
{
    struct sw_cuda_device<BITS> to = *device;
    struct sw_cuda_batch<BITS> what = *batch;
    struct plan plan = plan_of(batch->count);
    void *arguments[] = {&to, &what, &plan};
    cudaError_t error = cudaSuccess;
    switch (SW_POLICY_ARCH(device)) {
    case 90:
        error = launch_ranges<BITS, sw_policy_ranges_apply<90, BITS>>(device, batch, plan, stream);
        break;
    default:
        error = launch_ranges<BITS, sw_policy_ranges_apply<0, BITS>>(device, batch, plan, stream);
    }
    if (error != cudaSuccess) {
        return error;
    }
    return cudaLaunchCooperativeKernel((const void *)rest_kernel<BITS>, dim3(device->rest_blocks),
                                       dim3(REST_THREADS), arguments, 0, stream);
}

template <int BITS> cudaError_t sw_cuda_range_blocks(int device, uint32_t *blocks)
{
    int multiprocessors = 0;
    int fit = 0; /* on a multiprocessor */
    cudaError_t error =
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) {
        error =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, rest_kernel<BITS>, REST_THREADS, 0);
    }
    if (error == cudaSuccess && fit < 1) {
        error = cudaErrorLaunchOutOfResources;
    }
    *blocks = (uint32_t)(multiprocessors * (fit < REST_BLOCKS_PER_SM ? fit : REST_BLOCKS_PER_SM));
    return error;
}

#define INSTANTIATE(BITS)                                                                       \
    template cudaError_t sw_cuda_range_blocks<BITS>(int, uint32_t *);                           \
    template cudaError_t sw_cuda_launch_scatter<BITS>(                                          \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_upsert_ranges<BITS>(                                    \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
#ifdef SW_TUNE
INSTANTIATE(SW_TUNE_SLOT)
#else
INSTANTIATE(64)
INSTANTIATE(128)
#endif
