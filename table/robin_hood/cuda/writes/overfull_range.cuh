/* SPDX-License-Identifier: MIT
 *
 * overfull_range.cuh - carries out ranges that have more operations than their room, because keys
 * are repeated. All blocks of a cooperative launch do it together.
 *
 * Operations of one kind are folded in key slots. Operations of several kinds are sorted stably by
 * the number of their key slot. So each key's operations are a run in array order, which runs.cuh
 * carries out.
 *
 * Memory order: every step is complete in all blocks before the next begins, by a grid barrier
 * (M4).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_OVERFULL_RANGE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_OVERFULL_RANGE_CUH

#include "table/robin_hood/cuda/writes/in_order.cuh"
#include "table/robin_hood/cuda/writes/key_slots.cuh"
#include "table/robin_hood/cuda/writes/overfull_range_sort.cuh"

/* Copies the bits of `found` to the batch, if it wants them. Loads are volatile: other blocks set
 * bits by atomics, and L1 may have an older word. */
template <int BITS>
static __device__ inline void copy_found(const struct sw_cuda_device<BITS> &device,
                                         const struct sw_cuda_batch<BITS> &batch,
                                         const struct grid_stride &stride)
{
    const uint64_t words = batch.found != NULL ? ((uint64_t)batch.count + 63) / 64 * 2 : 0;
    for (uint64_t w = stride.start; w < words; w += stride.step) {
        batch.found[w] = ((volatile uint32_t *)device.scratch.found)[w];
    }
}

/* --- one kind --------------------------------------------------------------------------------- */

/* Sets `found` for the operations whose key was present before them. Returns their number among
 * this thread's operations. */
template <int BITS>
static __device__ inline uint64_t answer_key_slots(const struct sw_cuda_device<BITS> &device,
                                                   const struct sw_cuda_batch<BITS> &batch,
                                                   const struct grid_stride &stride)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    uint64_t hits = 0;
    for (uint64_t i = stride.start; i < batch.count; i += stride.step) {
        if (scratch->index_sorted[i] != NO_KEY_SLOT && was_found<BITS>(scratch, batch.op, i)) {
            set_found<BITS>(device, (uint32_t)i);
            hits++;
        }
    }
    return hits;
}

/* Carries out the operations that have key slots. */
template <int BITS>
static __device__ inline void apply_key_slots(const struct sw_cuda_device<BITS> &device,
                                              const struct sw_cuda_batch<BITS> &batch,
                                              const struct grid_stride &stride)
{
    typedef sw_width<BITS> W;
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    struct sw_op_counters *counters = &device.control->counters.by_class[sw_op_class_of(batch.op)];
    const uint64_t rounds = (batch.count + stride.step - 1) / stride.step;
    uint64_t i = stride.start;
    uint64_t probes = 0;
    uint64_t hits = 0;
    for (uint64_t r = 0; r < rounds; r++, i += stride.step) {
        typename W::slot entry;
        struct sw_cuda_removal<BITS> removal;
        const bool stands = i < batch.count && scratch->index_sorted[i] != NO_KEY_SLOT &&
                            is_last_of_key<BITS>(scratch, i);
        const bool leaves =
            stands && batch.op == SW_DELETE &&
            remove_key_slot<BITS>(device, i, batch.found != NULL, &removal, &probes);
        const bool absent =
            stands && batch.op != SW_DELETE && apply_one<BITS>(device, batch, i, &entry, &probes);
        uint32_t at = sw_list_append(&device.control->deletes, leaves);
        if (leaves) {
            scratch->deletes[at] = removal;
        }
        at = sw_list_append(&device.control->inserts, absent);
        if (absent) {
            *sw_listed_insert<BITS>(*scratch, at) = entry;
        }
    }
    sw_warp_add(&counters->probes, probes);
    grid.sync(); /* M4: every key was applied, so `last` has the final PRESENT bits */
    if (batch.found != NULL || batch.op == SW_SET_PRESENT) {
        hits = answer_key_slots<BITS>(device, batch, stride);
    }
    if (batch.op == SW_SET_PRESENT) { /* for other kinds the numbers of inserts and removals
                                         determine the hits */
        sw_warp_add(&counters->hits, hits);
    }
    grid.sync(); /* M4: the answers of all blocks */
}

/* --- any kinds -------------------------------------------------------------------------------- */

/* The sorted operations, as a source for runs.cuh. */
template <int BITS> struct overfull_runs {
    typedef struct sw_cuda_update<BITS> place;
    const struct sw_cuda_device<BITS> &device;
    const struct sw_overfull_operation *sorted;
    uint32_t count;
    struct sw_run_scratch<BITS> scratch;
    __device__ typename sw_width<BITS>::word key(uint32_t j) const
    {
        return sorted[j].key_slot;
    }
    __device__ typename sw_width<BITS>::word m(uint32_t j) const
    {
        return device.scratch.m[sorted[j].number];
    }
    __device__ struct sw_run_operation<BITS> operation(uint32_t j) const {
        const uint32_t number = sorted[j].number;
        return {device.scratch.operands[number], number, device.scratch.ops[number]};
    } __device__ place look_up(uint32_t j, uint32_t op,
                               typename sw_run_kind<BITS>::key_state *state,
                               struct fold_counts *counts) const
    {
        const place held = ::look_up<BITS>(device, m(j), op, counts);
        *state = {held.value, held.slot != NOWHERE, false};
        return held;
    }
};

