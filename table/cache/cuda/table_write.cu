/* SPDX-License-Identifier: MIT
 *
 * table_write.cu - a table's batch with writes, in array order for each key.
 */
#include <cub/device/device_radix_sort.cuh>

#include "table/cache/cuda/device.cuh"
#include "table/cache/cuda/table_end.cuh"

/* Operations of one key that are carried out before its buckets are unlocked for others. */
#define STAY 64

/* Of each hash those bits are kept that will be sorted by (`mask`): so equal ones follow each
 * other. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    hash_kernel(const struct sw_cache_table_batch batch, uint32_t mask)
{
    uint32_t index = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    if (index < batch.count) {
        uint64_t key = sw_cache_table_key(batch.keys, batch.key_bytes, index);
        batch.scratch.keys[index] = key;
        batch.scratch.ops[index] = batch.ops != NULL ? batch.ops[index] : (uint8_t)batch.op;
        batch.scratch.hashes[index] = (uint32_t)sw_mix_64(key, batch.slots.seed) & mask;
        batch.scratch.indexes[index] = index;
    }
}

/* What an operation does; `index` is its place in the batch. */
static __device__ __forceinline__ struct sw_cache_step
step_of(const struct sw_cache_table_batch *batch, uint64_t index, uint64_t key, uint32_t op)
{
    uint64_t offset = index * batch->slots.value_bytes;
    struct sw_cache_step step;
    step.acts = sw_cache_table_uses(sw_cache_table_acts(op, batch->previous != NULL), op,
                                    batch->slots.policy, batch->scores != NULL);
    step.element = sw_cache_table_element(op);
    step.key = key;
    step.index = index;
    step.given = sw_cache_table_given(batch->scores, batch->slots.policy, index);
    step.value = batch->values + offset;
    step.out = batch->previous + offset;
    step.score_out = batch->scores_out == NULL ? NULL : batch->scores_out + index;
    return step;
}

static __device__ __forceinline__ void zero_value(struct sw_cache_group g, uint8_t *value,
                                                  uint32_t bytes)
{
    for (uint32_t at = g.lane; at < bytes / 4; at += SW_CACHE_LANES) {
        ((uint32_t *)value)[at] = 0;
    }
}

/* Counts an operation in the block's words. */
static __device__ __forceinline__ void count_one(uint32_t *words, uint32_t buckets, uint32_t op,
                                                 uint32_t acts, uint32_t result)
{
    bool hit = result == SW_CACHE_HIT;
    uint32_t *its_class = words + SW_CACHE_WORD_CLASS + 3 * sw_cache_table_class(op);
    atomicAdd(&its_class[hit], 1U);
    atomicAdd(&its_class[2], buckets);
    if (hit && (acts & (SW_CACHE_ACT_WRITE | SW_CACHE_ACT_ADD))) {
        atomicAdd(&words[SW_CACHE_WORD_UPDATED], 1U);
    }
    if (hit && (acts & SW_CACHE_ACT_ERASE)) {
        atomicAdd(&words[SW_CACHE_WORD_DELETED], 1U);
    }
    if (result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED) {
        atomicAdd(&words[SW_CACHE_WORD_INSERTED], 1U);
    }
    if (result == SW_CACHE_REPLACED) {
        atomicAdd(&words[SW_CACHE_WORD_EVICTED], 1U);
    }
    if (result == SW_CACHE_REFUSED) {
        atomicAdd(&words[SW_CACHE_WORD_NOT_ADMITTED], 1U);
    }
}

