/* SPDX-License-Identifier: MIT
 *
 * row_long_runs.cuh - long segments (row_runs.cuh): each block carries out a slice of the row. Half
 * of its warps load the operands of tiles into shared memory, some tiles ahead. Each of the other
 * warps applies the steps of a tile to one number of the slice. Adding f32 in order takes four
 * cycles a step, which would limit a row that half of a batch adds to. So each lane computes the
 * change by a piece of the tile, and the warp joins the pieces (binade.h). Where joining fails,
 * some pieces are added in order.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_LONG_RUNS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_LONG_RUNS_CUH

#include <cuda_pipeline.h>

#include "table/robin_hood/cuda/rows/row_binade.cuh"
#include "table/robin_hood/cuda/rows/row_runs.cuh"

/* Bytes of each operand in a slice. Each of the first ADDERS warps has a number of 4 bytes. */
#define SLICE 16
#define ADDERS (SLICE / 4)
/* The other threads load operands: TILE_EACH per thread and tile. */
#define LOADERS (OVERFULL_THREADS - 32 * ADDERS)
#define TILE_EACH 4
#define TILE (TILE_EACH * LOADERS)
/* Numbers of a piece; a tile has one piece for each lane. */
#define PIECE (TILE / 32)
/* Pieces that are added in order where joining fails. The sum then often crosses a power of two
 * back and forth. */
#define PIECES_IN_ORDER 8
/* Padded sizes of a piece, and of a tile at one place of the slice. They avoid bank conflicts of
 * the threads that store the numbers and of those that load them, four at a time. */
#define PIECE_ROOM (PIECE + 4)
#define TILE_ROOM (TILE / PIECE * PIECE_ROOM + 8)
static_assert(PIECE == 16 && TILE_ROOM % 32 == 8 && SLICE <= 16, "a bank a number");
static_assert(PIECE <= SW_BINADE_OPERANDS, "a change has at most SW_BINADE_OPERANDS operands");
/* Tiles in shared memory: one is being added while the others are loaded. */
#define TILES 4
/* A thread reads the steps of a tile READ_AHEAD tiles before it loads their operands. */
#define READ_AHEAD 2

struct __align__(16) tile
{
    uint32_t numbers[SLICE / 4][TILE_ROOM]; /* of the operands */
};

struct long_memory {
    struct tile tiles[TILES];
};

/* A thread's steps of a tile, as loaded. Nothing is computed from them before the iteration that
 * uses them, so no thread waits for these loads. */
struct tile_steps {
    const uint8_t *operands[TILE_EACH];
    const uint8_t *answers[TILE_EACH];
    uint32_t kinds[TILE_EACH]; /* the operation; in the second byte, whether the step writes */
    uint32_t count;            /* of the tile */
};
static_assert(offsetof(step, op) % 4 == 0 && offsetof(step, writes) == offsetof(step, op) + 1,
              "a kind is one word");

static __device__ __forceinline__ uint32_t kind_of(const step *one)
{
    return *(const uint32_t *)&one->op;
}

static __device__ __forceinline__ bool kind_writes(uint32_t kind)
{
    return (kind >> 8 & 0xff) != 0;
}

static __device__ inline struct tile_steps read_steps(const struct runs &runs, uint32_t from,
                                                      uint32_t end)
{
    struct tile_steps own = {};
    own.count = from >= end ? 0 : min(end - from, (uint32_t)TILE);
#pragma unroll
    for (uint32_t k = 0; k < TILE_EACH; k++) {
        const uint32_t at = threadIdx.x - 32 * ADDERS + k * LOADERS;
        if (at < own.count) {
            const step *one = &runs.steps[from + at];
            own.operands[k] = one->operand;
            own.answers[k] = one->answer;
            own.kinds[k] = kind_of(one);
        }
    }
    return own;
}

/* Index of number k of a tile. */
static __device__ __forceinline__ uint32_t place_of(uint32_t k)
{
    return k / PIECE * PIECE_ROOM + k % PIECE;
}

/* Starts to copy the slices of the operands of a warp's steps, one number a lane. */
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
            __pipeline_memcpy_async(&tile->numbers[word][place_of(first + of)],
                                    number + offset + 4 * word, 4);
        }
    }
}

/* Starts to copy the slice of the operands. Returns whether all steps of this thread are sums by
 * the operation `op` without answers. */
