/* SPDX-License-Identifier: MIT
 *
 * row_long.cuh - segments of many operations (row_runs.cuh). A sum of floats takes its steps one
 * after the other, some cycles each, so that a row which half of a batch adds to is bound by this
 * alone: a block has a slice of the row, few threads of its first warp carry out the steps of a
 * tile in shared memory, and meanwhile the other warps bring the operands of the next one.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_LONG_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_LONG_CUH

#include <cuda_pipeline.h>

#include "table/robin_hood/cuda/row_runs.cuh"

/* Bytes of the operands of a slice. The first warp adds; the others bring operands, and have so
 * many of a tile each. */
#define SLICE 32
#define BRINGERS (CROWD_THREADS - 32)
#define TILE_EACH 2
#define TILE (TILE_EACH * BRINGERS)
/* How many numbers a thread loads before it adds the first of them. */
#define CHAIN 16
/* Room for the numbers of a tile at one place of the slice: behind the last ones as many are loaded
 * and never added. So that the threads that load them, four at a time, meet no bank twice. */
#define TILE_ROOM (TILE + 2 * CHAIN + 4)
static_assert(TILE_ROOM % 32 == 4 && SLICE <= 32, "a bank a number");

struct __align__(16) tile
{
    uint32_t numbers[SLICE / 4][TILE_ROOM]; /* of the operands */
    uint8_t *answers[TILE];
    uint8_t ops[TILE]; /* NO_WRITE: it does not write */
};
#define NO_WRITE 255

struct long_memory {
    struct tile tiles[2];
};

/* What a thread has of the steps of a tile. */
struct tile_steps {
    step steps[TILE_EACH];
    uint32_t count; /* of the tile */
};

static __device__ inline struct tile_steps read_steps(const struct runs &runs, uint32_t from,
                                                      uint32_t end)
{
    struct tile_steps own;
    own.count = from >= end ? 0 : min(end - from, (uint32_t)TILE);
#pragma unroll
    for (uint32_t k = 0; k < TILE_EACH; k++) {
        const uint32_t at = threadIdx.x - 32 + k * BRINGERS;
        own.steps[k] = threadIdx.x >= 32 && at < own.count ? runs.steps[from + at] : step();
    }
    return own;
}

/* Begins to copy the slices of the operands of a warp's steps, a number a lane. */
static __device__ inline void fill_numbers(const uint8_t *operand, uint32_t first, uint32_t offset,
                                           uint32_t bytes, struct tile *tile)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t word = lane % (SLICE / 4);
#pragma unroll
    for (uint32_t from = 0; from < 32; from += 32 / (SLICE / 4)) {
        const uint32_t of = from + lane / (SLICE / 4);
        const uint8_t *number = (const uint8_t *)__shfl_sync(
            SW_WARP_ALL, (unsigned long long)(uintptr_t)operand, (int)of);
        if (number != NULL && 4 * word < bytes) {
            __pipeline_memcpy_async(&tile->numbers[word][first + of], number + offset + 4 * word,
                                    4);
        }
    }
}

/* Begins to copy the slice of the operands. Returns whether this thread's steps are sums by the
 * operation `op`, without answers. */
static __device__ inline bool fill_tile(const struct tile_steps &own, uint32_t offset,
                                        uint32_t bytes, uint32_t op, struct tile *tile)
{
    bool plain = true;
    if (threadIdx.x < 32) {
        return true;
    }
#pragma unroll
    for (uint32_t k = 0; k < TILE_EACH; k++) {
        const uint32_t at = threadIdx.x - 32 + k * BRINGERS;
        const step &one = own.steps[k];
        const bool has = at < own.count;
        if (has) {
            plain = plain && one.writes && one.op == op && one.answer == NULL;
            tile->answers[at] = one.answer;
            tile->ops[at] = one.writes ? one.op : NO_WRITE;
        }
        fill_numbers(has && one.writes ? one.operand : NULL, at - threadIdx.x % 32, offset, bytes,
                     tile);
    }
    __pipeline_commit();
    return plain;
}

/* What step k of a tile adds to the number, or the two, from `word` on. */
static __device__ __forceinline__ void load_number(const struct tile *tile, uint32_t word,
                                                   uint32_t k, uint32_t *number)
{
    *number = tile->numbers[word][k];
}

