/* SPDX-License-Identifier: MIT
 *
 * device_place.cu - the arrays of the study of rows in device memory, and the rates of that memory:
 * kernels without a table move rows as streams of 16-byte units.
 */
#include <math.h>

#include "bench/rows/place.inl"

#define BLOCK 256
#define WARP 32
#define NUMBERS 4   /* floats of a unit */
#define IN_ORDER 64 /* additions without a branch between them */

/* Source and target of a row in a warp's list. */
struct __align__(16) way
{
    const uint4 *from; /* NULL: zeros */
    uint4 *to;
};

static __device__ uint4 sum_of(uint4 a, uint4 b)
{
    return make_uint4(__float_as_uint(__uint_as_float(a.x) + __uint_as_float(b.x)),
                      __float_as_uint(__uint_as_float(a.y) + __uint_as_float(b.y)),
                      __float_as_uint(__uint_as_float(a.z) + __uint_as_float(b.z)),
                      __float_as_uint(__uint_as_float(a.w) + __uint_as_float(b.w)));
}

static __device__ struct way way_of(const struct sw_rowbench_moved &moved, uint64_t row)
{
    const bool is_copied = moved.move == SW_ROWBENCH_COPY;
    const bool is_out = moved.move <= SW_ROWBENCH_GATHER;
    const bool is_absent = moved.move == SW_ROWBENCH_GATHER && !sw_rowbench_has(&moved, row);
    uint4 *arena =
        (uint4 *)moved.arena + (is_copied ? row : sw_rowbench_place_of(&moved, row)) * moved.units;
    uint4 *packed = (uint4 *)moved.packed + row * moved.units;
    return {is_absent ? NULL : is_out ? arena : packed, is_out ? packed : arena};
}

/* Adds one number to another `times` times, in registers: each sum waits for the one before it. */
static __device__ float add_in_order(float sum, float number, uint64_t times)
{
    const uint64_t whole = times / IN_ORDER;
    for (uint64_t i = 0; i < whole; i++) {
#pragma unroll
        for (uint32_t k = 0; k < IN_ORDER; k++) {
            sum = __fadd_rn(sum, number);
        }
    }
    for (uint64_t i = whole * IN_ORDER; i < times; i++) {
        sum = __fadd_rn(sum, number);
    }
    return sum;
}

/* Adds the operands of the hot row. Each thread of the first blocks owns one number of the row. */
static __device__ void add_hot(const struct sw_rowbench_moved &moved)
{
    const uint32_t at = blockIdx.x * BLOCK + threadIdx.x;
    float *row = (float *)moved.arena;
    if (at < moved.units * NUMBERS) {
        row[at] = add_in_order(row[at], ((const float *)moved.packed)[at], moved.hot);
    }
}

/* Returns the number of blocks that run add_hot. */
static SW_HD uint32_t hot_blocks(const struct sw_rowbench_moved &moved)
{
    return moved.hot > 0 ? (moved.units * NUMBERS + BLOCK - 1) / BLOCK : 0;
}

/* Each lane finds the place of a row. Then the warp moves the rows of all its lanes, each lane
 * IN_FLIGHT units at a time. */
template <bool SUMS, uint32_t IN_FLIGHT>
static __global__ void __launch_bounds__(BLOCK) move_kernel(const struct sw_rowbench_moved moved)
{
    __shared__ struct way ways[BLOCK];
    const uint32_t units = moved.units;
    const uint32_t log = 31 - (uint32_t)__clz((int)units);
    const bool is_even = (units & (units - 1)) == 0;
    const uint32_t lane = threadIdx.x % WARP;
    if (SUMS && blockIdx.x < hot_blocks(moved)) {
        add_hot(moved);
        return;
    }
    const uint64_t first =
        moved.hot + (uint64_t)(blockIdx.x - hot_blocks(moved)) * BLOCK + threadIdx.x - lane;
    const struct way *own = ways + (threadIdx.x - lane);
    if (first >= moved.count) {
        return;
    }
    const uint32_t total = (uint32_t)min(moved.count - first, (uint64_t)WARP) * units;
    if (first + lane < moved.count) {
        ways[threadIdx.x] = way_of(moved, first + lane);
    }
    __syncwarp();
    for (uint32_t base = lane; base < total; base += WARP * IN_FLIGHT) {
        uint4 part[IN_FLIGHT];
        uint4 there[SUMS ? IN_FLIGHT : 1];
        uint4 *to[IN_FLIGHT];
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            const uint32_t at = base + WARP * u;
            if (at < total) {
                const uint32_t row = is_even ? at >> log : at / units;
                const struct way way = own[row];
                to[u] = way.to + (at - row * units);
                part[u] = way.from != NULL ? __ldcg(way.from + (at - row * units)) : uint4();
                if (SUMS) {
                    there[u] = __ldcg(to[u]);
                }
            }
        }
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            if (base + WARP * u < total) {
                __stcs(to[u], SUMS ? sum_of(there[u], part[u]) : part[u]);
            }
        }
    }
}

template <uint32_t IN_FLIGHT>
static bool move_so(const struct sw_rowbench_moved *moved, double *seconds)
{
    auto launch = [&] {
        const uint32_t blocks =
            hot_blocks(*moved) + sw_study_blocks(moved->count - moved->hot, BLOCK);
        if (moved->move >= SW_ROWBENCH_SUM) {
            move_kernel<true, IN_FLIGHT><<<blocks, BLOCK>>>(*moved);
        } else {
            move_kernel<false, IN_FLIGHT><<<blocks, BLOCK>>>(*moved);
        }
        return cudaGetLastError();
    };
    double took = 0;
    const bool done = sw_study_time(launch, "moving rows", &took);
    *seconds = took < *seconds ? took : *seconds;
    return done;
}

/* Runs several kernels and reports the fastest. */
static bool device_move(const struct sw_rowbench_moved *moved, double *seconds)
{
    *seconds = INFINITY;
    return move_so<1>(moved, seconds) && move_so<2>(moved, seconds) && move_so<4>(moved, seconds) &&
           move_so<8>(moved, seconds);
}

static void *alloc_pinned(size_t bytes)
{
    void *memory = NULL;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocMapped) != cudaSuccess) {
        fprintf(stderr, "%zu bytes of pinned memory: %s\n", bytes,
                cudaGetErrorString(cudaGetLastError()));
        return NULL;
    }
    return memory;
}

static void free_pinned(void *memory)
{
    (void)cudaFreeHost(memory);
}

const struct sw_rowbench_place *sw_rowbench_device(void)
{
    static const struct sw_rowbench_place place = {
        &sw_study_device, draw_keys,    draw_rows,   expand, judge, note,
        device_move,      alloc_pinned, free_pinned,
    };
    return &place;
}
