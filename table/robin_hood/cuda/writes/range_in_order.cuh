/* SPDX-License-Identifier: MIT
 *
 * range_in_order.cuh - a block carries out one range of a batch of any kinds. Most keys have one
 * operation, which is carried out directly. The operations on repeated keys are sorted in shared
 * memory.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_IN_ORDER_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_IN_ORDER_CUH

#include "table/robin_hood/cuda/writes/fold.cuh"
#include "table/robin_hood/cuda/writes/in_order.cuh"

#define NO_ENTRY 0xffffffffU

/* One range's operations, in shared memory. One operation of each key is its root: the first that a
 * thread added. The others are in the root's list, which atomics build (M6). */
template <int BITS> struct range {
    typename sw_width<BITS>::word m[RANGE_ROOM];
    typename sw_width<BITS>::word operand[RANGE_ROOM];
    uint32_t number[RANGE_ROOM]; /* its number; its kind in the bits above NUMBER_BITS */
    uint16_t root[RANGE_ROOM];   /* the root of its key */
    uint16_t order[RANGE_ROOM];  /* the repeated keys' operations, run by run */
    uint16_t begin[RANGE_ROOM];  /* per root: its run's first position in `order` */
    uint32_t ordered;
    union {
        struct {
            uint32_t key_slots[FOLD_KEY_SLOTS]; /* a hash table of the keys: 1 + the root */
            uint32_t next[RANGE_ROOM];          /* next operation in the list of a root; or
                                                   NO_ENTRY */
        };
        struct sw_cuda_update<BITS> held[RANGE_ROOM / 2]; /* held[h] belongs to the run that begins
                                                             at 2 h or 2 h + 1; a run has at least
                                                             two operations */
    };
};

/* The operations on repeated keys, as runs for in_order.cuh. */
template <int BITS> struct range_runs {
    struct range<BITS> *range;
    __device__ struct operation<BITS> at(uint32_t t) const {
        const uint32_t e = range->order[t];
        return {range->operand[e], range->number[e] & NUMBER_MASK, range->number[e] >> NUMBER_BITS};
    } __device__ typename sw_width<BITS>::word m(uint32_t t) const
    {
        return range->m[range->order[t]];
    }
    __device__ uint32_t first(uint32_t t) const
    {
        return range->begin[range->root[range->order[t]]];
    }
    __device__ bool begins(uint32_t t) const
    {
        return t == range->ordered || first(t) == t;
    }
    __device__ struct sw_cuda_update<BITS> held(uint32_t t) const {
        return range->held[t / 2];
    }
};

/* The run of a key with one operation. */
template <int BITS> struct single_run {
    struct operation<BITS> only;
    typename sw_width<BITS>::word key;
    struct sw_cuda_update<BITS> before;
    __device__ struct operation<BITS> at(uint32_t) const {
        return only;
    } __device__ typename sw_width<BITS>::word m(uint32_t) const
    {
        return key;
    }
    __device__ uint32_t first(uint32_t) const
    {
        return 0;
    }
    __device__ bool begins(uint32_t) const
    {
        return true;
    }
    __device__ struct sw_cuda_update<BITS> held(uint32_t) const {
        return before;
    }
};

/* Adds entry e to the list of its key. Returns false if it is the first of its key. M6: a key slot
 * and a link are numbers of entries; the list is read behind a barrier (M2). */
template <int BITS> static __device__ inline bool join_list(struct range<BITS> *range, uint32_t e)
{
    const typename sw_width<BITS>::word m = range->m[e];
    uint32_t key_slot = (uint32_t)(((uint32_t)m * 0x9e3779b1U) >> 16) % FOLD_KEY_SLOTS;
    for (;; key_slot = (key_slot + 1) % FOLD_KEY_SLOTS) {
        const uint32_t held = atomicCAS(&range->key_slots[key_slot], 0U, e + 1);
        if (held == 0) {
            range->root[e] = (uint16_t)e;
            return false;
        }
        if (range->m[held - 1] == m) {
            range->root[e] = (uint16_t)(held - 1);
            range->next[e] = atomicExch(&range->next[held - 1], e);
            return true;
        }
    }
}

/* Reads a range's operations. Returns whether keys are repeated. All threads of the block must call
 * it. */