static __device__ __forceinline__ void load_number(const struct tile *tile, uint32_t word,
                                                   uint32_t k, uint2 *number)
{
    *number = make_uint2(tile->numbers[word][k], tile->numbers[word + 1][k]);
}

/* The same of CHAIN steps; k is a multiple of that. */
static __device__ __forceinline__ void load_chain(const struct tile *tile, uint32_t word,
                                                  uint32_t k, uint32_t part[CHAIN])
{
#pragma unroll
    for (uint32_t c = 0; c < CHAIN; c += 4) {
        const uint4 four = *(const uint4 *)&tile->numbers[word][k + c];
        part[c] = four.x;
        part[c + 1] = four.y;
        part[c + 2] = four.z;
        part[c + 3] = four.w;
    }
}

static __device__ __forceinline__ void load_chain(const struct tile *tile, uint32_t word,
                                                  uint32_t k, uint2 part[CHAIN])
{
    uint32_t x[CHAIN], y[CHAIN];
    load_chain(tile, word, k, x);
    load_chain(tile, word + 1, k, y);
#pragma unroll
    for (uint32_t c = 0; c < CHAIN; c++) {
        part[c] = make_uint2(x[c], y[c]);
    }
}

static __device__ __forceinline__ void add_raw(uint32_t *sum, uint32_t operand)
{
    *sum = __float_as_uint(__fadd_rn(__uint_as_float(*sum), __uint_as_float(operand)));
}

static __device__ __forceinline__ void add_raw(uint2 *sum, uint2 operand)
{
    add_raw(&sum->x, operand.x);
    add_raw(&sum->y, operand.y);
}

static __device__ __forceinline__ uint32_t canonical(uint32_t sum)
{
    return sw_row_is_nan_f32(sum) ? SW_ROW_NAN_F32 : sum;
}

static __device__ __forceinline__ uint2 canonical(uint2 sum)
{
    return make_uint2(canonical(sum.x), canonical(sum.y));
}

template <typename T> static __device__ __forceinline__ void add_part(T *sum, const T part[CHAIN])
{
#pragma unroll
    for (uint32_t k = 0; k < CHAIN; k++) {
        add_raw(sum, part[k]);
    }
}

/* Adds the numbers of `count` steps, at least one, to *v, which becomes canonical: as
 * sw_row_sum_f32 one after the other, since a sum that is no number stays one. While some are added
 * the next ones are loaded. */
template <typename T>
static __device__ __forceinline__ void add_chain(const struct tile *tile, uint32_t word,
                                                 uint32_t count, T *v)
{
    const uint32_t whole = count / (2 * CHAIN) * (2 * CHAIN);
    T sum = *v;
    T even[CHAIN], odd[CHAIN];
    load_chain(tile, word, 0, even);
    for (uint32_t k = 0; k < whole; k += 2 * CHAIN) {
        load_chain(tile, word, k + CHAIN, odd);
        add_part(&sum, even);
        load_chain(tile, word, k + 2 * CHAIN, even);
        add_part(&sum, odd);
    }
    for (uint32_t k = whole; k < count; k++) {
        T number;
        load_number(tile, word, k, &number);
        add_raw(&sum, number);
    }
    *v = canonical(sum);
}

/* The steps of a tile, for one number (T: of 4 or 8 bytes) of the slice. Returns whether any
 * writes. */
template <typename T, typename OPERAND>
static __device__ inline bool apply_tile(const struct tile *tile, uint32_t count, bool plain,
                                         uint32_t op, uint32_t word, uint32_t offset, T *v)
{
    const uint32_t at = word * (uint32_t)(sizeof(OPERAND) / sizeof(T));
    OPERAND number;
    if constexpr (sizeof(OPERAND) == sizeof(T)) {
        if (plain && (op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32)) {
            add_chain(tile, word, count, v);
            return true;
        }
    }
    if (plain) {
#pragma unroll 8
        for (uint32_t k = 0; k < count; k++) {
            load_number(tile, at, k, &number);
            *v = row_made(op, *v, number);
        }
        return true;
    }
    bool wrote = false;
    for (uint32_t k = 0; k < count; k++) {
        if (tile->answers[k] != NULL) {
            T *answer = (T *)(tile->answers[k] + offset + 4 * word);
            __stcs(answer, *v);
        }
        if (tile->ops[k] != NO_WRITE) {
            load_number(tile, at, k, &number);
            *v = row_made(tile->ops[k], *v, number);
            wrote = true;
        }
    }
    return wrote;
}

