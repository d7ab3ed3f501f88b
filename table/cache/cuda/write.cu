/* SPDX-License-Identifier: MIT
 *
 * write.cu - batches that write: 8 lanes carry out one operation under the locks of its buckets.
 *
 * A warp has 32 operations, each group of 8 lanes those of its lanes. A group that does not get the
 * locks of one holds none while it tries again, and after some tries goes on with its next.
 */
#include "table/cache/cuda/device.cuh"
#include "table/cache/cuda/repeats.cuh"
#include "table/cache/cuda/step.cuh"
#include "table/cuda/follow.cuh"

/* Blocks of a multiprocessor at a time, at least: more hide more latency, with fewer registers. */
#ifndef SW_CACHE_WRITE_BLOCKS
#define SW_CACHE_WRITE_BLOCKS 4
#endif

/* Blocks for a list, of which the host does not know how long it is; mostly it is empty. */
#define SOME_BLOCKS 128

/* Brings what a thread's operation will touch nearer: the digests of its buckets, the value it may
 * write, and the marks of buckets that have any, since they were full once. */
static __device__ __forceinline__ void prefetch(const struct sw_cache_launch *launch,
                                                uint64_t index, uint64_t key, bool inserts)
{
    const struct sw_cache_slots *slots = &launch->slots;
    struct sw_cache_home home = sw_cache_home_of(slots, key);
    uint32_t shift_first = SW_CACHE_UNMARKED;
    uint32_t shift_second = SW_CACHE_UNMARKED;
    if (inserts) {
        shift_first = __ldcg(&slots->heads[home.first].shift);
        shift_second = __ldcg(&slots->heads[home.second].shift);
    }
    sw_cache_prefetch_line(slots->digests + home.first * SW_CACHE_BUCKET_SLOTS);
    if (slots->two) {
        sw_cache_prefetch_line(slots->digests + home.second * SW_CACHE_BUCKET_SLOTS);
    }
    if (launch->work.batch.values != NULL) {
        const uint8_t *value =
            (const uint8_t *)launch->work.batch.values + index * slots->value_bytes;
        for (uint32_t at = 0; at < slots->value_bytes; at += 128) {
            asm volatile("prefetch.global.L2 [%0];" : : "l"(value + at));
        }
    }
    if (shift_first != SW_CACHE_UNMARKED) {
        sw_cache_prefetch_line(slots->marks + home.first * SW_CACHE_BUCKET_SLOTS);
    }
    if (slots->two && shift_second != SW_CACHE_UNMARKED) {
        sw_cache_prefetch_line(slots->marks + home.second * SW_CACHE_BUCKET_SLOTS);
    }
}

/* In MEMORY mode a batch is carried out in pieces of so many operations a bucket, or more. All
 * operations of a kernel that want one bucket wait for each other, and those that want a crowded
 * one come last of all: the fewer they are, the better entries spread over their two buckets. */
#define PIECE_SHARE 4U
#define PIECE_MIN (1U << 12)

/* Some operations of a batch: from `first` on, or those of a list. */
struct some {
    uint64_t first;
    const uint32_t *ids;   /* NULL: as many as count_here; else what is to be added to first, */
    const uint32_t *count; /* and how many they are */
    uint32_t count_here;
};

/* Carries out the operations of a warp's lanes, each with the value of the one that values_of says,
 * by lane of the group; a lane's result. */
template <uint32_t OP>
static __device__ __forceinline__ uint32_t write_warp(struct sw_cache_group g,
                                                      const struct sw_cache_launch *launch,
                                                      uint32_t index, uint64_t key,
                                                      const uint32_t *values_of, bool valid)
{
    const struct sw_cache_slots *slots = &launch->slots;
    uint64_t given = valid ? sw_cache_given(&launch->work, index) : 0;
    if (valid) {
        prefetch(launch, values_of[g.lane], key, sw_cache_op_inserts(OP));
    }
    struct sw_cache_sink sink = sw_cache_sink_of<OP>(launch);
    uint32_t result = SW_CACHE_MISS;
    struct sw_cache_turns turns = {sw_cache_ballot(g, valid), 0, 0};
    while (__any_sync(0xffffffffU, turns.pending != 0)) {
        bool progress = false;
        if (turns.pending != 0) {
            uint32_t turn = sw_cache_next_turn(&turns);
            uint64_t its_key = sw_cache_from_wide(g, key, turn);
            struct sw_cache_home home = sw_cache_home_of(slots, its_key);
            uint32_t *lock = sw_cache_my_lock(g, slots, &home);
            progress = sw_cache_try_home(g, lock);
            bool done = false;
            if (progress) {
                struct sw_cache_step step =
                    sw_cache_step_of<OP>(launch, sw_cache_from(g, index, turn), its_key,
                                         sw_cache_from_wide(g, given, turn));
                step.value = (const uint8_t *)launch->work.batch.values +
                             (uint64_t)values_of[turn] * slots->value_bytes;
                uint64_t unmarked = SW_CACHE_NOWHERE;
                struct sw_cache_moves moves = SW_CACHE_NO_MOVES;
                uint32_t outcome = sw_cache_try_operate(g, slots, &launch->work.time, &step, &home,
                                                        &sink, &moves, &unmarked);
                done = unmarked == SW_CACHE_NOWHERE;
                if (done) {
                    sw_cache_move(g, slots, step.element, &moves);
                } else {
                    sw_cache_make_marks(g, slots, unmarked);
                }
                sw_cache_leave_home(g, sw_cache_my_lock(g, slots, &home));
                result = done && g.lane == turn ? outcome : result;
                turns.pending &= ~((uint32_t)done << turn);
            }
            sw_cache_end_turn(&turns, done);
        }
        if (!__any_sync(0xffffffffU, progress)) {
            sw_cache_pause();
        }
    }
    return result;
}

