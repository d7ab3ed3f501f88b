/* SPDX-License-Identifier: MIT
 *
 * engine_write.cu - batches that write. They have the meaning of execute_in_order.
 *
 * The operations are sorted by key, in order for each key. Then one thread a key takes what the
 * table holds of it through the key's operations and brings about what that comes to: a value is
 * written and a cell emptied at once, since no other thread looks at that key, and nothing moves;
 * an insert is put on a list, and made when all that is done. Where a group might be refused, the
 * new keys are counted first; if they do not all fit, one thread applies the operations one by one.
 */
#include <cub/device/device_radix_sort.cuh>

#include "table/cuckoo/cuda/engine.cuh"

#define BLOCK SW_CUCKOO_ENGINE_BLOCK

static __device__ inline uint32_t thread_number()
{
    return blockIdx.x * BLOCK + threadIdx.x;
}

static __device__ inline void add(uint64_t *sum, uint64_t value)
{
    if (value != 0) {
        atomicAdd((unsigned long long *)sum, (unsigned long long)value);
    }
}

static __device__ inline uint64_t warp_sum(uint64_t value)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffU, value, offset);
    }
    return value;
}

/* --- the batch comes in ----------------------------------------------------------------------- */

/* The host's arrays are read once, in order. */
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

/* Whether everything fits whatever it comes to. */
template <int BITS> static __global__ void begin_kernel(const sw_cuckoo_write<BITS> write)
{
    const typename sw_cuckoo_kind<BITS>::table *table = write.table;
    bool room = write.state->stash_occupied <= table->stash_max &&
                write.state->occupied + write.work.count <= table->occupied_max;
    write.control->mode = room ? SW_CUCKOO_COMMIT : SW_CUCKOO_ASK;
}

/* --- a thread a key --------------------------------------------------------------------------- */

/* What the operations of one key come to. */
template <int BITS> struct fold {
    typedef sw_cuckoo_kind<BITS> kind;
    bool found;
    bool wrote;
    bool inserts; /* at some time */
    typename kind::word value;
    struct sw_counters counters;
};

/* Takes a key through its operations, from sorted place j on. The answers are written if `tells`.
 */
template <int BITS>
static __device__ void take_through(const sw_cuckoo_write<BITS> &write, uint32_t j,
                                    fold<BITS> *fold, bool tells)
{
    typedef sw_cuckoo_kind<BITS> kind;
    const sw_cuckoo_scratch<BITS> &scratch = write.scratch;
    typename kind::word key = scratch.sorted_keys[j];
    for (; j < write.work.count && scratch.sorted_keys[j] == key; j++) {
        uint32_t i = scratch.sorted_index[j];
        uint32_t op = scratch.ops[i];
        typename kind::word out;
        struct sw_op_counters *count = &fold->counters.by_class[sw_op_class_of(op)];
        count->operations++;
        count->hits += fold->found;
        if (tells) {
            scratch.previous[i] = fold->found ? fold->value : 0;
            scratch.found[i] = fold->found;
        }
        enum sw_effect effect = kind::decide(op, fold->found, fold->value, scratch.values[i], &out);
        if (effect == SW_EFFECT_REMOVE) {
            fold->found = false;
            fold->counters.deleted++;
        } else if (effect == SW_EFFECT_WRITE) {
            fold->counters.updated += fold->found;
            fold->counters.inserted += !fold->found;
            fold->inserts |= !fold->found;
            fold->found = true;
            fold->wrote = true;
            fold->value = out;
        }
    }
}

/* Adds a warp's counters to the batch's. The whole warp must take part. */
static __device__ void add_counters(struct sw_counters *sum, const struct sw_counters &counters)
{
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        uint64_t operations = warp_sum(counters.by_class[c].operations);
        uint64_t probes = warp_sum(counters.by_class[c].probes);
        uint64_t hits = warp_sum(counters.by_class[c].hits);
        if (threadIdx.x % 32 == 0) {
            add(&sum->by_class[c].operations, operations);
            add(&sum->by_class[c].probes, probes);
            add(&sum->by_class[c].hits, hits);
            add(&sum->by_class[c].misses, operations - hits);
        }
    }
    uint64_t inserted = warp_sum(counters.inserted);
    uint64_t updated = warp_sum(counters.updated);
    uint64_t deleted = warp_sum(counters.deleted);
    if (threadIdx.x % 32 == 0) {
        add(&sum->inserted, inserted);
        add(&sum->updated, updated);
        add(&sum->deleted, deleted);
    }
}

