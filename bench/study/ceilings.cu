/* SPDX-License-Identifier: MIT
 *
 * ceilings.cu - kernels of copies, random reads and compare-and-swaps, timed by events.
 */
#include "bench/study/ceilings.h"

#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>

#include <exception>
#include <stdio.h>
#include <string.h>

#include "bench/study/device.cuh"
#include "bench/study/random.h"

#define BLOCK 256
#define COPY_UNROLL 4    /* 16-byte loads in flight for each thread */
#define USUAL_BYTES 128U /* bytes that a thread reads at a time */
/* Operations of a repetition: 2^26 take milliseconds. */
#define OPERATIONS (1ULL << 26)
#define SECTOR_BYTES 32U
#define BUCKET_WORDS 4U /* of 64 bits, in a sector */

static_assert(OPERATIONS % (BLOCK * 8) == 0, "whole blocks at up to 8 lines a thread");

/* --- kernels ---------------------------------------------------------------------------------- */

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

/* A permutation of 0 .. 2^bits - 1: multiplications by odd numbers and right shifts with XOR are
 * invertible. */
static __device__ inline uint64_t permuted(uint64_t i, uint32_t bits)
{
    uint64_t mask = (1ULL << bits) - 1;
    uint32_t half = (bits + 1) / 2;
    i = (i * 0x9e3779b97f4a7c15ULL) & mask;
    i ^= i >> half;
    i = (i * 0xbf58476d1ce4e5b9ULL) & mask;
    i ^= i >> half;
    i = (i * 0x94d049bb133111ebULL) & mask;
    return i ^ (i >> half);
}

/* Requests one block per multiprocessor. Without that the compiler uses only 32 registers, and
 * waits for a load before it issues the next one. */
template <int LINE_BYTES, int LANES, int LINES>
static __global__ void __launch_bounds__(BLOCK, 1)
    gather_kernel(const uint4 *source, uint64_t lines, uint64_t first, uint64_t *sink)
{
    constexpr int PIECES = LINE_BYTES / 16;
    constexpr int PIECES_PER_LANE = PIECES / LANES;
    uint64_t thread = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    uint64_t group = thread / LANES;
    uint32_t lane = threadIdx.x % LANES;
    uint4 held[LINES][PIECES_PER_LANE];
    const uint4 *line[LINES];
#pragma unroll
    for (int k = 0; k < LINES; k++) {
        /* lines is a power of two, so all places are equally likely */
        line[k] =
            source + (sw_study_mixed(first + group * LINES + k) & (lines - 1)) * PIECES + lane;
    }
#pragma unroll
    for (int k = 0; k < LINES; k++) {
#pragma unroll
        for (int p = 0; p < PIECES_PER_LANE; p++) {
            held[k][p] = line[k][p * LANES];
        }
    }
    /* Begins with the last load, in a fixed order: so all loads are issued before the first wait.
     */
    uint32_t sum = __shfl_sync(0xffffffffU, held[LINES - 1][PIECES_PER_LANE - 1].x, 0);
#pragma unroll
    for (int k = 0; k < LINES; k++) {
#pragma unroll
        for (int p = 0; p < PIECES_PER_LANE; p++) {
            sum = (sum ^ held[k][p].x ^ held[k][p].y) + (held[k][p].z ^ held[k][p].w);
        }
    }
    /* makes the compiler keep the sum; one thread in 2^32 stores it */
    if (sum == 0x9e3779b9U) {
        *sink = thread;
    }
}