static __device__ inline bool fill_tile(const struct tile_steps &own, uint32_t offset,
                                        uint32_t bytes, uint32_t op, struct tile *tile)
{
    bool plain = true;
#pragma unroll
    for (uint32_t k = 0; k < TILE_EACH; k++) {
        const uint32_t at = threadIdx.x - 32 * ADDERS + k * LOADERS;
        const bool writes = kind_writes(own.kinds[k]); /* false if there is no step */
        plain = plain && (at >= own.count ||
                          (writes && (uint8_t)own.kinds[k] == op && own.answers[k] == NULL));
        fill_numbers(writes ? own.operands[k] : NULL, at - threadIdx.x % 32, offset, bytes, tile);
    }
    __pipeline_commit();
    return plain;
}

/* The operand of step k of a tile for the number, or the two numbers, from `word` on. */
static __device__ __forceinline__ void load_number(const struct tile *tile, uint32_t word,
                                                   uint32_t k, uint32_t *number)
{
    *number = tile->numbers[word][place_of(k)];
}

static __device__ __forceinline__ void load_number(const struct tile *tile, uint32_t word,
                                                   uint32_t k, uint2 *number)
{
    *number = make_uint2(tile->numbers[word][place_of(k)], tile->numbers[word + 1][place_of(k)]);
}

static __device__ __forceinline__ void load_piece(const struct tile *tile, uint32_t word,
                                                  uint32_t piece, uint32_t numbers[PIECE])
{
#pragma unroll
    for (uint32_t k = 0; k < PIECE; k += 4) {
        const uint4 four = *(const uint4 *)&tile->numbers[word][piece * PIECE_ROOM + k];
        numbers[k] = four.x;
        numbers[k + 1] = four.y;
        numbers[k + 2] = four.z;
        numbers[k + 3] = four.w;
    }
}

/* --- sums of f32 ------------------------------------------------------------------------------ */

/* Adds at least one piece in order, and loads the next piece meanwhile. A NaN sum stays NaN. */
static __device__ __forceinline__ void add_in_order(const struct tile *tile, uint32_t word,
                                                    uint32_t piece, uint32_t pieces, uint32_t *sum)
{
    float v = __uint_as_float(*sum);
    uint32_t next[PIECE];
    load_piece(tile, word, piece, next);
    for (uint32_t end = piece + pieces; piece < end; piece++) {
        uint32_t numbers[PIECE];
#pragma unroll
        for (uint32_t k = 0; k < PIECE; k++) {
            numbers[k] = next[k];
        }
        load_piece(tile, word, min(piece + 1, end - 1), next);
#pragma unroll
        for (uint32_t k = 0; k < PIECE; k++) {
            v = __fadd_rn(v, __uint_as_float(numbers[k]));
        }
    }
    *sum = __float_as_uint(v);
}

/* Adds pieces in parallel, one a lane, to a sum that has a binade. Returns the number of pieces
 * added: it stops before the first piece that may move the sum out of the binade. All lanes. */
static __device__ __forceinline__ uint32_t add_joined(const struct tile *tile, uint32_t word,
                                                      uint32_t piece, uint32_t pieces,
                                                      uint32_t *sum)
{
    const uint32_t lane = threadIdx.x % 32;
    const struct sw_binade binade = sw_binade_of(*sum);
    struct sw_binade_change own = sw_binade_none();
    if (lane < pieces) {
        uint32_t numbers[PIECE];
        load_piece(tile, word, piece + lane, numbers);
#pragma unroll
        for (uint32_t k = 0; k < PIECE; k++) {
            sw_binade_add(&binade, numbers[k], &own);
        }
    }
    return row_join(binade, own, pieces, sum);
}

/* Adds the numbers of `count` steps to *sum, which becomes canonical. The result equals
 * sw_row_sum_f32 in order. All lanes. */
static __device__ inline void add_all(const struct tile *tile, uint32_t word, uint32_t count,
                                      uint32_t *sum)
{
    const uint32_t pieces = count / PIECE;
    for (uint32_t piece = 0; piece < pieces;) {
        if (sw_binade_has(*sum)) {
            piece += add_joined(tile, word, piece, pieces - piece, sum);
        }
        const uint32_t next = min(pieces - piece, (uint32_t)PIECES_IN_ORDER);
        if (next > 0) {
            add_in_order(tile, word, piece, next, sum);
            piece += next;
        }
    }
    for (uint32_t k = pieces * PIECE; k < count; k++) {
        *sum = __float_as_uint(
            __fadd_rn(__uint_as_float(*sum), __uint_as_float(tile->numbers[word][place_of(k)])));
    }
    *sum = sw_row_is_nan_f32(*sum) ? SW_ROW_NAN_F32 : *sum;
}

