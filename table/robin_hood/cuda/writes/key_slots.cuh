/* SPDX-License-Identifier: MIT
 *
 * key_slots.cuh - key slots: a hash table of a batch's keys. Operations on the same key share a key
 * slot (deduplication).
 *
 * A thread claims a key slot by a compare-and-swap of m; that value is the whole message (M6).
 * Threads change `last`, `first` and `value` only by atomics, in any order, and read them after a
 * grid barrier (M4). After it one thread per key owns the key slot (M8).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_KEY_SLOTS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_KEY_SLOTS_CUH

#include "table/device/warp_aggregate.cuh"
#include "table/robin_hood/cuda/writes/upsert.cuh"

/* The operation has no key slot. */
#define NO_KEY_SLOT 0xffffffffU

/* Bit in `last` of a key slot: its key is present. */
#define PRESENT (1U << 31)

/* Returns whether operations on one key combine in any order. Of other operations only the last or
 * the first counts. */
static __device__ inline bool combines(uint32_t op)
{
    return op == SW_SUM || op == SW_MIN || op == SW_MAX;
}

template <typename T> static __device__ inline void atomic_max(T *at, T value)
{
    if (sizeof(T) == 8) {
        atomicMax((unsigned long long *)at, (unsigned long long)value);
    } else {
        atomicMax((unsigned int *)at, (unsigned int)value);
    }
}

template <typename T> static __device__ inline void atomic_add(T *at, T value)
{
    if (sizeof(T) == 8) {
        atomicAdd((unsigned long long *)at, (unsigned long long)value);
    } else {
        atomicAdd((unsigned int *)at, (unsigned int)value);
    }
}

template <typename T> static __device__ inline void atomic_min(T *at, T value)
{
    if (sizeof(T) == 8) {
        atomicMin((unsigned long long *)at, (unsigned long long)value);
    } else {
        atomicMin((unsigned int *)at, (unsigned int)value);
    }
}

template <typename T> static __device__ inline T atomic_cas(T *at, T expected, T desired)
{
    if (sizeof(T) == 8) {
        return (T)atomicCAS((unsigned long long *)at, (unsigned long long)expected,
                            (unsigned long long)desired);
    }
    return (T)atomicCAS((unsigned int *)at, (unsigned int)expected, (unsigned int)desired);
}

/* Frees the key slots of a batch that has at most keys_max keys in them. Other arrays have used
 * their memory. `folds`: the batch uses the other arrays beside m. */
template <int BITS>
static __device__ inline void
clear_key_slots(const struct sw_cuda_device<BITS> &device, const struct sw_cuda_batch<BITS> &batch,
                uint32_t keys_max, bool folds, uint64_t start, uint64_t step)
{
    const struct sw_cuda_key_slots<BITS> *key_slots = &device.scratch.key_slots;
    for (uint64_t j = start; j <= 2 * (uint64_t)keys_max; j += step) {
        key_slots->m[j] = sw_width<BITS>::empty;
        if (folds) {
            key_slots->last[j] = 0;
        }
        if (folds && batch.found != NULL) {
            key_slots->first[j] = 0;
        }
        if (folds && combines(batch.op)) {
            key_slots->value[j] = 0;
        }
    }
}

/* Returns the key slot of m, and claims it if it was free. At least half of the 2 * keys_max key
 * slots stay free, so every probe ends. */
template <int BITS>
static __device__ inline uint32_t claim_key_slot(const struct sw_cuda_key_slots<BITS> &key_slots,
                                                 typename sw_width<BITS>::word m, uint32_t keys_max)
{
    typedef sw_width<BITS> W;
    uint32_t key_slots_count = 2 * keys_max;
    if (m == W::empty) {
        return key_slots_count;
    }
    uint32_t top = (uint32_t)(m >> (BITS / 2 - 32));
    /* spreads neighbours in m, so that runs of key slots stay short for any keys */
    uint32_t key_slot = __umulhi(top * 0x9e3779b1U ^ (uint32_t)m, key_slots_count);
    for (;;) {
        typename W::word held = *(const volatile typename W::word *)(key_slots.m + key_slot);
        if (held == W::empty) {
            held = atomic_cas(key_slots.m + key_slot, (typename W::word)W::empty, m);
        }
        if (held == W::empty || held == m) {
            return key_slot;
        }
        key_slot = key_slot + 1 < key_slots_count ? key_slot + 1 : 0;
    }
}

/* Adds operation i, whose key has the mixed form m, to its key slot. `mine`: this thread has an
 * operation. All threads of a warp must call it, with consecutive operations. */
