/* SPDX-License-Identifier: MIT
 *
 * keys.cu - draws keys and queries on the device, counts distinct keys, checks answers.
 */
#include "bench/timing/keys.h"

#include <curand_kernel.h>
#include <thrust/device_ptr.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <exception>
#include <numeric>
#include <stdio.h>
#include <string.h>

#include "bench/timing/device.cuh"

#define BLOCK 256

/* Words of a subsequence between two draws: none comes near using so many. */
#define DRAW_WORDS (1ULL << 20)

static uint32_t blocks_for(uint64_t threads)
{
    return (uint32_t)((threads + BLOCK - 1) / BLOCK);
}

static __device__ inline uint64_t thread_number(void)
{
    return (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
}

/* --- memory ----------------------------------------------------------------------------------- */

static bool allocate(void **memory, uint64_t bytes)
{
    cudaError_t error = cudaMalloc(memory, bytes);
    if (error != cudaSuccess) {
        fprintf(stderr, "timing: %llu bytes of device memory for the keys: %s\n",
                (unsigned long long)bytes, cudaGetErrorString(error));
        *memory = NULL;
        return false;
    }
    return true;
}

template <typename Key> static void count_up(void *values, uint64_t count)
{
    thrust::device_ptr<Key> first((Key *)values);
    thrust::sequence(thrust::device, first, first + count);
}

bool sw_timing_arrays_open(struct sw_timing_arrays *arrays, uint32_t key_bytes, uint64_t count)
{
    memset(arrays, 0, sizeof(*arrays));
    arrays->key_bytes = key_bytes;
    uint64_t bytes = count * key_bytes;
    if (!allocate(&arrays->keys, bytes) || !allocate(&arrays->values, bytes) ||
        !allocate(&arrays->sorted, bytes) || !allocate(&arrays->queries, bytes) ||
        !allocate((void **)&arrays->origin, count * sizeof(uint32_t)) ||
        !allocate(&arrays->previous, bytes) ||
        !allocate((void **)&arrays->found, (count + 63) / 64 * sizeof(uint64_t)) ||
        !allocate(&arrays->tally, sizeof(struct sw_timing_check))) {
        sw_timing_arrays_close(arrays);
        return false;
    }
    try {
        if (key_bytes == 4) {
            count_up<uint32_t>(arrays->values, count);
        } else {
            count_up<uint64_t>(arrays->values, count);
        }
    } catch (const std::exception &e) {
        fprintf(stderr, "timing: numbering the values: %s\n", e.what());
        sw_timing_arrays_close(arrays);
        return false;
    }
    return sw_timing_ok(cudaDeviceSynchronize(), "numbering the values");
}

void sw_timing_arrays_close(struct sw_timing_arrays *arrays)
{
    /* an error here was reported where it arose */
    (void)cudaFree(arrays->keys);
    (void)cudaFree(arrays->values);
    (void)cudaFree(arrays->sorted);
    (void)cudaFree(arrays->queries);
    (void)cudaFree(arrays->origin);
    (void)cudaFree(arrays->previous);
    (void)cudaFree(arrays->found);
    (void)cudaFree(arrays->tally);
    memset(arrays, 0, sizeof(*arrays));
}

/* --- keys ------------------------------------------------------------------------------------- */

/* The generator of one thread: a subsequence, from the place where the draw begins. */
static __device__ inline curandStatePhilox4_32_10_t generator(struct sw_timing_draw draw,
                                                              uint64_t subsequence)
{
    curandStatePhilox4_32_10_t state;
    curand_init((unsigned long long)draw.seed, (unsigned long long)subsequence,
                (unsigned long long)(draw.number * DRAW_WORDS), &state);
    return state;
}

/* Four words a thread. */
static __global__ void __launch_bounds__(BLOCK)
    fill_kernel(uint32_t *words, uint64_t count, struct sw_timing_draw draw)
{
    uint64_t first = thread_number() * 4;
    if (first >= count) {
        return;
    }
    curandStatePhilox4_32_10_t state = generator(draw, first / 4);
    uint4 drawn = curand4(&state);
    uint32_t four[4] = {drawn.x, drawn.y, drawn.z, drawn.w};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (first + k < count) {
            words[first + k] = four[k];
        }
    }
}

bool sw_timing_fill(void *memory, size_t bytes, struct sw_timing_draw draw)
{
    uint64_t words = bytes / sizeof(uint32_t);
    fill_kernel<<<blocks_for((words + 3) / 4), BLOCK>>>((uint32_t *)memory, words, draw);
    return sw_timing_done("drawing random words");
}

bool sw_timing_equal(const void *a, const void *b, size_t bytes, bool *equal)
{
    thrust::device_ptr<const uint32_t> first((const uint32_t *)a);
    thrust::device_ptr<const uint32_t> other((const uint32_t *)b);
    try {
        *equal = thrust::equal(thrust::device, first, first + bytes / sizeof(uint32_t), other);
    } catch (const std::exception &e) {
        fprintf(stderr, "timing: comparing memory: %s\n", e.what());
        return false;
    }
    return sw_timing_done("comparing memory");
}

template <typename Key>
static uint64_t sort_and_unique(const struct sw_timing_arrays *arrays, uint64_t count)
{
    thrust::device_ptr<Key> first((Key *)arrays->sorted);
    thrust::sort(thrust::device, first, first + count);
    return (uint64_t)(thrust::unique(thrust::device, first, first + count) - first);
}

