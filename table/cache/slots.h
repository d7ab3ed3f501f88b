/* SPDX-License-Identifier: MIT
 *
 * slots.h - the arrays of a cache, and the candidate places of a key. For host and device.
 *
 * Every bucket has a line of 128 digests (0: the slot is empty), a line of 128 marks that bound the
 * scores from below (score.h), its entries, its values, and a head. The key and the score of an
 * entry are adjacent: code that changes both, or reads one and changes the other, accesses one
 * sector of memory. A small value is adjacent to its entry.
 *
 * Threads: plain data; the phases of batches guard it (README.md).
 */
#ifndef SHERWOOD_TABLE_CACHE_SLOTS_H
#define SHERWOOD_TABLE_CACHE_SLOTS_H

#include "table/cache/cache.h"
#include "table/mix.h"

/* No slot, of a bucket or of the cache. */
#define SW_CACHE_NONE 0xffffffffU
#define SW_CACHE_NOWHERE UINT64_MAX

/* In `shift`: the bucket has no marks yet. */
#define SW_CACHE_UNMARKED 255U

struct sw_cache_head {
    uint64_t base;  /* the score of mark 1 */
    uint32_t shift; /* a mark covers 2^shift scores; or SW_CACHE_UNMARKED */
    uint32_t lock;  /* CUDA: 1: a tile or thread writes the bucket */
};

struct sw_cache_entry {
    uint64_t key;
    uint64_t score;
};

struct sw_cache_slots {
    uint8_t *digests;            /* [buckets * 128] */
    uint8_t *marks;              /* [buckets * 128] */
    uint8_t *entries;            /* [buckets * 128], entry_stride apart: of occupied slots, */
    uint8_t *values;             /* and their values, value_stride apart */
    struct sw_cache_head *heads; /* [buckets] */
    uint64_t buckets;
    uint64_t seed;
    uint64_t ids; /* the values are ids below this number (ids.h); 0: they are the callers' */
    uint32_t value_bytes;
    uint32_t entry_stride;
    uint32_t value_stride;
    uint32_t apart;  /* values have memory of their own, and none lies behind its entry */
    uint32_t two;    /* MEMORY mode */
    uint32_t policy; /* enum sw_cache_policy */
};

/* Where a key may lie: its candidate buckets, and its digest. In MEMORY mode `first` is one of the
 * lower half of the buckets (if their number is odd, of the larger half), `second` one of the upper
 * half. In THROUGHPUT mode `second` is `first`. */
struct sw_cache_candidates {
    uint64_t first;
    uint64_t second;
    uint32_t digest; /* 1..255 */
};

/* a * b / 2^64 */
SW_HD static inline uint64_t sw_cache_scale(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
#endif
}

/* Returns the candidates of a key, from a hash of 128 bits. The high bits of one half select the
 * first bucket, and its low 32 bits give the digest. The other half selects the second bucket. */
SW_HD static inline struct sw_cache_candidates
sw_cache_candidates_of(const struct sw_cache_slots *slots, uint64_t key)
{
    struct sw_cache_candidates candidates;
    uint64_t hash = sw_mix_64(key, slots->seed);
    uint64_t upper = slots->two ? slots->buckets / 2 : 0;
    uint64_t lower = slots->buckets - upper;
    candidates.first = sw_cache_scale(hash, lower);
    candidates.digest = 1 + (uint32_t)((uint64_t)(uint32_t)hash * 255 >> 32);
    candidates.second = candidates.first;
    if (slots->two) {
        candidates.second = lower + sw_cache_scale(sw_mix_64(hash, 0x9e3779b97f4a7c15ULL), upper);
    }
    return candidates;
}

/* A value of at most this many bytes lies directly after its entry if its size is a multiple of 16:
 * then code that finds the entry has the value nearby. Larger values would cross the 256-byte
 * boundaries of memory interleaving, and copying them would cost more time than that saves. */
#define SW_CACHE_VALUE_COMBINED_MAX 48U

/* Bytes of the entries and values of one bucket, also if the values have memory of their own. */
SW_HD static inline uint64_t sw_cache_entries_bytes(uint32_t value_bytes)
{
    return SW_CACHE_BUCKET_SLOTS * (sizeof(struct sw_cache_entry) + value_bytes);
}

/* Lays entries and values out in `memory`, which has sw_cache_entries_bytes() bytes per bucket and
 * is aligned as values are, and to at least 16 bytes. If values have memory of their own, it has
 * the entries alone, and the caller sets slots->values. */
SW_HD static inline void sw_cache_lay_out(struct sw_cache_slots *slots, uint8_t *memory)
{
    uint32_t bytes = slots->value_bytes;
    bool combined = !slots->apart && bytes % 16 == 0 && bytes <= SW_CACHE_VALUE_COMBINED_MAX;
    slots->entry_stride = (uint32_t)sizeof(struct sw_cache_entry) + (combined ? bytes : 0);
    slots->value_stride = combined ? slots->entry_stride : bytes;
    slots->entries = memory;
    slots->values = memory + sizeof(struct sw_cache_entry) *
                                 (combined ? 1 : slots->buckets * SW_CACHE_BUCKET_SLOTS);
}

SW_HD static inline struct sw_cache_entry *sw_cache_entry_at(const struct sw_cache_slots *slots,
                                                             uint64_t slot)
{
    return (struct sw_cache_entry *)(void *)(slots->entries + slot * slots->entry_stride);
}

/* Returns the address of the score of slot `slot` of a bucket. The score of its first slot is at
 * `scores`; entries are `stride` bytes apart. */
SW_HD static inline const uint64_t *sw_cache_score_at(const uint8_t *scores, uint32_t stride,
                                                      uint32_t slot)
{
    return (const uint64_t *)(const void *)(scores + slot * stride);
}

SW_HD static inline uint8_t *sw_cache_value_at(const struct sw_cache_slots *slots, uint64_t slot)
{
    return slots->values + slot * slots->value_stride;
}

/* Bytes of the arrays of one bucket, values and head included. */
SW_HD static inline uint64_t sw_cache_bucket_bytes(uint32_t value_bytes)
{
    return SW_CACHE_BUCKET_SLOTS * 2 + sw_cache_entries_bytes(value_bytes) +
           sizeof(struct sw_cache_head);
}

#endif
