/* SPDX-License-Identifier: MIT
 *
 * one_bucket.cu - large batches that write, in THROUGHPUT mode: a thread a row carries out its
 * operations, one after the other, since nobody else changes its bucket; and the warp moves the
 * values, many at a time, as one stream (rows.cuh).
 */
#define SW_CACHE_LANES 1
#include "table/cache/operate.inl"

#include "table/cache/cuda/marks.cuh"
#include "table/cache/cuda/moves.cuh"
#include "table/cache/cuda/rows.cuh"
#include "table/cache/cuda/step.cuh"

/* Blocks of a multiprocessor at a time, at least: registers against latency. */
#ifndef SW_CACHE_ONE_BUCKET_BLOCKS
#define SW_CACHE_ONE_BUCKET_BLOCKS 12
#endif

/* A warp's lists have room for what 32 operations move while they are half full. */
#define ROOM 64U

/* What the threads of a block share: the operations of a part, in rows. */
struct block {
    struct op {
        uint64_t key;
        uint32_t id; /* its number in the piece */
        uint32_t digest;
    } ops[SW_CACHE_PART_OPS];
    struct sw_cache_way ways[SW_CACHE_PART_ROWS / 32][SW_CACHE_LIST_COUNT][ROOM];
    uint32_t counts[SW_CACHE_PART_ROWS];             /* operations of each row */
    uint16_t rows[SW_CACHE_ROW][SW_CACHE_PART_ROWS]; /* [r][row]: its operation r */
    uint64_t awaited[SW_CACHE_PART_ROWS][2];         /* a bit a slot: a listed value goes there */
};

/* A row at hand. */
struct row {
    uint64_t bucket;
    uint32_t count;   /* operations */
    uint32_t at;      /* the next one */
    uint32_t results; /* 5 bits for each result: how often */
};

/* --- operations ------------------------------------------------------------------------------- */

static __device__ __forceinline__ const struct block::op *op_at(const struct block *block,
                                                                uint32_t r)
{
    return block->ops + block->rows[r][threadIdx.x];
}

/* Carries the operation at hand out, but for values, and goes on; unless the bucket must have marks
 * first, which *unmarked becomes. */
template <uint32_t OP>
static __device__ __forceinline__ void carry_out(const struct sw_cache_piece *piece,
                                                 const struct block *block, struct row *row,
                                                 struct sw_cache_moves *moves, uint64_t *unmarked)
{
    struct sw_cache_group alone = {0, 0, 0};
    const struct sw_cache_launch *launch = &piece->launch;
    struct sw_cache_slots slots = launch->slots;
    slots.two = 0;
    struct block::op op = *op_at(block, row->at);
    struct sw_cache_home home = {row->bucket, row->bucket, op.digest};
    uint64_t index = piece->first + op.id;
    struct sw_cache_step step =
        sw_cache_step_of<OP>(launch, index, op.key, sw_cache_given(&launch->work, index));
    struct sw_cache_sink sink = sw_cache_sink_of<OP>(launch);
    uint32_t result = sw_cache_try_operate(alone, &slots, &launch->work.time, &step, &home, &sink,
                                           moves, unmarked);
    if (*unmarked != SW_CACHE_NOWHERE) {
        *moves = SW_CACHE_NO_MOVES;
        return;
    }
    row->results += 1U << (5 * result);
    row->at++;
    if (launch->work.batch.results != NULL) {
        launch->work.batch.results[index] = (uint8_t)result;
    }
}

/* Whether a thread's operation moves a value from or to a slot that a listed one goes to. */
static __device__ __forceinline__ bool must_wait(const struct block *block,
                                                 const struct sw_cache_moves *moves)
{
    uint32_t slot = (uint32_t)(moves->slot % SW_CACHE_BUCKET_SLOTS);
    return moves->slot != SW_CACHE_NOWHERE &&
           (block->awaited[threadIdx.x][slot / 64] >> slot % 64 & 1) != 0;
}

static __device__ __forceinline__ void await(struct block *block,
                                             const struct sw_cache_moves *moves)
{
    uint32_t slot = (uint32_t)(moves->slot % SW_CACHE_BUCKET_SLOTS);
    if (moves->in_from != NULL) {
        block->awaited[threadIdx.x][slot / 64] |= 1ULL << slot % 64;
    }
}

