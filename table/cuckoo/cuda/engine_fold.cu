/* SPDX-License-Identifier: MIT
 *
 * engine_fold.cu - applies the operations of a write batch to each key, in order (runs.cuh).
 */
#include "table/cuckoo/cuda/engine.cuh"

#define BLOCK SW_RUN_BLOCK

namespace
{

/* The sorted batch, for runs.cuh. */
template <int BITS> struct source {
    typedef sw_cuckoo_kind<BITS> kind;
    typedef typename kind::place place;
    const sw_cuckoo_write<BITS> &write;
    uint32_t count;
    const struct sw_run_scratch<BITS> &scratch;
    __device__ explicit source(const sw_cuckoo_write<BITS> &batch)
        : write(batch), count(batch.work.count), scratch(batch.scratch.runs)
    {
    }
    __device__ typename kind::word key(uint32_t j) const
    {
        return write.scratch.sorted_keys[j];
    }
    __device__ struct sw_run_operation<BITS> operation(uint32_t j) const {
        const uint32_t i = write.scratch.sorted_index[j];
        return {write.scratch.values[i], i, write.scratch.ops[i]};
    } __device__ place look_up(uint32_t j, uint32_t op,
                               typename sw_run_kind<BITS>::key_state *state,
                               struct fold_counts *counts) const
    {
        uint64_t probes = 0;
        const place found = kind::locate(write.table, key(j), &probes);
        count_probes(counts, op, probes);
        *state = {found.value, found.found, false};
        return found;
    }
};

} // namespace

/* --- runs that go on -------------------------------------------------------------------------- */

template <int BITS>
static __global__ void __launch_bounds__(BLOCK) summarize_kernel(const sw_cuckoo_write<BITS> write)
{
    __shared__ struct sw_run_memory<BITS> own;
    const source<BITS> batch(write);
    const struct sw_slice slice = sw_slice_of(batch, blockIdx.x);
    struct fold_counts counts = {};
    if (slice.goes_on) {
        sw_runs_summarize<BITS>(batch, slice, &own, &counts);
        add_counts(&write.control->counters, &counts);
    }
}

template <int BITS>
static __global__ void __launch_bounds__(BLOCK) enter_kernel(const sw_cuckoo_write<BITS> write)
{
    __shared__ struct sw_run_memory<BITS> passed;
    __shared__ struct sw_enter_memory<BITS> memory;
    const source<BITS> batch(write);
    sw_runs_enter<BITS>(batch, sw_slice_of(batch, blockIdx.x), &passed, &memory);
}

/* --- every run -------------------------------------------------------------------------------- */

/* Stores the answer of this thread's operation, number i of the batch, and counts it. */
template <int BITS>
static __device__ inline void answer_operation(const sw_cuckoo_write<BITS> &write, uint32_t i,
                                               const struct sw_run_memory<BITS> *own,
                                               struct fold_counts *counts)
{
    const uint32_t t = threadIdx.x;
    const bool found = own->exists[t];
    typename sw_cuckoo_kind<BITS>::word out = 0;
    write.scratch.previous[i] = own->values[t];
    write.scratch.found[i] = found;
    count_operation(
        counts, own->ops[t], found,
        sw_cuckoo_kind<BITS>::decide(own->ops[t], found, own->values[t], own->operands[t], &out));
}

/* With TELLS, writes the answers and changes the table. Otherwise counts the new keys. */
template <int BITS, bool TELLS>
static __global__ void __launch_bounds__(BLOCK) fold_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    __shared__ struct sw_run_memory<BITS> own;
    struct sw_cuckoo_engine_control *control = write.control;
    if (control->mode != (TELLS ? SW_CUCKOO_ADMITTED : SW_CUCKOO_COUNT_NEW)) {
        return;
    }
    const source<BITS> batch(write);
    const struct sw_slice slice = sw_slice_of(batch, blockIdx.x);
    struct fold_counts counts = {};
    typename kind::place place = {};
    typename sw_run_kind<BITS>::key_state now = {};
    bool inserts = false;
    const uint32_t i = sw_read_slice<BITS>(batch, slice, &own);
    if (sw_runs_fold<BITS>(batch, slice, &own, &place, &now, &counts)) {
        inserts = TELLS ? sw_cuckoo_carry_out<BITS>(write, own.keys[threadIdx.x], place, now)
                        : now.inserted && !place.found;
    }
    if (!TELLS && now.inserted) {
        control->inserting = 1;
    }
    const uint32_t at = sw_list_append(TELLS ? &control->inserts : &control->new_keys, inserts);
    if (!TELLS) {
        return;
    }
    if (inserts) {
        write.scratch.inserts[at] = kind::cell_of(own.keys[threadIdx.x], now.value);
    }
    __syncthreads(); /* M2: values[] and exists[] of all runs */
    if (threadIdx.x < slice.count) {
        answer_operation<BITS>(write, i, &own, &counts);
    }
    add_counts(&control->counters, &counts);
}

/* --- launches --------------------------------------------------------------------------------- */

template <int BITS>
cudaError_t sw_cuckoo_launch_runs(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    const uint32_t slices = sw_slices_of(write.work.count);
    if (slices > 1) {
        summarize_kernel<BITS><<<slices, BLOCK, 0, stream>>>(write);
        enter_kernel<BITS><<<slices, BLOCK, 0, stream>>>(write);
    }
    return cudaGetLastError();
}

template <int BITS, bool TELLS>
cudaError_t sw_cuckoo_launch_fold(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    const uint32_t slices = sw_slices_of(write.work.count);
    const uint32_t blocks = slices == 0 ? 1 : slices;
    fold_kernel<BITS, TELLS><<<blocks, BLOCK, 0, stream>>>(write);
    return cudaGetLastError();
}

template <int BITS> static cudaError_t load()
{
    cudaError_t errors[] = {sw_cuckoo_load_kernel(summarize_kernel<BITS>),
                            sw_cuckoo_load_kernel(enter_kernel<BITS>),
                            sw_cuckoo_load_kernel(fold_kernel<BITS, false>),
                            sw_cuckoo_load_kernel(fold_kernel<BITS, true>)};
    for (cudaError_t error : errors) {
        if (error != cudaSuccess) {
            return error;
        }
    }
    return cudaSuccess;
}

cudaError_t sw_cuckoo_load_fold()
{
    cudaError_t error = cudaSuccess;
#define LOAD(bits, ...) error = error == cudaSuccess ? load<bits>() : error;
    SW_WIDTHS(LOAD)
    return error;
}

#define INSTANTIATE(bits, ...)                                                                     \
    template cudaError_t sw_cuckoo_launch_runs<bits>(const sw_cuckoo_write<bits> &, cudaStream_t); \
    template cudaError_t sw_cuckoo_launch_fold<bits, false>(const sw_cuckoo_write<bits> &,         \
                                                            cudaStream_t);                         \
    template cudaError_t sw_cuckoo_launch_fold<bits, true>(const sw_cuckoo_write<bits> &,          \
                                                           cudaStream_t);
SW_WIDTHS(INSTANTIATE)
