/* SPDX-License-Identifier: MIT
 *
 * fold.cuh - folds the operations of one range in shared memory, so that one entry represents each
 * key. All threads of a block take part.
 *
 * Threads claim a key slot by compare-and-swap, and fold by atomics on the entry that they find
 * there (M6). The entries were written before the last barrier (M2).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_FOLD_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_FOLD_CUH

#include "table/robin_hood/cuda/writes/key_slots.cuh"

/* RANGE_WANTED is the most operations that a range should have on average. RANGE_ROOM is the room
 * for them: 8 standard deviations more. Distinct keys are spread over the ranges at random. */
#define RANGE_WANTED 1024
#define RANGE_ROOM (RANGE_WANTED + 8 * 32 + 32)
#define FOLD_KEY_SLOTS 2048
#define ALIVE 0xffffU
#define SEEN 0xfffeU /* alive, and its key is present */

static_assert(FOLD_KEY_SLOTS > RANGE_ROOM && RANGE_ROOM < SEEN,
              "probing ends, and entries have names");

/* One range's operations, in shared memory. */
template <int BITS> struct fold {
    typename sw_width<BITS>::slot entries[RANGE_ROOM];
    uint32_t operation[RANGE_ROOM];     /* the operation; if answers are wanted, finally the first
                                           operation on the key */
    uint32_t key_slots[FOLD_KEY_SLOTS]; /* 1 + the entry that represents the key so far; 0: free */
    uint16_t replaced_by[RANGE_ROOM];   /* the entry that replaced this one, and that may itself be
                                           replaced; or ALIVE or SEEN */
};

/* Combines an operand with the entry that represents its key. */
template <typename T> static __device__ inline void combine(uint32_t op, T *at, T operand)
{
    if (op == SW_SUM) {
        atomic_add(at, operand);
    } else if (op == SW_MAX) {
        atomic_max(at, operand);
    } else {
        atomic_min(at, operand);
    }
}

/* Folds entry e with the entry that represents its key so far. In the end one entry of each key is
 * alive: the last SET, or an entry that has the sum, minimum or maximum. Returns false if another
 * entry had the key already. M6: a key slot is the number of an entry; all entries were stored
 * before the last barrier (M2). */
template <int BITS>
static __device__ inline bool fold_one(struct fold<BITS> *fold, uint32_t op, uint32_t e)
{
    typename sw_width<BITS>::word m = fold->entries[e].m;
    uint32_t key_slot = (uint32_t)(((uint32_t)m * 0x9e3779b1U) >> 16) % FOLD_KEY_SLOTS;
    for (;;) {
        uint32_t held = atomicCAS(&fold->key_slots[key_slot], 0U, e + 1);
        if (held == 0) {
            return true;
        }
        if (fold->entries[held - 1].m != m) {
            key_slot = (key_slot + 1) % FOLD_KEY_SLOTS;
        } else if (op == SW_DELETE) {
            fold->replaced_by[e] = (uint16_t)(held - 1);
            return false;
        } else if (combines(op)) {
            if constexpr (!sw_width<BITS>::is_set) {
                combine(op, &fold->entries[held - 1].value, fold->entries[e].value);
            }
            fold->replaced_by[e] = (uint16_t)(held - 1);
            return false;
        } else if (fold->operation[held - 1] > fold->operation[e]) {
            fold->replaced_by[e] = (uint16_t)(held - 1);
            return false;
        } else if (atomicCAS(&fold->key_slots[key_slot], held, e + 1) == held) {
            fold->replaced_by[held - 1] = (uint16_t)e;
            return false;
        }
    }
}

/* Returns the entry that represents the key of entry e. */
template <int BITS>
static __device__ inline uint32_t root_of(const struct fold<BITS> *fold, uint32_t e)
{
    while (fold->replaced_by[e] < SEEN) {
        e = fold->replaced_by[e];
    }
    return e;
}

/* Sets `found` for every operation except the first on its key. Sets nothing for deletes, since
 * only the first can find the key. Stores the first operation in the entry that is alive. All
 * threads of the block must call it. */
template <int BITS, int THREADS>
static __device__ inline void find_repeated(const struct sw_cuda_device<BITS> &device,
                                            struct fold<BITS> *fold, uint32_t op,
                                            const struct sw_cuda_moved<BITS> *moved, uint32_t count)
{
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        const uint32_t root = root_of<BITS>(fold, e);
        if (root != e) { /* M6: the lowest number remains */
            atomicMin(&fold->operation[root], fold->operation[e]);
        }
    }
    __syncthreads(); /* M2: operation[] has the first of each key */
    for (uint32_t e = threadIdx.x; e < count && op != SW_DELETE; e += THREADS) {
        const uint32_t root = root_of<BITS>(fold, e);
        if (moved[e].operation != fold->operation[root]) {
            set_found<BITS>(device, moved[e].operation);
        }
    }
    __syncthreads(); /* M2: replaced_by[] is read before SEEN is set */
}

/* For SET_PRESENT: all operations on a present key found it. Sets `found` if `answers`, and returns
 * how many of this thread's operations found their key. All threads of the block must call it. */
template <int BITS, int THREADS>
static __device__ inline uint64_t find_seen(const struct sw_cuda_device<BITS> &device,
                                            const struct fold<BITS> *fold, bool answers,
                                            const struct sw_cuda_moved<BITS> *moved, uint32_t count)
{
    uint64_t hits = 0;
    __syncthreads(); /* M2: SEEN of all keys */
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        if (fold->replaced_by[root_of<BITS>(fold, e)] == SEEN) {
            hits++;
            if (answers) {
                set_found<BITS>(device, moved[e].operation);
            }
        }
    }
    return hits;
}

/* Reads a range's operations and folds them. All threads of the block must call it. */
template <int BITS, int THREADS>
static __device__ inline void fold_range(const struct sw_cuda_device<BITS> &device,
                                         struct fold<BITS> *fold, uint32_t op, bool answers,
                                         const struct sw_cuda_moved<BITS> *moved, uint32_t count)
{
    for (uint32_t c = threadIdx.x; c < FOLD_KEY_SLOTS; c += THREADS) {
        fold->key_slots[c] = 0;
    }
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        struct sw_cuda_moved<BITS> one = moved[e];
        fold->entries[e].m = one.m;
        sw_width<BITS>::put_value(&fold->entries[e], sw_moved_operand<BITS>(one));
        fold->operation[e] = one.operation;
        fold->replaced_by[e] = ALIVE;
    }
    __syncthreads(); /* M2: entries and key slots, before keys meet */
    bool repeated = false;
    for (uint32_t e = threadIdx.x; e < count; e += THREADS) {
        repeated |= !fold_one<BITS>(fold, op, e);
    }
    /* M2: all entries are folded; replaced_by[] shows which are alive */
    if (__syncthreads_or(repeated) && answers && op != SW_SET_PRESENT) {
        find_repeated<BITS, THREADS>(device, fold, op, moved, count);
    }
}

#endif
