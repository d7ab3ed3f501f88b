/* SPDX-License-Identifier: MIT
 *
 * copy.cuh - a whole warp moves the values of several operations as one stream.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_COPY_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_COPY_CUH

#include <cuda_runtime.h>

#include "table/cache/cache.h"

/* Source and destination of a value. */
struct __align__(16) sw_cache_transfer
{
    const uint8_t *from;
    uint8_t *to;
};

/* Source and destination of a unit of a value; a value consists of units of type T. */
template <typename T> struct sw_cache_unit {
    const T *from;
    T *to;
};

template <typename T>
static __device__ __forceinline__ struct sw_cache_unit<T>
sw_cache_unit_at(const struct sw_cache_transfer *transfers, uint32_t at, uint32_t units) {
    bool even = (units & (units - 1)) == 0;
    uint32_t owner = even ? at >> (31 - (uint32_t)__clz((int)units)) : at / units;
    uint32_t offset = (at - owner * units) * (uint32_t)sizeof(T);
    struct sw_cache_transfer transfer = transfers[owner];
    struct sw_cache_unit<T> unit = {
        (const T *)(transfer.from + offset), (T *)(transfer.to + offset)
    };
    return unit;
}

/* Compute the unit to write: the source unit, or the sum of source and destination, number by
 * number. */
struct sw_cache_replace {
    template <typename T>
    static __device__ __forceinline__ T made_of(const struct sw_cache_unit<T> &unit)
    {
        return __ldcg(unit.from);
    }
};

template <typename NUMBER> struct sw_cache_sum {
    template <typename T>
    static __device__ __forceinline__ T made_of(const struct sw_cache_unit<T> &unit)
    {
        union {
            T unit;
            NUMBER numbers[sizeof(T) / sizeof(NUMBER)];
        } more, sum;
        more.unit = __ldcg(unit.from);
        sum.unit = __ldcg((const T *)unit.to);
#pragma unroll
        for (uint32_t i = 0; i < sizeof(T) / sizeof(NUMBER); i++) {
            sum.numbers[i] += more.numbers[i];
        }
        return sum.unit;
    }
};

/* Moves `count` values of `units` units: each lane takes every 32nd unit of all, IN_FLIGHT at a
 * time. No destination is another value's source or destination. */
template <typename MADE, typename T, uint32_t IN_FLIGHT>
static __device__ __forceinline__ void
sw_cache_move_units(const struct sw_cache_transfer *transfers, uint32_t count, uint32_t units)
{
    uint32_t total = count * units;
    for (uint32_t first = threadIdx.x % 32; first < total; first += 32 * IN_FLIGHT) {
        T part[IN_FLIGHT];
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            if (first + 32 * u < total) {
                part[u] = MADE::made_of(sw_cache_unit_at<T>(transfers, first + 32 * u, units));
            }
        }
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            if (first + 32 * u < total) {
                __stcs(sw_cache_unit_at<T>(transfers, first + 32 * u, units).to, part[u]);
            }
        }
    }
}

/* Appends the transfers of the lanes with `has` to a warp's list in shared memory. Returns the new
 * length of the list. All lanes. */
static __device__ __forceinline__ uint32_t sw_cache_append_transfers(
    struct sw_cache_transfer *transfers, uint32_t count, bool has, const uint8_t *from, uint8_t *to)
{
    uint32_t lanes = __ballot_sync(0xffffffffU, has);
    if (has) {
        uint32_t before = lanes & ((1U << threadIdx.x % 32) - 1);
        transfers[count + (uint32_t)__popc(before)] = {from, to};
    }
    return count + (uint32_t)__popc(lanes);
}

/* Copies values. cache.h defines their alignment. */
static __device__ __forceinline__ void
sw_cache_copy_transfers(const struct sw_cache_transfer *transfers, uint32_t count, uint32_t bytes)
{
    if (bytes % 16 == 0) {
        sw_cache_move_units<struct sw_cache_replace, uint4, 4>(transfers, count, bytes / 16);
    } else {
        sw_cache_move_units<struct sw_cache_replace, uint32_t, 4>(transfers, count, bytes / 4);
    }
}

/* Adds the source values to the destination values, number by number; the numbers have type
 * NUMBER. */
template <typename NUMBER>
static __device__ __forceinline__ void
sw_cache_add_numbers(const struct sw_cache_transfer *transfers, uint32_t count, uint32_t bytes)
{
    if (bytes % 16 == 0) {
        sw_cache_move_units<struct sw_cache_sum<NUMBER>, uint4, 4>(transfers, count, bytes / 16);
    } else {
        sw_cache_move_units<struct sw_cache_sum<NUMBER>, NUMBER, 4>(
            transfers, count, bytes / (uint32_t)sizeof(NUMBER));
    }
}

static __device__ __forceinline__ void
sw_cache_add_transfers(const struct sw_cache_transfer *transfers, uint32_t count, uint32_t bytes,
                       enum sw_cache_element element)
{
    if (element == SW_CACHE_U64) {
        sw_cache_add_numbers<unsigned long long>(transfers, count, bytes);
    } else if (element == SW_CACHE_U32) {
        sw_cache_add_numbers<uint32_t>(transfers, count, bytes);
    } else {
        sw_cache_add_numbers<float>(transfers, count, bytes);
    }
}

#endif
