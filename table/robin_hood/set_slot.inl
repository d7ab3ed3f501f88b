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

static inline struct RH(slot) RH(slot_of)(RH_WORD m, RH_WORD value)
{
    (void)value;
    return (struct RH(slot)){m};
}

static inline RH_WORD RH(slot_value)(struct RH(slot) slot)
{
    (void)slot;
    return 0;
}

static inline struct RH(slot) RH(slot_empty)(void)
{
    return (struct RH(slot)){RH_EMPTY};
}

static inline bool RH(slot_same)(struct RH(slot) a, struct RH(slot) b)
{
    return a.m == b.m;
}

/* A batch of a set has no operands, and no values before the operations. Its arrays of values have
 * elements of 0 bytes, which nothing reads or writes. */
static inline RH_WORD RH(value_at)(const RH_WORD *values, uint64_t i)
{
    (void)values;
    (void)i;
    return 0;
}

static inline void *RH(values_of)(const void *values)
{
    (void)values;
    return NULL;
}

static inline struct RH(slot) RH(slot_load)(const struct RH(slot) * slot)
{
    return (struct RH(slot)){__atomic_load_n(&slot->m, __ATOMIC_RELAXED)};
}

static inline void RH(slot_store)(struct RH(slot) * slot, struct RH(slot) entry)
{
    __atomic_store_n(&slot->m, entry.m, __ATOMIC_RELAXED);
}

static inline struct RH(slot)
    RH(slot_cas)(struct RH(slot) * slot, struct RH(slot) expected, struct RH(slot) desired)
{
    __atomic_compare_exchange_n(&slot->m, &expected.m, desired.m, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return expected;
}