/* Sorts the operations that have a key slot by its number, stably. */
template <int BITS>
static __device__ inline struct overfull_runs<BITS>
sort_overfull(const struct sw_cuda_device<BITS> &device, uint32_t count, uint32_t keys_max) {
    __shared__ struct sort_memory memory;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    /* takes the memory of the key slots: only their numbers are needed by now */
    struct sw_overfull_operation *half[2] = {scratch->overfull, scratch->overfull + count};
    struct unsorted in = {scratch->index_sorted, NULL, count};
    uint32_t pass = 0;
    for (uint32_t shift = 0; 2 * (uint64_t)keys_max >> shift != 0; shift += DIGIT_BITS, pass++) {
        const uint32_t all = sort_pass(&memory, in, shift, scratch->ranged.counts, half[pass % 2]);
        in = {NULL, half[pass % 2], all};
    }
    return {device, in.from, in.count, scratch->runs};
}

/* Records that the key of an operation was present before it, if `found`. All threads of a warp
 * must call it. */
template <int BITS>
static __device__ inline void set_found_by_warp(const struct sw_cuda_device<BITS> &device,
                                                uint32_t operation, bool found)
{
    const uint32_t alike = __match_any_sync(SW_WARP_ALL, operation / 32);
    const uint32_t bits = sw_warp_combine(alike, found ? 1U << operation % 32 : 0U,
                                          [](uint32_t a, uint32_t b) { return a | b; });
    if (bits != 0 && sw_warp_is_first(alike)) { /* M6: other warps set other bits of the word */
        atomicOr((uint32_t *)device.scratch.found + operation / 32, bits);
    }
}

/* Folds the operations of one slice and answers them. All threads of a block must call it. */
template <int BITS>
static __device__ inline void
fold_slice(const struct wanted<BITS> &wanted, const struct overfull_runs<BITS> &runs,
           uint32_t number, struct sw_run_memory<BITS> *own, struct fold_counts *counts)
{
    const struct sw_slice slice = sw_slice_of(runs, number);
    const uint32_t t = threadIdx.x;
    struct sw_cuda_update<BITS> held = {
        NOWHERE, 0
    };
    typename sw_run_kind<BITS>::key_state now = {};
    struct effect<BITS> effect = {
        SW_NET_NONE, NOWHERE,
        {
        }
    };
    const uint32_t i = sw_read_slice<BITS>(runs, slice, own);
    if (sw_runs_fold<BITS>(runs, slice, own, &held, &now, counts)) {
        const struct folded<BITS> key = {
            now.value, now.exists, now.value != held.value
        };
        effect = effect_of<BITS>(runs.device, runs.m(slice.first + t), held, key);
    }
    carry_out<BITS>(runs.device, effect);
    __syncthreads(); /* M2: values[] and exists[] of all runs */
    bool found = false;
    if (t < slice.count) {
        const struct operation<BITS> operation = {
            own->operands[t], i, own->ops[t]
        };
        struct folded<BITS> before = {
            own->values[t], own->exists[t], false
        };
        found = wanted.found && before.exists;
        fold_operation<BITS>(runs.device, {wanted.previous, false}, operation, &before, counts);
    }
    set_found_by_warp<BITS>(runs.device, i, found);
}

/* Carries out the operations whose key slots are in index_sorted. */
template <int BITS>
static __device__ inline void apply_in_order(const struct sw_cuda_device<BITS> &device,
                                             const struct sw_cuda_batch<BITS> &batch,
                                             const struct wanted<BITS> &wanted, uint32_t keys_max)
{
    __shared__ struct sw_run_memory<BITS> own;
    __shared__ struct sw_enter_memory<BITS> entering;
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const struct overfull_runs<BITS> runs = sort_overfull<BITS>(device, batch.count, keys_max);
    const uint32_t slices = sw_slices_of(runs.count);
    struct fold_counts counts = {};
    for (uint32_t s = blockIdx.x; s < slices; s += gridDim.x) {
        sw_runs_summarize<BITS>(runs, sw_slice_of(runs, s), &own, &counts);
    }
    grid.sync(); /* M4: changes of all slices */
    for (uint32_t s = blockIdx.x; s < slices; s += gridDim.x) {
        sw_runs_enter<BITS>(runs, sw_slice_of(runs, s), &own, &entering);
    }
    grid.sync(); /* M4: the state of its key on entry is known for every slice */
    for (uint32_t s = blockIdx.x; s < slices; s += gridDim.x) {
        fold_slice<BITS>(wanted, runs, s, &own, &counts);
    }
    add_counts(&device.control->counters, &counts);
    grid.sync(); /* M4: the answers of all blocks */
}

#endif