template <int BITS, int THREADS>
static __device__ inline bool read_range(struct range<BITS> *range,
                                         const struct sw_cuda_moved<BITS> *moved, uint32_t count)
{
    bool repeated = false;
    for (uint32_t c = threadIdx.x; c < FOLD_KEY_SLOTS; c += THREADS) {
        range->key_slots[c] = 0;
    }
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        const struct sw_cuda_moved<BITS> one = moved[e];
        range->m[e] = one.m;
        range->operand[e] = sw_moved_operand<BITS>(one);
        range->number[e] = one.operation;
        range->next[e] = NO_ENTRY;
    }
    if (threadIdx.x == 0) {
        range->ordered = 0;
    }
    __syncthreads(); /* M2: entries and key slots, before keys meet */
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        repeated |= join_list<BITS>(range, e);
    }
    return __syncthreads_or(repeated) != 0; /* M2: the lists of all keys */
}

/* Carries out the keys with one operation. All threads of the block must call it. */
template <int BITS, int THREADS>
static __device__ inline void
apply_singles(const struct sw_cuda_device<BITS> &device, const struct wanted<BITS> &wanted,
              const struct range<BITS> *range, uint32_t count, struct fold_counts *counts)
{
    for (uint32_t from = 0; from < count; from += THREADS) {
        const uint32_t e = from + threadIdx.x;
        struct effect<BITS> effect = {
            SW_NET_NONE, NOWHERE,
            {
            }
        };
        if (e < count && range->root[e] == e && range->next[e] == NO_ENTRY) {
            const uint32_t op = range->number[e] >> NUMBER_BITS;
            const struct single_run<BITS> run = {
                {range->operand[e], range->number[e] & NUMBER_MASK, op}, range->m[e],
                    look_up<BITS>(device, range->m[e], op, counts)
            };
            effect = fold_part<BITS>(device, wanted, run, 0, counts);
        }
        carry_out<BITS>(device, effect);
    }
}

/* Sorts the operations on repeated keys, run by run. All threads of the block must call it. */
template <int BITS, int THREADS>
static __device__ inline void order_range(struct range<BITS> *range, uint32_t count)
{
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        uint32_t length = 1;
        if (range->root[e] != e || range->next[e] == NO_ENTRY) {
            continue;
        }
        for (uint32_t other = range->next[e]; other != NO_ENTRY; other = range->next[other]) {
            length++;
        }
        range->begin[e] = (uint16_t)atomicAdd(&range->ordered, length);
    }
    __syncthreads(); /* M2: begin[] of all roots */
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        const uint32_t root = range->root[e];
        const uint32_t number = range->number[e] & NUMBER_MASK;
        uint32_t before = 0;
        if (root == e && range->next[e] == NO_ENTRY) {
            continue;
        }
        for (uint32_t other = root; other != NO_ENTRY; other = range->next[other]) {
            before += (range->number[other] & NUMBER_MASK) < number;
        }
        range->order[range->begin[root] + before] = (uint16_t)e;
    }
    __syncthreads(); /* M2: order[]; no thread reads the lists again */
}

/* Carries out a range. All threads of the block must call it. */
template <int BITS, int THREADS>
static __device__ inline void
apply_range(const struct sw_cuda_device<BITS> &device, const struct wanted<BITS> &wanted,
            struct range<BITS> *range, const struct sw_cuda_moved<BITS> *moved, uint32_t count)
{
    struct fold_counts counts = {};
    const bool repeated = read_range<BITS, THREADS>(range, moved, count);
    apply_singles<BITS, THREADS>(device, wanted, range, count, &counts);
    if (repeated) {
        const struct range_runs<BITS> runs = {
            range
        };
        order_range<BITS, THREADS>(range, count);
        const uint32_t ordered = range->ordered;
        for (uint32_t t = threadIdx.x; t < ordered; t += THREADS) {
            if (runs.begins(t)) { /* looked up before any part of the run is written */
                range->held[t / 2] = look_up<BITS>(device, runs.m(t), runs.at(t).op, &counts);
            }
        }
        __syncthreads(); /* M2: held[] of all runs */
        for (uint32_t from = 0; from < ordered; from += THREADS) {
            const uint32_t t = from + threadIdx.x;
            struct effect<BITS> effect = {
                SW_NET_NONE, NOWHERE,
                {
                }
            };
            if (t < ordered) {
                effect = fold_part<BITS>(device, wanted, runs, t, &counts);
            }
            carry_out<BITS>(device, effect);
        }
    }
    add_counts(&device.control->counters, &counts);
}

#endif
