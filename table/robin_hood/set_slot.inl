/* SPDX-License-Identifier: MIT
 *
 * set_slot.inl - one slot of a key set and its accessors, as in slot.inl. Included by robin_hood.h
 * once per width.
 *
 * A slot is m alone: 4 or 8 bytes; all ones = EMPTY. The value of every entry is 0. A load cannot
 * tear. Every access is relaxed, for the reasons in slot.inl.
 */

struct RH(slot) {
    RH_WORD m;
};
static_assert(sizeof(struct RH(slot)) == sizeof(RH_WORD), "one slot, one compare-and-swap");

SW_HD static inline struct RH(slot) RH(slot_of)(RH_WORD m, RH_WORD value)
{
    (void)value;
    struct RH(slot) slot;
    slot.m = m;
    return slot;
}

SW_HD static inline RH_WORD RH(slot_value)(struct RH(slot) slot)
{
    (void)slot;
    return 0;
}

SW_HD static inline void RH(slot_put_value)(struct RH(slot) * slot, RH_WORD value)
{
    (void)slot;
    (void)value;
}

SW_HD static inline struct RH(slot) RH(slot_empty)(void)
{
    return RH(slot_of)(RH_EMPTY, 0);
}

SW_HD static inline bool RH(slot_same)(struct RH(slot) a, struct RH(slot) b)
{
    return a.m == b.m;
}

/* A batch of a set has no operands, and no values before the operations. Its arrays of values have
 * elements of 0 bytes, which nothing reads or writes. */
SW_HD static inline RH_WORD RH(value_at)(const RH_WORD *values, uint64_t i)
{
    (void)values;
    (void)i;
    return 0;
}

SW_HD static inline void *RH(values_of)(const void *values)
{
    (void)values;
    return NULL;
}

SW_HD static inline struct RH(slot) RH(slot_load)(const struct RH(slot) * slot)
{
    struct RH(slot) out;
#if defined(__CUDA_ARCH__)
    out.m = *(const volatile RH_WORD *)slot;
#else
    out.m = __atomic_load_n(&slot->m, __ATOMIC_RELAXED);
#endif
    return out;
}

SW_HD static inline void RH(slot_store)(struct RH(slot) * slot, struct RH(slot) entry)
{
#if defined(__CUDA_ARCH__)
    *(volatile RH_WORD *)slot = entry.m;
#else
    __atomic_store_n(&slot->m, entry.m, __ATOMIC_RELAXED);
#endif
}

SW_HD static inline struct RH(slot)
    RH(slot_cas)(struct RH(slot) * slot, struct RH(slot) expected, struct RH(slot) desired)
{
#if defined(__CUDA_ARCH__) && RH_BITS == 64
    expected.m = atomicCAS((unsigned int *)slot, expected.m, desired.m);
#elif defined(__CUDA_ARCH__)
    expected.m = atomicCAS((unsigned long long *)slot, (unsigned long long)expected.m,
                           (unsigned long long)desired.m);
#else
    __atomic_compare_exchange_n(&slot->m, &expected.m, desired.m, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
#endif
    return expected;
}