/* All words are zero at first. The kernel swaps each at most once, for a word that is not zero. */
template <bool LOADS, int LINES>
static __global__ void __launch_bounds__(BLOCK, 1)
    cas_kernel(unsigned long long *words, uint32_t bits, uint64_t count, uint64_t *sink)
{
    uint64_t thread = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    unsigned long long expected[LINES];
    unsigned long long wanted[LINES];
    unsigned long long found[LINES];
    bool surprised = false;
    if (thread * LINES >= count) { /* count is a power of two, at least LINES */
        return;
    }
#pragma unroll
    for (int k = 0; k < LINES; k++) {
        expected[k] = 0;
        wanted[k] = thread + 1;
        if (LOADS) {
            uint64_t place = permuted(thread * LINES + k, bits);
            const ulonglong2 *bucket =
                (const ulonglong2 *)(words + place / BUCKET_WORDS * BUCKET_WORDS);
            ulonglong2 low = bucket[0];
            ulonglong2 high = bucket[1];
            ulonglong2 pair = place % BUCKET_WORDS < 2 ? low : high;
            expected[k] = place % 2 == 0 ? pair.x : pair.y;
            wanted[k] = (low.x ^ low.y ^ high.x ^ high.y) | 1; /* depends on the whole bucket */
        }
    }
#pragma unroll
    for (int k = 0; k < LINES; k++) {
        uint64_t place = permuted(thread * LINES + k, bits);
        found[k] = atomicCAS(words + place, expected[k], wanted[k]);
    }
#pragma unroll
    for (int k = 0; k < LINES; k++) {
        surprised |= found[k] != expected[k];
    }
    if (surprised) {
        *sink = 1;
    }
}

/* All words are zero at first. Each thread reads the bucket of a word and stores the word, which no
 * other thread stores. */
static __global__ void __launch_bounds__(BLOCK)
    write_kernel(unsigned long long *words, uint32_t bits, uint64_t first, uint64_t count)
{
    const uint64_t thread = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (thread >= count) {
        return;
    }
    const uint64_t place = permuted(first + thread, bits);
    const ulonglong2 *bucket = (const ulonglong2 *)(words + place / BUCKET_WORDS * BUCKET_WORDS);
    const ulonglong2 low = bucket[0];
    const ulonglong2 high = bucket[1];
    words[place] = (low.x ^ low.y ^ high.x ^ high.y) | 1; /* depends on the whole bucket */
}

/* --- launches --------------------------------------------------------------------------------- */

static uint32_t words_log2(const struct sw_study_memory *memory)
{
    uint32_t bits = 0;
    while (1ULL << bits < memory->bytes / sizeof(uint64_t)) {
        bits++;
    }
    return bits;
}

static uint64_t swaps(const struct sw_study_memory *memory)
{
    uint64_t words = memory->bytes / sizeof(uint64_t);
    return words < OPERATIONS ? words : OPERATIONS;
}

template <int LINE_BYTES, int LANES, int LINES>
static cudaError_t gather(const struct sw_study_memory *memory)
{
    gather_kernel<LINE_BYTES, LANES, LINES>
        <<<(uint32_t)(OPERATIONS / LINES * LANES / BLOCK), BLOCK>>>(
            (const uint4 *)memory->source, memory->bytes / LINE_BYTES, memory->number * OPERATIONS,
            memory->sink);
    return cudaGetLastError();
}

template <bool LOADS, int LINES> static cudaError_t cas(const struct sw_study_memory *memory)
{
    uint64_t count = swaps(memory);
    cas_kernel<LOADS, LINES><<<(uint32_t)((count / LINES + BLOCK - 1) / BLOCK), BLOCK>>>(
        (unsigned long long *)memory->target, words_log2(memory), count, memory->sink);
    return cudaGetLastError();
}

static cudaError_t copy_by_runtime(const struct sw_study_memory *memory)
{
    return cudaMemcpyAsync(memory->target, memory->source, memory->bytes, cudaMemcpyDeviceToDevice,
                           0);
}

static cudaError_t copy_by_kernel(const struct sw_study_memory *memory)
{
    uint64_t pieces = memory->bytes / sizeof(uint4);
    copy_kernel<<<sw_study_blocks(pieces, BLOCK * COPY_UNROLL), BLOCK>>>(
        (const uint4 *)memory->source, (uint4 *)memory->target, pieces);
    return cudaGetLastError();
}

struct way {
    struct sw_study_shape shape;
    cudaError_t (*launch)(const struct sw_study_memory *memory);
};

#define ALONE(name, bytes, lines)                        \
    {                                                    \
        {name, bytes, lines, 1}, gather<bytes, 1, lines> \
    }
#define LANES(name, bytes, lines)                                              \
    {                                                                          \
        {name, bytes, lines, (bytes) / 16}, gather<bytes, (bytes) / 16, lines> \
    }
