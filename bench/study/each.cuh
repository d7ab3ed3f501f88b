/* SPDX-License-Identifier: MIT
 *
 * each.cuh - implements each.h by kernels, with a thread for each element.
 */
#ifndef SHERWOOD_BENCH_STUDY_EACH_CUH
#define SHERWOOD_BENCH_STUDY_EACH_CUH

#include "bench/study/device.cuh"

#define SW_STUDY_EACH_BLOCK 256

template <class Body, class Arguments>
static __global__ void __launch_bounds__(SW_STUDY_EACH_BLOCK)
    sw_study_each_kernel(const Arguments arguments, uint64_t count)
{
    uint64_t i = (uint64_t)blockIdx.x * SW_STUDY_EACH_BLOCK + threadIdx.x;
    if (i < count) {
        Body::call(&arguments, i);
    }
}

template <class Body, int CLASSES, class Arguments>
static __global__ void __launch_bounds__(SW_STUDY_EACH_BLOCK)
    sw_study_tally_kernel(const Arguments arguments, uint64_t count, unsigned long long *total)
{
    __shared__ unsigned long long counts[CLASSES];
    uint64_t i = (uint64_t)blockIdx.x * SW_STUDY_EACH_BLOCK + threadIdx.x;
    if (threadIdx.x < CLASSES) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    if (i < count) {
        atomicAdd(counts + Body::call(&arguments, i), 1ULL);
    }
    __syncthreads();
    if (threadIdx.x < CLASSES && counts[threadIdx.x] != 0) {
        atomicAdd(total + threadIdx.x, counts[threadIdx.x]);
    }
}

template <class Body, class Arguments>
static bool sw_study_each(const Arguments *arguments, uint64_t count, const char *what)
{
    if (count > 0) {
        sw_study_each_kernel<Body, Arguments>
            <<<sw_study_blocks(count, SW_STUDY_EACH_BLOCK), SW_STUDY_EACH_BLOCK>>>(*arguments,
                                                                                   count);
    }
    return sw_study_done(what);
}

template <class Body, int CLASSES, class Arguments>
static bool sw_study_tally(const Arguments *arguments, uint64_t count, unsigned long long *counts,
                           const char *what)
{
    unsigned long long added[CLASSES];
    unsigned long long *total = NULL;
    if (!sw_study_ok(cudaMalloc((void **)&total, sizeof(added)), what)) {
        return false;
    }
    bool done = sw_study_ok(cudaMemset(total, 0, sizeof(added)), what);
    if (done && count > 0) {
        sw_study_tally_kernel<Body, CLASSES, Arguments>
            <<<sw_study_blocks(count, SW_STUDY_EACH_BLOCK), SW_STUDY_EACH_BLOCK>>>(*arguments,
                                                                                   count, total);
    }
    done = done && sw_study_done(what) &&
           sw_study_ok(cudaMemcpy(added, total, sizeof(added), cudaMemcpyDeviceToHost), what);
    (void)cudaFree(total);
    for (int c = 0; done && c < CLASSES; c++) {
        counts[c] += added[c];
    }
    return done;
}

#define SW_STUDY_EACH(function, Arguments)                                  \
    struct function##_body {                                                \
        static __device__ void call(const Arguments *arguments, uint64_t i) \
        {                                                                   \
            function(arguments, i);                                         \
        }                                                                   \
    };                                                                      \
    static bool function##_each(const Arguments *arguments, uint64_t count) \
    {                                                                       \
        return sw_study_each<function##_body>(arguments, count, #function); \
    }

#define SW_STUDY_TALLY(function, Arguments, CLASSES)                                          \
    struct function##_body {                                                                  \
        static __device__ unsigned call(const Arguments *arguments, uint64_t i)               \
        {                                                                                     \
            return (unsigned)function(arguments, i);                                          \
        }                                                                                     \
    };                                                                                        \
    static bool function##_tally(const Arguments *arguments, uint64_t count,                  \
                                 unsigned long long *counts)                                  \
    {                                                                                         \
        return sw_study_tally<function##_body, CLASSES>(arguments, count, counts, #function); \
    }

#endif
