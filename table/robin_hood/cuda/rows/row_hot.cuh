/* SPDX-License-Identifier: MIT
 *
 * row_hot.cuh - a contended row: a segment that has a large part of all steps, all of them sums of
 * f32 without answers. All blocks carry it out together. row_long_runs.cuh would leave it to a few
 * blocks, which cannot load operands fast enough. The steps are cut into tiles:
 *
 *   1. The blocks sum up the numbers of each tile, in any order. These sums give an estimate of the
 *      sum before each tile, and so its binade (binade.h).
 *   2. The blocks compute the change by each tile of a sum in this binade.
 *   3. A warp for each number of the row joins the tiles. If the sum is in another binade than
 *      estimated, or leaves the binade, the warp adds the operands of the tile in order.
 *
 * So the resulting bits equal those of one sum in array order, however inaccurate the first sums
 * are.
 *
 * Memory order: a grid barrier completes each step in all blocks before the next step begins (M4).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_HOT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_HOT_CUH

#include "table/robin_hood/cuda/rows/row_binade.cuh"
#include "table/robin_hood/cuda/rows/row_runs.cuh"

/* A segment is hot from HOT_STEPS steps and 1/HOT_PART of all steps. For a smaller one the grid
 * barriers cost more than they save. Rows of more than HOT_ROW_BYTES have slices for many blocks,
 * and this method would read their operands twice. */
#define HOT_STEPS 16384
#define HOT_PART 8
#define HOT_ROW_BYTES 1024
/* Steps of a tile; each thread reads the address of one operand. */
#define HOT_TILE OVERFULL_THREADS
/* Numbers of a row that are summed at once. */
#define HOT_NUMBERS 64U
/* Loads that a thread has in flight. */
#define HOT_IN_FLIGHT 16
#define GUESSES_IN_FLIGHT 8
static_assert(HOT_TILE <= SW_BINADE_OPERANDS, "whether a tile holds");

/* The change of a number by a tile, for a sum in the binade of `guess`. */
struct __align__(16) hot_change
{
    uint32_t even;
    int32_t low, high;
    uint32_t rest; /* strayed, and `odd` + 1 */
};

static_assert((HOT_STEPS / HOT_TILE + 1) * HOT_NUMBERS * sizeof(struct hot_change) <=
                  HOT_STEPS * sizeof(uint64_t),
              "scratch.sorted has room, which the sort needs no more");

struct hot_memory {
    const uint8_t *operands[HOT_TILE];
    struct sw_binade_change changes[OVERFULL_THREADS];
    float sums[OVERFULL_THREADS];
};

/* Some numbers of a segment, and the arrays for its tiles. Each array holds the numbers of a tile
 * side by side, tile after tile. */
struct hot {
    struct segment of;
    uint32_t first_step, steps, tiles;
    uint32_t offset;  /* of the first number in the row */
    uint32_t numbers; /* at most HOT_NUMBERS */
    uint32_t lanes;   /* the next power of two */
    float *guesses;   /* first the sums of tiles */
    struct hot_change *changes;
};

/* The steps of a tile, and the number, that this thread sums; no steps if there is no such number.
 */
struct hot_share {
    uint32_t number, begin, end;
};

static __device__ inline struct hot_share share_of_tile(const struct hot &hot, uint32_t tile)
{
    const uint32_t parts = OVERFULL_THREADS / hot.lanes;
    const uint32_t steps = min(hot.steps - tile * HOT_TILE, (uint32_t)HOT_TILE);
    const uint32_t each = HOT_TILE / parts;
    const uint32_t begin = min(threadIdx.x / hot.lanes * each, steps);
    const uint32_t number = threadIdx.x % hot.lanes;
    return {number, begin, number < hot.numbers ? min(begin + each, steps) : begin};
}

/* Reads the operand addresses of a tile. Returns true if this thread's step is a sum of f32 without
 * an answer, or if the thread has no step. */
static __device__ inline bool read_tile(const struct runs &runs, const struct hot &hot,
                                        uint32_t tile, struct hot_memory *memory)
{
    const uint32_t k = tile * HOT_TILE + threadIdx.x;
    bool plain = true;
    __syncthreads(); /* M2: the addresses of the previous tile were read */
    if (k < hot.steps) {
        const step *one = &runs.steps[hot.first_step + k];
        plain = one->writes && one->answer == NULL &&
                (one->op == SW_ADD_F32 || one->op == SW_ADD_PRESENT_F32);
        memory->operands[threadIdx.x] = one->operand;
    }
    __syncthreads(); /* M2: the addresses */
    return plain;
}