/* As is_seen, by all threads of a block. */
static __device__ inline bool is_long_seen(const struct runs &runs, const struct segment &of)
{
    bool seen = of.last || of.first || runs.steps[of.end].answer != NULL;
    for (uint32_t j = of.begin + 1 + threadIdx.x; j < of.end && !seen; j += CROWD_THREADS) {
        seen = runs.steps[j].answer != NULL;
    }
    return __syncthreads_or(seen) != 0;
}

/* A slice of a segment, from byte `offset` of the row on, by a block. T: what one thread has of
 * it. */
template <typename T, typename OPERAND>
static __device__ inline void carry_out_slice(const struct sw_cuda_rows &rows,
                                              const struct runs &runs, const struct segment &of,
                                              uint32_t offset, struct long_memory *memory)
{
    constexpr uint32_t wider = sizeof(OPERAND) / sizeof(T);
    const uint32_t bytes = min(rows.value_bytes - offset, SLICE / wider);
    const uint32_t word = threadIdx.x * (uint32_t)(sizeof(T) / 4);
    const bool has_number = 4 * word < bytes;
    const step first = runs.steps[of.begin];
    const uint32_t op = runs.steps[of.begin + 1].op;
    struct tile_steps own = read_steps(runs, of.begin + 1, of.end);
    bool plain = fill_tile(own, wider * offset, wider * bytes, op, &memory->tiles[0]);
    uint32_t count = own.count;
    bool wrote = first.writes;
    T v = T();
    if (has_number) {
        first_step<T, OPERAND>(rows, of, first, offset + 4 * word, &v);
    }
    own = read_steps(runs, of.begin + 1 + TILE, of.end);
    uint32_t from = of.begin + 1;
    for (uint32_t turn = 0; count > 0; turn++) {
        __pipeline_wait_prior(0);
        /* M2: the tile; and the one before it was read */
        const bool all_plain = __syncthreads_and(plain) != 0;
        plain = fill_tile(own, wider * offset, wider * bytes, op, &memory->tiles[(turn + 1) % 2]);
        const uint32_t next_count = own.count;
        own = read_steps(runs, from + 2 * TILE, of.end);
        if (has_number) {
            wrote |= apply_tile<T, OPERAND>(&memory->tiles[turn % 2], count, all_plain, op, word,
                                            offset, &v);
        }
        from += TILE;
        count = next_count;
    }
    if (has_number) {
        last_step<T>(rows, runs, of, first.row, wrote, offset + 4 * word, v);
    }
}

/* Of the long segments those that are due, slice by slice. */
template <bool WIDE>
static __device__ inline void carry_out_long(const struct sw_cuda_rows &rows,
                                             const struct runs &runs, bool waiting, uint32_t unit,
                                             struct long_memory *memory)
{
    const uint32_t slice = WIDE ? SLICE / 2 : SLICE;
    const uint32_t slices = (rows.value_bytes + slice - 1) / slice;
    const uint64_t all = (uint64_t)rows.scratch.control->longs * slices;
    for (uint64_t at = blockIdx.x; at < all; at += gridDim.x) {
        const struct segment of = segment_of(runs, rows.scratch.longs[at / slices]);
        const uint32_t offset = (uint32_t)(at % slices) * slice;
        if (!is_due(of, waiting) || !is_long_seen(runs, of)) {
            continue;
        }
        if (WIDE) {
            carry_out_slice<uint32_t, uint2>(rows, runs, of, offset, memory);
        } else if (unit == 4) {
            carry_out_slice<uint32_t, uint32_t>(rows, runs, of, offset, memory);
        } else {
            carry_out_slice<uint2, uint2>(rows, runs, of, offset, memory);
        }
    }
}

#endif
