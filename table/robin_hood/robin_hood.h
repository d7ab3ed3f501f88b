/* SPDX-License-Identifier: MIT
 *
 * robin_hood.h - the ordered Robin Hood algorithm: one source for CPU and CUDA and for all formats
 * of slots.
 *
 * Instantiates robin_hood.inl and its companions for 64-bit slots (names end in _s64) and 128-bit
 * slots (_s128), and for key sets with slots of 32 bits (_k32) and 64 bits (_k64).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_ROBIN_HOOD_H
#define SHERWOOD_TABLE_ROBIN_HOOD_ROBIN_HOOD_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "table/load_once.h"
#include "table/mix.h"
#include "table/operation.h"

/* Slots per bucket. 4 x 8 bytes is one 32-byte sector of GPU memory; 4 x 16 bytes is one CPU cache
 * line. table/robin_hood/README.md, "A slot", has measurements of 2 and 4. Both backends must use
 * the same value: the contents of a bucket are part of the canonical layout. make BUCKET_SLOTS=8
 * builds another shape. */
#ifndef SW_BUCKET_SLOTS
#define SW_BUCKET_SLOTS 4
#endif
static_assert(SW_BUCKET_SLOTS == 2 || SW_BUCKET_SLOTS == 4 || SW_BUCKET_SLOTS == 8,
              "a bucket is 2, 4 or 8 slots: whole loads of 16 bytes, and a power of two");

/* Minimum length of a jump of a look-up, in buckets. Shorter distances are read bucket by bucket,
 * since neighbours share cache lines and pages. */
#define SW_JUMP_MIN 4

/* Results of a probe of a bucket that does not contain the key: the key is absent, or the key may
 * be in the next bucket. */
enum sw_probe { SW_PROBE_ABSENT = -1, SW_PROBE_NEXT = -2 };

/* Displacement hints (hints.inl): one byte for each pair of home buckets (2g, 2g + 1). The low 6
 * bits are d = min(lead(2g), SW_HINT_LEAD_MAX). The high 2 bits are the distance from 2g + d to the
 * start of 2g + 1, at most 3. 0 means no information. */
#define SW_HINT_LEAD_MAX 63
/* Largest distance of a start in a hint from 2g. */
#define SW_HINT_REACH (SW_HINT_LEAD_MAX + 3)

/* Encodes two leads, or lower bounds of them, as a hint. */
SW_HD static inline uint8_t sw_hint_encode(uint32_t lead_even, uint32_t lead_odd)
{
    uint32_t d = lead_even < SW_HINT_LEAD_MAX ? lead_even : SW_HINT_LEAD_MAX;
    uint32_t more = lead_odd + 1 > d ? lead_odd + 1 - d : 0;
    return (uint8_t)(((more < 3 ? more : 3) << 6) | d);
}

/* A lower bound of the lead of the pair's even or odd home. */
SW_HD static inline uint32_t sw_hint_lead(uint8_t hint, bool odd)
{
    uint32_t d = hint & SW_HINT_LEAD_MAX;
    uint32_t start = d + (hint >> 6); /* start of the odd home, relative to the even home */
    return !odd ? d : start > 0 ? start - 1 : 0;
}

/* Number of hints for `buckets` home buckets; one byte each. */
SW_HD static inline uint64_t sw_hint_count(uint64_t buckets)
{
    return (buckets + 1) / 2;
}

/* Allocation unit of the hints, in bytes: hint_forget reads whole words. */
#define SW_HINT_WORD 4
/* Number of words that hint_forget loads before it uses the first one, so that the latencies
 * overlap. */
#define SW_HINT_AHEAD 4
SW_HD static inline uint64_t sw_hint_bytes(uint64_t buckets)
{
    return (sw_hint_count(buckets) + SW_HINT_WORD - 1) / SW_HINT_WORD * SW_HINT_WORD;
}

/* Loads a word of hints; the first hint is the lowest byte. Other threads may clear it meanwhile. A
 * relaxed load is enough, since a hint only changes to 0, which is always valid. On a device
 * `hints` must be aligned to the word size. */
