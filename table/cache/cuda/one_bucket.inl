/* SPDX-License-Identifier: MIT
 *
 * one_bucket.inl - large batches that write, in THROUGHPUT mode: a group of lanes a row carries out
 * its operations, one after the other, since nobody else changes its bucket; and the warp moves the
 * values, many at a time, as one stream (rows.cuh).
 *
 * Who includes it says first:
 *
 *   SW_CACHE_LANES  of a group
 *   PART_ROWS       rows of a part, which is what a block carries out
 *   PART_OPS        operations that a part has room for
 *   ROW_OPS         operations that a row has room for
 *   LISTED          values that a warp lists before it moves them
 *   BLOCKS          blocks of a multiprocessor at a time, at least
 */
#include "table/cache/operate.inl"

#include <cuda_pipeline.h>

#include "table/cache/cuda/marks.cuh"
#include "table/cache/cuda/moves.cuh"
#include "table/cache/cuda/rows.cuh"
#include "table/cache/cuda/step.cuh"

#define THREADS (PART_ROWS * SW_CACHE_LANES)
#define GROUPS (32 / SW_CACHE_LANES) /* of a warp */

/* A warp's lists have room for what its groups list then. */
#define ROOM (LISTED + GROUPS)

/* How often each result was, in bits of a number. */
#if ROW_OPS < 32
typedef uint32_t row_results;
#define RESULT_BITS 5
#else
typedef uint64_t row_results;
#define RESULT_BITS 8
#endif

/* What the threads of a block share: the operations of a part, in rows. */
struct block {
    struct op {
        uint64_t key;
        uint32_t id; /* its number in the piece */
        uint32_t digest;
    } ops[PART_OPS];
    struct sw_cache_way ways[THREADS / 32][SW_CACHE_LIST_COUNT][ROOM];
    uint32_t counts[PART_ROWS];        /* operations of each row */
    uint16_t rows[ROW_OPS][PART_ROWS]; /* [r][row]: its operation r */
    uint64_t awaited[PART_ROWS][2];    /* a bit a slot: a listed value goes there */
};

/* A row at hand. */
struct row {
    uint64_t bucket;
    uint32_t count; /* operations */
    uint32_t at;    /* the next one */
    row_results results;
};

/* --- operations ------------------------------------------------------------------------------- */

/* The row of a thread's group, in its part. */
static __device__ __forceinline__ uint32_t my_row(void)
{
    return threadIdx.x / SW_CACHE_LANES;
}

static __device__ __forceinline__ const struct block::op *op_at(const struct block *block,
                                                                uint32_t r)
{
    return block->ops + block->rows[r][my_row()];
}

/* Carries the operation at hand out, but for values, and goes on; unless the bucket must have marks
 * first, which *unmarked becomes. */
template <uint32_t OP>
static __device__ __forceinline__ void
carry_out(const struct sw_cache_piece *piece, struct sw_cache_group g, const struct block *block,
          struct row *row, struct sw_cache_moves *moves, uint64_t *unmarked)
{
    const struct sw_cache_launch *launch = &piece->launch;
    struct sw_cache_slots slots = launch->slots;
    slots.two = 0;
    struct block::op op = *op_at(block, row->at);
    struct sw_cache_home home = {row->bucket, row->bucket, op.digest};
    uint64_t index = piece->first + op.id;
    struct sw_cache_step step =
        sw_cache_step_of<OP>(launch, index, op.key, sw_cache_given(&launch->work, index));
    struct sw_cache_sink sink = sw_cache_sink_of<OP>(launch);
    uint32_t result =
        sw_cache_try_operate(g, &slots, &launch->work.time, &step, &home, &sink, moves, unmarked);
    if (*unmarked != SW_CACHE_NOWHERE) {
        *moves = SW_CACHE_NO_MOVES;
        return;
    }
    row->results += (row_results)1 << (RESULT_BITS * result);
    row->at++;
    if (g.lane == 0 && launch->work.batch.results != NULL) {
        launch->work.batch.results[index] = (uint8_t)result;
    }
    sw_cache_join(g);
}

/* Whether a group's operation moves a value from or to a slot that a listed one goes to. */
static __device__ __forceinline__ bool must_wait(const struct block *block,
                                                 const struct sw_cache_moves *moves)
{
    uint32_t slot = (uint32_t)(moves->slot % SW_CACHE_BUCKET_SLOTS);
    return moves->slot != SW_CACHE_NOWHERE &&
           (block->awaited[my_row()][slot / 64] >> slot % 64 & 1) != 0;
}

static __device__ __forceinline__ void await(struct block *block,
                                             const struct sw_cache_moves *moves)
{
    uint32_t slot = (uint32_t)(moves->slot % SW_CACHE_BUCKET_SLOTS);
    if (moves->in_from != NULL) {
        block->awaited[my_row()][slot / 64] |= 1ULL << slot % 64;
    }
}

static __device__ __forceinline__ void await_nothing(struct block *block)
{
    if (threadIdx.x % SW_CACHE_LANES == 0) {
        block->awaited[my_row()][0] = 0;
        block->awaited[my_row()][1] = 0;
    }
}

/* Carries out the rows of a warp's groups. Values are moved when many are listed, when one must
 * wait for a listed one, and at the end. All lanes. */
