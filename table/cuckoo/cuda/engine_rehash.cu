/* SPDX-License-Identifier: MIT
 *
 * engine_rehash.cu - moves all entries to the spare arrays under other seeds. The device decides
 * whether a rehash is needed and whether it succeeded, because the host must not wait for the
 * result. Each kernel reads what the kernel before it wrote (M1). While entries move, one exchange
 * per cell (M6) keeps each entry in one cell or with one thread. Threads that fail all store 1 in
 * rehash_failed (M6).
 */
#include "table/cuckoo/cuda/engine.cuh"

#define BLOCK SW_CUCKOO_ENGINE_BLOCK

static __device__ inline uint64_t thread_number()
{
    return (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
}

static __device__ inline uint64_t thread_count()
{
    return (uint64_t)gridDim.x * BLOCK;
}

template <int BITS>
static __device__ void next_seeds(const sw_cuckoo_write<BITS> &write, uint64_t seed)
{
    struct sw_cuckoo_engine_control *control = write.control;
    control->next = write.table->view.shape;
    sw_cuckoo_engine_seeds(&control->next, seed, ++control->seed_number);
    control->rehash_failed = 0;
}

template <int BITS>
static __global__ void begin_kernel(const sw_cuckoo_write<BITS> write, uint64_t seed)
{
    write.control->rehash = write.state->stash_occupied != 0;
    if (write.control->rehash) {
        next_seeds<BITS>(write, seed);
    }
}

template <int BITS> static __global__ void empty_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::cell *cells = (typename kind::cell *)write.control->spare;
    if (write.control->rehash) {
        for (uint64_t c = thread_number(); c < write.cells; c += thread_count()) {
            cells[c] = kind::cell_of(kind::ones, kind::ones);
        }
    }
}

template <int BITS> static __global__ void move_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    struct sw_cuckoo_engine_control *control = write.control;
    if (!control->rehash) {
        return;
    }
    typename kind::view view;
    view.cells = (typename kind::cell *)control->spare;
    view.shape = control->next;
    const typename kind::cell *old = write.table->view.cells;
    const typename kind::cell *stash = write.table->stash;
    uint64_t count = write.cells + write.state->stash_occupied;
    for (uint64_t c = thread_number(); c < count; c += thread_count()) {
        typename kind::cell carried = c < write.cells ? old[c] : stash[c - write.cells];
        if (carried.key == kind::ones) {
            continue;
        }
        if (kind::insert_from(&view, &carried, 1, 0, 1, view.shape.functions) != 0) {
            *(volatile unsigned int *)&control->rehash_failed = 1;
            return;
        }
    }
}

template <int BITS>
static __global__ void end_kernel(const sw_cuckoo_write<BITS> write, uint64_t seed)
{
    typedef sw_cuckoo_kind<BITS> kind;
    struct sw_cuckoo_engine_control *control = write.control;
    if (!control->rehash) {
        return;
    }
    if (control->rehash_failed) {
        next_seeds<BITS>(write, seed);
        return;
    }
    typename kind::cell *old = write.table->view.cells;
    write.table->view.cells = (typename kind::cell *)control->spare;
    write.table->view.shape = control->next;
    control->spare = old;
    control->rehash = 0;
    write.state->stash_occupied = 0;
}

template <int BITS>
cudaError_t sw_cuckoo_launch_rehash(const sw_cuckoo_write<BITS> &write, uint64_t seed,
                                    cudaStream_t stream)
{
    begin_kernel<BITS><<<1, 1, 0, stream>>>(write, seed);
    for (int tried = 0; tried < SW_CUCKOO_ENGINE_TRIES; tried++) {
        empty_kernel<BITS><<<SW_CUCKOO_ENGINE_FEW_BLOCKS, BLOCK, 0, stream>>>(write);
        move_kernel<BITS><<<SW_CUCKOO_ENGINE_FEW_BLOCKS, BLOCK, 0, stream>>>(write);
        end_kernel<BITS><<<1, 1, 0, stream>>>(write, seed);
    }
    return cudaGetLastError();
}

/* --- clear ------------------------------------------------------------------------------------ */

template <int BITS> static __global__ void clear_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::cell *cells = write.table->view.cells;
    for (uint64_t c = thread_number(); c < write.cells; c += thread_count()) {
        cells[c] = kind::cell_of(kind::ones, kind::ones);
    }
}

template <int BITS> static __global__ void cleared_kernel(const sw_cuckoo_write<BITS> write)
{
    struct sw_counters none = {};
    write.control->counters = none;
    write.control->counters.deleted = write.state->occupied;
    write.state->occupied = 0;
    write.state->stash_occupied = 0;
    write.state->side_present = 0;
    write.state->side_value = 0;
    sw_cuckoo_report<BITS>(write, SW_OK);
}

template <int BITS>
cudaError_t sw_cuckoo_launch_clear(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    clear_kernel<BITS><<<SW_CUCKOO_ENGINE_FEW_BLOCKS, BLOCK, 0, stream>>>(write);
    cleared_kernel<BITS><<<1, 1, 0, stream>>>(write);
    return cudaGetLastError();
}

template <int BITS> static cudaError_t load()
{
    cudaError_t errors[] = {
        sw_cuckoo_load_kernel(begin_kernel<BITS>), sw_cuckoo_load_kernel(empty_kernel<BITS>),
        sw_cuckoo_load_kernel(move_kernel<BITS>),  sw_cuckoo_load_kernel(end_kernel<BITS>),
        sw_cuckoo_load_kernel(clear_kernel<BITS>), sw_cuckoo_load_kernel(cleared_kernel<BITS>)};
    for (cudaError_t error : errors) {
        if (error != cudaSuccess) {
            return error;
        }
    }
    return cudaSuccess;
}

cudaError_t sw_cuckoo_load_rehash()
{
    cudaError_t error = cudaSuccess;
#define LOAD(bits, ...) error = error == cudaSuccess ? load<bits>() : error;
    SW_WIDTHS(LOAD)
    return error;
}

#define INSTANTIATE(bits, ...)                                                                  \
    template cudaError_t sw_cuckoo_launch_rehash<bits>(const sw_cuckoo_write<bits> &, uint64_t, \
                                                       cudaStream_t);                           \
    template cudaError_t sw_cuckoo_launch_clear<bits>(const sw_cuckoo_write<bits> &, cudaStream_t);
SW_WIDTHS(INSTANTIATE)
