/* SPDX-License-Identifier: MIT
 *
 * engine_fold.cu - takes each key of a write batch through its operations, in order.
 *
 * The operations are sorted by key, in order for each key: those of one key are its run. A block
 * has a stretch of them, in shared memory, where one thread takes a key through as much of its run
 * as lies there; then each operation's answer is told by a thread of its own.
 *
 * A run that goes on past a stretch, because its key is repeated very often, is done by many
 * blocks at once. First each stretch of nothing but that run is folded to a change (change.h),
 * which does not depend on what the key is before it; then one thread takes the key from stretch to
 * stretch, a step each. So a block knows what the key is when it enters its stretch.
 *
 * The table is looked up before any block changes it: of such a run by the first kernel, and again
 * by the block that has its end, which is the only one to carry out what the run comes to.
 */
#include "table/change.h"
#include "table/cuckoo/cuda/engine.cuh"
#include "table/device/counts.cuh"

#define BLOCK SW_CUCKOO_ENGINE_BLOCK

/* Which of the sorted operations are in a stretch. */
struct stretch {
    uint32_t first;
    uint32_t count;
    bool entered; /* its first run began before it */
    bool goes_on; /* its last run ends after it */
    bool passed;  /* it has one run, and both is true of that */
};

/* They, in shared memory. */
template <int BITS> struct operations {
    typename sw_cuckoo_kind<BITS>::word keys[BLOCK];
    typename sw_cuckoo_kind<BITS>::word operands[BLOCK];
    uint8_t ops[BLOCK];
};

/* What their keys are before them. */
template <int BITS> struct before {
    typename sw_cuckoo_kind<BITS>::word values[BLOCK];
    bool exists[BLOCK];
};

template <int BITS>
static __device__ inline struct stretch stretch_of(const sw_cuckoo_write<BITS> &write,
                                                   uint32_t number)
{
    typedef typename sw_cuckoo_kind<BITS>::word word;
    const word *sorted = write.scratch.sorted_keys;
    const uint32_t all = write.work.count;
    struct stretch stretch = {number * BLOCK, 0, false, false, false};
    if (stretch.first >= all) {
        return stretch;
    }
    const uint32_t end = all - stretch.first < BLOCK ? all : stretch.first + BLOCK;
    const word first = sorted[stretch.first];
    const word last = sorted[end - 1];
    stretch.count = end - stretch.first;
    stretch.entered = stretch.first != 0 && sorted[stretch.first - 1] == first;
    stretch.goes_on = end < all && sorted[end] == last;
    stretch.passed = stretch.entered && stretch.goes_on && first == last;
    return stretch;
}

/* Reads a stretch's operations, by all threads of a block. Returns which operation of the batch is
 * this thread's. */
template <int BITS>
static __device__ inline uint32_t read_stretch(const sw_cuckoo_write<BITS> &write,
                                               const struct stretch &stretch,
                                               struct operations<BITS> *operations)
{
    const sw_cuckoo_scratch<BITS> &scratch = write.scratch;
    const uint32_t t = threadIdx.x;
    uint32_t i = 0;
    if (t < stretch.count) {
        i = scratch.sorted_index[stretch.first + t];
        operations->keys[t] = scratch.sorted_keys[stretch.first + t];
        operations->operands[t] = scratch.values[i];
        operations->ops[t] = scratch.ops[i];
    }
    __syncthreads();
    return i;
}

/* Whether this thread's operation is the first of its run in the stretch. */
template <int BITS>
static __device__ inline bool is_first(const struct operations<BITS> *operations,
                                       const struct stretch &stretch)
{
    const uint32_t t = threadIdx.x;
    return t < stretch.count && (t == 0 || operations->keys[t - 1] != operations->keys[t]);
}

template <int BITS>
static __device__ inline typename sw_cuckoo_kind<BITS>::key_state
state_of(const typename sw_cuckoo_kind<BITS>::place &place)
{
    return {place.value, place.found, false};
}

/* --- runs that go on -------------------------------------------------------------------------- */

/* Folds the run that goes on past a block's stretch as far as the stretch has it: to a change, if
 * it entered the stretch; else to what the key is when it enters the next one. */