/* Calls `take` with each operand of the share, in order. */
template <typename TAKE>
static __device__ __forceinline__ void each_operand(const struct hot &hot,
                                                    const struct hot_memory *memory,
                                                    const struct hot_share &share, TAKE take)
{
    const uint32_t offset = hot.offset + 4 * share.number;
    uint32_t k = share.begin;
    for (; k + HOT_IN_FLIGHT <= share.end; k += HOT_IN_FLIGHT) {
        uint32_t operands[HOT_IN_FLIGHT];
#pragma unroll
        for (uint32_t j = 0; j < HOT_IN_FLIGHT; j++) {
            operands[j] = __ldcg((const uint32_t *)(memory->operands[k + j] + offset));
        }
#pragma unroll
        for (uint32_t j = 0; j < HOT_IN_FLIGHT; j++) {
            take(operands[j]);
        }
    }
    for (; k < share.end; k++) {
        take(__ldcg((const uint32_t *)(memory->operands[k] + offset)));
    }
}

/* Step 1. Returns whether all steps of this thread are sums of f32 without answers. */
static __device__ inline bool sum_tiles(const struct runs &runs, const struct hot &hot,
                                        struct hot_memory *memory)
{
    bool plain = true;
    for (uint32_t tile = blockIdx.x; tile < hot.tiles; tile += gridDim.x) {
        plain = read_tile(runs, hot, tile, memory) && plain;
        const struct hot_share share = share_of_tile(hot, tile);
        float sum = 0;
        if (__syncthreads_and(plain) == 0) { /* M2; false: some step may have no operand */
            continue;
        }
        each_operand(hot, memory, share,
                     [&](uint32_t operand) { sum += __uint_as_float(operand); });
        memory->sums[threadIdx.x] = sum;
        __syncthreads(); /* M2: the sums of all threads */
        if (threadIdx.x < hot.numbers) {
            for (uint32_t t = threadIdx.x + hot.lanes; t < OVERFULL_THREADS; t += hot.lanes) {
                sum += memory->sums[t];
            }
            hot.guesses[tile * hot.numbers + share.number] = sum;
        }
    }
    return plain;
}

/* Replaces the sums of the tiles of one number by an estimate of the sum before each tile. By a
 * warp. */
static __device__ inline void guess(const struct hot &hot, uint32_t number, uint32_t sum)
{
    const uint32_t lane = threadIdx.x % 32;
    float before = __uint_as_float(sum);
    for (uint32_t from = 0; from < hot.tiles; from += 32 * GUESSES_IN_FLIGHT) {
        float own[GUESSES_IN_FLIGHT];
#pragma unroll
        for (uint32_t g = 0; g < GUESSES_IN_FLIGHT; g++) {
            const uint32_t tile = from + 32 * g + lane;
            own[g] = tile < hot.tiles ? __ldcg(&hot.guesses[tile * hot.numbers + number]) : 0;
        }
#pragma unroll
        for (uint32_t g = 0; g < GUESSES_IN_FLIGHT; g++) {
            const uint32_t tile = from + 32 * g + lane;
            float upto = own[g];
#pragma unroll
            for (uint32_t by = 1; by < 32; by *= 2) {
                const float other = __shfl_up_sync(SW_WARP_ALL, upto, by);
                upto += lane >= by ? other : 0;
            }
            if (tile < hot.tiles) {
                hot.guesses[tile * hot.numbers + number] = before + (upto - own[g]);
            }
            before += __shfl_sync(SW_WARP_ALL, upto, 31);
        }
    }
}

