/* SPDX-License-Identifier: MIT
 *
 * device.cuh - errors of the CUDA runtime, and times by events, for the studies' .cu files.
 */
#ifndef SHERWOOD_BENCH_STUDY_DEVICE_CUH
#define SHERWOOD_BENCH_STUDY_DEVICE_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* Returns true if `error` is no error; otherwise prints one line with `what`. */
bool sw_study_ok(cudaError_t error, const char *what);

/* Waits for the device, and does the same for the last launch and all work on the device. */
bool sw_study_done(const char *what);

/* Measures the work that `launch()` enqueues in the default stream, in seconds by events; launch
 * returns a cudaError_t. On failure prints one line on stderr and returns false. */
template <class Launch> bool sw_study_time(Launch launch, const char *what, double *seconds)
{
    cudaEvent_t begin = NULL;
    cudaEvent_t end = NULL;
    float milliseconds = 0;
    bool done = sw_study_ok(cudaEventCreate(&begin), what) &&
                sw_study_ok(cudaEventCreate(&end), what) &&
                sw_study_ok(cudaEventRecord(begin, 0), what) && sw_study_ok(launch(), what) &&
                sw_study_ok(cudaEventRecord(end, 0), what) &&
                sw_study_ok(cudaEventSynchronize(end), what) &&
                sw_study_ok(cudaEventElapsedTime(&milliseconds, begin, end), what);
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    *seconds = milliseconds * 1e-3;
    return done;
}

static inline uint32_t sw_study_blocks(uint64_t threads, uint32_t block)
{
    return (uint32_t)((threads + block - 1) / block);
}

/* Calls call(0) with an integer as wide as a key: of 4 bytes or of 8. */
template <class Call> static void sw_study_by_width(uint32_t key_bytes, Call call)
{
    if (key_bytes == 4) {
        call((uint32_t)0);
    } else {
        call((uint64_t)0);
    }
}

/* splitmix64's finalizer (Sebastiano Vigna, public domain) */
static __host__ __device__ inline uint64_t sw_study_mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

#endif
