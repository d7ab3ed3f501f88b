/* SPDX-License-Identifier: MIT
 *
 * row_long.cuh - segments of many operations (row_runs.cuh). A sum of floats takes its steps one
 * after the other, some cycles each, so that a row which half of a batch adds to is bound by this
 * alone: a block has a slice of the row, few of its threads carry out the steps of a tile in shared
 * memory, a number each, and meanwhile all of them bring the operands of the next one.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_LONG_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_LONG_CUH

#include <cuda_pipeline.h>

#include "table/robin_hood/cuda/row_runs.cuh"

/* Bytes of a slice, and operations of a tile. */
#define SLICE 32
#define TILE 512
#define TILE_EACH (TILE / CROWD_THREADS)
/* How many numbers a thread loads before it adds the first of them. */
#define CHAIN 16

struct __align__(16) tile
{
    uint32_t numbers[TILE + CHAIN][SLICE / 4]; /* of the operands; the last ones are never added */
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
        const uint32_t at = threadIdx.x + k * CROWD_THREADS;
        own.steps[k] = at < own.count ? runs.steps[from + at] : step();
    }
    return own;
}

/* Begins to copy the slice of the operands. Returns whether this thread's steps are sums by the
 * operation `op`, without answers. */
static __device__ inline bool fill_tile(const struct tile_steps &own, uint32_t offset,
                                        uint32_t bytes, uint32_t unit, uint32_t op,
                                        struct tile *tile)
{
    bool plain = true;
#pragma unroll
    for (uint32_t k = 0; k < TILE_EACH; k++) {
        const uint32_t at = threadIdx.x + k * CROWD_THREADS;
        const step &one = own.steps[k];
        if (at >= own.count) {
            break;
        }
        plain = plain && one.writes && one.op == op && one.answer == NULL;
        tile->answers[at] = one.answer;
        tile->ops[at] = one.writes ? one.op : NO_WRITE;
        if (!one.writes) {
            continue;
        }
        if (unit == 16) {
            for (uint32_t b = 0; b < bytes; b += 16) {
                __pipeline_memcpy_async((uint8_t *)tile->numbers[at] + b, one.operand + offset + b,
                                        16);
            }
        } else {
            for (uint32_t b = 0; b < bytes; b += 4) {
                __pipeline_memcpy_async((uint8_t *)tile->numbers[at] + b, one.operand + offset + b,
                                        4);
            }
        }
    }
    __pipeline_commit();
    return plain;
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

template <typename T>
static __device__ __forceinline__ void load_chain(const uint32_t *numbers, T part[CHAIN])
{
#pragma unroll
    for (uint32_t k = 0; k < CHAIN; k++) {
        part[k] = *(const T *)(numbers + k * (SLICE / 4));
    }
}

template <typename T> static __device__ __forceinline__ void add_part(T *sum, const T part[CHAIN])
{
#pragma unroll
    for (uint32_t k = 0; k < CHAIN; k++) {
        add_raw(sum, part[k]);
    }
}

/* Adds `count` numbers, at least one, to *v, which becomes canonical: as sw_row_sum_f32 one after
 * the other, since a sum that is no number stays one. While some are added the next ones are
 * loaded; behind the last ones there is room to load from. */
template <typename T>
static __device__ __forceinline__ void add_chain(T *v, const uint32_t *numbers, uint32_t count)
{
    const uint32_t *const end = numbers + count / (2 * CHAIN) * (2 * CHAIN) * (SLICE / 4);
    T sum = *v;
    T even[CHAIN], odd[CHAIN];
    load_chain(numbers, even);
    for (; numbers != end; numbers += 2 * CHAIN * (SLICE / 4)) {
        load_chain(numbers + CHAIN * (SLICE / 4), odd);
        add_part(&sum, even);
        load_chain(numbers + 2 * CHAIN * (SLICE / 4), even);
        add_part(&sum, odd);
    }
    for (uint32_t k = 0; k < count % (2 * CHAIN); k++) {
        add_raw(&sum, *(const T *)(numbers + k * (SLICE / 4)));
    }
    *v = canonical(sum);
}

/* The steps of a tile, for one number (T: of 4 or 8 bytes) of the slice. Returns whether any
 * writes. */
template <typename T>
static __device__ inline bool apply_tile(const struct tile *tile, uint32_t count, bool plain,
                                         uint32_t op, uint32_t word, uint32_t offset, T *v)
{
    const uint32_t *numbers = &tile->numbers[0][word];
    if (plain && (op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32)) {
        add_chain(v, numbers, count);
        return true;
    }
    if (plain) {
#pragma unroll 8
        for (uint32_t k = 0; k < count; k++) {
            *v = row_made(op, *v, *(const T *)(numbers + k * (SLICE / 4)));
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
            *v = row_made(tile->ops[k], *v, *(const T *)(numbers + k * (SLICE / 4)));
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
template <typename T>
static __device__ inline void
carry_out_slice(const struct sw_cuda_rows &rows, const struct runs &runs, const struct segment &of,
                uint32_t offset, uint32_t unit, struct long_memory *memory)
{
    const uint32_t bytes = min(rows.value_bytes - offset, (uint32_t)SLICE);
    const uint32_t word = threadIdx.x * (uint32_t)(sizeof(T) / 4);
    const bool has_number = 4 * word < bytes;
    const step first = runs.steps[of.begin];
    const uint32_t op = runs.steps[of.begin + 1].op;
    struct tile_steps own = read_steps(runs, of.begin + 1, of.end);
    bool plain = fill_tile(own, offset, bytes, unit, op, &memory->tiles[0]);
    uint32_t count = own.count;
    bool wrote = first.writes;
    T v = T();
    if (has_number) {
        first_step<T>(rows, of, first, offset + 4 * word, &v);
    }
    own = read_steps(runs, of.begin + 1 + TILE, of.end);
    uint32_t from = of.begin + 1;
    for (uint32_t turn = 0; count > 0; turn++) {
        const bool next_plain =
            fill_tile(own, offset, bytes, unit, op, &memory->tiles[(turn + 1) % 2]);
        const uint32_t next_count = own.count;
        own = read_steps(runs, from + 2 * TILE, of.end);
        __pipeline_wait_prior(1);
        /* M2: the tile */
        const bool all_plain = __syncthreads_and(plain) != 0;
        if (has_number) {
            wrote |=
                apply_tile<T>(&memory->tiles[turn % 2], count, all_plain, op, word, offset, &v);
        }
        __syncthreads(); /* M2: it was read */
        from += TILE;
        count = next_count;
        plain = next_plain;
    }
    __pipeline_wait_prior(0);
    if (has_number) {
        last_step<T>(rows, runs, of, first.row, wrote, offset + 4 * word, v);
    }
}

/* Of the long segments those that are due, slice by slice. */
static __device__ inline void carry_out_long(const struct sw_cuda_rows &rows,
                                             const struct runs &runs, bool waiting, uint32_t unit,
                                             struct long_memory *memory)
{
    const uint32_t slices = (rows.value_bytes + SLICE - 1) / SLICE;
    const uint64_t all = (uint64_t)rows.scratch.control->longs * slices;
    for (uint64_t at = blockIdx.x; at < all; at += gridDim.x) {
        const struct segment of = segment_of(runs, rows.scratch.longs[at / slices]);
        const uint32_t offset = (uint32_t)(at % slices) * SLICE;
        if (!is_due(of, waiting) || !is_long_seen(runs, of)) {
            continue;
        }
        if (unit == 4) {
            carry_out_slice<uint32_t>(rows, runs, of, offset, unit, memory);
        } else {
            carry_out_slice<uint2>(rows, runs, of, offset, unit, memory);
        }
    }
}

#endif
