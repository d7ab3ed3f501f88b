/* SPDX-License-Identifier: MIT
 *
 * growth.h - the owner of a table decides whether the table may take more memory.
 *
 * A table in host memory calls the functions when it grows or is resized, while its writes wait.
 * Both must be brief, and must not call a function of the same table except sw_table_info.
 */
#ifndef SHERWOOD_TABLE_GROWTH_H
#define SHERWOOD_TABLE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_growth {
    /* Returns whether the table may take `bytes` for new arrays of `slots` slots, beside those that
     * it has. A growth may try several times; `settled` ends it. */
    bool (*permits)(struct sw_growth *growth, uint64_t slots, uint64_t bytes);
    /* The new arrays have replaced the old ones, or nothing has changed: sw_table_info has the
     * memory of the table. */
    void (*settled)(struct sw_growth *growth);
    /* Atomic: the owner permits no more slots than these, and growth stops there; 0: it stops at
     * the limit of the table. */
    uint64_t slots_max;
};

/* Ask the owner, if the table has one. */
static inline bool sw_growth_permits(struct sw_growth *growth, uint64_t slots, uint64_t bytes)
{
    return growth == NULL || growth->permits(growth, slots, bytes);
}
/* Returns the slots to which a table of `present` slots should grow that wants `wanted`: no more
 * than the owner permits, in whole buckets of `bucket` slots. If it permits no more than `present`,
 * returns `wanted`: sw_growth_permits then refuses it. */
static inline uint64_t sw_growth_slots(const struct sw_growth *growth, uint64_t present,
                                       uint64_t wanted, uint64_t bucket)
{
    const uint64_t most =
        growth == NULL ? 0 : __atomic_load_n(&growth->slots_max, __ATOMIC_RELAXED);
    const uint64_t whole = most / bucket * bucket;
    return whole > present && whole < wanted ? whole : wanted;
}
static inline void sw_growth_settled(struct sw_growth *growth)
{
    if (growth != NULL) {
        growth->settled(growth);
    }
}

#endif