#define SWAPS(name, loads, lines)                         \
    {                                                     \
        {name, SECTOR_BYTES, lines, 1}, cas<loads, lines> \
    }

/* 8 lines of 128 bytes would not fit into a thread's registers. */
static const struct way ways[] = {
    {{SW_STUDY_COPY_MEMCPY, 0, 0, 0}, copy_by_runtime},
    {{SW_STUDY_COPY_UINT4, 0, 0, 0}, copy_by_kernel},
    ALONE(SW_STUDY_GATHER_32, 32, 1),
    ALONE(SW_STUDY_GATHER_32, 32, 2),
    ALONE(SW_STUDY_GATHER_32, 32, 4),
    ALONE(SW_STUDY_GATHER_32, 32, 8),
    LANES(SW_STUDY_GATHER_32, 32, 1),
    LANES(SW_STUDY_GATHER_32, 32, 2),
    LANES(SW_STUDY_GATHER_32, 32, 4),
    LANES(SW_STUDY_GATHER_32, 32, 8),
    ALONE(SW_STUDY_GATHER_64, 64, 1),
    ALONE(SW_STUDY_GATHER_64, 64, 2),
    ALONE(SW_STUDY_GATHER_64, 64, 4),
    ALONE(SW_STUDY_GATHER_64, 64, 8),
    LANES(SW_STUDY_GATHER_64, 64, 1),
    LANES(SW_STUDY_GATHER_64, 64, 2),
    LANES(SW_STUDY_GATHER_64, 64, 4),
    LANES(SW_STUDY_GATHER_64, 64, 8),
    ALONE(SW_STUDY_GATHER_128, 128, 1),
    ALONE(SW_STUDY_GATHER_128, 128, 2),
    ALONE(SW_STUDY_GATHER_128, 128, 4),
    LANES(SW_STUDY_GATHER_128, 128, 1),
    LANES(SW_STUDY_GATHER_128, 128, 2),
    LANES(SW_STUDY_GATHER_128, 128, 4),
    LANES(SW_STUDY_GATHER_128, 128, 8),
    SWAPS(SW_STUDY_CAS, false, 1),
    SWAPS(SW_STUDY_CAS, false, 2),
    SWAPS(SW_STUDY_CAS, false, 4),
    SWAPS(SW_STUDY_CAS, false, 8),
    SWAPS(SW_STUDY_LOAD_CAS, true, 1),
    SWAPS(SW_STUDY_LOAD_CAS, true, 2),
    SWAPS(SW_STUDY_LOAD_CAS, true, 4),
    SWAPS(SW_STUDY_LOAD_CAS, true, 8),
};

const char *sw_study_access_name(enum sw_study_access access)
{
    static const char *const names[SW_STUDY_ACCESSES] = {
        "copy_memcpy", "copy_uint4", "gather_32", "gather_64", "gather_128", "cas", "load_cas"};
    return names[access];
}

uint32_t sw_study_shapes(void)
{
    return sizeof(ways) / sizeof(ways[0]);
}

struct sw_study_shape sw_study_shape_at(uint32_t number)
{
    return ways[number].shape;
}

uint32_t sw_study_shape_usual(enum sw_study_access access)
{
    uint32_t number = 0;
    while (ways[number].shape.access != access ||
           (ways[number].shape.line_bytes != 0 &&
            ways[number].shape.line_bytes * ways[number].shape.lines_per_thread != USUAL_BYTES)) {
        number++;
    }
    return number;
}

/* --- memory ----------------------------------------------------------------------------------- */

bool sw_study_memory_open(struct sw_study_memory *memory, uint64_t bytes, uint64_t seed)
{
    const char *what = "memory for the ceilings";
    memset(memory, 0, sizeof(*memory));
    memory->bytes = bytes;
    if (sw_study_ok(cudaMalloc(&memory->source, bytes), what) &&
        sw_study_ok(cudaMalloc(&memory->target, bytes), what) &&
        sw_study_ok(cudaMalloc((void **)&memory->sink, sizeof(uint64_t)), what) &&
        sw_study_fill(memory->source, bytes, (struct sw_study_draw){seed, 0})) {
        return true;
    }
    sw_study_memory_close(memory);
    return false;
}

