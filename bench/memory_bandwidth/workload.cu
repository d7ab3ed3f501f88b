/* SPDX-License-Identifier: MIT
 *
 * workload.cu - draws keys and operands on the device and keeps the account of every operand.
 */
#include "bench/memory_bandwidth/workload.h"

#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>

#include <exception>
#include <stdio.h>
#include <string.h>

#include "bench/study/device.cuh"
#include "bench/study/random.h"

#define BLOCK 256
#define OPERAND_MASK 0xffffU

static __device__ inline uint64_t thread_number(void)
{
    return (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
}

/* --- memory ----------------------------------------------------------------------------------- */

static bool allocate(void **memory, uint64_t bytes)
{
    cudaError_t error = cudaMalloc(memory, bytes);
    if (error != cudaSuccess) {
        fprintf(stderr, "memory_bandwidth: %llu bytes of device memory for the keys: %s\n",
                (unsigned long long)bytes, cudaGetErrorString(error));
        *memory = NULL;
    }
    return error == cudaSuccess;
}

static uint64_t found_bytes(uint64_t count)
{
    return (count + 63) / 64 * sizeof(uint64_t);
}

bool sw_bandwidth_arrays_open(struct sw_bandwidth_arrays *arrays, uint64_t count)
{
    memset(arrays, 0, sizeof(*arrays));
    uint32_t **all[] = {&arrays->keys,          &arrays->operands,
                        &arrays->leftover_keys, &arrays->leftover_values,
                        &arrays->sorted_keys,   &arrays->sorted_operands,
                        &arrays->distinct,      &arrays->open,
                        &arrays->answers};
    bool done = true;
    for (uint32_t **array : all) {
        done = done && allocate((void **)array, count * sizeof(uint32_t));
    }
    if (done && allocate((void **)&arrays->found, found_bytes(count)) &&
        allocate((void **)&arrays->account, sizeof(*arrays->account))) {
        return true;
    }
    sw_bandwidth_arrays_close(arrays);
    return false;
}

void sw_bandwidth_arrays_close(struct sw_bandwidth_arrays *arrays)
{
    /* an error here was reported where it arose */
    (void)cudaFree(arrays->keys);
    (void)cudaFree(arrays->operands);
    (void)cudaFree(arrays->leftover_keys);
    (void)cudaFree(arrays->leftover_values);
    (void)cudaFree(arrays->sorted_keys);
    (void)cudaFree(arrays->sorted_operands);
    (void)cudaFree(arrays->distinct);
    (void)cudaFree(arrays->open);
    (void)cudaFree(arrays->answers);
    (void)cudaFree(arrays->found);
    (void)cudaFree(arrays->account);
    memset(arrays, 0, sizeof(*arrays));
}

/* --- draw ------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(BLOCK)
    operand_kernel(uint32_t *operands, uint64_t count, uint64_t number)
{
    uint64_t i = thread_number();
    if (i < count) {
        operands[i] = ((uint32_t)sw_study_mixed(number << 32 | i) & OPERAND_MASK) + 1;
    }
}

static void open_account(struct sw_bandwidth_arrays *arrays, uint64_t count,
                         struct sw_bandwidth_account *account)
{
    thrust::device_ptr<uint32_t> keys(arrays->sorted_keys);
    thrust::device_ptr<uint32_t> operands(arrays->sorted_operands);
    thrust::device_ptr<uint32_t> distinct(arrays->distinct);
    thrust::device_ptr<uint32_t> open(arrays->open);
    account->offered_sum = thrust::reduce(thrust::device, operands, operands + count, (uint64_t)0);
    thrust::sort_by_key(thrust::device, keys, keys + count, operands);
    account->distinct = (uint64_t)(thrust::reduce_by_key(thrust::device, keys, keys + count,
                                                         operands, distinct, open)
                                       .first -
                                   distinct);
}

bool sw_bandwidth_draw(struct sw_bandwidth_arrays *arrays, uint64_t count, uint64_t seed,
                       uint64_t number, struct sw_bandwidth_account *account)
{
    struct sw_study_draw draw = {seed, number};
    uint64_t bytes = count * sizeof(uint32_t);
    memset(account, 0, sizeof(*account));
    operand_kernel<<<sw_study_blocks(count, BLOCK), BLOCK>>>(arrays->operands, count, number);
    if (!sw_study_done("drawing operands") || !sw_study_fill(arrays->keys, bytes, draw) ||
        !sw_study_ok(cudaMemcpy(arrays->sorted_keys, arrays->keys, bytes, cudaMemcpyDeviceToDevice),
                     "copying the keys") ||
        !sw_study_ok(
            cudaMemcpy(arrays->sorted_operands, arrays->operands, bytes, cudaMemcpyDeviceToDevice),
            "copying the operands")) {
        return false;
    }
    try {
        open_account(arrays, count, account);
    } catch (const std::exception &e) {
        fprintf(stderr, "memory_bandwidth: adding up the operands: %s\n", e.what());
        return false;
    }
    return sw_study_done("adding up the operands");
}

/* --- account ---------------------------------------------------------------------------------- */

/* Adds the warp's numbers to *to. All lanes take part. */
static __device__ inline void add(uint64_t *to, uint64_t number)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        number += __shfl_down_sync(0xffffffffU, number, distance);
    }
    if (threadIdx.x % 32 == 0 && number != 0) {
        atomicAdd((unsigned long long *)to, (unsigned long long)number);
    }
}

