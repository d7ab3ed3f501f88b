/* SPDX-License-Identifier: MIT
 *
 * slot.inl - one slot and its accessors: load, store, compare-and-swap. Included by robin_hood.h
 * once per width. set_slot.inl has the slots of key sets, with the
 * same functions.
 *
 *   | bytes (64-bit slot) | bytes (128-bit slot) | field                                      |
 *   | 0..3                | 0..7                 | value                                      |
 *   | 4..7                | 8..15                | m, the mixed key; all ones = EMPTY         |
 *
 * An EMPTY slot has every bit set. Read as one little-endian integer, m is the high half.
 *
 * Every access is relaxed, and no access needs a stronger order: a slot is the whole message (M6 of
 * table/README.md). Phases order the writes of one phase before the reads of the next (rule 5). In
 * an insert phase the m of a slot only decreases, so an old load is an upper bound: "nothing larger
 * here" stays true. A compare-and-swap succeeds only if the slot still holds the loaded value. A
 * 128-bit load may tear between its halves. This is safe: every decision depends only on m, and
 * every write of an insert phase is one full-slot compare-and-swap, which fails on a torn pair
 * (rule 3). Rules: table/robin_hood/README.md.
 */

struct RH(slot) {
    alignas(2 * sizeof(RH_WORD)) RH_WORD value;
    RH_WORD m;
};
static_assert(sizeof(struct RH(slot)) == 2 * sizeof(RH_WORD), "one slot, one compare-and-swap");

SW_HD static inline struct RH(slot) RH(slot_of)(RH_WORD m, RH_WORD value)
{
    struct RH(slot) slot;
    slot.value = value;
    slot.m = m;
    return slot;
}

SW_HD static inline RH_WORD RH(slot_value)(struct RH(slot) slot)
{
    return slot.value;
}

/* Stores the value alone. */
SW_HD static inline void RH(slot_put_value)(struct RH(slot) * slot, RH_WORD value)
{
    slot->value = value;
}

SW_HD static inline struct RH(slot) RH(slot_empty)(void)
{
    return RH(slot_of)(RH_EMPTY, RH_EMPTY);
}

SW_HD static inline bool RH(slot_same)(struct RH(slot) a, struct RH(slot) b)
{
    return a.m == b.m && a.value == b.value;
}

/* Returns element i of an array of values. */
SW_HD static inline RH_WORD RH(value_at)(const RH_WORD *values, uint64_t i)
{
    return values[i];
}

/* Returns an array of values of a batch, as it is. */
SW_HD static inline void *RH(values_of)(const void *values)
{
    return (void *)(uintptr_t)values;
}

/* A relaxed load, in any phase. */
SW_HD static inline struct RH(slot) RH(slot_load)(const struct RH(slot) * slot)
{
    struct RH(slot) out;
#if defined(__CUDA_ARCH__) && RH_BITS == 64
    uint64_t word = *(const volatile uint64_t *)slot;
    out.value = (uint32_t)word;
    out.m = (uint32_t)(word >> 32);
#elif defined(__CUDA_ARCH__)
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];"
                 : "=l"(out.value), "=l"(out.m)
                 : "l"(slot)
                 : "memory");
#elif RH_BITS == 64
    uint64_t word = __atomic_load_n((const uint64_t *)(const void *)slot, __ATOMIC_RELAXED);
    out.value = (uint32_t)word;
    out.m = (uint32_t)(word >> 32);
#else
    out.m = __atomic_load_n(&slot->m, __ATOMIC_RELAXED);
    out.value = __atomic_load_n(&slot->value, __ATOMIC_RELAXED);
#endif
    return out;
}

/* A store by the only thread that may write this slot in this phase, while others may read it. In a
 * 128-bit slot the halves are two stores. In parallel with readers only the value may change, and
 * only the thread that has the key's operations reads the value (rules 6 and 7). */
SW_HD static inline void RH(slot_store)(struct RH(slot) * slot, struct RH(slot) entry)
{
#if RH_BITS == 64
    uint64_t word = ((uint64_t)entry.m << 32) | entry.value;
#if defined(__CUDA_ARCH__)
    *(volatile uint64_t *)slot = word;
#else
    __atomic_store_n((uint64_t *)(void *)slot, word, __ATOMIC_RELAXED);
#endif
#elif defined(__CUDA_ARCH__)
    ((volatile RH_WORD *)slot)[0] = entry.value;
    ((volatile RH_WORD *)slot)[1] = entry.m;
#else
    __atomic_store_n(&slot->value, entry.value, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->m, entry.m, __ATOMIC_RELAXED);
#endif
}

/* If the slot holds `expected`, replaces it by `desired` atomically. Returns the old contents.
 * Relaxed: the returned word is the data itself and publishes nothing else (rule 3). */
SW_HD static inline struct RH(slot)
    RH(slot_cas)(struct RH(slot) * slot, struct RH(slot) expected, struct RH(slot) desired)
{
    struct RH(slot) held;
#if RH_BITS == 64
    uint64_t want = ((uint64_t)expected.m << 32) | expected.value;
    uint64_t word = ((uint64_t)desired.m << 32) | desired.value;
#if defined(__CUDA_ARCH__)
    word =
        atomicCAS((unsigned long long *)slot, (unsigned long long)want, (unsigned long long)word);
#else
    __atomic_compare_exchange_n((uint64_t *)(void *)slot, &want, word, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    word = want;
#endif
    held.value = (uint32_t)word;
    held.m = (uint32_t)(word >> 32);
#elif defined(__CUDA_ARCH__)
    const struct sw_wide want = {expected.value, expected.m};
    const struct sw_wide put = {desired.value, desired.m};
    const struct sw_wide was = sw_wide_cas(slot, want, put);
    held.value = was.low;
    held.m = was.high;
#else
    sw_u128 want = ((sw_u128)expected.m << 64) | expected.value;
    sw_u128 word = ((sw_u128)desired.m << 64) | desired.value;
    word = __sync_val_compare_and_swap((sw_u128 *)(void *)slot, want, word);
    held.value = (uint64_t)word;
    held.m = (uint64_t)(word >> 64);
#endif
    return held;
}