/* --- steps of any kind ------------------------------------------------------------------------ */

/* Applies the steps of a tile in which some steps have answers, do not write, or have another
 * operation. `steps` points to the first one. Returns whether any step writes. All lanes. */
template <typename T, typename OPERAND>
static __device__ inline bool apply_mixed(const struct tile *tile, const step *steps,
                                          uint32_t count, uint32_t word, uint32_t offset, T *v)
{
    const uint32_t lane = threadIdx.x % 32;
    bool wrote = false;
    for (uint32_t from = 0; from < count; from += 32) {
        const step *one = &steps[min(from + lane, count - 1)];
        const unsigned long long answer = (unsigned long long)(uintptr_t)one->answer;
        const uint32_t kind = kind_of(one);
        for (uint32_t k = 0; k < min(count - from, 32U); k++) {
            uint8_t *to = (uint8_t *)__shfl_sync(SW_WARP_ALL, answer, (int)k);
            const uint32_t how = __shfl_sync(SW_WARP_ALL, kind, (int)k);
            if (to != NULL && lane == 0) {
                __stcs((T *)(to + offset), *v);
            }
            if (kind_writes(how)) {
                OPERAND number;
                load_number(tile, word, from + k, &number);
                *v = row_made(how & 0xff, *v, number);
                wrote = true;
            }
        }
    }
    return wrote;
}

/* Applies the steps of a tile to one number (T: 4 or 8 bytes) of the slice, at `offset` of the row.
 * The operands' numbers are at `word` of the tile. Returns whether any step writes. All lanes. */
template <typename T, typename OPERAND>
static __device__ inline bool apply_tile(const struct tile *tile, const step *steps, uint32_t count,
                                         bool plain, uint32_t op, uint32_t word, uint32_t offset,
                                         T *v)
{
    if (!plain) {
        return apply_mixed<T, OPERAND>(tile, steps, count, word, offset, v);
    }
    if constexpr (sizeof(OPERAND) == 4) {
        if (op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32) {
            add_all(tile, word, count, v);
            return true;
        }
    }
#pragma unroll 8
    for (uint32_t k = 0; k < count; k++) {
        OPERAND number;
        load_number(tile, word, k, &number);
        *v = row_made(op, *v, number);
    }
    return true;
}

/* --- segments --------------------------------------------------------------------------------- */

/* Same as is_seen, by all threads of a block, once they have read shared memory: the vote is a
 * barrier (M2). */
static __device__ inline bool is_long_seen(const struct runs &runs, const struct segment &of)
{
    bool seen = of.last || of.first || runs.steps[of.end].answer != NULL;
    for (uint32_t j = of.begin + 1 + threadIdx.x; j < of.end && !seen; j += OVERFULL_THREADS) {
        seen = runs.steps[j].answer != NULL;
    }
    return __syncthreads_or(seen) != 0;
}

/* A slice of the operands of a segment. */
struct slice {
    struct segment of;
    uint32_t offset, bytes;
    uint32_t op;   /* of the second step */
    uint32_t read; /* the next step to read */
    /* for each tile being loaded: whether this thread's steps are sums by `op` without answers
     */
    bool plain[TILES - 1];
};

/* Starts to load the tile of the steps in *own, after the tiles in flight. Then reads the steps of
 * a later tile. */
static __device__ __forceinline__ void load_tile(const struct runs &runs, struct slice *slice,
                                                 struct tile_steps *own, struct tile *tile)
{
#pragma unroll
    for (uint32_t t = 0; t + 1 < TILES - 1; t++) {
        slice->plain[t] = slice->plain[t + 1];
    }
    slice->plain[TILES - 2] = fill_tile(*own, slice->offset, slice->bytes, slice->op, tile);
    *own = read_steps(runs, slice->read, slice->of.end);
    slice->read += TILE;
}

