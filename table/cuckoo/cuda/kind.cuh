/* SPDX-License-Identifier: MIT
 *
 * kind.cuh - the functions and types of a cuckoo table chosen by the bits of a cell, for kernel
 * templates.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUDA_KIND_CUH
#define SHERWOOD_TABLE_CUCKOO_CUDA_KIND_CUH

#include <cuda_runtime.h>

#include "table/cuckoo/engine.h"

template <int BITS> struct sw_cuckoo_kind;

#define SW_CUCKOO_KIND(bits, word_type, suffix)                                                    \
    template <> struct sw_cuckoo_kind<bits> {                                                      \
        typedef word_type word;                                                                    \
        typedef struct sw_cuckoo_cell_##suffix cell;                                               \
        typedef struct sw_cuckoo_view_##suffix view;                                               \
        typedef struct sw_cuckoo_table_##suffix table;                                             \
        typedef struct sw_cuckoo_work_##suffix work;                                               \
        typedef struct sw_cuckoo_undo_##suffix undo;                                               \
        typedef struct sw_cuckoo_place_##suffix place;                                             \
        static constexpr word ones = (word)-1;                                                     \
        static __device__ __forceinline__ cell cell_of(word key, word value)                       \
        {                                                                                          \
            return sw_cuckoo_cell_of_##suffix(key, value);                                         \
        }                                                                                          \
        static __device__ __forceinline__ uint32_t insert_from(const view *v, cell *carried,       \
                                                               uint32_t live, uint32_t taken,      \
                                                               uint32_t count, uint32_t functions) \
        {                                                                                          \
            return sw_cuckoo_insert_from_##suffix(v, carried, live, taken, count, functions);      \
        }                                                                                          \
        static __device__ __forceinline__ place locate(const table *t, word key, uint64_t *probes) \
        {                                                                                          \
            return sw_cuckoo_locate_##suffix(t, key, probes);                                      \
        }                                                                                          \
        static __device__ __forceinline__ uint32_t look_in(const view *v, const word *keys,        \
                                                           uint32_t wanted, cell *cells,           \
                                                           uint32_t count, uint32_t i)             \
        {                                                                                          \
            return sw_cuckoo_look_in_##suffix(v, keys, wanted, cells, count, i);                   \
        }                                                                                          \
        static __device__ __forceinline__ enum sw_effect decide(uint32_t op, bool found, word old, \
                                                                word operand, word *out)           \
        {                                                                                          \
            return sw_decide_##suffix(op, found, old, operand, out);                               \
        }                                                                                          \
        static __device__ __forceinline__ enum sw_effect                                           \
        decide_pair(bool found, word old, word expected, word operand, word *out)                  \
        {                                                                                          \
            return sw_decide_pair_##suffix(found, old, expected, operand, out);                    \
        }                                                                                          \
        static __device__ __forceinline__ bool execute_in_order(const table *t, work *w,           \
                                                                struct sw_counters *counters)      \
        {                                                                                          \
            return sw_cuckoo_execute_in_order_##suffix(t, w, counters);                            \
        }                                                                                          \
    };
SW_WIDTHS(SW_CUCKOO_KIND)
#undef SW_CUCKOO_KIND

#endif