/* Step 2. */
static __device__ inline void change_tiles(const struct runs &runs, const struct hot &hot,
                                           struct hot_memory *memory)
{
    for (uint32_t tile = blockIdx.x; tile < hot.tiles; tile += gridDim.x) {
        (void)read_tile(runs, hot, tile, memory);
        const struct hot_share share = share_of_tile(hot, tile);
        struct sw_binade_change own = sw_binade_none();
        if (share.number < hot.numbers) {
            const uint32_t sum =
                __float_as_uint(__ldcg(&hot.guesses[tile * hot.numbers + share.number]));
            const struct sw_binade binade = sw_binade_of(sum);
            own.strayed = sw_binade_has(sum) ? 0 : SW_BINADE_ABOVE;
            each_operand(hot, memory, share,
                         [&](uint32_t operand) { sw_binade_add(&binade, operand, &own); });
        }
        memory->changes[threadIdx.x] = own;
        __syncthreads(); /* M2: the changes of all threads */
        if (threadIdx.x < hot.numbers) {
            for (uint32_t t = threadIdx.x + hot.lanes; t < OVERFULL_THREADS; t += hot.lanes) {
                own = sw_binade_join(&own, &memory->changes[t]);
            }
            const uint32_t rest = (own.strayed & SW_BINADE_ABOVE) | (uint32_t)(own.odd + 1);
            hot.changes[tile * hot.numbers + share.number] = {own.even, own.low, own.high, rest};
        }
    }
}

/* The change and the guess of this lane's tile. */
struct hot_known {
    uint4 change;
    uint32_t guess;
};

static __device__ __forceinline__ struct hot_known known_of(const struct hot &hot, uint32_t tile,
                                                            uint32_t number)
{
    const uint32_t at = min(tile, hot.tiles - 1) * hot.numbers + number;
    return {__ldcg((const uint4 *)&hot.changes[at]), __float_as_uint(__ldcg(&hot.guesses[at]))};
}

/* The change of a sum in the binade of `sum` by a tile. It is marked as strayed if the tile's guess
 * is in another binade. */
static __device__ __forceinline__ struct sw_binade_change change_of(const struct hot_known &known,
                                                                    uint32_t sum)
{
    struct sw_binade_change own;
    own.even = known.change.x;
    own.low = (int32_t)known.change.y;
    own.high = (int32_t)known.change.z;
    own.odd = (int32_t)(known.change.w & 3) - 1;
    own.strayed = known.change.w | (known.guess ^ sum);
    return own;
}

/* Adds the operands of a tile to `sum`, in order. By a warp. */
static __device__ inline uint32_t add_tile(const struct runs &runs, const struct hot &hot,
                                           uint32_t tile, uint32_t number, uint32_t sum)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t end = min(hot.steps, (tile + 1) * HOT_TILE);
    uint32_t operands[HOT_TILE / 32];
#pragma unroll
    for (uint32_t r = 0; r < HOT_TILE / 32; r++) {
        const uint32_t k = tile * HOT_TILE + 32 * r + lane;
        const uint8_t *operand = runs.steps[hot.first_step + min(k, end - 1)].operand;
        operands[r] = __ldcg((const uint32_t *)(operand + hot.offset + 4 * number));
    }
    float v = __uint_as_float(sum);
#pragma unroll
    for (uint32_t r = 0; r < HOT_TILE / 32; r++) {
        const uint32_t first = tile * HOT_TILE + 32 * r;
        const uint32_t count = first < end ? min(end - first, 32U) : 0;
#pragma unroll 8
        for (uint32_t k = 0; k < count; k++) {
            v = __fadd_rn(v, __uint_as_float(__shfl_sync(SW_WARP_ALL, operands[r], (int)k)));
        }
    }
    return __float_as_uint(v);
}

/* Step 3, for one number. By a warp. */
static __device__ inline uint32_t join_tiles(const struct runs &runs, const struct hot &hot,
                                             uint32_t number, uint32_t sum)
{
    const uint32_t lane = threadIdx.x % 32;
    struct hot_known own = known_of(hot, lane, number);
    for (uint32_t tile = 0; tile < hot.tiles;) {
        const struct hot_known next = known_of(hot, tile + 32 + lane, number);
        const uint32_t count = min(hot.tiles - tile, 32U);
        uint32_t added = 0;
        if (sw_binade_has(sum)) {
            const struct sw_binade binade = sw_binade_of(sum);
            added = row_join(binade, change_of(own, sum), count, &sum);
        }
        tile += added;
        own = next;
        if (added < count) {
            sum = add_tile(runs, hot, tile++, number, sum);
            own = known_of(hot, tile + lane, number);
        }
    }
    return sw_row_is_nan_f32(sum) ? SW_ROW_NAN_F32 : sum;
}

/* Carries out some numbers of a hot segment. Returns false, and changes nothing, if some step is
 * not a sum of f32 without an answer. */