/* Room on the list of inserts, one atomic for the threads of a warp that want some. */
static __device__ uint32_t reserve(unsigned int *length, bool wants)
{
    uint32_t wanting = __ballot_sync(0xffffffffU, wants);
    uint32_t lane = threadIdx.x % 32;
    uint32_t first = 0;
    if (lane == 0 && wanting != 0) {
        first = atomicAdd(length, (unsigned)__popc(wanting));
    }
    return __shfl_sync(0xffffffffU, first, 0) + (uint32_t)__popc(wanting & ((1U << lane) - 1));
}

/* Makes the table hold what the fold came to. Returns true if that is an insert, not made here. */
template <int BITS>
static __device__ bool
carry_out(const sw_cuckoo_write<BITS> &write, typename sw_cuckoo_kind<BITS>::word key,
          const typename sw_cuckoo_kind<BITS>::place &place, const fold<BITS> &fold)
{
    typedef sw_cuckoo_kind<BITS> kind;
    if (key == kind::ones) {
        write.state->side_present = fold.found;
        write.state->side_value = fold.found ? (uint64_t)fold.value : 0;
        return false;
    }
    if (!place.found) {
        return fold.found;
    }
    if (!fold.found) {
        *place.cell = kind::cell_of(kind::ones, kind::ones);
        if (place.in_stash) {
            atomicAdd(&write.control->stash_holes, 1U);
        }
    } else if (fold.wrote) {
        *place.cell = kind::cell_of(key, fold.value);
    }
    return false;
}

/* TELLS: answers are written and the table is changed. Otherwise new keys are counted. */
template <int BITS, bool TELLS>
static __global__ void __launch_bounds__(BLOCK) fold_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typedef typename kind::word word;
    const typename kind::table table = *write.table;
    struct sw_cuckoo_engine_control *control = write.control;
    uint32_t j = thread_number();
    if (control->mode != (TELLS ? SW_CUCKOO_COMMIT : SW_CUCKOO_ASK)) {
        return;
    }
    const word *sorted = write.scratch.sorted_keys;
    bool is_first = j < write.work.count && (j == 0 || sorted[j - 1] != sorted[j]);
    fold<BITS> fold = {};
    bool inserts = false;
    if (is_first) {
        uint64_t probes = 0;
        typename kind::place place = kind::locate(&table, sorted[j], &probes);
        uint32_t op = write.scratch.ops[write.scratch.sorted_index[j]];
        fold.found = place.found;
        fold.value = place.value;
        fold.counters.by_class[sw_op_class_of(op)].probes = probes;
        take_through<BITS>(write, j, &fold, TELLS);
        inserts =
            TELLS ? carry_out<BITS>(write, sorted[j], place, fold) : fold.inserts && !place.found;
    }
    if (!TELLS && fold.inserts) {
        control->inserting = 1;
    }
    uint32_t at = reserve(TELLS ? &control->inserts : &control->new_keys, inserts);
    if (TELLS && inserts) {
        write.scratch.inserts[at] = kind::cell_of(sorted[j], fold.value);
    }
    if (TELLS) {
        add_counters(&control->counters, fold.counters);
    }
}

template <int BITS> static __global__ void decide_kernel(const sw_cuckoo_write<BITS> write)
{
    struct sw_cuckoo_engine_control *control = write.control;
    const typename sw_cuckoo_kind<BITS>::table *table = write.table;
    if (control->mode == SW_CUCKOO_ASK) {
        bool fits = control->inserting == 0 ||
                    (write.state->stash_occupied <= table->stash_max &&
                     write.state->occupied + control->new_keys <= table->occupied_max);
        control->mode = fits ? SW_CUCKOO_COMMIT : SW_CUCKOO_SERIAL;
    }
}

/* --- inserts, or all of it in order ----------------------------------------------------------- */