/* Loads the slice tile by tile. Passes the same number of barriers as apply_slice. */
static __device__ inline void load_slice(const struct runs &runs, struct slice slice,
                                         struct long_memory *memory)
{
    struct tile_steps own[READ_AHEAD];
#pragma unroll
    for (uint32_t a = 0; a < READ_AHEAD; a++) {
        own[a] = read_steps(runs, slice.read, slice.of.end);
        slice.read += TILE;
    }
#pragma unroll
    for (uint32_t t = 0; t < TILES - 1; t++) {
        load_tile(runs, &slice, &own[t % READ_AHEAD], &memory->tiles[t]);
    }
    uint32_t at = slice.of.begin + 1; /* the first step of the tile being added */
    for (uint32_t turn = TILES - 1; at < slice.of.end;) {
#pragma unroll
        for (uint32_t a = 0; a < READ_AHEAD && at < slice.of.end; a++, turn++, at += TILE) {
            __pipeline_wait_prior(TILES - 2);
            __syncthreads_and(slice.plain[0]); /* M2: a tile is loaded, the last one read */
            load_tile(runs, &slice, &own[(a + TILES - 1) % READ_AHEAD],
                      &memory->tiles[turn % TILES]);
        }
    }
}

/* Carries out a segment on one number T of a row, at `offset` of the row. The operands are at
 * `word` of the slice. `has_number`: the number exists. By a warp. */
template <typename T, typename OPERAND>
static __device__ inline void apply_slice(const struct sw_cuda_rows &rows, const struct runs &runs,
                                          const struct segment &of, uint32_t op, bool has_number,
                                          uint32_t offset, uint32_t word,
                                          const struct long_memory *memory)
{
    const step first = runs.steps[of.begin];
    bool wrote = first.writes;
    T v = T();
    if (has_number) { /* all lanes do this and store the same values */
        first_step<T, OPERAND>(rows, of, first, offset, &v);
    }
    uint32_t turn = 0;
    for (uint32_t at = of.begin + 1; at < of.end; at += TILE, turn++) {
        const bool plain = __syncthreads_and(true) != 0; /* M2: as in load_slice */
        if (has_number) {
            wrote |= apply_tile<T, OPERAND>(&memory->tiles[turn % TILES], &runs.steps[at],
                                            min(of.end - at, (uint32_t)TILE), plain, op, word,
                                            offset, &v);
        }
    }
    if (has_number && threadIdx.x % 32 == 0) {
        last_step<T>(rows, runs, of, first.row, wrote, offset, v);
    }
}

/* Carries out a slice of a segment, from byte `offset` of the row on. By a block. T: the number of
 * one warp.
 */
template <typename T, typename OPERAND>
static __device__ inline void carry_out_slice(const struct sw_cuda_rows &rows,
                                              const struct runs &runs, const struct segment &of,
                                              uint32_t offset, struct long_memory *memory)
{
    constexpr uint32_t wider = sizeof(OPERAND) / sizeof(T);
    const uint32_t bytes = min(rows.value_bytes - offset, SLICE / wider);
    const uint32_t op = runs.steps[of.begin + 1].op;
    const uint32_t own = threadIdx.x / 32 * (uint32_t)sizeof(T);
    if (threadIdx.x >= 32 * ADDERS) {
        load_slice(runs, {of, wider * offset, wider * bytes, op, of.begin + 1, {}}, memory);
    } else {
        apply_slice<T, OPERAND>(rows, runs, of, op, own < bytes, offset + own, wider * own / 4,
                                memory);
    }
}

/* Carries out the long segments that are due, slice by slice. `pairs`: some steps add numbers of 8
 * bytes; otherwise a warp has one of 4 bytes. */
template <bool WIDE>
static __device__ inline void carry_out_long(const struct sw_cuda_rows &rows,
                                             const struct runs &runs, bool waiting, bool pairs,
                                             struct long_memory *memory)
{
    const uint32_t slice = WIDE ? SLICE / 2 : SLICE;
    const uint32_t slices = (rows.value_bytes + slice - 1) / slice;
    const uint64_t all = (uint64_t)rows.scratch.control->longs * slices;
    for (uint64_t at = blockIdx.x; at < all; at += gridDim.x) {
        const uint32_t number = rows.scratch.longs[at / slices];
        const struct segment of = segment_of(runs, number & ~ROW_DONE);
        const uint32_t offset = (uint32_t)(at % slices) * slice;
        if ((number & ROW_DONE) != 0 || !is_due(of, waiting) || !is_long_seen(runs, of)) {
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
