/* SPDX-License-Identifier: MIT
 *
 * growth.c - when a table's cache grows, and the facts that depend on it.
 */
#include "table/cache/growth.h"

#include <assert.h>
#include <time.h>

#include "table/growth.h"

/* Pause after a growth that failed. */
#define RETRY_NS 1000000000ULL

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint64_t sw_cache_growth_wanted(const struct sw_cache_growth *growth, uint64_t entries)
{
    uint64_t buckets = sw_cache_buckets_grown(growth->buckets, growth->most, entries);
    bool waits = buckets != growth->buckets && growth->retry_ns != 0 &&
                 now_ns() < growth->retry_ns && !sw_growth_is_eased(growth->owner);
    return waits ? growth->buckets
                 : sw_growth_slots(growth->owner, growth->buckets * SW_CACHE_BUCKET_SLOTS,
                                   buckets * SW_CACHE_BUCKET_SLOTS, SW_CACHE_BUCKET_SLOTS) /
                       SW_CACHE_BUCKET_SLOTS;
}

uint64_t sw_cache_growth_buckets(const struct sw_cache_growth *growth, uint64_t capacity)
{
    uint64_t least = growth->two ? 2 : 1;
    uint64_t buckets = capacity / SW_CACHE_BUCKET_SLOTS + (capacity % SW_CACHE_BUCKET_SLOTS != 0);
    return buckets > least ? buckets : least;
}

void sw_cache_growth_begin(struct sw_cache_growth *growth, uint64_t buckets, uint64_t bytes)
{
    assert(buckets > 0 && buckets <= growth->most);
    __atomic_store_n(&growth->buckets, buckets, __ATOMIC_RELAXED);
    __atomic_store_n(&growth->bytes, bytes, __ATOMIC_RELAXED);
    sw_growth_has(growth->owner, bytes);
    sw_growth_has_slots(growth->owner, buckets * SW_CACHE_BUCKET_SLOTS);
}

void sw_cache_growth_moved(struct sw_cache_growth *growth, uint64_t buckets, uint64_t bytes)
{
    sw_cache_growth_begin(growth, buckets, bytes);
    growth->moves++;
}

/* Low bits of a cursor, which hold a slot. The bits above hold the number of the layout, from 1
 * on. */
#define SLOT_BITS 48

static uint64_t layout_of(const struct sw_cache_growth *growth)
{
    return growth->moves % ((1U << (64 - SLOT_BITS)) - 1) + 1;
}

uint64_t sw_cache_growth_cursor(const struct sw_cache_growth *growth, uint64_t slot)
{
    assert(slot >> SLOT_BITS == 0);
    return layout_of(growth) << SLOT_BITS | slot;
}

uint64_t sw_cache_growth_slot(const struct sw_cache_growth *growth, uint64_t cursor)
{
    uint64_t slot = cursor & ((1ULL << SLOT_BITS) - 1);
    uint64_t layout = cursor >> SLOT_BITS;
    assert(growth->buckets > 0);
    if (layout != 0 && layout != layout_of(growth)) {
        return 0;
    }
    return layout != 0 ? slot : slot % (growth->buckets * SW_CACHE_BUCKET_SLOTS);
}

void sw_cache_growth_tried(struct sw_cache_growth *growth, bool done)
{
    uint64_t *count = done ? &growth->grown : &growth->resize_failed;
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    growth->retry_ns = done ? 0 : now_ns() + RETRY_NS;
}

void sw_cache_growth_resized(struct sw_cache_growth *growth, bool done)
{
    uint64_t *count = done ? &growth->resized : &growth->resize_failed;
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

void sw_cache_growth_facts(const struct sw_cache_growth *growth, struct sw_backend_facts *facts)
{
    sw_cache_facts(__atomic_load_n(&growth->buckets, __ATOMIC_RELAXED), growth->most,
                   __atomic_load_n(&growth->bytes, __ATOMIC_RELAXED), facts);
    facts->grown = __atomic_load_n(&growth->grown, __ATOMIC_RELAXED);
    facts->resized = __atomic_load_n(&growth->resized, __ATOMIC_RELAXED);
    facts->resize_failed = __atomic_load_n(&growth->resize_failed, __ATOMIC_RELAXED);
}

void sw_cache_count_upserts(struct sw_batch *batch)
{
    batch->_upserts = 0;
    if (batch->ops == NULL) {
        batch->_upserts = SW_OPS_HAS(SW_OPS_INSERT, batch->op) ? batch->count : 0;
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        batch->_upserts += SW_OPS_INSERT >> batch->ops[i] & 1;
    }
}
