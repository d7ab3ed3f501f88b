/* SPDX-License-Identifier: MIT
 *
 * one_bucket.inl - large batches that write, in THROUGHPUT mode (rows.cuh). A tile of lanes
 * executes the operations of a row, one after the other; no other tile changes the row's bucket.
 * The warp moves many values at a time, as one stream.
 *
 * The including file must first define:
 *
 *   SW_CACHE_LANES  of a tile
 *   RANGE_ROWS       rows of a range, which is what a block carries out
 *   RANGE_OPS        operations that a range has room for
 *   ROW_OPS         operations that a row has room for
 *   LISTED          values that a warp lists before it moves them
 *   BLOCKS          blocks of a multiprocessor at a time, at least
 */
#include "table/cache/operate.inl"

#include <cuda_pipeline.h>

#include "table/cache/cuda/marks.cuh"
#include "table/cache/cuda/moves.cuh"
#include "table/cache/cuda/rows.cuh"
#include "table/cache/cuda/table_step.cuh"

#define THREADS (RANGE_ROWS * SW_CACHE_LANES)
#define GROUPS (32 / SW_CACHE_LANES) /* tiles of a warp */

/* A number with a field of RESULT_BITS bits per result: how often it occurred. */
#if ROW_OPS < 32
typedef uint32_t row_results;
#define RESULT_BITS 5
#else
typedef uint64_t row_results;
#define RESULT_BITS 8
#endif

/* An operation of a row: its number in the slice (high bits, the sort key) and its index in the
 * range (low bits). */
#define OP_BITS 10
#define OP_AT(op) ((op) & ((1U << OP_BITS) - 1))
static_assert(RANGE_OPS <= 1U << OP_BITS && SW_CACHE_ROWS_MAX <= 1U << (32 - OP_BITS),
              "both numbers have room in one");

/* Shared memory of a block: the operations of a range, in rows. */
struct block {
    struct op {
        uint64_t key;
        uint32_t id; /* its number in the slice */
        uint32_t digest;
    } ops[RANGE_OPS];
    uint32_t counts[RANGE_ROWS];        /* operations of each row */
    uint32_t rows[ROW_OPS][RANGE_ROWS]; /* [r][row]: its operation r, see OP_AT */
    uint64_t awaited[RANGE_ROWS][2];    /* one bit per slot: a listed value goes to the slot */
};

/* The row that a tile works on. */
struct row {
    uint64_t bucket;
    uint32_t count; /* operations */
    uint32_t at;    /* the next operation */
    row_results results;
};

/* --- operations ------------------------------------------------------------------------------- */

/* Returns the row of the thread's tile, in its range. */
static __device__ __forceinline__ uint32_t my_row(void)
{
    return threadIdx.x / SW_CACHE_LANES;
}

static __device__ __forceinline__ const struct block::op *op_at(const struct block *block,
                                                                uint32_t r)
{
    return block->ops + OP_AT(block->rows[r][my_row()]);
}

/* Returns the step of a row's operation; sets *sink to the list of evicted entries. */
template <bool PLAIN>
static __device__ __forceinline__ struct sw_cache_step
step_of(const struct sw_cache_table_batch *batch, struct sw_cache_tile g, uint64_t index,
        uint64_t key, struct sw_cache_sink *sink)
{
    struct sw_cache_step step = sw_cache_table_step(batch, index, key, batch->op);
    if (PLAIN) {
        step.actions = SW_CACHE_DO_WRITE | SW_CACHE_DO_USE | SW_CACHE_DO_INSERT;
        step.score_out = NULL;
        *sink = {NULL, NULL, NULL, NULL};
        return step;
    }
    *sink = sw_cache_table_sink(batch);
    if (g.lane == 0 && step.score_out != NULL) {
        *step.score_out = 0; /* the value if the key is absent afterwards */
    }
    return step;
}

/* Executes the current operation, except for values, and advances to the next one. If the bucket
 * needs marks first, sets *unmarked to it and does not advance. *absent: destination of the value
 * of an absent key, or NULL. */
template <bool PLAIN>
static __device__ __forceinline__ void
carry_out(const struct sw_cache_slice *slice, struct sw_cache_tile g, const struct block *block,
          struct row *row, struct sw_cache_moves *moves, uint8_t **absent, uint64_t *unmarked)
{
    const struct sw_cache_table_batch *batch = &slice->batch;
    struct sw_cache_slots slots = batch->slots;
    slots.two = 0;
    struct block::op op = *op_at(block, row->at);
    struct sw_cache_candidates candidates = {row->bucket, row->bucket, op.digest};
    uint64_t index = slice->first + op.id;
    struct sw_cache_sink sink;
    struct sw_cache_step step = step_of<PLAIN>(batch, g, index, op.key, &sink);
    uint32_t result =
        sw_cache_try_operate(g, &slots, &batch->time, &step, &candidates, &sink, moves, unmarked);
    if (*unmarked != SW_CACHE_NOWHERE) {
        *moves = SW_CACHE_NO_MOVES;
        return;
    }
    if (!PLAIN && result != SW_CACHE_HIT && batch->previous != NULL) {
        *absent = step.out;
    }
    row->results += (row_results)1 << (RESULT_BITS * result);
    row->at++;
    if (g.lane == 0) {
        sw_cache_note(batch, index, result);
    }
    sw_cache_join(g); /* M3: all lanes see this operation's stores before the next one */
}