template <int BITS>
static __global__ void __launch_bounds__(BLOCK) summarize_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    __shared__ struct operations<BITS> own;
    const struct stretch stretch = stretch_of<BITS>(write, blockIdx.x);
    if (!stretch.goes_on) {
        return;
    }
    read_stretch<BITS>(write, stretch, &own);
    uint32_t t = threadIdx.x;
    if (!is_first<BITS>(&own, stretch) || own.keys[t] != own.keys[BLOCK - 1]) {
        return;
    }
    if (stretch.passed) {
        typename kind::change change = kind::change_none();
        for (; t < BLOCK; t++) {
            kind::change_append(&change, own.ops[t], own.operands[t]);
        }
        write.scratch.changes[blockIdx.x] = change;
        return;
    }
    uint64_t probes = 0;
    typename kind::key_state key = state_of<BITS>(kind::locate(write.table, own.keys[t], &probes));
    write.scratch.begun[blockIdx.x] = key;
    atomicAdd(
        (unsigned long long *)&write.control->counters.by_class[sw_op_class_of(own.ops[t])].probes,
        (unsigned long long)probes);
    for (; t < BLOCK; t++) {
        kind::key_step(&key, own.ops[t], own.operands[t]);
    }
    write.scratch.entering[blockIdx.x + 1] = key;
}

/* Takes a key through the stretches [at, ready) that follow `next`, by one thread. Returns the
 * first whose change does not say what becomes of it, or `ready`. */
template <int BITS>
static __device__ inline uint32_t
follow(const sw_cuckoo_write<BITS> &write, const typename sw_cuckoo_kind<BITS>::change *changes,
       uint32_t next, uint32_t at, uint32_t ready, typename sw_cuckoo_kind<BITS>::key_state *key)
{
    typedef sw_cuckoo_kind<BITS> kind;
    for (; at < ready && kind::change_apply(&changes[at], key); at++) {
        write.scratch.entering[next + at + 1] = *key;
    }
    return at;
}

/* The block whose stretch has the beginning of a run takes its key through all stretches that the
 * run passes. */
template <int BITS>
static __global__ void __launch_bounds__(BLOCK) enter_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    __shared__ typename kind::change changes[BLOCK];
    __shared__ struct operations<BITS> passed;
    __shared__ uint32_t followed;
    const struct stretch stretch = stretch_of<BITS>(write, blockIdx.x);
    if (!stretch.goes_on || stretch.passed) {
        return;
    }
    const typename kind::word *sorted = write.scratch.sorted_keys;
    uint32_t next = blockIdx.x + 1;
    uint32_t ready = BLOCK; /* of the stretches from `next` on, those that the run passes */
    typename kind::key_state key = write.scratch.entering[next]; /* the first thread's */
    for (; ready == BLOCK; next += BLOCK) {
        const struct stretch mine = stretch_of<BITS>(write, next + threadIdx.x);
        const bool is_passed = mine.passed && sorted[mine.first] == sorted[next * BLOCK];
        if (is_passed) {
            changes[threadIdx.x] = write.scratch.changes[next + threadIdx.x];
        }
        ready = (uint32_t)__syncthreads_count(is_passed);
        for (uint32_t at = 0; at < ready; at++) {
            if (threadIdx.x == 0) {
                followed = follow<BITS>(write, changes, next, at, ready, &key);
            }
            __syncthreads();
            at = followed;
            if (at < ready) { /* one by one */
                read_stretch<BITS>(write, stretch_of<BITS>(write, next + at), &passed);
                for (uint32_t t = 0; threadIdx.x == 0 && t < BLOCK; t++) {
                    kind::key_step(&key, passed.ops[t], passed.operands[t]);
                }
                if (threadIdx.x == 0) {
                    write.scratch.entering[next + at + 1] = key;
                }
            }
            __syncthreads();
        }
    }
}

/* --- every run -------------------------------------------------------------------------------- */

/* Makes the table hold what a run came to. Returns true if that is an insert, not made here. */
template <int BITS>
static __device__ inline bool carry_out(const sw_cuckoo_write<BITS> &write,
                                        typename sw_cuckoo_kind<BITS>::word key,
                                        const typename sw_cuckoo_kind<BITS>::place &place,
                                        const typename sw_cuckoo_kind<BITS>::key_state &now)
{
    typedef sw_cuckoo_kind<BITS> kind;
    if (key == kind::ones) {
        write.state->side_present = now.exists;
        write.state->side_value = now.value;
        return false;
    }
    if (!place.found) {
        return now.exists;
    }
    if (!now.exists) {
        *place.cell = kind::cell_of(kind::ones, kind::ones);
        if (place.in_stash) {
            atomicAdd(&write.control->stash_holes, 1U);
        }
    } else if (now.value != place.value) {
        *place.cell = kind::cell_of(key, now.value);
    }
    return false;
}

/* Takes the key of this thread's operation through its run, as far as the stretch has it; and
 * carries out what it comes to if TELLS, where the run ends. Returns whether it is then to be
 * inserted or, without TELLS, is a new key. */
