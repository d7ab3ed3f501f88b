/* SPDX-License-Identifier: MIT
 *
 * engine_write.cu - batches that write. Their results are those of execute_in_order.
 *
 * The operations are sorted by key, and stay in order for each key. Then the operations of each key
 * are applied (engine_fold.cu). The thread of a key writes its value or empties its cell at once,
 * because no other thread writes that key and no entry moves. Inserts go to a list and are made
 * after that. If a group might be refused, the new keys are counted first. If they do not all fit,
 * one thread applies the operations one by one.
 */
#include "table/cuckoo/cuda/engine.cuh"
#include "table/device/bits.cuh"
#include "table/device/sort.cuh"

#define BLOCK SW_CUCKOO_ENGINE_BLOCK

static __device__ inline uint32_t thread_number()
{
    return blockIdx.x * BLOCK + threadIdx.x;
}

/* Adds a value to a sum. M6: the word is the sum; only later kernels read it. */
static __device__ inline void add(uint64_t *sum, uint64_t value)
{
    if (value != 0) {
        atomicAdd((unsigned long long *)sum, (unsigned long long)value);
    }
}

/* --- the batch comes in ----------------------------------------------------------------------- */

/* Copies the batch's arrays to the scratch, because it reads the host's arrays once, in order. */
template <int BITS>
static __global__ void __launch_bounds__(BLOCK) take_kernel(const sw_cuckoo_write<BITS> write)
{
    uint32_t i = thread_number();
    if (i < write.work.count) {
        write.scratch.keys[i] = write.work.keys[i];
        write.scratch.values[i] = write.work.values != NULL ? write.work.values[i] : 0;
        write.scratch.ops[i] = write.work.ops != NULL ? write.work.ops[i] : (uint8_t)write.work.op;
        write.scratch.index[i] = i;
    }
}

/* Decides whether everything fits even if every operation inserts. */
template <int BITS> static __global__ void begin_kernel(const sw_cuckoo_write<BITS> write)
{
    const typename sw_cuckoo_kind<BITS>::table *table = write.table;
    bool room = write.state->stash_occupied <= table->stash_max &&
                write.state->occupied + write.work.count <= table->occupied_max;
    write.control->mode = room ? SW_CUCKOO_ADMITTED : SW_CUCKOO_COUNT_NEW;
}

template <int BITS> static __global__ void decide_kernel(const sw_cuckoo_write<BITS> write)
{
    struct sw_cuckoo_engine_control *control = write.control;
    const typename sw_cuckoo_kind<BITS>::table *table = write.table;
    if (control->mode == SW_CUCKOO_COUNT_NEW) {
        bool fits = control->inserting == 0 ||
                    (write.state->stash_occupied <= table->stash_max &&
                     write.state->occupied + control->new_keys <= table->occupied_max);
        control->mode = fits ? SW_CUCKOO_ADMITTED : SW_CUCKOO_SERIAL;
    }
}

/* --- inserts, or all of it in order ----------------------------------------------------------- */

/* Closes the holes that deletes left in the stash. In the mode SERIAL, applies the whole batch
 * instead. One thread. */
template <int BITS> static __global__ void serial_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    struct sw_cuckoo_engine_control *control = write.control;
    struct sw_state *state = write.state;
    if (control->mode == SW_CUCKOO_SERIAL) {
        typename kind::work work = write.work;
        struct sw_counters counters = {};
        control->refused = !kind::execute_in_order(write.table, &work, &counters);
        control->counters = counters;
        return;
    }
    typename kind::cell *stash = write.table->stash;
    uint64_t kept = 0;
    for (uint64_t s = 0; control->stash_holes != 0 && s < state->stash_occupied; s++) {
        if (stash[s].key != kind::ones) {
            stash[kept++] = stash[s];
        }
    }
    state->stash_occupied = control->stash_holes != 0 ? kept : state->stash_occupied;
    state->occupied += control->counters.inserted - control->counters.deleted;
}

template <int BITS>
static __global__ void __launch_bounds__(BLOCK, 1) insert_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    const typename kind::table table = *write.table;
    struct sw_cuckoo_engine_control *control = write.control;
    uint32_t count = control->mode == SW_CUCKOO_ADMITTED ? control->inserts : 0;
    for (uint32_t i = thread_number(); i < count; i += gridDim.x * BLOCK) {
        typename kind::cell carried = write.scratch.inserts[i];
        if (kind::insert_from(&table.view, &carried, 1, 0, 1, table.view.shape.functions) != 0) {
            unsigned long long *stashed = (unsigned long long *)&write.state->stash_occupied;
            /* M6: the count before the addition is the place of the entry. M8: no other thread
             * writes that place */
            table.stash[atomicAdd(stashed, 1ULL)] = carried;
            add(&control->counters.failures, 1);
        }
    }
}

/* --- the answers go out ----------------------------------------------------------------------- */