void sw_study_memory_close(struct sw_study_memory *memory)
{
    /* the function that failed has reported the error */
    (void)cudaFree(memory->source);
    (void)cudaFree(memory->target);
    (void)cudaFree(memory->sink);
    memset(memory, 0, sizeof(*memory));
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Returns true if the copy is complete; otherwise prints one line on stderr. */
static bool all_copied(const struct sw_study_memory *memory, const char *name)
{
    bool equal = false;
    if (!sw_study_equal(memory->source, memory->target, memory->bytes, &equal)) {
        return false;
    }
    if (!equal) {
        fprintf(stderr, "%s did not copy every byte\n", name);
    }
    return equal;
}

/* Returns true if `count` words are not zero, and every swap found the word that it expected. */
static bool all_written(const struct sw_study_memory *memory, uint64_t count, const char *name)
{
    uint64_t surprised = 0;
    uint64_t zeros = 0;
    uint64_t words = memory->bytes / sizeof(uint64_t);
    thrust::device_ptr<const uint64_t> first((const uint64_t *)memory->target);
    try {
        zeros = (uint64_t)thrust::count(thrust::device, first, first + words, (uint64_t)0);
    } catch (const std::exception &e) {
        fprintf(stderr, "counting the words of %s: %s\n", name, e.what());
        return false;
    }
    if (!sw_study_ok(
            cudaMemcpy(&surprised, memory->sink, sizeof(surprised), cudaMemcpyDeviceToHost),
            name)) {
        return false;
    }
    if (surprised != 0 || words - zeros != count) {
        fprintf(stderr, "%s did not write every word\n", name);
        return false;
    }
    return true;
}

bool sw_study_access_run(struct sw_study_memory *memory, uint32_t shape,
                         struct sw_study_timed *timed)
{
    const struct way *way = &ways[shape];
    const char *name = sw_study_access_name(way->shape.access);
    bool copies = way->shape.line_bytes == 0;
    bool swaps_words = way->shape.access >= SW_STUDY_CAS;
    if (((copies || swaps_words) &&
         !sw_study_ok(cudaMemset(memory->target, copies ? 0xA5 : 0, memory->bytes), name)) ||
        !sw_study_ok(cudaMemset(memory->sink, 0, sizeof(uint64_t)), name) ||
        !sw_study_time([&] { return way->launch(memory); }, name, &timed->seconds) ||
        (copies && !all_copied(memory, name)) ||
        (swaps_words && !all_written(memory, swaps(memory), name))) {
        return false;
    }
    memory->number += !copies;
    timed->operations = copies ? 0 : swaps_words ? swaps(memory) : OPERATIONS;
    timed->dram_bytes = copies ? 2 * memory->bytes
                               : timed->operations * way->shape.line_bytes * (swaps_words ? 2 : 1);
    return true;
}

bool sw_study_write_run(struct sw_study_memory *memory, uint64_t count,
                        struct sw_study_timed *timed)
{
    const char *name = "write";
    unsigned long long *words = (unsigned long long *)memory->target;
    const uint32_t blocks = (uint32_t)((count + BLOCK - 1) / BLOCK);
    const auto launch = [&] {
        write_kernel<<<blocks, BLOCK>>>(words, words_log2(memory), memory->number * count, count);
        return cudaGetLastError();
    };
    if (!sw_study_ok(cudaMemset(memory->target, 0, memory->bytes), name) ||
        !sw_study_ok(cudaMemset(memory->sink, 0, sizeof(uint64_t)), name) ||
        !sw_study_time(launch, name, &timed->seconds) || !all_written(memory, count, name)) {
        return false;
    }
    memory->number++;
    timed->operations = count;
    timed->dram_bytes = 2 * count * SECTOR_BYTES;
    return true;
}

bool sw_study_l2_fetch(uint32_t bytes, uint32_t *granted)
{
    size_t limit = 0;
    if ((bytes != 0 && !sw_study_ok(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, bytes),
                                    "bytes a fetch into L2")) ||
        !sw_study_ok(cudaDeviceGetLimit(&limit, cudaLimitMaxL2FetchGranularity),
                     "bytes a fetch into L2")) {
        return false;
    }
    *granted = (uint32_t)limit;
    return true;
}