template <int BITS>
static __device__ inline void
assign_key_slot(const struct sw_cuda_device<BITS> &device, const struct sw_cuda_batch<BITS> &batch,
                uint64_t i, typename sw_width<BITS>::word m, bool mine, uint32_t keys_max)
{
    typedef typename sw_width<BITS>::word word;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const struct sw_cuda_key_slots<BITS> *key_slots = &scratch->key_slots;
    uint32_t key_slot = NO_KEY_SLOT;
    word operand = 0;
    if (mine) {
        operand = !sw_width<BITS>::is_set && batch.op != SW_DELETE ? batch.values[i] : 0;
        key_slot = claim_key_slot<BITS>(*key_slots, m, keys_max);
        scratch->m[i] = m;
        scratch->operands[i] = operand;
        scratch->index_sorted[i] = key_slot;
    }
    const uint32_t alike = __match_any_sync(SW_WARP_ALL, key_slot);
    if (batch.op == SW_SUM) {
        operand = sw_warp_combine(alike, operand, [](word a, word b) { return (word)(a + b); });
    } else if (combines(batch.op)) {
        operand = batch.op == SW_MIN ? (word)~operand : operand;
        operand = sw_warp_combine(alike, operand, [](word a, word b) { return a > b ? a : b; });
    }
    if (!mine) {
        return;
    }
    if (sw_warp_is_last(alike)) {
        atomicMax(key_slots->last + key_slot, (uint32_t)i + 1);
    }
    if (!sw_warp_is_first(alike)) {
        return;
    }
    if (batch.found != NULL) {
        atomicMax(key_slots->first + key_slot, ~(uint32_t)i);
    }
    if (batch.op == SW_SUM) {
        atomic_add(key_slots->value + key_slot, operand);
    } else if (combines(batch.op)) {
        atomic_max(key_slots->value + key_slot, operand);
    }
}

/* Returns true for exactly one operation of each key: the last. */
template <int BITS>
static __device__ inline bool is_last_of_key(const struct sw_cuda_scratch<BITS> *scratch,
                                             uint64_t i)
{
    return (scratch->key_slots.last[scratch->index_sorted[i]] & ~PRESENT) == i + 1;
}

/* Looks up a key to be removed. Returns true if the key has a slot in the table. */
template <int BITS>
static __device__ inline bool remove_key_slot(const struct sw_cuda_device<BITS> &device, uint64_t i,
                                              bool answers, struct sw_cuda_removal<BITS> *removal,
                                              uint64_t *probes)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    bool found = false;
    bool has_slot = remove_one<BITS>(device, scratch->m[i], removal, &found, probes);
    if (found && answers) {
        scratch->key_slots.last[scratch->index_sorted[i]] |= PRESENT;
    }
    return has_slot;
}

/* Updates one key in place, or sets *entry to the entry to insert. Returns true if it must be
 * inserted. */
template <int BITS>
static __device__ inline bool apply_one(const struct sw_cuda_device<BITS> &device,
                                        const struct sw_cuda_batch<BITS> &batch, uint64_t i,
                                        typename sw_width<BITS>::slot *entry, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const struct sw_cuda_key_slots<BITS> *key_slots = &scratch->key_slots;
    uint32_t key_slot = scratch->index_sorted[i];
    typename W::word operand = scratch->operands[i];
    typename W::place place;
    if (combines(batch.op)) {
        operand = key_slots->value[key_slot];
        operand = batch.op == SW_MIN ? (typename W::word) ~operand : operand;
    }
    entry->m = scratch->m[i];
    place = W::locate_hinted(&device.table, device.hints, entry->m, probes);
    if (place.found) {
        W::decide(batch.op, true, place.value, operand, &operand);
        if (batch.found != NULL || batch.op == SW_SET_PRESENT) {
            key_slots->last[key_slot] |= PRESENT; /* M8; other threads read only the lower bits */
        }
    }
    W::put_value(entry, operand);
    return (place.found || batch.op != SW_SET_PRESENT) && write_one<BITS>(device, place, *entry);
}

/* Returns whether the key of operation i was present before the operation. Call it after all keys
 * were applied (M4). */
template <int BITS>
static __device__ inline bool was_found(const struct sw_cuda_scratch<BITS> *scratch, uint32_t op,
                                        uint64_t i)
{
    uint32_t key_slot = scratch->index_sorted[i];
    bool present = (scratch->key_slots.last[key_slot] & PRESENT) != 0;
    bool first = ~scratch->key_slots.first[key_slot] == (uint32_t)i;
    return op == SW_DELETE ? present && first : op == SW_SET_PRESENT ? present : present || !first;
}

#endif