/* Carries out the operations of a block's threads; a thread's result. */
template <uint32_t OP>
static __device__ __forceinline__ uint32_t write_block(struct sw_cache_group g,
                                                       const struct sw_cache_launch *launch,
                                                       uint32_t index, bool valid)
{
    __shared__ struct sw_cache_repeats repeats;
    __shared__ uint32_t values_of[SW_CACHE_THREADS];
    const struct sw_cache_batch *batch = &launch->work.batch;
    uint64_t key = valid ? batch->keys[index] : 0;
    uint32_t value_of = index;
    bool stands = valid;
    bool once = sw_cache_repeats_suit(OP, launch->slots.policy);
    if (once) {
        stands = sw_cache_find_repeats(&repeats, index, key, valid, &value_of);
    }
    values_of[threadIdx.x] = value_of;
    __syncwarp();
    uint32_t result =
        write_warp<OP>(g, launch, index, key, values_of + (threadIdx.x - g.lane), stands);
    if (once) {
        result = sw_cache_tell_repeats(&repeats, index, valid, result);
    }
    if (valid && batch->results != NULL) {
        batch->results[index] = (uint8_t)result;
    }
    return result;
}

template <uint32_t OP>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_WRITE_BLOCKS)
    write_kernel(const struct sw_cache_launch launch, const struct some some)
{
    sw_cuda_follow();
    struct sw_cache_group g = sw_cache_my_group();
    uint32_t count = some.ids == NULL ? some.count_here : __ldcg(some.count);
    uint32_t at = blockIdx.x * SW_CACHE_THREADS;
    if (some.ids != NULL && count == 0) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            sw_cache_end_batch(launch.tally, &launch.totals);
        }
        return;
    }
    do {
        uint32_t index = at + threadIdx.x;
        bool valid = index < count;
        if (valid) {
            index = (uint32_t)some.first + (some.ids == NULL ? index : some.ids[index]);
        }
        uint32_t result = write_block<OP>(g, &launch, index, valid);
        sw_cache_count_results(launch.tally, result, !valid, false);
        __syncthreads();
        at += gridDim.x * SW_CACHE_THREADS;
    } while (at < count);
    if (threadIdx.x == 0) {
        sw_cache_end_block(launch.tally, &launch.totals);
    }
}

template <uint32_t OP>
static cudaError_t launch_one(const struct sw_cache_launch *launch, const struct some *some,
                              uint32_t blocks, cudaStream_t stream)
{
    return sw_cuda_launch_following(some->ids != NULL || some->first != 0, write_kernel<OP>, blocks,
                                    SW_CACHE_THREADS, stream, *launch, *some);
}

static cudaError_t launch_op(const struct sw_cache_launch *launch, const struct some *some,
                             uint32_t blocks, cudaStream_t stream)
{
    switch (launch->work.batch.op) {
    case SW_CACHE_INSERT_OR_ASSIGN:
        return launch_one<SW_CACHE_INSERT_OR_ASSIGN>(launch, some, blocks, stream);
    case SW_CACHE_INSERT_AND_EVICT:
        return launch_one<SW_CACHE_INSERT_AND_EVICT>(launch, some, blocks, stream);
    case SW_CACHE_FIND_OR_INSERT:
        return launch_one<SW_CACHE_FIND_OR_INSERT>(launch, some, blocks, stream);
    case SW_CACHE_ACCUM_OR_ASSIGN:
        return launch_one<SW_CACHE_ACCUM_OR_ASSIGN>(launch, some, blocks, stream);
    case SW_CACHE_ASSIGN:
        return launch_one<SW_CACHE_ASSIGN>(launch, some, blocks, stream);
    case SW_CACHE_ASSIGN_SCORES:
        return launch_one<SW_CACHE_ASSIGN_SCORES>(launch, some, blocks, stream);
    default:
        return launch_one<SW_CACHE_ASSIGN_VALUES>(launch, some, blocks, stream);
    }
}

/* Operations of a piece. */
static uint64_t piece_ops(const struct sw_cache_slots *slots, const struct sw_cache_batch *batch)
{
    if (!slots->two || !sw_cache_op_inserts(batch->op)) {
        return batch->count;
    }
    uint64_t least = (batch->count + SW_CACHE_PIECES_MAX - 1) / SW_CACHE_PIECES_MAX;
    least = least < PIECE_MIN ? PIECE_MIN : least;
    uint64_t share = PIECE_SHARE * slots->buckets;
    return share < least ? least : share;
}

cudaError_t sw_cache_launch_write(const struct sw_cache_launch *launch, cudaStream_t stream)
{
    uint64_t count = launch->work.batch.count;
    uint64_t most = piece_ops(&launch->slots, &launch->work.batch);
    struct sw_cache_launch piece = *launch;
    cudaError_t error = cudaSuccess;
    uint64_t first = 0;
    do {
        uint64_t left = count - first;
        struct some some = {first, NULL, NULL, (uint32_t)(left < most ? left : most)};
        piece.totals.keep = launch->totals.keep || some.count_here < left;
        error = launch_op(&piece, &some, sw_cache_blocks(some.count_here), stream);
        first += some.count_here;
    } while (error == cudaSuccess && first < count);
    return error;
}

cudaError_t sw_cache_launch_write_some(const struct sw_cache_launch *launch, const uint32_t *ids,
                                       const uint32_t *count, uint64_t first, cudaStream_t stream)
{
    struct some some = {first, ids, count, 0};
    return launch_op(launch, &some, SOME_BLOCKS, stream);
}