/* Returns the value that an operation on an absent key returns; `moves`: of the operation. */
static __device__ __forceinline__ const uint8_t *
value_of_absent(const struct sw_cache_table_batch *batch, const struct sw_cache_moves *moves)
{
    if (batch->slots.ids == 0) {
        return batch->scratch.zeros;
    }
    return moves->slot != SW_CACHE_NOWHERE
               ? sw_cache_value_at(&batch->slots, moves->slot)
               : sw_cache_no_value(batch, sw_cache_actions_of(batch, batch->op));
}

/* Returns whether a tile's operation moves a value from or to a slot to which a listed value
 * goes. */
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

/* Carries out the rows of a warp's tiles. Values are moved when many are listed, when one must
 * wait for a listed one, and at the end. All lanes. */
template <bool PLAIN>
static __device__ __forceinline__ void carry_out_rows(const struct sw_cache_slice *slice,
                                                      struct sw_cache_tile g, struct block *block,
                                                      struct row *row)
{
    /* room for LISTED values and those of one more operation per tile, which lists up to two
     * outgoing values unless it is plain */
    constexpr uint32_t ROOM = LISTED + GROUPS * (PLAIN ? 1 : 2);
    __shared__ struct sw_cache_transfer transfers[THREADS / 32][SW_CACHE_LISTS(PLAIN)][ROOM];
    struct sw_cache_lists<ROOM> lists = {
    };
    lists.transfers = transfers[threadIdx.x / 32];
    do {
        struct sw_cache_moves moves = SW_CACHE_NO_MOVES;
        uint8_t *absent = NULL;
        uint64_t unmarked = SW_CACHE_NOWHERE;
        bool left = __any_sync(0xffffffffU, row->at < row->count);
        if (row->at < row->count) {
            carry_out<PLAIN>(slice, g, block, row, &moves, &absent, &unmarked);
        }
        if (g.lane != 0) {
            moves = SW_CACHE_NO_MOVES;
            absent = NULL;
            unmarked = SW_CACHE_NOWHERE;
        }
        sw_cache_make_marks_of(&slice->batch.slots, unmarked);
        if (!left || lists.most > LISTED || __any_sync(0xffffffffU, must_wait(block, &moves))) {
            sw_cache_move_listed<PLAIN>(slice->batch.slots.value_bytes,
                                        sw_cache_table_element(slice->batch.op), &lists);
            await_nothing(block);
        }
        sw_cache_list_moves<PLAIN>(&slice->batch.slots, &lists, &moves);
        if (!PLAIN) {
            sw_cache_list_value(&lists, SW_CACHE_LIST_OUT, absent != NULL,
                                value_of_absent(&slice->batch, &moves), absent);
        }
        await(block, &moves);
    } while (__any_sync(0xffffffffU, row->at < row->count) || lists.most != 0);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Returns the rank of an operation in its row, which has room for all its operations: the number of
 * operations in the row with lower numbers. The row is not sorted yet. */
static __device__ __forceinline__ uint32_t rank_in_row(const struct block *block, uint32_t row,
                                                       uint32_t op)
{
    uint32_t rank = 0;
    for (uint32_t r = 0; r < block->counts[row]; r++) {
        rank += block->rows[r][row] < op;
    }
    return rank;
}

/* Sorts the operations of a range into rows, and empties the range for the next slice. Leaves all
 * operations of an overfull range or row to the bins, because these run after all other operations
 * on the bucket. Returns false if the range was overfull. All threads of a block. */
static __device__ __forceinline__ bool open_range(const struct sw_cache_slice *slice,
                                                  struct block *block, uint32_t count)
{
    constexpr uint32_t EACH = (RANGE_OPS + THREADS - 1) / THREADS;
    const struct sw_cache_rows *rows = &slice->rows;
    const struct sw_cache_range_op *range = rows->ranges + (uint64_t)blockIdx.x * RANGE_OPS;
    bool full = count > RANGE_OPS;
    struct sw_cache_range_op mine[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        uint32_t i = threadIdx.x + k * THREADS;
        mine[k] = i < min(count, RANGE_OPS) ? range[i] : sw_cache_range_op();
    }
    block->counts[my_row()] = 0;
    await_nothing(block);
    __syncthreads(); /* M2: counts[] is zero, the range was read */
    if (threadIdx.x == 0) {
        rows->range_counts[blockIdx.x].ops = 0;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        uint32_t i = threadIdx.x + k * THREADS;
        sw_cache_leave_for_later(rows, full && i < RANGE_OPS, mine[k].id);
        if (i < count && !full) {
            const uint64_t *key = slice->batch.scratch.keys + slice->first + mine[k].id;
            __pipeline_memcpy_async(&block->ops[i].key, key, sizeof(*key));
            block->ops[i].id = mine[k].id;
            block->ops[i].digest = SW_CACHE_RANGE_DIGEST(mine[k].code);
            uint32_t row = SW_CACHE_RANGE_ROW(mine[k].code);
            uint32_t r = atomicAdd(block->counts + row, 1U);
            if (r < ROW_OPS) {
                block->rows[r][row] = mine[k].id << OP_BITS | i;
            }
        }
    }
    __pipeline_commit();
    if (full) {
        return false;
    }
    __syncthreads(); /* M2: the operations of all threads, by row */
    uint32_t ranks[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        uint32_t i = threadIdx.x + k * THREADS;
        uint32_t row = SW_CACHE_RANGE_ROW(mine[k].code);
        bool fits = block->counts[row] <= ROW_OPS;
        ranks[k] = SW_CACHE_NONE;
        if (i < count && fits) {
            ranks[k] = rank_in_row(block, row, mine[k].id << OP_BITS | i);
        }
        sw_cache_leave_for_later(rows, i < count && !fits, mine[k].id);
    }
    __syncthreads(); /* M2: all threads have read rows[] for the ranks before the operations are
                        sorted into it */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        uint32_t i = threadIdx.x + k * THREADS;
        if (ranks[k] != SW_CACHE_NONE) {
            block->rows[ranks[k]][SW_CACHE_RANGE_ROW(mine[k].code)] = mine[k].id << OP_BITS | i;
        }
    }
    __pipeline_wait_prior(0);
    __syncthreads(); /* M2: rows[] in order, and what was copied */
    return true;
}