template <int BITS>
static __global__ void __launch_bounds__(BLOCK) answer_kernel(const sw_cuckoo_write<BITS> write)
{
    uint32_t i = thread_number();
    uint32_t count = write.work.count;
    if (write.control->mode != SW_CUCKOO_ADMITTED) {
        return;
    }
    bool found = i < count && write.scratch.found[i] != 0;
    sw_bits_answer<BLOCK>((uint32_t *)write.work.found, count, blockIdx.x * BLOCK, found);
    if (write.work.previous != NULL && i < count) {
        write.work.previous[i] = write.scratch.previous[i];
    }
}

template <int BITS> static __global__ void finish_kernel(const sw_cuckoo_write<BITS> write)
{
    sw_cuckoo_report<BITS>(write, write.control->refused != 0 ? SW_E_FULL : SW_OK);
}

/* --- launches --------------------------------------------------------------------------------- */

template <int BITS> cudaError_t sw_cuckoo_sort_bytes(uint32_t ops, size_t *bytes)
{
    typedef typename sw_cuckoo_kind<BITS>::word word;
    return sw_cuda_sort(NULL, bytes, (const word *)NULL, (word *)NULL, (const uint32_t *)NULL,
                        (uint32_t *)NULL, ops, 0, (int)sizeof(word) * 8, (cudaStream_t)0);
}

template <int BITS>
cudaError_t sw_cuckoo_launch_write(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    typedef typename sw_cuckoo_kind<BITS>::word word;
    const sw_cuckoo_scratch<BITS> &scratch = write.scratch;
    unsigned blocks = (write.work.count + 63) / 64 * 64 / BLOCK + 1;
    unsigned few = blocks < SW_CUCKOO_ENGINE_FEW_BLOCKS ? blocks : SW_CUCKOO_ENGINE_FEW_BLOCKS;
    size_t sort_bytes = scratch.sort_bytes;
    cudaError_t error = cudaMemsetAsync(write.control, 0, SW_CUCKOO_ENGINE_BATCH_BYTES, stream);
    if (error != cudaSuccess) {
        return error;
    }
    take_kernel<BITS><<<blocks, BLOCK, 0, stream>>>(write);
    error = sw_cuda_sort(scratch.sort, &sort_bytes, (const word *)scratch.keys, scratch.sorted_keys,
                         (const uint32_t *)scratch.index, scratch.sorted_index, write.work.count, 0,
                         (int)sizeof(word) * 8, stream);
    if (error != cudaSuccess) {
        return error;
    }
    const bool pairs = write.work.expected != NULL;
    begin_kernel<BITS><<<1, 1, 0, stream>>>(write);
    error = pairs ? cudaSuccess : sw_cuckoo_launch_runs<BITS>(write, stream);
    if (error == cudaSuccess) {
        error = pairs ? sw_cuckoo_launch_order<BITS, false>(write, stream)
                      : sw_cuckoo_launch_fold<BITS, false>(write, stream);
    }
    decide_kernel<BITS><<<1, 1, 0, stream>>>(write);
    if (error == cudaSuccess) {
        error = pairs ? sw_cuckoo_launch_order<BITS, true>(write, stream)
                      : sw_cuckoo_launch_fold<BITS, true>(write, stream);
    }
    if (error != cudaSuccess) {
        return error;
    }
    serial_kernel<BITS><<<1, 1, 0, stream>>>(write);
    insert_kernel<BITS><<<few, BLOCK, 0, stream>>>(write);
    answer_kernel<BITS><<<blocks, BLOCK, 0, stream>>>(write);
    finish_kernel<BITS><<<1, 1, 0, stream>>>(write);
    return cudaGetLastError();
}

template <int BITS> static cudaError_t load()
{
    cudaError_t errors[] = {
        sw_cuckoo_load_kernel(take_kernel<BITS>),   sw_cuckoo_load_kernel(begin_kernel<BITS>),
        sw_cuckoo_load_kernel(decide_kernel<BITS>), sw_cuckoo_load_kernel(serial_kernel<BITS>),
        sw_cuckoo_load_kernel(insert_kernel<BITS>), sw_cuckoo_load_kernel(answer_kernel<BITS>),
        sw_cuckoo_load_kernel(finish_kernel<BITS>)};
    for (cudaError_t error : errors) {
        if (error != cudaSuccess) {
            return error;
        }
    }
    return cudaSuccess;
}

cudaError_t sw_cuckoo_load_write()
{
    cudaError_t error = cudaSuccess;
#define LOAD(bits, ...) error = error == cudaSuccess ? load<bits>() : error;
    SW_WIDTHS(LOAD)
    return error;
}

#define INSTANTIATE(bits, ...)                                           \
    template cudaError_t sw_cuckoo_sort_bytes<bits>(uint32_t, size_t *); \
    template cudaError_t sw_cuckoo_launch_write<bits>(const sw_cuckoo_write<bits> &, cudaStream_t);
SW_WIDTHS(INSTANTIATE)
