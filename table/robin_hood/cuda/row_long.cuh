/* SPDX-License-Identifier: MIT
 *
 * row_long.cuh - segments of many operations (row_runs.cuh). A sum of floats takes its steps one
 * after the other, some cycles each, so that a row which half of a batch adds to is bound by this
 * alone: a block has a slice of the row, few threads of its first warp carry out the steps of a
 * tile in shared memory, and meanwhile the other warps bring the operands of the next two: what
 * they load from memory comes later than a tile is added.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_LONG_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_LONG_CUH

#include <cuda_pipeline.h>

#include "table/robin_hood/cuda/row_runs.cuh"

/* Bytes of the operands of a slice. The first warp adds; the others bring operands, and have so
 * many of a tile each. */
#define SLICE 16
#define BRINGERS (CROWD_THREADS - 32)
#define TILE_EACH 2
#define TILE (TILE_EACH * BRINGERS)
/* How many numbers a thread loads before it adds the first of them. */
#define CHAIN 16
/* Room for the numbers of a tile at one place of the slice: behind the last ones as many are loaded
 * and never added. So that neither the threads that bring them meet a bank twice nor those that
 * load them, four at a time. */
#define TILE_ROOM (TILE + 2 * CHAIN + 8)
static_assert(TILE_ROOM % 32 == 8 && SLICE <= 16, "a bank a number");
/* One is added, and the others are brought. */
#define TILES 3

struct __align__(16) tile
{
    uint32_t numbers[SLICE / 4][TILE_ROOM]; /* of the operands */
    uint8_t *answers[TILE];
    uint8_t ops[TILE]; /* NO_WRITE: it does not write */
};
#define NO_WRITE 255

struct long_memory {
    struct tile tiles[TILES];
};

/* What a thread has of the steps of a tile, as it was loaded: nothing is made of it before the turn
 * in which it is used, so that none waits for it. */
struct tile_steps {
    const uint8_t *operands[TILE_EACH];
    uint8_t *answers[TILE_EACH];
    uint32_t kinds[TILE_EACH]; /* op and, in the second byte, whether it writes */
    uint32_t count;            /* of the tile */
};
static_assert(offsetof(step, op) % 4 == 0 && offsetof(step, writes) == offsetof(step, op) + 1,
              "a kind is one word");

static __device__ inline struct tile_steps read_steps(const struct runs &runs, uint32_t from,
                                                      uint32_t end)
{
    struct tile_steps own = {};
    own.count = from >= end ? 0 : min(end - from, (uint32_t)TILE);
#pragma unroll
    for (uint32_t k = 0; k < TILE_EACH; k++) {
        const uint32_t at = threadIdx.x - 32 + k * BRINGERS;
        if (threadIdx.x >= 32 && at < own.count) {
            const step *one = &runs.steps[from + at];
            own.operands[k] = one->operand;
            own.answers[k] = one->answer;
            own.kinds[k] = *(const uint32_t *)&one->op;
        }
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
        const uint8_t kind = (uint8_t)own.kinds[k];
        const bool writes = (own.kinds[k] >> 8 & 0xff) != 0; /* not, if there is no step */
        if (at < own.count) {
            plain = plain && writes && kind == op && own.answers[k] == NULL;
            tile->answers[at] = own.answers[k];
            tile->ops[at] = writes ? kind : NO_WRITE;
        }
        fill_numbers(writes ? own.operands[k] : NULL, at - threadIdx.x % 32, offset, bytes, tile);
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

static __device__ __forceinline__ void add_part(float *sum, const uint32_t part[CHAIN])
{
#pragma unroll
    for (uint32_t k = 0; k < CHAIN; k++) {
        *sum = __fadd_rn(*sum, __uint_as_float(part[k]));
    }
}

/* Adds the numbers of `count` steps, at least one, to *v, which becomes canonical: as
 * sw_row_sum_f32 one after the other, since a sum that is no number stays one. While some are added
 * the next ones are loaded. */
static __device__ __forceinline__ void add_chain(const struct tile *tile, uint32_t word,
                                                 uint32_t count, uint32_t *v)
{
    const uint32_t whole = count / (2 * CHAIN) * (2 * CHAIN);
    float sum = __uint_as_float(*v);
    uint32_t even[CHAIN], odd[CHAIN];
    load_chain(tile, word, 0, even);
    for (uint32_t k = 0; k < whole; k += 2 * CHAIN) {
        load_chain(tile, word, k + CHAIN, odd);
        add_part(&sum, even);
        load_chain(tile, word, k + 2 * CHAIN, even);
        add_part(&sum, odd);
    }
    for (uint32_t k = whole; k < count; k++) {
        sum = __fadd_rn(sum, __uint_as_float(tile->numbers[word][k]));
    }
    *v = sw_row_is_nan_f32(__float_as_uint(sum)) ? SW_ROW_NAN_F32 : __float_as_uint(sum);
}

/* The steps of a tile, for one number (T: of 4 or 8 bytes) of the slice. Returns whether any
 * writes. */
template <typename T, typename OPERAND>
static __device__ inline bool apply_tile(const struct tile *tile, uint32_t count, bool plain,
                                         uint32_t op, uint32_t word, uint32_t offset, T *v)
{
    const uint32_t at = word * (uint32_t)(sizeof(OPERAND) / sizeof(T));
    OPERAND number;
    if constexpr (sizeof(OPERAND) == 4) {
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
    bool plain[TILES - 1];
    uint32_t from = of.begin + 1; /* of the tile whose steps are read next */
    struct tile_steps own;
#pragma unroll
    for (uint32_t t = 0; t < TILES - 1; t++, from += TILE) {
        own = read_steps(runs, from, of.end);
        plain[t] = fill_tile(own, wider * offset, wider * bytes, op, &memory->tiles[t]);
    }
    bool wrote = first.writes;
    T v = T();
    if (has_number) {
        first_step<T, OPERAND>(rows, of, first, offset + 4 * word, &v);
    }
    own = read_steps(runs, from, of.end);
    uint32_t at = of.begin + 1; /* the tile that is added */
    for (uint32_t turn = 0; at < of.end; turn = (turn + 1) % TILES, at += TILE) {
        __pipeline_wait_prior(TILES - 2);
        /* M2: the tile; and the one before it was read */
        const bool all_plain = __syncthreads_and(plain[0]) != 0;
        struct tile *next = &memory->tiles[(turn + TILES - 1) % TILES];
        plain[0] = plain[1];
        plain[1] = fill_tile(own, wider * offset, wider * bytes, op, next);
        from += TILE;
        own = read_steps(runs, from, of.end);
        if (has_number) {
            wrote |= apply_tile<T, OPERAND>(&memory->tiles[turn], min(of.end - at, (uint32_t)TILE),
                                            all_plain, op, word, offset, &v);
        }
    }
    if (has_number) {
        last_step<T>(rows, runs, of, first.row, wrote, offset + 4 * word, v);
    }
}

/* Of the long segments those that are due, slice by slice. `pairs`: some steps add numbers of 8
 * bytes; else a thread has one of 4, so that it has but one sum to wait for. */
template <bool WIDE>
static __device__ inline void carry_out_long(const struct sw_cuda_rows &rows,
                                             const struct runs &runs, bool waiting, bool pairs,
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
        } else if (!pairs) {
            carry_out_slice<uint32_t, uint32_t>(rows, runs, of, offset, memory);
        } else {
            carry_out_slice<uint2, uint2>(rows, runs, of, offset, memory);
        }
    }
}

#endif
