/* SPDX-License-Identifier: MIT
 *
 * write.cu - batches that write: 8 lanes carry out one operation under the locks of its buckets.
 *
 * A warp has 32 operations, each group of 8 lanes those of its lanes. A group that does not get the
 * locks of one holds none while it tries again, and after some tries goes on with its next.
 */
#include "table/cache/cuda/device.cuh"

/* Blocks of a multiprocessor at a time, at least: more hide more latency, with fewer registers. */
#ifndef SW_CACHE_WRITE_BLOCKS
#define SW_CACHE_WRITE_BLOCKS 4
#endif

/* Blocks for a list, of which the host does not know how long it is; mostly it is empty. */
#define SOME_BLOCKS 128

/* What operation `index` does. */
template <uint32_t OP>
static __device__ __forceinline__ struct sw_cache_step
step_of(const struct sw_cache_launch *launch, uint64_t index, uint64_t key, uint64_t given)
{
    const struct sw_cache_batch *batch = &launch->work.batch;
    uint64_t offset = index * launch->slots.value_bytes;
    struct sw_cache_step step;
    step.acts = sw_cache_acts(OP, false);
    step.element = batch->element;
    step.key = key;
    step.index = index;
    step.given = given;
    step.value = (const uint8_t *)batch->values + offset;
    step.out = (uint8_t *)batch->values_out + offset;
    step.score_out = NULL;
    if (OP == SW_CACHE_FIND_OR_INSERT && batch->scores_out != NULL) {
        step.score_out = batch->scores_out + index;
    }
    if (OP == SW_CACHE_ACCUM_OR_ASSIGN && batch->accumulate != NULL) {
        uint32_t insert = SW_CACHE_ACT_INSERT;
        step.acts &= batch->accumulate[index] ? ~insert : insert;
    }
    return step;
}

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

/* The operations of a batch, or those of a list of some. */
struct some {
    const uint32_t *ids; /* NULL: all */
    const uint32_t *count;
    uint64_t first; /* what the numbers in the list are to be added to */
};

/* Carries out the operations of a warp's lanes; a lane's result. */
template <uint32_t OP>
static __device__ __forceinline__ uint32_t write_warp(struct sw_cache_group g,
                                                      const struct sw_cache_launch *launch,
                                                      uint32_t index, bool valid)
{
    const struct sw_cache_slots *slots = &launch->slots;
    const struct sw_cache_batch *batch = &launch->work.batch;
    uint64_t key = valid ? batch->keys[index] : 0;
    uint64_t given = valid ? sw_cache_given(&launch->work, index) : 0;
    if (valid) {
        prefetch(launch, index, key, sw_cache_op_inserts(OP));
    }
    struct sw_cache_sink sink = {NULL, NULL, NULL, NULL, 0};
    if (OP == SW_CACHE_INSERT_AND_EVICT) {
        sink = {batch->evicted_keys, (uint8_t *)batch->evicted_values, batch->evicted_scores,
                &launch->tally->listed, 0};
    }
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
                    step_of<OP>(launch, sw_cache_from(g, index, turn), its_key,
                                sw_cache_from_wide(g, given, turn));
                uint64_t unmarked = SW_CACHE_NOWHERE;
                uint32_t outcome = sw_cache_try_operate(g, slots, &launch->work.time, &step, &home,
                                                        &sink, &unmarked);
                done = unmarked == SW_CACHE_NOWHERE;
                if (!done) {
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
    if (valid && batch->results != NULL) {
        batch->results[index] = (uint8_t)result;
    }
    return result;
}

template <uint32_t OP>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_WRITE_BLOCKS)
    write_kernel(const struct sw_cache_launch launch, const struct some some)
{
    struct sw_cache_group g = sw_cache_my_group();
    uint32_t count = some.ids == NULL ? launch.work.batch.count : __ldcg(some.count);
    uint32_t at = blockIdx.x * SW_CACHE_THREADS;
    do {
        uint32_t index = at + threadIdx.x;
        bool valid = index < count;
        if (valid && some.ids != NULL) {
            index = (uint32_t)some.first + some.ids[index];
        }
        uint32_t result = write_warp<OP>(g, &launch, index, valid);
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
    write_kernel<OP><<<blocks, SW_CACHE_THREADS, 0, stream>>>(*launch, *some);
    return cudaGetLastError();
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

cudaError_t sw_cache_launch_write(const struct sw_cache_launch *launch, cudaStream_t stream)
{
    struct some all = {NULL, NULL, 0};
    return launch_op(launch, &all, sw_cache_blocks(launch->work.batch.count), stream);
}

cudaError_t sw_cache_launch_write_some(const struct sw_cache_launch *launch, const uint32_t *ids,
                                       const uint32_t *count, uint64_t first, cudaStream_t stream)
{
    struct some some = {ids, count, first};
    return launch_op(launch, &some, SOME_BLOCKS, stream);
}
