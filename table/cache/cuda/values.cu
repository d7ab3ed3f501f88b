/* SPDX-License-Identifier: MIT
 *
 * values.cu - copies the values of a piece of a batch to and from their places, and answers
 * (rows.cuh). Values that leave or are read lie in the cache, or in the batch if it brought them:
 * they are copied before any is written.
 */
#include "table/cache/cuda/rows.cuh"
#include "table/cache/work.h"

enum copying { COPY_LEFT, COPY_READ, COPY_WRITTEN };

/* Where the value of an operation is copied from and to; `from` NULL: nowhere. */
struct way {
    const uint8_t *from;
    uint8_t *to;
};

template <enum copying WHICH>
static __device__ __forceinline__ struct way way_of(const struct sw_cache_piece *piece, uint32_t id)
{
    const struct sw_cache_slots *slots = &piece->launch.slots;
    const struct sw_cache_batch *batch = &piece->launch.work.batch;
    const uint8_t *given = (const uint8_t *)batch->values + piece->first * slots->value_bytes;
    uint32_t bytes = slots->value_bytes;
    uint64_t place = WHICH == COPY_LEFT ? piece->rows.left[id] : piece->rows.places[id];
    uint64_t number = SW_CACHE_PLACE_NUMBER(place);
    struct way way = {NULL, NULL};
    if (WHICH == COPY_WRITTEN) {
        bool writes = place < SW_CACHE_PLACE_NONE;
        /* in MEMORY mode it may have left its second bucket, and its row does not know */
        if (writes && slots->two && slots->keys[number] != batch->keys[piece->first + id]) {
            writes = false;
        }
        way.from = writes ? given + (uint64_t)id * bytes : NULL;
        way.to = slots->values + number * bytes;
        return way;
    }
    way.from =
        place & SW_CACHE_PLACE_BATCH ? given + number * bytes : slots->values + number * bytes;
    if (WHICH == COPY_LEFT) {
        way.to = (uint8_t *)batch->evicted_values + (uint64_t)piece->rows.listed[id] * bytes;
        way.from = place & SW_CACHE_PLACE_NONE ? NULL : way.from;
    } else {
        bool echo = !(place & (SW_CACHE_PLACE_READ | SW_CACHE_PLACE_BATCH));
        bool rest = SW_CACHE_PLACE_RESULT(place) == SW_CACHE_ROW_REST;
        way.to = (uint8_t *)batch->values_out + (piece->first + id) * bytes;
        way.from = echo ? given + (uint64_t)id * bytes : way.from;
        way.from = rest ? NULL : way.from;
    }
    return way;
}

/* Tells and counts what became of the operation. All threads. */
static __device__ __forceinline__ void answer(const struct sw_cache_piece *piece, uint32_t id)
{
    const struct sw_cache_batch *batch = &piece->launch.work.batch;
    uint32_t result = SW_CACHE_ROW_REST;
    if (id < piece->count) {
        result = SW_CACHE_PLACE_RESULT(piece->rows.places[id]);
    }
    if (result != SW_CACHE_ROW_REST && batch->results != NULL) {
        batch->results[piece->first + id] = (uint8_t)result;
    }
    sw_cache_count_results(piece->launch.tally, result, result == SW_CACHE_ROW_REST, false);
}

/* Copies the values of a warp's lanes, in units of T: each lane takes every 32nd unit of all. */
template <typename T>
static __device__ __forceinline__ void copy_values(const struct way *way, uint32_t bytes)
{
    constexpr uint32_t IN_FLIGHT = 4;
    uint32_t units = bytes / (uint32_t)sizeof(T);
    uint32_t power = 31 - (uint32_t)__clz((int)units);
    bool even = (units & (units - 1)) == 0;
    for (uint32_t first = 0; first < units; first += IN_FLIGHT) {
        T part[IN_FLIGHT];
        uint64_t to[IN_FLIGHT];
        bool here[IN_FLIGHT];
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            uint32_t at = (first + u) * 32 + threadIdx.x % 32;
            uint32_t owner = even ? at >> power : at / units;
            uint64_t from = __shfl_sync(0xffffffffU, (uint64_t)way->from, (int)(owner % 32));
            uint32_t offset = (at - owner * units) * (uint32_t)sizeof(T);
            to[u] = __shfl_sync(0xffffffffU, (uint64_t)way->to, (int)(owner % 32)) + offset;
            here[u] = first + u < units && from != 0;
            part[u] = T();
            if (here[u]) {
                part[u] = __ldcs((const T *)(from + offset));
            }
        }
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            if (here[u]) {
                __stcs((T *)to[u], part[u]);
            }
        }
    }
}

template <enum copying WHICH>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, 6)
    values_kernel(const struct sw_cache_piece piece)
{
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    struct way way = {NULL, NULL};
    if (id < piece.count) {
        way = way_of<WHICH>(&piece, id);
    }
    if (WHICH == COPY_WRITTEN) {
        answer(&piece, id);
    }
    if (piece.launch.slots.value_bytes % 16 == 0) {
        copy_values<uint4>(&way, piece.launch.slots.value_bytes);
    } else {
        copy_values<uint32_t>(&way, piece.launch.slots.value_bytes);
    }
}

template <enum copying WHICH>
static cudaError_t launch_one(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    values_kernel<WHICH><<<sw_cache_blocks(piece->count), SW_CACHE_THREADS, 0, stream>>>(*piece);
    return cudaGetLastError();
}

cudaError_t sw_cache_launch_values(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    const struct sw_cache_batch *batch = &piece->launch.work.batch;
    cudaError_t error = cudaSuccess;
    if (batch->op == SW_CACHE_INSERT_AND_EVICT && batch->evicted_values != NULL) {
        error = launch_one<COPY_LEFT>(piece, stream);
    }
    if (batch->op == SW_CACHE_FIND_OR_INSERT) {
        error = launch_one<COPY_READ>(piece, stream);
    }
    return error == cudaSuccess ? launch_one<COPY_WRITTEN>(piece, stream) : error;
}
