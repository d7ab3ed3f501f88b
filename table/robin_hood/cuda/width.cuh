/* SPDX-License-Identifier: MIT
 *
 * width.cuh - the functions and types of robin_hood.h chosen by the format of slots, for
 * kernel templates. Their parameter BITS is the number of a format (widths.h): 64 or 128, and 65 or
 * 129 for key sets. So BITS / 2 is the bits of a key.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WIDTH_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WIDTH_CUH

#include <type_traits>

#include "table/robin_hood/robin_hood.h"

template <int BITS> struct sw_width;

#define SW_WIDTH(bits, word_type, suffix)                                                        \
    template <> struct sw_width<bits> {                                                          \
        typedef word_type word;                                                                  \
        typedef struct sw_slot_##suffix slot;                                                    \
        typedef struct sw_view_##suffix view;                                                    \
        typedef struct sw_table_##suffix table;                                                  \
        typedef struct sw_work_##suffix work;                                                    \
        typedef struct sw_undo_##suffix undo;                                                    \
        typedef struct sw_place_##suffix place;                                                  \
        static constexpr word empty = (word)-1;                                                  \
        static constexpr bool is_set = (bits & SW_FORMAT_SET) != 0;                              \
        static __host__ __device__ slot slot_of(word m, word value)                              \
        {                                                                                        \
            return sw_slot_of_##suffix(m, value);                                                \
        }                                                                                        \
        static __device__ word value(const slot &s)                                              \
        {                                                                                        \
            return sw_slot_value_##suffix(s);                                                    \
        }                                                                                        \
        static __device__ void put_value(slot *s, word value)                                    \
        {                                                                                        \
            sw_slot_put_value_##suffix(s, value);                                                \
        }                                                                                        \
        static __host__ __device__ uint64_t home(const view *v, word m)                          \
        {                                                                                        \
            return sw_home_##suffix(v, m);                                                       \
        }                                                                                        \
        static __device__ word mix(const table *t, word key)                                     \
        {                                                                                        \
            return sw_mix_##suffix(t, key);                                                      \
        }                                                                                        \
        static __device__ word unmix(const table *t, word m)                                     \
        {                                                                                        \
            return sw_unmix_##suffix(t, m);                                                      \
        }                                                                                        \
        static __device__ void bucket_read(const view *v, uint64_t b, slot out[SW_BUCKET_SLOTS]) \
        {                                                                                        \
            sw_bucket_read_##suffix(sw_bucket_##suffix(v, b), out);                              \
        }                                                                                        \
        static __device__ void bucket_load(const view *v, uint64_t b, slot out[SW_BUCKET_SLOTS]) \
        {                                                                                        \
            sw_bucket_load_##suffix(sw_bucket_##suffix(v, b), out);                              \
        }                                                                                        \
        static __device__ bool hole_at(uint64_t b, word m)                                       \
        {                                                                                        \
            return sw_hole_at_##suffix(b, m);                                                    \
        }                                                                                        \
        static __device__ int bucket_max(const slot held[SW_BUCKET_SLOTS], slot *top)            \
        {                                                                                        \
            return sw_bucket_max_##suffix(held, top);                                            \
        }                                                                                        \
        static __device__ int bucket_min(const slot held[SW_BUCKET_SLOTS])                       \
        {                                                                                        \
            return sw_bucket_min_##suffix(held);                                                 \
        }                                                                                        \
        static __device__ void bucket_sort(slot held[SW_BUCKET_SLOTS])                           \
        {                                                                                        \
            sw_bucket_sort_##suffix(held);                                                       \
        }                                                                                        \
        static __device__ int probe(const slot held[SW_BUCKET_SLOTS], word m, word *value)       \
        {                                                                                        \
            return sw_probe_##suffix(held, m, value);                                            \
        }                                                                                        \
        static __device__ slot *find_from(const view *v, word m, uint64_t b, word *value,        \
                                          uint64_t *probes)                                      \
        {                                                                                        \
            return sw_find_from_##suffix(v, m, b, value, probes);                                \
        }                                                                                        \
        static __device__ place locate(const table *t, word m, uint64_t *probes)                 \
        {                                                                                        \
            return sw_locate_##suffix(t, m, probes);                                             \
        }                                                                                        \
        static __device__ uint64_t hint_start(const view *v, const uint8_t *hints, word m)       \
        {                                                                                        \
            return sw_hint_start_##suffix(v, hints, m);                                          \
        }                                                                                        \
        static __device__ place locate_hinted(const table *t, const uint8_t *hints, word m,      \
                                              uint64_t *probes)                                  \
        {                                                                                        \
            return sw_locate_from_##suffix(                                                      \
                t, m, m == empty ? 0 : sw_hint_start_##suffix(&t->main, hints, m), probes);      \
        }                                                                                        \
        static __device__ bool insert_before(const view *v, const uint8_t *hints, slot *carried, \
                                             uint64_t limit, uint64_t *probes)                   \
        {                                                                                        \
            return sw_insert_absent_before_##suffix(                                             \
                v, carried, sw_hint_start_##suffix(v, hints, carried->m), limit, probes);        \
        }                                                                                        \
        static __device__ void hint_forget(const view *v, uint8_t *hints, uint64_t first,        \
                                           uint64_t end, uint32_t part, uint32_t parts)          \
        {                                                                                        \
            sw_hint_forget_##suffix(v, hints, first, end, part, parts);                          \
        }                                                                                        \
        static __device__ uint8_t hint_pair(const view *v, uint64_t g, uint8_t old)              \
        {                                                                                        \
            return sw_hint_pair_##suffix(v, g, old);                                             \
        }                                                                                        \
        static __device__ enum sw_effect decide(uint32_t op, bool found, word old, word operand, \
                                                word *out)                                       \
        {                                                                                        \
            return sw_decide_##suffix(op, found, old, operand, out);                             \
        }                                                                                        \
        static __device__ enum sw_effect decide_pair(bool found, word old, word expected,        \
                                                     word operand, word *out)                    \
        {                                                                                        \
            return sw_decide_pair_##suffix(found, old, expected, operand, out);                  \
        }                                                                                        \
        static __device__ bool insert_absent(const view *v, slot *carried, uint64_t *probes)     \
        {                                                                                        \
            return sw_insert_absent_##suffix(v, carried, probes);                                \
        }                                                                                        \
        static __device__ slot *find_gap(const view *v, word m, uint64_t b, word *value,         \
                                         uint64_t *probes, slot **gap)                           \
        {                                                                                        \
            return sw_find_gap_##suffix(v, m, b, value, probes, gap);                            \
        }                                                                                        \
        static __device__ bool fill_gap(const view *v, slot *gap, slot entry)                    \
        {                                                                                        \
            return sw_fill_gap_##suffix(v, gap, entry);                                          \
        }                                                                                        \
        static __device__ bool is_boundary(const view *v, uint64_t b)                            \
        {                                                                                        \
            return sw_is_boundary_##suffix(v, b);                                                \
        }                                                                                        \
        static __device__ void clear_slot(slot *s)                                               \
        {                                                                                        \
            sw_slot_store_##suffix(s, sw_slot_empty_##suffix());                                 \
        }                                                                                        \
        static __device__ void slot_store(slot *s, slot entry)                                   \
        {                                                                                        \
            sw_slot_store_##suffix(s, entry);                                                    \
        }                                                                                        \
        static bool rebuild(const table *from, const table *to)                                  \
        {                                                                                        \
            return sw_rebuild_##suffix(from, to, 0);                                             \
        }                                                                                        \
        static __device__ bool execute_in_order(const table *t, work *w, struct sw_counters *c)  \
        {                                                                                        \
            return sw_execute_in_order_##suffix(t, w, c);                                        \
        }                                                                                        \
    };

SW_FORMATS(SW_WIDTH)
#undef SW_WIDTH

/* The unit in which kernels write many slots: 16 bytes, or a bucket if that is less. */
template <int BITS> struct sw_pack {
    static constexpr bool is_half = sizeof(typename sw_width<BITS>::slot) * SW_BUCKET_SLOTS < 16;
    typedef typename std::conditional<is_half, uint2, uint4>::type type;
    static constexpr int slots = (int)(sizeof(type) / sizeof(typename sw_width<BITS>::slot));
    static __device__ type empty() /* EMPTY slots */
    {
        if constexpr (is_half) {
            return make_uint2(~0U, ~0U);
        } else {
            return make_uint4(~0U, ~0U, ~0U, ~0U);
        }
    }
};

/* Returns whether a slot whose m is all ones is EMPTY. If not, it is a tombstone: a removed entry,
 * until a rebuild. Key sets have no tombstones. */
template <int BITS>
static __device__ inline bool sw_is_empty(const typename sw_width<BITS>::slot &s)
{
    return sw_width<BITS>::is_set || sw_width<BITS>::value(s) == sw_width<BITS>::empty;
}

#endif