static __global__ void __launch_bounds__(BLOCK)
    held_kernel(struct sw_bandwidth_arrays arrays, uint64_t distinct)
{
    uint64_t i = thread_number();
    bool is_held = i < distinct && (arrays.found[i / 64] >> (i % 64) & 1) != 0;
    uint32_t value = is_held ? arrays.answers[i] : 0;
    if (is_held) {
        arrays.open[i] -= value;
    }
    add(&arrays.account->held, is_held);
    add(&arrays.account->held_sum, value);
}

static __global__ void __launch_bounds__(BLOCK)
    leftover_kernel(struct sw_bandwidth_arrays arrays, uint64_t distinct, uint64_t first,
                    uint32_t count)
{
    uint64_t i = thread_number();
    bool is_one = i < count;
    uint32_t key = is_one ? arrays.leftover_keys[first + i] : 0;
    uint32_t value = is_one ? arrays.leftover_values[first + i] : 0;
    uint64_t low = 0;
    uint64_t high = distinct;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (arrays.distinct[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_known = low < distinct && arrays.distinct[low] == key;
    if (is_one && is_known) {
        atomicSub(&arrays.open[low], value);
    }
    add(&arrays.account->handed_back, is_one);
    add(&arrays.account->handed_back_sum, value);
    add(&arrays.account->foreign, is_one && !is_known);
}

/* The account is counted on the device, between these two. */
static bool to_device(struct sw_bandwidth_arrays *arrays,
                      const struct sw_bandwidth_account *account)
{
    return sw_study_ok(
        cudaMemcpy(arrays->account, account, sizeof(*account), cudaMemcpyHostToDevice),
        "settling the account");
}

static bool from_device(struct sw_bandwidth_arrays *arrays, struct sw_bandwidth_account *account)
{
    return sw_study_done("settling the account") &&
           sw_study_ok(
               cudaMemcpy(account, arrays->account, sizeof(*account), cudaMemcpyDeviceToHost),
               "settling the account");
}

bool sw_bandwidth_settle_held(struct sw_bandwidth_arrays *arrays,
                              struct sw_bandwidth_account *account)
{
    if (!to_device(arrays, account)) {
        return false;
    }
    held_kernel<<<sw_study_blocks(account->distinct, BLOCK), BLOCK>>>(*arrays, account->distinct);
    return from_device(arrays, account);
}

bool sw_bandwidth_settle_leftovers(struct sw_bandwidth_arrays *arrays, uint32_t batch_ops,
                                   const uint32_t *leftovers, uint64_t batches,
                                   struct sw_bandwidth_account *account)
{
    if (!to_device(arrays, account)) {
        return false;
    }
    for (uint64_t b = 0; b < batches; b++) {
        if (leftovers[b] > 0) {
            leftover_kernel<<<sw_study_blocks(leftovers[b], BLOCK), BLOCK>>>(
                *arrays, account->distinct, b * batch_ops, leftovers[b]);
        }
    }
    return from_device(arrays, account);
}

bool sw_bandwidth_settle_end(struct sw_bandwidth_arrays *arrays,
                             struct sw_bandwidth_account *account)
{
    thrust::device_ptr<const uint32_t> open(arrays->open);
    try {
        account->unsettled =
            account->distinct -
            (uint64_t)thrust::count(thrust::device, open, open + account->distinct, 0U);
    } catch (const std::exception &e) {
        fprintf(stderr, "memory_bandwidth: closing the account: %s\n", e.what());
        return false;
    }
    return sw_study_done("closing the account");
}

struct set_bits {
    __device__ uint64_t operator()(uint64_t word) const
    {
        return (uint64_t)__popcll(word);
    }
};

bool sw_bandwidth_count_found(struct sw_bandwidth_arrays *arrays, uint64_t count, uint64_t *set)
{
    thrust::device_ptr<const uint64_t> found(arrays->found);
    try {
        *set = thrust::transform_reduce(thrust::device, found, found + (count + 63) / 64,
                                        set_bits(), (uint64_t)0, thrust::plus<uint64_t>());
    } catch (const std::exception &e) {
        fprintf(stderr, "memory_bandwidth: counting answers: %s\n", e.what());
        return false;
    }
    return sw_study_ok(cudaMemset(arrays->found, 0xA5, found_bytes(count)), "poisoning answers") &&
           sw_study_ok(cudaMemset(arrays->answers, 0xA5, count * sizeof(uint32_t)),
                       "poisoning answers") &&
           sw_study_done("counting answers");
}