static __device__ __forceinline__ void await_nothing(struct block *block)
{
    block->awaited[threadIdx.x][0] = 0;
    block->awaited[threadIdx.x][1] = 0;
}

/* Carries out the rows of a warp's threads. Values are moved when many are listed, when one must
 * wait for a listed one, and at the end. All lanes. */
template <uint32_t OP>
static __device__ __forceinline__ void carry_out_rows(const struct sw_cache_piece *piece,
                                                      struct block *block, struct row *row)
{
    struct sw_cache_lists<ROOM> lists = {
    };
    lists.ways = block->ways[threadIdx.x / 32];
    do {
        struct sw_cache_moves moves = SW_CACHE_NO_MOVES;
        uint64_t unmarked = SW_CACHE_NOWHERE;
        bool left = __any_sync(0xffffffffU, row->at < row->count);
        if (row->at < row->count) {
            carry_out<OP>(piece, block, row, &moves, &unmarked);
        }
        sw_cache_make_marks_of(&piece->launch.slots, unmarked);
        if (!left || max(lists.counts[0], lists.counts[1]) > ROOM - 32 ||
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
    const struct sw_cache_rows *rows = &piece->rows;
    const struct sw_cache_part_op *part = rows->parts + (uint64_t)blockIdx.x * SW_CACHE_PART_OPS;
    block->counts[threadIdx.x] = 0;
    await_nothing(block);
    __syncthreads();
    if (threadIdx.x == 0) {
        rows->part_counts[blockIdx.x].ops = 0;
    }
    for (uint32_t i = threadIdx.x; i < count; i += SW_CACHE_PART_ROWS) {
        struct sw_cache_part_op op = part[i];
        uint32_t row = SW_CACHE_PART_ROW(op.code);
        uint32_t r = atomicAdd(block->counts + row, 1U);
        block->ops[i].key = piece->launch.work.batch.keys[piece->first + op.id];
        block->ops[i].id = op.id;
        block->ops[i].digest = SW_CACHE_PART_DIGEST(op.code);
        if (r < SW_CACHE_ROW) {
            block->rows[r][row] = (uint16_t)i;
        } else {
            rows->rest[atomicAdd(rows->rest_count, 1U)] = op.id;
        }
    }
    __syncthreads();
}

/* Adds what the rows of a block's threads did to the tally. All threads. */
static __device__ __forceinline__ void count_rows(const struct sw_cache_piece *piece,
                                                  uint32_t results)
{
    __shared__ uint32_t counts[SW_CACHE_RESULTS];
    sw_cache_open_counts(counts);
#pragma unroll
    for (uint32_t kind = 0; kind < SW_CACHE_RESULTS; kind++) {
        uint32_t sum = __reduce_add_sync(0xffffffffU, results >> (5 * kind) & 31);
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
static __global__ void __launch_bounds__(SW_CACHE_PART_ROWS, SW_CACHE_ONE_BUCKET_BLOCKS)
    one_bucket_kernel(const struct sw_cache_piece piece)
{
    __shared__ struct block block;
    sw_cache_follow();
    uint32_t count = min(piece.rows.part_counts[blockIdx.x].ops, SW_CACHE_PART_OPS);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *piece.rows.rest_count_next = 0;
    }
    if (count == 0) {
        return;
    }
    open_part(&piece, &block, count);
    struct row row = {};
    row.bucket = (uint64_t)blockIdx.x * SW_CACHE_PART_ROWS + threadIdx.x;
    row.count = min(block.counts[threadIdx.x], (uint32_t)SW_CACHE_ROW);
    carry_out_rows<OP>(&piece, &block, &row);
    count_rows(&piece, row.results);
}

template <uint32_t OP>
static cudaError_t launch_one(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    return sw_cache_launch_kernel(true, one_bucket_kernel<OP>, sw_cache_parts(&piece->launch.slots),
                                  SW_CACHE_PART_ROWS, stream, *piece);
}

cudaError_t sw_cache_launch_one_bucket(const struct sw_cache_piece *piece, cudaStream_t stream)
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
