/* SPDX-License-Identifier: MIT
 *
 * keys.cu - draws keys, queries and new values on the device, counts distinct keys.
 */
#include "bench/timing/keys.h"

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <exception>
#include <stdio.h>
#include <string.h>

#include "bench/study/device.cuh"
#include "bench/study/random.cuh"

#define BLOCK 256

static __device__ inline uint64_t thread_number(void)
{
    return (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
}

/* --- memory ----------------------------------------------------------------------------------- */

void *sw_timing_alloc(size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
        (void)cudaGetLastError(); /* NULL reports the error: clear it */
        return NULL;
    }
    return memory;
}

void sw_timing_free(void *memory)
{
    /* the function that failed has reported the error */
    (void)cudaFree(memory);
}

bool sw_timing_copy(void *to, const void *from, size_t bytes)
{
    return sw_study_ok(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying") &&
           sw_study_done("copying");
}

static bool allocate(void **memory, uint64_t bytes)
{
    *memory = sw_timing_alloc(bytes);
    if (*memory == NULL) {
        fprintf(stderr, "timing: no %llu bytes of device memory for the keys\n",
                (unsigned long long)bytes);
    }
    return *memory != NULL;
}

template <typename Key> static void count_up(void *values, uint64_t count)
{
    thrust::device_ptr<Key> first((Key *)values);
    thrust::sequence(thrust::device, first, first + count);
}

static bool number_values(struct sw_timing_arrays *arrays)
{
    try {
        if (arrays->key_bytes == 4) {
            count_up<uint32_t>(arrays->values, arrays->room);
        } else {
            count_up<uint64_t>(arrays->values, arrays->room);
        }
    } catch (const std::exception &e) {
        fprintf(stderr, "timing: numbering the values: %s\n", e.what());
        return false;
    }
    return sw_study_done("numbering the values");
}

bool sw_timing_arrays_open(struct sw_timing_arrays *arrays, uint32_t key_bytes, uint64_t room)
{
    memset(arrays, 0, sizeof(*arrays));
    arrays->key_bytes = key_bytes;
    arrays->room = room;
    uint64_t bytes = room * key_bytes;
    if (allocate(&arrays->keys, bytes) && allocate(&arrays->values, bytes) &&
        allocate(&arrays->sorted, bytes) && allocate(&arrays->queries, bytes) &&
        allocate((void **)&arrays->origin, room * sizeof(uint32_t)) &&
        allocate(&arrays->answers, bytes) && allocate(&arrays->changed, bytes) &&
        allocate((void **)&arrays->held, room) && allocate(&arrays->tally, 64) &&
        number_values(arrays)) {
        return true;
    }
    sw_timing_arrays_close(arrays);
    return false;
}

void sw_timing_arrays_close(struct sw_timing_arrays *arrays)
{
    sw_timing_free(arrays->keys);
    sw_timing_free(arrays->values);
    sw_timing_free(arrays->sorted);
    sw_timing_free(arrays->queries);
    sw_timing_free(arrays->origin);
    sw_timing_free(arrays->answers);
    sw_timing_free(arrays->changed);
    sw_timing_free(arrays->held);
    sw_timing_free(arrays->tally);
    memset(arrays, 0, sizeof(*arrays));
}

static void *element(void *array, uint32_t key_bytes, uint64_t index)
{
    return (char *)array + index * key_bytes;
}

/* --- keys ------------------------------------------------------------------------------------- */

template <typename Key> static __device__ inline bool is_reserved(Key key)
{
    return key == 0 || key >= (Key)~0ULL - 1;
}

/* Moves reserved keys, one in 2^30 of 32 bits, to values that are not reserved. */
template <typename Key>
static __global__ void __launch_bounds__(BLOCK) replace_reserved(Key *keys, uint64_t count)
{
    uint64_t i = thread_number();
    if (i < count && is_reserved(keys[i])) {
        keys[i] ^= (Key)0x5bd1e995;
    }
}

template <typename Key> static uint64_t sort_and_unique(void *keys, uint64_t count)
{
    thrust::device_ptr<Key> first((Key *)keys);
    thrust::sort(thrust::device, first, first + count);
    return (uint64_t)(thrust::unique(thrust::device, first, first + count) - first);
}

/* Sorts a copy of the keys at `copy`; *distinct receives the number of different keys. */
static bool count_distinct(const struct sw_timing_arrays *arrays, void *copy, const void *keys,
                           uint64_t count, uint64_t *distinct)
{
    uint64_t bytes = count * arrays->key_bytes;
    if (!sw_study_ok(cudaMemcpy(copy, keys, bytes, cudaMemcpyDeviceToDevice), "copying the keys")) {
        return false;
    }
    try {
        *distinct = arrays->key_bytes == 4 ? sort_and_unique<uint32_t>(copy, count)
                                           : sort_and_unique<uint64_t>(copy, count);
    } catch (const std::exception &e) {
        fprintf(stderr, "timing: counting the distinct keys: %s\n", e.what());
        return false;
    }
    return sw_study_done("counting the distinct keys");
}

bool sw_timing_draw_keys(struct sw_timing_arrays *arrays, uint64_t count, struct sw_study_draw draw,
                         uint64_t *distinct)
{
    if (!sw_study_fill(arrays->keys, count * arrays->key_bytes, draw)) {
        return false;
    }
    sw_study_by_width(arrays->key_bytes, [&](auto key) {
        using Key = decltype(key);
        replace_reserved<<<sw_study_blocks(count, BLOCK), BLOCK>>>((Key *)arrays->keys, count);
    });
    return sw_study_done("drawing keys") &&
           count_distinct(arrays, arrays->sorted, arrays->keys, count, distinct);
}

template <typename Key>
static __device__ inline bool is_stored(const Key *sorted, uint64_t distinct, Key key)
{
    uint64_t low = 0;
    uint64_t high = distinct;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (sorted[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < distinct && sorted[low] == key;
}

template <typename Key>
static __device__ inline Key draw_absent(curandStatePhilox4_32_10_t *state, const Key *sorted,
                                         uint64_t distinct)
{
    Key key;
    do {
        uint4 drawn = curand4(state);
        key = (Key)(((uint64_t)drawn.y << 32) | drawn.x);
    } while (is_reserved(key) || is_stored(sorted, distinct, key));
    return key;
}

template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    fresh_kernel(Key *fresh, uint64_t count, const Key *sorted, uint64_t distinct,
                 struct sw_study_draw draw)
{
    uint64_t i = thread_number();
    if (i < count) {
        curandStatePhilox4_32_10_t state = sw_study_generator(draw, i);
        fresh[i] = draw_absent<Key>(&state, sorted, distinct);
    }
}

bool sw_timing_draw_fresh(struct sw_timing_arrays *arrays, uint64_t first, uint64_t count,
                          uint64_t distinct, struct sw_study_draw draw, uint64_t *fresh_distinct)
{
    void *fresh = element(arrays->keys, arrays->key_bytes, first);
    sw_study_by_width(arrays->key_bytes, [&](auto key) {
        using Key = decltype(key);
        fresh_kernel<<<sw_study_blocks(count, BLOCK), BLOCK>>>(
            (Key *)fresh, count, (const Key *)arrays->sorted, distinct, draw);
    });
    return sw_study_done("drawing fresh keys") &&
           count_distinct(arrays, arrays->queries, fresh, count, fresh_distinct);
}

/* --- queries ---------------------------------------------------------------------------------- */

template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    query_kernel(struct sw_timing_arrays arrays, uint64_t wanted, uint64_t stored,
                 uint64_t distinct, uint32_t miss_percent, struct sw_study_draw draw,
                 struct sw_study_order order)
{
    uint64_t i = thread_number();
    if (i >= wanted) {
        return;
    }
    curandStatePhilox4_32_10_t state = sw_study_generator(draw, i);
    uint4 drawn = curand4(&state);
    if (((uint64_t)drawn.x * 100) >> 32 >= miss_percent) {
        uint64_t origin = (i * order.step + order.start) % stored;
        ((Key *)arrays.queries)[i] = ((const Key *)arrays.keys)[origin];
        arrays.origin[i] = (uint32_t)origin;
    } else {
        ((Key *)arrays.queries)[i] = draw_absent<Key>(&state, (const Key *)arrays.sorted, distinct);
        arrays.origin[i] = SW_TIMING_ABSENT;
    }
}

bool sw_timing_draw_queries(struct sw_timing_arrays *arrays, uint64_t wanted, uint64_t stored,
                            uint64_t distinct, uint32_t miss_percent, struct sw_study_draw draw)
{
    struct sw_study_order order = sw_study_order_draw(stored, sw_timing_random(draw));
    sw_study_by_width(arrays->key_bytes, [&](auto key) {
        using Key = decltype(key);
        query_kernel<Key><<<sw_study_blocks(wanted, BLOCK), BLOCK>>>(
            *arrays, wanted, stored, distinct, miss_percent, draw, order);
    });
    return sw_study_done("drawing queries");
}

template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    change_kernel(struct sw_timing_arrays arrays, uint64_t wanted, uint64_t distinct,
                  uint64_t generation, struct sw_study_order order)
{
    uint64_t i = thread_number();
    if (i < wanted) {
        uint64_t place = (i * order.step + order.start) % distinct;
        ((Key *)arrays.queries)[i] = ((const Key *)arrays.sorted)[place];
        ((Key *)arrays.changed)[i] = (Key)(generation << SW_TIMING_INDEX_BITS | i);
    }
}

bool sw_timing_draw_changes(struct sw_timing_arrays *arrays, uint64_t wanted, uint64_t distinct,
                            struct sw_study_draw draw)
{
    struct sw_study_order order = sw_study_order_draw(distinct, sw_timing_random(draw));
    uint64_t generation = 1 + draw.number % SW_TIMING_GENERATIONS;
    sw_study_by_width(arrays->key_bytes, [&](auto key) {
        using Key = decltype(key);
        change_kernel<Key><<<sw_study_blocks(wanted, BLOCK), BLOCK>>>(*arrays, wanted, distinct,
                                                                      generation, order);
    });
    return sw_study_done("drawing changes");
}
