/* SPDX-License-Identifier: MIT
 *
 * device_place.cu - the study's arrays in device memory; keys are drawn and answers judged there.
 */
#include "bench/cuckoo/place.h"

#include "bench/study/device.cuh"
#include "bench/study/device.h"

#define BLOCK 256

static __global__ void keys_kernel(uint32_t *keys, uint64_t count, uint64_t seed)
{
    uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) {
        keys[i] = sw_cbench_key((uint32_t)i, seed);
    }
}

static __global__ void queries_kernel(uint32_t *queries, const struct sw_cbench_order order)
{
    uint64_t j = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (j < order.count) {
        queries[j] = sw_cbench_query(&order, j);
    }
}

/* wrong[0]: missed, wrong[1]: phantom. */
static __global__ void judge_kernel(const uint32_t *found, const struct sw_cbench_order order,
                                    unsigned long long *wrong)
{
    uint64_t j = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (j < order.count) {
        bool hit = (found[j / 32] >> j % 32 & 1) != 0;
        if (hit == sw_cbench_misses(&order, j)) {
            atomicAdd(wrong + (hit ? 1 : 0), 1ULL);
        }
    }
}

static unsigned blocks(uint64_t count)
{
    return (unsigned)((count + BLOCK - 1) / BLOCK);
}

static bool device_choose(int device)
{
    return sw_study_device_choose((uint32_t)device);
}

static void device_describe(int device, FILE *out)
{
    sw_study_device_describe((uint32_t)device, out);
}

static void *device_alloc(size_t bytes)
{
    void *memory = NULL;
    return sw_study_ok(cudaMalloc(&memory, bytes), "device memory") ? memory : NULL;
}

static void device_free(void *memory)
{
    (void)cudaFree(memory);
}

static bool device_draw_keys(uint32_t *keys, uint64_t count, uint64_t seed)
{
    keys_kernel<<<blocks(count), BLOCK>>>(keys, count, seed);
    return sw_study_done("drawing keys");
}

static bool device_draw_queries(uint32_t *queries, const struct sw_cbench_order *order)
{
    queries_kernel<<<blocks(order->count), BLOCK>>>(queries, *order);
    return sw_study_done("drawing queries");
}

static bool device_judge(const uint32_t *found, const struct sw_cbench_order *order,
                         struct sw_cbench_verdict *verdict)
{
    unsigned long long wrong[2] = {0, 0};
    unsigned long long *on_device = (unsigned long long *)device_alloc(sizeof(wrong));
    if (on_device == NULL) {
        return false;
    }
    bool done = sw_study_ok(cudaMemset(on_device, 0, sizeof(wrong)), "judging");
    if (done) {
        judge_kernel<<<blocks(order->count), BLOCK>>>(found, *order, on_device);
        done = sw_study_done("judging") &&
               sw_study_ok(cudaMemcpy(wrong, on_device, sizeof(wrong), cudaMemcpyDeviceToHost),
                           "judging");
    }
    device_free(on_device);
    verdict->missed = wrong[0];
    verdict->phantom = wrong[1];
    return done;
}

static const struct sw_cbench_place place = {
    "cuda",      device_choose,    device_describe,     device_alloc,
    device_free, device_draw_keys, device_draw_queries, device_judge,
};

const struct sw_cbench_place *sw_cbench_device(void)
{
    return &place;
}