/* Under the locks: the operation at sorted place `at`. */
static __device__ __forceinline__ void carry_out(struct sw_cache_group g,
                                                 const struct sw_cache_table_batch *batch,
                                                 const struct sw_cache_home *home, uint64_t key,
                                                 uint32_t index, uint32_t *words)
{
    uint32_t op = batch->scratch.ops[index];
    struct sw_cache_step step = step_of(batch, index, key, op);
    struct sw_cache_sink sink = {NULL, NULL, NULL, NULL};
    if (batch->leftover_keys != NULL) {
        sink.keys = batch->scratch.left;
        sink.values = batch->leftover_values;
        sink.scores = batch->leftover_scores;
        sink.count = &batch->tally->list.listed;
    }
    if (g.lane == 0 && step.score_out != NULL) {
        *step.score_out = 0; /* of a key that is absent then */
    }
    step.score_out = step.acts & SW_CACHE_ACT_ERASE ? NULL : step.score_out;
    uint32_t result = sw_cache_operate(g, &batch->slots, &batch->time, &step, home, &sink);
    if (result != SW_CACHE_HIT && batch->previous != NULL) {
        zero_value(g, step.out, batch->slots.value_bytes);
    }
    if (g.lane == 0) {
        batch->scratch.results[index] = (uint8_t)result;
        count_one(words, batch->slots.two ? 2 : 1, op, step.acts, result);
    }
    sw_cache_join(g);
}

/* Carries out operations from sorted place `at` on while they are of `key`. Returns the first place
 * that is left of the run, or SW_CACHE_NONE if none is. */
static __device__ __forceinline__ uint32_t carry_out_some(struct sw_cache_group g,
                                                          const struct sw_cache_table_batch *batch,
                                                          const struct sw_cache_home *home,
                                                          uint64_t key, uint32_t at,
                                                          uint32_t *words)
{
    const uint32_t *hashes = batch->scratch.sorted_hashes;
    for (uint32_t done = 0; done < STAY; done++) {
        uint32_t index = batch->scratch.sorted_indexes[at];
        if (done > 0 && batch->scratch.keys[index] != key) {
            return at;
        }
        carry_out(g, batch, home, key, index, words);
        at++;
        if (at == batch->count || hashes[at] != hashes[at - 1]) {
            return SW_CACHE_NONE;
        }
    }
    return at;
}

/* Each lane has a sorted place; where a run of equal hashes begins, its group carries it out. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS, 3)
    run_kernel(const struct sw_cache_table_batch batch)
{
    __shared__ uint32_t words[SW_CACHE_WORD_COUNT];
    if (threadIdx.x < SW_CACHE_WORD_COUNT) {
        words[threadIdx.x] = 0;
    }
    __syncthreads();
    struct sw_cache_group g = sw_cache_my_group();
    uint32_t at = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    const uint32_t *hashes = batch.scratch.sorted_hashes;
    bool first = at < batch.count && (at == 0 || hashes[at] != hashes[at - 1]);
    struct sw_cache_turns turns = {sw_cache_ballot(g, first), 0, 0};
    while (__any_sync(0xffffffffU, turns.pending != 0)) {
        bool progress = false;
        if (turns.pending != 0) {
            uint32_t turn = sw_cache_next_turn(&turns);
            uint32_t its = sw_cache_from(g, at, turn);
            uint64_t key = batch.scratch.keys[batch.scratch.sorted_indexes[its]];
            struct sw_cache_home home = sw_cache_home_of(&batch.slots, key);
            uint32_t *lock = sw_cache_my_lock(g, &batch.slots, &home);
            progress = sw_cache_try_home(g, lock);
            if (progress) {
                its = carry_out_some(g, &batch, &home, key, its, words);
                sw_cache_leave_home(g, lock);
                at = g.lane == turn ? its : at;
                turns.pending &= its == SW_CACHE_NONE ? ~(1U << turn) : 0xffffffffU;
            }
            sw_cache_end_turn(&turns, progress);
        }
        if (!__any_sync(0xffffffffU, progress)) {
            sw_cache_pause();
        }
    }
    __syncthreads();
    if (threadIdx.x < SW_CACHE_WORD_COUNT) {
        sw_cache_add_to(&batch.tally->words[threadIdx.x], words[threadIdx.x]);
    }
}

/* Answers the bits, hands the keys of those that left over, and fills the record. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    answer_kernel(const struct sw_cache_table_batch batch)
{
    uint32_t index = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    uint32_t result = index < batch.count ? batch.scratch.results[index] : SW_CACHE_MISS;
    sw_cache_answer_bit(batch.found, batch.count, index, result == SW_CACHE_HIT);
    sw_cache_answer_bit(batch.not_admitted, batch.count, index, result == SW_CACHE_REFUSED);
    if (batch.leftover_keys != NULL && index < __ldcg(&batch.tally->list.listed)) {
        if (batch.key_bytes == 4) {
            ((uint32_t *)batch.leftover_keys)[index] = (uint32_t)batch.scratch.left[index];
        } else {
            ((uint64_t *)batch.leftover_keys)[index] = batch.scratch.left[index];
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sw_cache_end_table_block(&batch);
    }
}

/* Bits of the hash that are sorted by. A run that two keys share is rare; it is carried out in
 * array order, too. */
