/* SPDX-License-Identifier: MIT
 *
 * random.cu - fills memory with random words, and compares memory.
 */
#include "bench/study/random.h"

#include <thrust/device_ptr.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>

#include <exception>
#include <stdio.h>

#include "bench/study/device.cuh"
#include "bench/study/random.cuh"

#define BLOCK 256

/* Four words a thread. */
static __global__ void __launch_bounds__(BLOCK)
    fill_kernel(uint32_t *words, uint64_t count, struct sw_study_draw draw)
{
    uint64_t first = ((uint64_t)blockIdx.x * BLOCK + threadIdx.x) * 4;
    if (first >= count) {
        return;
    }
    curandStatePhilox4_32_10_t state = sw_study_generator(draw, first / 4);
    uint4 drawn = curand4(&state);
    uint32_t four[4] = {drawn.x, drawn.y, drawn.z, drawn.w};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (first + k < count) {
            words[first + k] = four[k];
        }
    }
}

bool sw_study_fill(void *memory, size_t bytes, struct sw_study_draw draw)
{
    uint64_t words = bytes / sizeof(uint32_t);
    fill_kernel<<<sw_study_blocks((words + 3) / 4, BLOCK), BLOCK>>>((uint32_t *)memory, words,
                                                                    draw);
    return sw_study_done("drawing random words");
}

bool sw_study_equal(const void *a, const void *b, size_t bytes, bool *equal)
{
    thrust::device_ptr<const uint32_t> first((const uint32_t *)a);
    thrust::device_ptr<const uint32_t> other((const uint32_t *)b);
    try {
        *equal = thrust::equal(thrust::device, first, first + bytes / sizeof(uint32_t), other);
    } catch (const std::exception &e) {
        fprintf(stderr, "comparing memory: %s\n", e.what());
        return false;
    }
    return sw_study_done("comparing memory");
}
