/* SPDX-License-Identifier: MIT
 *
 * ceiling.cu - copies and random gathers over as many bytes as the table's slots take.
 */
#include "bench/timing/ceiling.h"

#include <stdio.h>
#include <string.h>

#include "bench/study/device.cuh"
#include "bench/timing/keys.h"

#define BLOCK 256
#define COPY_UNROLL 4     /* 16-byte loads a thread has on their way */
#define GATHER_BYTES 128U /* a thread has on their way, in whole lines */
/* Lines gathered a repetition: 2^26 take milliseconds, and touch 2 GiB of sectors. */
#define GATHERS (1ULL << 26)

static_assert(GATHERS % (BLOCK * 4) == 0, "whole blocks at up to 4 lines a thread");

const char *sw_timing_ceiling_name(enum sw_timing_ceiling which)
{
    static const char *const names[SW_TIMING_CEILINGS] = {"copy_memcpy", "copy_uint4", "gather_32",
                                                          "gather_64", "gather_128"};
    return names[which];
}

bool sw_timing_memory_open(struct sw_timing_memory *memory, uint64_t bytes, uint64_t seed)
{
    struct sw_timing_draw draw = {seed, 0};
    memset(memory, 0, sizeof(*memory));
    memory->bytes = bytes;
    if (sw_study_ok(cudaMalloc(&memory->source, bytes), "memory for the ceilings") &&
        sw_study_ok(cudaMalloc(&memory->target, bytes), "memory for the ceilings") &&
        sw_study_ok(cudaMalloc((void **)&memory->sink, sizeof(uint64_t)),
                    "memory for the ceilings") &&
        sw_timing_fill(memory->source, bytes, draw)) {
        return true;
    }
    sw_timing_memory_close(memory);
    return false;
}

void sw_timing_memory_close(struct sw_timing_memory *memory)
{
    /* an error here was reported where it arose */
    (void)cudaFree(memory->source);
    (void)cudaFree(memory->target);
    (void)cudaFree(memory->sink);
    memset(memory, 0, sizeof(*memory));
}

static __global__ void __launch_bounds__(BLOCK)
    copy_kernel(const uint4 *source, uint4 *target, uint64_t count)
{
    uint64_t first = (uint64_t)blockIdx.x * (BLOCK * COPY_UNROLL) + threadIdx.x;
    uint4 held[COPY_UNROLL];
#pragma unroll
    for (int k = 0; k < COPY_UNROLL; k++) {
        uint64_t i = first + (uint64_t)k * BLOCK;
        if (i < count) {
            held[k] = source[i];
        }
    }
#pragma unroll
    for (int k = 0; k < COPY_UNROLL; k++) {
        uint64_t i = first + (uint64_t)k * BLOCK;
        if (i < count) {
            target[i] = held[k];
        }
    }
}

/* splitmix64's finalizer (Sebastiano Vigna, public domain) */
static __device__ inline uint64_t place(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

template <int LINE_BYTES>
static __global__ void __launch_bounds__(BLOCK)
    gather_kernel(const uint4 *source, uint64_t lines, uint64_t first, uint64_t *sink)
{
    constexpr int PIECES = LINE_BYTES / 16;
    constexpr int LINES = GATHER_BYTES / LINE_BYTES;
    uint64_t thread = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    uint4 held[LINES][PIECES];
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < LINES; k++) {
        /* lines is a power of two: no place is more likely than another */
        const uint4 *line = source + (place(first + thread * LINES + k) & (lines - 1)) * PIECES;
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            held[k][p] = line[p];
        }
    }
#pragma unroll
    for (int k = 0; k < LINES; k++) {
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            sum ^= held[k][p].x ^ held[k][p].y ^ held[k][p].z ^ held[k][p].w;
        }
    }
    /* the compiler must believe that the sum is wanted; that it is stored, one thread in 2^32 */
    if (sum == 0x9e3779b9U) {
        *sink = thread;
    }
}

/* True if the copy is complete; otherwise one line on stderr. */
static bool compare(const struct sw_timing_memory *memory, const char *name)
{
    bool equal = false;
    if (!sw_timing_equal(memory->source, memory->target, memory->bytes, &equal)) {
        return false;
    }
    if (!equal) {
        fprintf(stderr, "timing: %s did not copy every byte\n", name);
    }
    return equal;
}

template <int LINE_BYTES> static void launch_gather(const struct sw_timing_memory *memory)
{
    uint32_t blocks = (uint32_t)(GATHERS / (BLOCK * (GATHER_BYTES / LINE_BYTES)));
    gather_kernel<LINE_BYTES><<<blocks, BLOCK>>>((const uint4 *)memory->source,
                                                 memory->bytes / LINE_BYTES,
                                                 memory->gather * GATHERS, memory->sink);
}

static cudaError_t launch(const struct sw_timing_memory *memory, enum sw_timing_ceiling which)
{
    uint64_t pieces = memory->bytes / sizeof(uint4);
    uint64_t per_block = BLOCK * COPY_UNROLL;
    switch (which) {
    case SW_TIMING_COPY_MEMCPY:
        return cudaMemcpyAsync(memory->target, memory->source, memory->bytes,
                               cudaMemcpyDeviceToDevice, 0);
    case SW_TIMING_COPY_UINT4:
        copy_kernel<<<(uint32_t)((pieces + per_block - 1) / per_block), BLOCK>>>(
            (const uint4 *)memory->source, (uint4 *)memory->target, pieces);
        break;
    case SW_TIMING_GATHER_32:
        launch_gather<32>(memory);
        break;
    case SW_TIMING_GATHER_64:
        launch_gather<64>(memory);
        break;
    default:
        launch_gather<128>(memory);
        break;
    }
    return cudaGetLastError();
}

static cudaError_t timed(const struct sw_timing_memory *memory, enum sw_timing_ceiling which,
                         cudaEvent_t begin, cudaEvent_t end, float *milliseconds)
{
    cudaError_t error = cudaEventRecord(begin, 0);
    if (error == cudaSuccess) {
        error = launch(memory, which);
    }
    if (error == cudaSuccess) {
        error = cudaEventRecord(end, 0);
    }
    if (error == cudaSuccess) {
        error = cudaEventSynchronize(end);
    }
    return error == cudaSuccess ? cudaEventElapsedTime(milliseconds, begin, end) : error;
}

bool sw_timing_ceiling_run(struct sw_timing_memory *memory, enum sw_timing_ceiling which,
                           double *seconds, uint64_t *moved, uint64_t *operations)
{
    static const uint64_t line_bytes[SW_TIMING_CEILINGS] = {0, 0, 32, 64, 128};
    const char *name = sw_timing_ceiling_name(which);
    bool copies = line_bytes[which] == 0;
    cudaEvent_t begin = NULL;
    cudaEvent_t end = NULL;
    float milliseconds = 0;
    cudaError_t error = cudaEventCreate(&begin);
    if (error == cudaSuccess) {
        error = cudaEventCreate(&end);
    }
    if (error == cudaSuccess && copies) {
        error = cudaMemset(memory->target, 0xA5, memory->bytes);
    }
    if (error == cudaSuccess) {
        error = timed(memory, which, begin, end, &milliseconds);
    }
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    if (!sw_study_ok(error, name) || (copies && !compare(memory, name))) {
        return false;
    }
    memory->gather += !copies;
    *seconds = milliseconds * 1e-3;
    *operations = copies ? 0 : GATHERS;
    *moved = copies ? 2 * memory->bytes : GATHERS * line_bytes[which];
    return true;
}