/* Adds the number of operations with each result to the words of the batch. One thread. */
static __device__ __forceinline__ void add_counts(const struct sw_cache_table_batch *batch,
                                                  const uint32_t *counts)
{
    uint64_t *words = batch->tally->words;
    uint64_t *its_class = words + SW_CACHE_WORD_CLASS + 3 * sw_cache_table_class(batch->op);
    uint32_t inserted = counts[SW_CACHE_INSERTED] + counts[SW_CACHE_REPLACED];
    uint32_t misses = inserted + counts[SW_CACHE_MISS] + counts[SW_CACHE_REFUSED];
    uint32_t writes = SW_CACHE_DO_WRITE | SW_CACHE_DO_ADD;
    sw_cache_add_to(&its_class[0], misses);
    sw_cache_add_to(&its_class[1], counts[SW_CACHE_HIT]);
    sw_cache_add_to(&its_class[2], misses + counts[SW_CACHE_HIT]);
    if (sw_cache_actions_of(batch, batch->op) & writes) {
        sw_cache_add_to(&words[SW_CACHE_WORD_UPDATED], counts[SW_CACHE_HIT]);
    }
    sw_cache_add_to(&words[SW_CACHE_WORD_INSERTED], inserted);
    sw_cache_add_to(&words[SW_CACHE_WORD_EVICTED], counts[SW_CACHE_REPLACED]);
    sw_cache_add_to(&words[SW_CACHE_WORD_NOT_ADMITTED], counts[SW_CACHE_REFUSED]);
}

/* Adds the results of the rows of a block to the tally. `results`: of the row, in lane 0 of its
 * tile; 0 in the other lanes. M6: each count is a sum. All threads. */
static __device__ __forceinline__ void count_rows(const struct sw_cache_slice *slice,
                                                  row_results results)
{
    __shared__ uint32_t counts[SW_CACHE_RESULTS];
    sw_cache_open_counts(counts);
#pragma unroll
    for (uint32_t kind = 0; kind < SW_CACHE_RESULTS; kind++) {
        uint32_t sum =
            sw_reduce_add((uint32_t)(results >> (RESULT_BITS * kind)) & ((1U << RESULT_BITS) - 1));
        if (threadIdx.x % 32 == 0 && sum != 0) {
            atomicAdd(&counts[kind], sum);
        }
    }
    __syncthreads(); /* M2: the counts of all warps */
    if (threadIdx.x == 0) {
        add_counts(&slice->batch, counts);
    }
}

template <bool PLAIN>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    one_bucket_kernel(const struct sw_cache_slice slice)
{
    __shared__ struct block block;
    sw_cuda_follow();
    uint32_t count = slice.rows.range_counts[blockIdx.x].ops;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *slice.rows.rest_count_next = 0;
    }
    if (count == 0 || !open_range(&slice, &block, count)) {
        return;
    }
    struct row row = {};
    row.bucket = (uint64_t)blockIdx.x * RANGE_ROWS + my_row();
    row.count = block.counts[my_row()] <= ROW_OPS ? block.counts[my_row()] : 0;
    struct sw_cache_tile g = sw_cache_my_tile();
    carry_out_rows<PLAIN>(&slice, g, &block, &row);
    count_rows(&slice, g.lane == 0 ? row.results : 0);
}

template <bool PLAIN>
static cudaError_t launch_one(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, one_bucket_kernel<PLAIN>,
                                    sw_cache_ranges(&slice->batch.slots, RANGE_ROWS), THREADS,
                                    stream, *slice);
}

static cudaError_t launch(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    return slice->plain ? launch_one<true>(slice, stream) : launch_one<false>(slice, stream);
}