template <int BITS, bool TELLS>
static __device__ inline bool
fold_run(const sw_cuckoo_write<BITS> &write, const struct stretch &stretch,
         const struct operations<BITS> *own, struct before<BITS> *before,
         typename sw_cuckoo_kind<BITS>::key_state *now, struct fold_counts *counts)
{
    typedef sw_cuckoo_kind<BITS> kind;
    uint32_t t = threadIdx.x;
    const typename kind::word key = own->keys[t];
    const uint32_t op = own->ops[t];
    const bool entered = t == 0 && stretch.entered;
    const bool ends = !stretch.goes_on || key != own->keys[BLOCK - 1];
    uint64_t probes = 0;
    typename kind::place place = {};
    if (ends) {
        place = kind::locate(write.table, key, &probes);
        count_probes(counts, op, probes);
    }
    *now = entered ? write.scratch.entering[blockIdx.x]
           : ends  ? state_of<BITS>(place)
                   : write.scratch.begun[blockIdx.x];
    for (; t < stretch.count && own->keys[t] == key; t++) {
        if (TELLS) {
            before->values[t] = now->value;
            before->exists[t] = now->exists;
        }
        kind::key_step(now, own->ops[t], own->operands[t]);
    }
    if (!TELLS && now->inserted) {
        write.control->inserting = 1;
    }
    return ends &&
           (TELLS ? carry_out<BITS>(write, key, place, *now) : now->inserted && !place.found);
}

/* The answer of this thread's operation, the i-th of the batch. */
template <int BITS>
static __device__ inline void tell(const sw_cuckoo_write<BITS> &write, uint32_t i,
                                   const struct operations<BITS> *own,
                                   const struct before<BITS> *before, struct fold_counts *counts)
{
    typedef sw_cuckoo_kind<BITS> kind;
    const uint32_t t = threadIdx.x;
    const bool found = before->exists[t];
    typename kind::word out = 0;
    write.scratch.previous[i] = before->values[t];
    write.scratch.found[i] = found;
    count_operation(counts, own->ops[t], found,
                    kind::decide(own->ops[t], found, before->values[t], own->operands[t], &out));
}

/* TELLS: answers are written and the table is changed. Otherwise new keys are counted. */
template <int BITS, bool TELLS>
static __global__ void __launch_bounds__(BLOCK) fold_kernel(const sw_cuckoo_write<BITS> write)
{
    typedef sw_cuckoo_kind<BITS> kind;
    __shared__ struct operations<BITS> own;
    __shared__ struct before<BITS> before;
    struct sw_cuckoo_engine_control *control = write.control;
    const struct stretch stretch = stretch_of<BITS>(write, blockIdx.x);
    struct fold_counts counts = {};
    typename kind::key_state now = {};
    if (control->mode != (TELLS ? SW_CUCKOO_COMMIT : SW_CUCKOO_ASK)) {
        return;
    }
    const uint32_t i = read_stretch<BITS>(write, stretch, &own);
    const bool inserts = is_first<BITS>(&own, stretch) &&
                         fold_run<BITS, TELLS>(write, stretch, &own, &before, &now, &counts);
    const uint32_t at = sw_list_append(TELLS ? &control->inserts : &control->new_keys, inserts);
    if (!TELLS) {
        return;
    }
    if (inserts) {
        write.scratch.inserts[at] = kind::cell_of(own.keys[threadIdx.x], now.value);
    }
    __syncthreads();
    if (threadIdx.x < stretch.count) {
        tell<BITS>(write, i, &own, &before, &counts);
    }
    add_counts(&control->counters, &counts);
}

/* --- launches --------------------------------------------------------------------------------- */

static unsigned stretches_of(uint32_t count)
{
    return count > BLOCK ? (count + BLOCK - 1) / BLOCK : 1;
}

template <int BITS>
cudaError_t sw_cuckoo_launch_runs(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    const unsigned stretches = stretches_of(write.work.count);
    if (stretches > 1) {
        summarize_kernel<BITS><<<stretches, BLOCK, 0, stream>>>(write);
        enter_kernel<BITS><<<stretches, BLOCK, 0, stream>>>(write);
    }
    return cudaGetLastError();
}

template <int BITS, bool TELLS>
cudaError_t sw_cuckoo_launch_fold(const sw_cuckoo_write<BITS> &write, cudaStream_t stream)
{
    fold_kernel<BITS, TELLS><<<stretches_of(write.work.count), BLOCK, 0, stream>>>(write);
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
    cudaError_t error = load<64>();
    return error == cudaSuccess ? load<128>() : error;
}

#define INSTANTIATE(bits)                                                                          \
    template cudaError_t sw_cuckoo_launch_runs<bits>(const sw_cuckoo_write<bits> &, cudaStream_t); \
    template cudaError_t sw_cuckoo_launch_fold<bits, false>(const sw_cuckoo_write<bits> &,         \
                                                            cudaStream_t);                         \
    template cudaError_t sw_cuckoo_launch_fold<bits, true>(const sw_cuckoo_write<bits> &,          \
                                                           cudaStream_t);
INSTANTIATE(64)
INSTANTIATE(128)
