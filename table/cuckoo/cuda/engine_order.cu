/* SPDX-License-Identifier: MIT
 *
 * engine_order.cu - applies the operations of a write batch that has operations of SW_OPS_PAIR to
 * each key, in order. One thread per key does so, because the changes that runs.cuh folds have one
 * operand each.
 */
#include "table/cuckoo/cuda/engine.cuh"

#define BLOCK SW_CUCKOO_ENGINE_BLOCK

/* Applies operation i of the batch to a key. */
template <int BITS>
static __device__ inline enum sw_effect apply(const sw_cuckoo_write<BITS> &write, uint32_t i,
                                              typename sw_run_kind<BITS>::key_state *key)
{
    typedef sw_cuckoo_kind<BITS> kind;
    const uint32_t op = write.scratch.ops[i];
    const typename kind::word operand = write.scratch.values[i];
    typename kind::word out = 0;
    const enum sw_effect effect =
        SW_OPS_HAS(SW_OPS_PAIR, op)
            ? kind::decide_pair(key->exists, key->value, write.work.expected[i], operand, &out)
            : kind::decide(op, key->exists, key->value, operand, &out);
    sw_run_kind<BITS>::become(key, effect, out);
    return effect;
}

/* Applies the run that begins at position j of the sorted operations. With TELLS, stores and counts
 * the answers. */
template <int BITS, bool TELLS>
static __device__ inline void apply_run(const sw_cuckoo_write<BITS> &write, uint32_t j,
                                        typename sw_run_kind<BITS>::key_state *key,
                                        struct fold_counts *counts)
{
    const typename sw_cuckoo_kind<BITS>::word run = write.scratch.sorted_keys[j];
    for (; j < write.work.count && write.scratch.sorted_keys[j] == run; j++) {
        const uint32_t i = write.scratch.sorted_index[j];
        const bool found = key->exists;
        if (TELLS) {
            write.scratch.previous[i] = key->value;
            write.scratch.found[i] = found;
        }
        const enum sw_effect effect = apply<BITS>(write, i, key);
        if (TELLS) {
            count_operation(counts, write.scratch.ops[i], found, effect);
        }
    }
}

/* With TELLS, writes the answers and changes the table. Otherwise counts the new keys. */
template <int BITS, bool TELLS>
static __global__ void __launch_bounds__(BLOCK) order_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    struct sw_cuckoo_engine_control *control = write.control;
    const uint32_t j = blockIdx.x * BLOCK + threadIdx.x;
    if (control->mode != (TELLS ? SW_CUCKOO_ADMITTED : SW_CUCKOO_COUNT_NEW)) {
        return;
    }
    struct fold_counts counts = {};
    typename sw_run_kind<BITS>::key_state now = {};
    typename kind::word key = 0;
    bool inserts = false;
    if (j < write.work.count) {
        key = write.scratch.sorted_keys[j];
        if (j == 0 || write.scratch.sorted_keys[j - 1] != key) {
            uint64_t probes = 0;
            const typename kind::place place = kind::locate(write.table, key, &probes);
            count_probes(&counts, write.scratch.ops[write.scratch.sorted_index[j]], probes);
            now = {place.value, place.found, false};
            apply_run<BITS, TELLS>(write, j, &now, &counts);
            inserts = TELLS ? sw_cuckoo_carry_out<BITS>(write, key, place, now)
                            : now.inserted && !place.found;
        }
    }
    if (!TELLS && now.inserted) {
        control->inserting = 1; /* M6: all store the same */
    }
    const uint32_t at = sw_list_append(TELLS ? &control->inserts : &control->new_keys, inserts);
    if (TELLS && inserts) {
        write.scratch.inserts[at] = kind::cell_of(key, now.value);
    }
    if (TELLS) {
        add_counts(&control->counters, &counts);
    }
}

template <int BITS, bool TELLS>
cudaError_t sw_cuckoo_launch_order(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    const uint32_t blocks = write.work.count / BLOCK + 1;
    order_kernel<BITS, TELLS><<<blocks, BLOCK, 0, stream>>>(write);
    return cudaGetLastError();
}

cudaError_t sw_cuckoo_load_order()
{
    cudaError_t error = cudaSuccess;
#define LOAD(bits, ...)                                           \
    if (error == cudaSuccess) {                                   \
        error = sw_cuckoo_load_kernel(order_kernel<bits, false>); \
    }                                                             \
    if (error == cudaSuccess) {                                   \
        error = sw_cuckoo_load_kernel(order_kernel<bits, true>);  \
    }
    SW_WIDTHS(LOAD)
    return error;
}

#define INSTANTIATE(bits, ...)                                                              \
    template cudaError_t sw_cuckoo_launch_order<bits, false>(const sw_cuckoo_write<bits> &, \
                                                             cudaStream_t);                 \
    template cudaError_t sw_cuckoo_launch_order<bits, true>(const sw_cuckoo_write<bits> &,  \
                                                            cudaStream_t);
SW_WIDTHS(INSTANTIATE)