template <uint32_t OP>
static __device__ __forceinline__ void carry_out_rows(const struct sw_cache_piece *piece,
                                                      struct sw_cache_group g, struct block *block,
                                                      struct row *row)
{
    struct sw_cache_lists<ROOM> lists = {
    };
    lists.ways = block->ways[threadIdx.x / 32];
    do {
        struct sw_cache_moves moves = SW_CACHE_NO_MOVES;
        uint64_t unmarked = SW_CACHE_NOWHERE;
        bool left = __any_sync(0xffffffffU, row->at < row->count);
        if (row->at < row->count) {
            carry_out<OP>(piece, g, block, row, &moves, &unmarked);
        }
        if (g.lane != 0) {
            moves = SW_CACHE_NO_MOVES;
            unmarked = SW_CACHE_NOWHERE;
        }
        sw_cache_make_marks_of(&piece->launch.slots, unmarked);
        if (!left || max(lists.counts[0], lists.counts[1]) > LISTED ||
            __any_sync(0xffffffffU, must_wait(block, &moves))) {
            sw_cache_move_listed<OP>(&piece->launch, &lists);
            await_nothing(block);
        }
        sw_cache_list_moves<OP>(&piece->launch.slots, &lists, &moves);
        await(block, &moves);
    } while (__any_sync(0xffffffffU, row->at < row->count) || lists.counts[0] != 0 ||
             lists.counts[1] != 0);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Puts the operations of a part in rows, and empties it for the next piece; what a row has no room
 * for is left for later. All threads of a block. */
static __device__ __forceinline__ void open_part(const struct sw_cache_piece *piece,
                                                 struct block *block, uint32_t count)
{
    constexpr uint32_t EACH = (PART_OPS + THREADS - 1) / THREADS;
    const struct sw_cache_rows *rows = &piece->rows;
    const struct sw_cache_part_op *part = rows->parts + (uint64_t)blockIdx.x * PART_OPS;
    struct sw_cache_part_op mine[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        uint32_t i = threadIdx.x + k * THREADS;
        mine[k] = i < count ? part[i] : sw_cache_part_op();
    }
    block->counts[my_row()] = 0;
    await_nothing(block);
    __syncthreads();
    if (threadIdx.x == 0) {
        rows->part_counts[blockIdx.x].ops = 0;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        uint32_t i = threadIdx.x + k * THREADS;
        if (i < count) {
            const uint64_t *key = piece->launch.work.batch.keys + piece->first + mine[k].id;
            __pipeline_memcpy_async(&block->ops[i].key, key, sizeof(*key));
            block->ops[i].id = mine[k].id;
            block->ops[i].digest = SW_CACHE_PART_DIGEST(mine[k].code);
            uint32_t row = SW_CACHE_PART_ROW(mine[k].code);
            uint32_t r = atomicAdd(block->counts + row, 1U);
            if (r < ROW_OPS) {
                block->rows[r][row] = (uint16_t)i;
            } else {
                rows->rest[atomicAdd(rows->rest_count, 1U)] = mine[k].id;
            }
        }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

/* Adds what the rows of a block did to the tally. All threads; `results` of lanes 0. */
static __device__ __forceinline__ void count_rows(const struct sw_cache_piece *piece,
                                                  row_results results)
{
    __shared__ uint32_t counts[SW_CACHE_RESULTS];
    sw_cache_open_counts(counts);
#pragma unroll
    for (uint32_t kind = 0; kind < SW_CACHE_RESULTS; kind++) {
        uint32_t sum = __reduce_add_sync(0xffffffffU, (uint32_t)(results >> (RESULT_BITS * kind)) &
                                                          ((1U << RESULT_BITS) - 1));
        if (threadIdx.x % 32 == 0 && sum != 0) {
            atomicAdd(&counts[kind], sum);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sw_cache_add_results(piece->launch.tally, counts, false);
    }
}

template <uint32_t OP>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    one_bucket_kernel(const struct sw_cache_piece piece)
{
    __shared__ struct block block;
    sw_cuda_follow();
    uint32_t count = min(piece.rows.part_counts[blockIdx.x].ops, PART_OPS);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *piece.rows.rest_count_next = 0;
    }
    if (count == 0) {
        return;
    }
    open_part(&piece, &block, count);
    struct row row = {};
    row.bucket = (uint64_t)blockIdx.x * PART_ROWS + my_row();
    row.count = min(block.counts[my_row()], (uint32_t)ROW_OPS);
    struct sw_cache_group g = sw_cache_my_group();
    carry_out_rows<OP>(&piece, g, &block, &row);
    count_rows(&piece, g.lane == 0 ? row.results : 0);
}

template <uint32_t OP>
static cudaError_t launch_one(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, one_bucket_kernel<OP>,
                                    sw_cache_parts(&piece->launch.slots, PART_ROWS), THREADS,
                                    stream, *piece);
}

/* The kernel of the batch's operation. */
static cudaError_t launch_op(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    switch (piece->launch.work.batch.op) {
    case SW_CACHE_INSERT_OR_ASSIGN:
        return launch_one<SW_CACHE_INSERT_OR_ASSIGN>(piece, stream);
    case SW_CACHE_INSERT_AND_EVICT:
        return launch_one<SW_CACHE_INSERT_AND_EVICT>(piece, stream);
    case SW_CACHE_FIND_OR_INSERT:
        return launch_one<SW_CACHE_FIND_OR_INSERT>(piece, stream);
    case SW_CACHE_ACCUM_OR_ASSIGN:
        return launch_one<SW_CACHE_ACCUM_OR_ASSIGN>(piece, stream);
    case SW_CACHE_ASSIGN:
        return launch_one<SW_CACHE_ASSIGN>(piece, stream);
    case SW_CACHE_ASSIGN_SCORES:
        return launch_one<SW_CACHE_ASSIGN_SCORES>(piece, stream);
    default:
        return launch_one<SW_CACHE_ASSIGN_VALUES>(piece, stream);
    }
}