static int sort_bits(uint32_t count)
{
    int bits = 8;
    while (bits < 32 && count >> (bits - 8) != 0) {
        bits++;
    }
    return bits;
}

cudaError_t sw_cache_sort_bytes(uint32_t count, size_t *bytes)
{
    const uint32_t *in = NULL;
    uint32_t *out = NULL;
    *bytes = 0;
    return cub::DeviceRadixSort::SortPairs(NULL, *bytes, in, out, in, out, (int)count, 0, 32);
}

static cudaError_t sort(const struct sw_cache_scratch *scratch, uint32_t count, cudaStream_t stream)
{
    size_t bytes = scratch->sort_bytes;
    return cub::DeviceRadixSort::SortPairs(
        scratch->sort, bytes, (const uint32_t *)scratch->hashes, scratch->sorted_hashes,
        (const uint32_t *)scratch->indexes, scratch->sorted_indexes, (int)count, 0,
        sort_bits(count), stream);
}

cudaError_t sw_cache_table_write(const struct sw_cache_table_batch *batch, cudaStream_t stream)
{
    uint32_t blocks = sw_cache_blocks(batch->count);
    cudaError_t error = cudaSuccess;
    if (batch->count > 0) {
        uint32_t mask = UINT32_MAX >> (32 - sort_bits(batch->count));
        hash_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch, mask);
        error = sort(&batch->scratch, batch->count, stream);
        run_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
    }
    answer_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
    return error == cudaSuccess ? cudaGetLastError() : error;
}

struct warm_memory {
    struct sw_cache_table_tally tally;
    struct sw_cache_record record;
    uint64_t key;
};

/* A GET of key 0 as a batch that writes and as one that reads, a PEEK, a scan of nothing, ranges of
 * scores, and the sort as it is for many. */
static cudaError_t launch_reads(struct sw_cache_table_batch *batch)
{
    struct sw_cache_export nothing = sw_cache_export();
    cudaError_t error = sw_cache_table_read(batch, NULL);
    batch->op = SW_PEEK;
    if (error == cudaSuccess) {
        error = sw_cache_table_read(batch, NULL);
    }
    if (error == cudaSuccess) {
        error = sw_cache_table_scan(batch, &nothing, NULL);
    }
    if (error == cudaSuccess) {
        error = sw_cache_table_count(batch, 0, 0, NULL);
    }
    return error == cudaSuccess ? sw_cache_table_erase(batch, 0, 0, NULL) : error;
}

static cudaError_t launch_all(struct sw_cache_table_batch batch, struct warm_memory *memory,
                              uint32_t ops_max)
{
    batch.op = SW_GET;
    batch.count = 1;
    batch.keys = &memory->key;
    batch.tally = &memory->tally;
    batch.record = &memory->record;
    cudaError_t error = sw_cache_table_write(&batch, NULL);
    if (error == cudaSuccess) {
        error = launch_reads(&batch);
    }
    if (error == cudaSuccess) {
        error = cudaMemset(batch.scratch.hashes, 0, ops_max * sizeof(uint32_t));
    }
    if (error == cudaSuccess) {
        error = cudaMemset(batch.scratch.indexes, 0, ops_max * sizeof(uint32_t));
    }
    if (error == cudaSuccess) {
        error = sort(&batch.scratch, ops_max, NULL);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

cudaError_t sw_cache_table_warm_up(const struct sw_cache_table_batch *batch, uint32_t ops_max)
{
    struct warm_memory *memory = NULL;
    cudaError_t error = cudaMalloc((void **)&memory, sizeof(*memory));
    if (error == cudaSuccess) {
        error = cudaMemset(memory, 0, sizeof(*memory));
    }
    if (error == cudaSuccess) {
        error = launch_all(*batch, memory, ops_max);
    }
    (void)cudaFree(memory);
    return error;
}