static __device__ inline bool carry_out_numbers(const struct sw_cuda_rows &rows,
                                                const struct runs &runs, const struct hot &hot,
                                                struct hot_memory *memory)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    uint32_t *uneven = rows.scratch.counts; /* by block */
    const uint32_t warp = blockIdx.x + gridDim.x * (threadIdx.x / 32);
    const uint32_t warps = gridDim.x * (OVERFULL_THREADS / 32);
    const step first = runs.steps[hot.of.begin];
    /* M2: all threads vote after their last tile */
    const bool plain = __syncthreads_and(sum_tiles(runs, hot, memory)) != 0;
    if (threadIdx.x == 0) {
        uneven[blockIdx.x] = plain ? 0 : 1;
    }
    grid.sync(); /* M4: the sums, and whether all steps are plain */
    bool all = true;
    for (uint32_t b = threadIdx.x; b < gridDim.x; b += OVERFULL_THREADS) {
        all = all && __ldcg(&uneven[b]) == 0;
    }
    if (__syncthreads_and(all) == 0) { /* M2: the vote of all threads */
        grid.sync();                   /* M4: all blocks have read `uneven` */
        return false;
    }
    uint32_t sum = 0; /* by all lanes: they store the same values, and store them again below */
    for (uint32_t number = warp; number < hot.numbers; number += warps) {
        first_step<uint32_t, uint32_t>(rows, hot.of, first, hot.offset + 4 * number, &sum);
        guess(hot, number, sum);
    }
    grid.sync(); /* M4: the guesses */
    change_tiles(runs, hot, memory);
    grid.sync(); /* M4: the changes */
    for (uint32_t number = warp; number < hot.numbers; number += warps) {
        const uint32_t offset = hot.offset + 4 * number;
        first_step<uint32_t, uint32_t>(rows, hot.of, first, offset, &sum);
        sum = join_tiles(runs, hot, number, sum);
        __syncwarp(); /* M3: all lanes have read the number */
        if (threadIdx.x % 32 == 0) {
            last_step<uint32_t>(rows, runs, hot.of, first.row, true, offset, sum);
        }
    }
    grid.sync(); /* M4: all blocks have read guesses and changes before the next numbers overwrite
                    them */
    return true;
}

/* Returns whether a segment is large enough for all blocks, and its result is visible: in the row
 * or in an answer. */
static __device__ inline bool is_hot(const struct runs &runs, const struct segment &of)
{
    const uint32_t steps = of.end - of.begin;
    return steps >= HOT_STEPS && steps >= runs.count / HOT_PART &&
           (of.first || of.last || runs.steps[of.end].answer != NULL);
}

/* Carries out the long segments that are due and hot. By all blocks. */
static __device__ inline void carry_out_hot(const struct sw_cuda_rows &rows,
                                            const struct runs &runs, bool waiting,
                                            struct hot_memory *memory)
{
    const uint32_t longs = rows.value_bytes <= HOT_ROW_BYTES ? rows.scratch.control->longs : 0;
    for (uint32_t at = 0; at < longs; at++) {
        const uint32_t number = rows.scratch.longs[at];
        const struct segment of = segment_of(runs, number & ~ROW_DONE);
        if ((number & ROW_DONE) != 0 || !is_due(of, waiting) || !is_hot(runs, of)) {
            continue;
        }
        struct hot hot = {};
        hot.of = of;
        hot.first_step = of.begin + 1;
        hot.steps = of.end - hot.first_step;
        hot.tiles = (hot.steps + HOT_TILE - 1) / HOT_TILE;
        hot.guesses = (float *)rows.scratch.sorted[0];
        hot.changes = (struct hot_change *)rows.scratch.sorted[1];
        bool done = true;
        for (hot.offset = 0; done && hot.offset < rows.value_bytes; hot.offset += 4 * HOT_NUMBERS) {
            hot.numbers = min((rows.value_bytes - hot.offset) / 4, HOT_NUMBERS);
            for (hot.lanes = 1; hot.lanes < hot.numbers;) {
                hot.lanes *= 2;
            }
            done = carry_out_numbers(rows, runs, hot, memory);
        }
        if (done && blockIdx.x == 0 && threadIdx.x == 0) {
            rows.scratch.longs[at] = number | ROW_DONE;
        }
        cooperative_groups::this_grid().sync(); /* M4: the list; all blocks have read the number */
    }
}

#endif