/* Closes the holes that deletes left in the stash; or applies the batch, if something may be
 * refused. One thread. */
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
    uint32_t count = control->mode == SW_CUCKOO_COMMIT ? control->inserts : 0;
    for (uint32_t i = thread_number(); i < count; i += gridDim.x * BLOCK) {
        typename kind::cell hand = write.scratch.inserts[i];
        if (kind::insert_from(&table.view, &hand, 1, 0, 1, table.view.shape.functions) != 0) {
            unsigned long long *stashed = (unsigned long long *)&write.state->stash_occupied;
            table.stash[atomicAdd(stashed, 1ULL)] = hand;
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
    if (write.control->mode != SW_CUCKOO_COMMIT) {
        return;
    }
    bool found = i < count && write.scratch.found[i] != 0;
    uint32_t bits = __ballot_sync(0xffffffffU, found);
    if (write.work.found != NULL && threadIdx.x % 32 == 0 && i < (count + 63) / 64 * 64) {
        ((uint32_t *)write.work.found)[i / 32] = bits;
    }
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
    return cub::DeviceRadixSort::SortPairs(NULL, *bytes, (const word *)NULL, (word *)NULL,
                                           (const uint32_t *)NULL, (uint32_t *)NULL, (int)ops);
}

template <int BITS>
cudaError_t sw_cuckoo_launch_write(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    const sw_cuckoo_scratch<BITS> &scratch = write.scratch;
    unsigned blocks = (write.work.count + 63) / 64 * 64 / BLOCK + 1;
    unsigned few = blocks < SW_CUCKOO_ENGINE_FEW_BLOCKS ? blocks : SW_CUCKOO_ENGINE_FEW_BLOCKS;
    size_t sort_bytes = scratch.sort_bytes;
    cudaError_t error = cudaMemsetAsync(write.control, 0, SW_CUCKOO_ENGINE_BATCH_BYTES, stream);
    if (error != cudaSuccess) {
        return error;
    }
    take_kernel<BITS><<<blocks, BLOCK, 0, stream>>>(write);
    error = cub::DeviceRadixSort::SortPairs(
        scratch.sort, sort_bytes, scratch.keys, scratch.sorted_keys, scratch.index,
        scratch.sorted_index, (int)write.work.count, 0, (int)sizeof(*scratch.keys) * 8, stream);
    if (error != cudaSuccess) {
        return error;
    }
    begin_kernel<BITS><<<1, 1, 0, stream>>>(write);
    fold_kernel<BITS, false><<<blocks, BLOCK, 0, stream>>>(write);
    decide_kernel<BITS><<<1, 1, 0, stream>>>(write);
    fold_kernel<BITS, true><<<blocks, BLOCK, 0, stream>>>(write);
    serial_kernel<BITS><<<1, 1, 0, stream>>>(write);
    insert_kernel<BITS><<<few, BLOCK, 0, stream>>>(write);
    answer_kernel<BITS><<<blocks, BLOCK, 0, stream>>>(write);
    finish_kernel<BITS><<<1, 1, 0, stream>>>(write);
    return cudaGetLastError();
}

template <int BITS> static cudaError_t load()
{
    cudaError_t errors[] = {sw_cuckoo_load_kernel(take_kernel<BITS>),
                            sw_cuckoo_load_kernel(begin_kernel<BITS>),
                            sw_cuckoo_load_kernel(fold_kernel<BITS, false>),
                            sw_cuckoo_load_kernel(fold_kernel<BITS, true>),
                            sw_cuckoo_load_kernel(decide_kernel<BITS>),
                            sw_cuckoo_load_kernel(serial_kernel<BITS>),
                            sw_cuckoo_load_kernel(insert_kernel<BITS>),
                            sw_cuckoo_load_kernel(answer_kernel<BITS>),
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
    cudaError_t error = load<64>();
    return error == cudaSuccess ? load<128>() : error;
}

#define INSTANTIATE(bits)                                                \
    template cudaError_t sw_cuckoo_sort_bytes<bits>(uint32_t, size_t *); \
    template cudaError_t sw_cuckoo_launch_write<bits>(const sw_cuckoo_write<bits> &, cudaStream_t);
INSTANTIATE(64)
INSTANTIATE(128)