bool sw_timing_draw_keys(struct sw_timing_arrays *arrays, uint64_t count,
                         struct sw_timing_draw draw, uint64_t *distinct)
{
    uint64_t bytes = count * arrays->key_bytes;
    if (!sw_timing_fill(arrays->keys, bytes, draw) ||
        !sw_timing_ok(cudaMemcpy(arrays->sorted, arrays->keys, bytes, cudaMemcpyDeviceToDevice),
                      "copying the keys")) {
        return false;
    }
    try {
        *distinct = arrays->key_bytes == 4 ? sort_and_unique<uint32_t>(arrays, count)
                                           : sort_and_unique<uint64_t>(arrays, count);
    } catch (const std::exception &e) {
        fprintf(stderr, "timing: counting the distinct keys: %s\n", e.what());
        return false;
    }
    return sw_timing_done("counting the distinct keys");
}

/* --- queries ---------------------------------------------------------------------------------- */

/* Index i of the inserted keys goes to (i * step + start) mod count: a permutation, as step and
 * count have no common divisor. */
struct order {
    uint64_t step;
    uint64_t start;
};

static uint64_t mixed(uint64_t z) /* splitmix64's finalizer (Sebastiano Vigna, public domain) */
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static struct order draw_order(uint64_t count, struct sw_timing_draw draw)
{
    uint64_t random = mixed(draw.seed * 0x9e3779b97f4a7c15ULL + draw.number);
    struct order order = {random % count, mixed(random + 1) % count};
    while (std::gcd(order.step, count) != 1) {
        order.step++;
    }
    return order;
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
static __global__ void __launch_bounds__(BLOCK)
    query_kernel(struct sw_timing_arrays arrays, uint64_t count, uint64_t distinct,
                 uint32_t miss_percent, struct sw_timing_draw draw, struct order order)
{
    uint64_t i = thread_number();
    if (i >= count) {
        return;
    }
    curandStatePhilox4_32_10_t state = generator(draw, i);
    uint4 drawn = curand4(&state);
    if (((uint64_t)drawn.x * 100) >> 32 >= miss_percent) {
        uint64_t origin = (i * order.step + order.start) % count;
        ((Key *)arrays.queries)[i] = ((const Key *)arrays.keys)[origin];
        arrays.origin[i] = (uint32_t)origin;
        return;
    }
    Key key;
    do {
        drawn = curand4(&state);
        key = (Key)(((uint64_t)drawn.y << 32) | drawn.x);
    } while (is_stored((const Key *)arrays.sorted, distinct, key));
    ((Key *)arrays.queries)[i] = key;
    arrays.origin[i] = SW_TIMING_ABSENT;
}

bool sw_timing_draw_queries(struct sw_timing_arrays *arrays, uint64_t count, uint64_t distinct,
                            uint32_t miss_percent, struct sw_timing_draw draw)
{
    struct order order = draw_order(count, draw);
    if (arrays->key_bytes == 4) {
        query_kernel<uint32_t>
            <<<blocks_for(count), BLOCK>>>(*arrays, count, distinct, miss_percent, draw, order);
    } else {
        query_kernel<uint64_t>
            <<<blocks_for(count), BLOCK>>>(*arrays, count, distinct, miss_percent, draw, order);
    }
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        error = cudaMemset(arrays->previous, 0xA5, count * arrays->key_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMemset(arrays->found, 0xA5, (count + 63) / 64 * sizeof(uint64_t));
    }
    return sw_timing_ok(error, "drawing queries") && sw_timing_done("drawing queries");
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Query i asks for keys[origin]. Its answer is right if keys[answer] is the same key and the answer
 * is no earlier than origin: asked of every occurrence of the key, that leaves only the last. */
template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    check_kernel(struct sw_timing_arrays arrays, uint64_t count)
{
    uint64_t i = thread_number();
    bool present = false;
    bool missed = false;
    bool wrong = false;
    if (i < count) {
        const Key *keys = (const Key *)arrays.keys;
        uint32_t origin = arrays.origin[i];
        Key value = ((const Key *)arrays.previous)[i];
        bool found = (arrays.found[i / 64] >> (i % 64) & 1) != 0;
        present = origin != SW_TIMING_ABSENT;
        missed = present && !found;
        if (present && found) {
            wrong = value >= count || value < origin || keys[value] != keys[origin];
        } else if (!present) {
            wrong = found || value != 0;
        }
    }
    struct sw_timing_check *tally = (struct sw_timing_check *)arrays.tally;
    unsigned int counts[3] = {__ballot_sync(0xffffffffU, present),
                              __ballot_sync(0xffffffffU, missed),
                              __ballot_sync(0xffffffffU, wrong)};
    if (threadIdx.x % 32 == 0) {
        atomicAdd((unsigned long long *)&tally->present, (unsigned long long)__popc(counts[0]));
        if ((counts[1] | counts[2]) != 0) {
            atomicAdd((unsigned long long *)&tally->missed, (unsigned long long)__popc(counts[1]));
            atomicAdd((unsigned long long *)&tally->wrong, (unsigned long long)__popc(counts[2]));
        }
    }
}

bool sw_timing_check_answers(struct sw_timing_arrays *arrays, uint64_t count,
                             struct sw_timing_check *check)
{
    if (!sw_timing_ok(cudaMemset(arrays->tally, 0, sizeof(*check)), "checking the answers")) {
        return false;
    }
    if (arrays->key_bytes == 4) {
        check_kernel<uint32_t><<<blocks_for(count), BLOCK>>>(*arrays, count);
    } else {
        check_kernel<uint64_t><<<blocks_for(count), BLOCK>>>(*arrays, count);
    }
    return sw_timing_done("checking the answers") &&
           sw_timing_ok(cudaMemcpy(check, arrays->tally, sizeof(*check), cudaMemcpyDeviceToHost),
                        "reading the check's result");
}
