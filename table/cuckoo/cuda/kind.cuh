/* SPDX-License-Identifier: MIT
 *
 * kind.cuh - the functions and types of cuckoo.h chosen by the bits of a cell, for kernel
 * templates.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUDA_KIND_CUH
#define SHERWOOD_TABLE_CUCKOO_CUDA_KIND_CUH

#include <cuda_runtime.h>

#include "table/cuckoo/cuckoo.h"

template <int BITS> struct sw_cuckoo_kind;

#define SW_CUCKOO_KIND(bits, word_type, suffix)                                                    \
    template <> struct sw_cuckoo_kind<bits> {                                                      \
        typedef word_type word;                                                                    \
        typedef struct sw_cuckoo_cell_##suffix cell;                                               \
        typedef struct sw_cuckoo_view_##suffix view;                                               \
        static constexpr word ones = (word)-1;                                                     \
        static __device__ __forceinline__ cell cell_of(word key, word value)                       \
        {                                                                                          \
            return sw_cuckoo_cell_of_##suffix(key, value);                                         \
        }                                                                                          \
        static __device__ __forceinline__ word value_of(cell from)                                 \
        {                                                                                          \
            return sw_cuckoo_cell_value_##suffix(from);                                            \
        }                                                                                          \
        static __device__ __forceinline__ cell read(const cell *from)                              \
        {                                                                                          \
            return sw_cuckoo_cell_read_##suffix(from);                                             \
        }                                                                                          \
        static __device__ __forceinline__ cell exchange(cell *to, cell entry)                      \
        {                                                                                          \
            return sw_cuckoo_cell_exchange_##suffix(to, entry);                                    \
        }                                                                                          \
        static __device__ __forceinline__ uint64_t place(const sw_cuckoo_shape *shape, word key,   \
                                                         uint32_t i, bool first)                   \
        {                                                                                          \
            return sw_cuckoo_place_of(                                                             \
                shape, sw_cuckoo_hash_##suffix(key, sw_cuckoo_seed(shape, i, first)), i);          \
        }                                                                                          \
        static __device__ __forceinline__ uint32_t look_up(const view *v, const word *keys,        \
                                                           uint32_t wanted, cell *cells,           \
                                                           cell **at, uint32_t count,              \
                                                           uint32_t functions, bool first)         \
        {                                                                                          \
            return sw_cuckoo_look_up_##suffix(v, keys, wanted, cells, at, count, functions,        \
                                              first);                                              \
        }                                                                                          \
        static __device__ __forceinline__ uint32_t                                                 \
        look_up_together(const view *v, const word *keys, uint32_t wanted, cell *cells,            \
                         uint32_t count, uint32_t functions, bool first)                           \
        {                                                                                          \
            return sw_cuckoo_look_up_together_##suffix(v, keys, wanted, cells, count, functions,   \
                                                       first);                                     \
        }                                                                                          \
        static __device__ __forceinline__ uint32_t insert_from(const view *v, cell *hand,          \
                                                               uint32_t live, uint32_t taken,      \
                                                               uint32_t count, uint32_t functions, \
                                                               bool first)                         \
        {                                                                                          \
            return sw_cuckoo_insert_from_##suffix(v, hand, live, taken, count, functions, first);  \
        }                                                                                          \
    };
SW_CUCKOO_KIND(32, uint32_t, k32)
SW_CUCKOO_KIND(64, uint32_t, s64)
SW_CUCKOO_KIND(128, uint64_t, s128)
#undef SW_CUCKOO_KIND

#endif
