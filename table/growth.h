/* SPDX-License-Identifier: MIT
 *
 * growth.h - the owner of a table decides whether the table may take more memory.
 *
 * A table calls the functions when it grows or is resized, while its writes wait, and may hold its
 * locks meanwhile. Both must be brief, and must not call a function of any table.
 */
#ifndef SHERWOOD_TABLE_GROWTH_H
#define SHERWOOD_TABLE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an owner counts apart. */
enum sw_growth_memory {
    SW_GROWTH_OF_TABLE,     /* the memory that the table lies in */
    SW_GROWTH_ROWS_IN_HOST, /* rows and values in host memory of a table in GPU memory */
    SW_GROWTH_MEMORIES
};

struct sw_growth {
    /* Returns whether the table may take `bytes` for new arrays of `slots` slots, beside those that
     * it has. If so, they count until `settled`. `slots` 0: the table will have the slots that it
     * has, and does without the arrays if they are refused. For rows in host memory `slots` is 0.
     */
    bool (*permits)(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t slots,
                    uint64_t bytes);
    /* Ends what `permits` has begun with this number of bytes. The new arrays have replaced the old
     * ones, and sw_growth_has has counted them; or nothing has changed. */
    void (*settled)(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t bytes);
    /* Atomic: memory of the table. SW_GROWTH_OF_TABLE: as in sw_table_info.bytes_reserved. */
    uint64_t bytes[SW_GROWTH_MEMORIES];
    /* Atomic: those of the bytes SW_GROWTH_OF_TABLE that are for expiry times, which the owner is
     * not asked for. Tables in GPU memory do not report them. */
    uint64_t times_bytes;
    /* Atomic: those of the arrays that new ones would replace. Only tables of robin_hood in host
     * memory report them. */
    uint64_t arrays_bytes;
    uint64_t slots; /* atomic: that the table has; 0: it has not reported them yet */
    /* Atomic: the owner permits no more slots than these, and growth stops there; 0: it stops at
     * the limit of the table. */
    uint64_t slots_max;
    /* Atomic: the owner would now permit the arrays that it refused last, so the table need not
     * wait before it asks again. */
    bool is_eased;
};

/* Ask the owner, if the table has one. */
static inline bool sw_growth_permits(struct sw_growth *growth, uint64_t slots, uint64_t bytes)
{
    return growth == NULL || growth->permits(growth, SW_GROWTH_OF_TABLE, slots, bytes);
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
static inline void sw_growth_settled(struct sw_growth *growth, uint64_t bytes)
{
    if (growth != NULL) {
        growth->settled(growth, SW_GROWTH_OF_TABLE, bytes);
    }
}
/* Returns whether the owner would permit arrays that the table may soon need. */
static inline bool sw_growth_would_permit(struct sw_growth *growth, uint64_t slots, uint64_t bytes)
{
    if (growth == NULL) {
        return true;
    }
    const uint64_t most = __atomic_load_n(&growth->slots_max, __ATOMIC_RELAXED);
    if ((most != 0 && slots > most) || !growth->permits(growth, SW_GROWTH_OF_TABLE, 0, bytes)) {
        return false;
    }
    growth->settled(growth, SW_GROWTH_OF_TABLE, bytes);
    return true;
}
/* Likewise for host memory; 0 bytes are always permitted. */
static inline bool sw_growth_permits_host(struct sw_growth *growth, uint64_t bytes)
{
    return growth == NULL || bytes == 0 ||
           growth->permits(growth, SW_GROWTH_ROWS_IN_HOST, 0, bytes);
}
static inline void sw_growth_settled_host(struct sw_growth *growth, uint64_t bytes)
{
    if (growth != NULL && bytes != 0) {
        growth->settled(growth, SW_GROWTH_ROWS_IN_HOST, bytes);
    }
}
/* The memory of the table has changed. */
static inline void sw_growth_has(struct sw_growth *growth, uint64_t bytes)
{
    if (growth != NULL) {
        __atomic_store_n(&growth->bytes[SW_GROWTH_OF_TABLE], bytes, __ATOMIC_RELAXED);
    }
}
static inline void sw_growth_has_host(struct sw_growth *growth, uint64_t bytes)
{
    if (growth != NULL) {
        __atomic_store_n(&growth->bytes[SW_GROWTH_ROWS_IN_HOST], bytes, __ATOMIC_RELAXED);
    }
}
/* Reports the part for expiry times, before sw_growth_has reports it with the rest. */
static inline void sw_growth_has_times(struct sw_growth *growth, uint64_t bytes)
{
    if (growth != NULL) {
        __atomic_store_n(&growth->times_bytes, bytes, __ATOMIC_RELAXED);
    }
}
/* Reports the part that new arrays would replace. */
static inline void sw_growth_has_arrays(struct sw_growth *growth, uint64_t bytes)
{
    if (growth != NULL) {
        __atomic_store_n(&growth->arrays_bytes, bytes, __ATOMIC_RELAXED);
    }
}
/* The table has this number of slots. */
static inline void sw_growth_has_slots(struct sw_growth *growth, uint64_t slots)
{
    if (growth != NULL) {
        __atomic_store_n(&growth->slots, slots, __ATOMIC_RELAXED);
    }
}
/* Returns whether a pause after a growth that failed may end early. */
static inline bool sw_growth_is_eased(const struct sw_growth *growth)
{
    return growth != NULL && __atomic_load_n(&growth->is_eased, __ATOMIC_RELAXED);
}

#endif