SW_HD static inline uint32_t sw_hint_load_word(const uint8_t *hints)
{
#if defined(__CUDA_ARCH__)
    return *(const volatile uint32_t *)hints;
#else
    uint32_t word = 0;
    for (int i = 0; i < SW_HINT_WORD; i++) {
        word |= (uint32_t)__atomic_load_n(hints + i, __ATOMIC_RELAXED) << 8 * i;
    }
    return word;
#endif
}

/* For a word of hints whose first one is that of homes 2g and 2g + 1: returns the top bit of the
 * byte of each hint that covers a bucket at or after `first`. A hint covers the buckets from a home
 * to its start. The odd one of its two homes has the later start. */
SW_HD static inline uint32_t sw_hints_after(uint32_t word, uint64_t g, uint64_t first)
{
    const uint32_t tops = 0x80808080;
    const uint32_t starts =
        (word & 0x3f3f3f3f) + (word >> 6 & 0x03030303); /* relative to the even homes */
    const uint32_t some = starts + 0x7f7f7f7f;
    if (2 * g > first) {
        return some & tops;
    }
    if (first - 2 * g >= SW_HINT_REACH + 2 * SW_HINT_WORD) {
        return 0;
    }
    const uint32_t past = (uint32_t)(first - 2 * g + 1) * 0x01010101;
    return some & (((starts + 0x06040200) | tops) - past) & tops;
}

/* Clears the hints of a word whose byte in `which` has its top bit set. Several threads may clear
 * the same hint. Relaxed: the phase ends before any thread reads hints again (rule 5). */
SW_HD static inline void sw_hint_clear(uint8_t *hints, uint32_t which)
{
#if defined(__CUDA_ARCH__)
    atomicAnd((unsigned int *)hints, ~(which / 128 * 255));
#else
    for (int i = 0; i < SW_HINT_WORD; i++) {
        if (which >> (8 * i + 7) & 1) {
            __atomic_store_n(hints + i, 0, __ATOMIC_RELAXED);
        }
    }
#endif
}

/* C code ignores the gap that find_gap returns. A call that is always inlined does not compute it.
 * Kernels are C++. */
#ifdef __cplusplus
#define SW_WITHOUT_GAP
#else
#define SW_WITHOUT_GAP __attribute__((always_inline))
#endif

/* Unrolls the loop over the slots of a bucket, so that the slots stay in registers. CUDA compilers
 * unroll such loops by themselves. */
#ifdef __CUDACC__
#define SW_UNROLL_BUCKET
#else
#define SW_UNROLL_BUCKET _Pragma("GCC unroll 8")
#endif

/* Call this before a slot of a view is written: it copies data that the view's guard protects. CUDA
 * code, which is C++, has no guards. */
#ifdef __cplusplus
#define SW_KEEP(view, slot) ((void)0)
#else
#include "table/host/cow_guard.h"
#define SW_KEEP(view, slot)                                   \
    do {                                                      \
        if (__builtin_expect((view)->guard != NULL, 0)) {     \
            sw_cow_guard_before_write((view)->guard, (slot)); \
        }                                                     \
    } while (0)
#endif

#ifndef __CUDACC__
__extension__ typedef unsigned __int128 sw_u128;
#else
typedef unsigned __int128 sw_u128;
#include "table/device/wide.cuh"
#endif

#define RH_BITS SW_WIDTH_BITS
#define RH_WORD SW_WIDTH_WORD
#define RH_EMPTY SW_WIDTH_ONES
#define RH(name) SW_WIDTH_NAMED(sw_##name)
/* Each file needs the one before it. */
#define SW_WIDTH_BODY "table/robin_hood/slot.inl"
#include "table/each_width.inl"
#define SW_WIDTH_BODY "table/robin_hood/set_slot.inl"
#include "table/each_set.inl"
#define SW_WIDTH_BODY "proto/ops/apply.inl"
#include "table/each_set.inl"
#define SW_WIDTH_BODY "table/robin_hood/robin_hood.inl"
#include "table/each_format.inl"
#define SW_WIDTH_BODY "table/robin_hood/execute.inl"
#include "table/each_format.inl"
#define SW_WIDTH_BODY "table/robin_hood/rebuild.inl"
#include "table/each_format.inl"
#define SW_WIDTH_BODY "table/robin_hood/hints.inl"
#include "table/each_format.inl"

#endif
