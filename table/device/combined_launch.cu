/* SPDX-License-Identifier: MIT
 *
 * combined_launch.cu - combined launches: the gather of their operations, and the scatter of their
 * results.
 */
#include <string.h>

#include "table/device/bits.cuh"
#include "table/device/follow.cuh"
#include "table/device/launcher.cuh"
#include "table/device/occupancy.cuh"
#include "table/device/parts.cuh"
#include "table/device/warp_reduce.cuh"
#include "table/operation.h"

/* Returns the enum sw_admission of the group of operation i of the part. */
static __device__ inline uint32_t admission_of(const struct arrays &all,
                                               const struct sw_cuda_part *part, uint32_t i)
{
    const uint32_t first = part->first_group;
    return all.in.group_refused[sw_group_of(all.in.group_ends, first, first + part->group_count - 1,
                                            part->first + i)];
}

static __device__ inline bool bit_of(const uint64_t *words, uint32_t i)
{
    return words[i / 64] >> (i % 64) & 1;
}

/* Returns the integer operation with the same effect and class as `op`, which may be an operation
 * of caches or rows. */
static __device__ inline uint32_t plain_op(uint32_t op, bool found)
{
    if (SW_OPS_HAS(SW_OPS_INTEGERS, op)) {
        return op;
    }
    if (SW_OPS_HAS(SW_OPS_READ, op)) {
        return SW_GET;
    }
    const bool writes = SW_OPS_HAS(found ? SW_OPS_PUT : SW_OPS_INSERT, op);
    return writes ? SW_SET : found ? SW_SET_ABSENT : SW_SET_PRESENT;
}

/* Counts one operation in a thread's words. `old` and `operand` matter only if the operation may
 * overflow. */
static __device__ inline void count_one(uint32_t *words, uint32_t op, bool found, uint64_t old,
                                        uint64_t operand, uint32_t value_bytes, bool not_admitted,
                                        bool silent)
{
    op = plain_op(op, found);
    enum sw_effect effect;
    if (value_bytes == sizeof(uint32_t)) {
        uint32_t out;
        effect = sw_decide_s64(op, found, (uint32_t)old, (uint32_t)operand, &out);
    } else {
        uint64_t out;
        effect = sw_decide_s128(op, found, old, operand, &out);
    }
    bool writes = effect == SW_EFFECT_WRITE && !not_admitted && !silent;
#pragma unroll
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        bool mine = c == (int)sw_op_class_of(op);
        words[SW_PART_OPERATIONS + c] += mine;
        words[SW_PART_HITS + c] += mine && found;
    }
    words[SW_PART_INSERTED] += writes && !found;
    words[SW_PART_UPDATED] += writes && found;
    words[SW_PART_DELETED] += effect == SW_EFFECT_REMOVE;
    words[SW_PART_NOT_ADMITTED] += not_admitted;
}

/* Counts operation i of the part. */
static __device__ inline void count_operation(const struct arrays &all,
                                              const struct sw_cuda_part *part, uint32_t i,
                                              bool found, bool not_admitted, bool some_refused,
                                              uint32_t *words)
{
    const struct sw_cuda_combined_view *memory = &all.memory;
    const uint32_t at = part->first + i;
    const uint32_t op = all.in.ops[at];
    uint64_t old = 0;
    uint64_t operand = 0;
    const uint32_t admission = some_refused ? admission_of(all, part, i) : SW_ADMITTED;
    if (admission != SW_ADMITTED) {
        words[SW_PART_REFUSED] += admission == SW_REFUSED_FULL;
        words[SW_PART_COLLIDED] += admission == SW_REFUSED_COLLISION;
        return;
    }
    if (SW_OPS_HAS(SW_OPS_REFUSE, op)) { /* only operations on integers refuse */
        bool narrow = memory->value_bytes == sizeof(uint32_t);
        old = narrow ? ((const uint32_t *)memory->previous)[at]
                     : ((const uint64_t *)memory->previous)[at];
        operand =
            narrow ? ((const uint32_t *)all.in.values)[at] : ((const uint64_t *)all.in.values)[at];
    }
    count_one(words, op, found, old, operand, memory->value_bytes, not_admitted,
              memory->silent != NULL && memory->silent[at] != 0);
}

/* Scatters the bits of a chunk, and counts its operations; a warp processes 32 operations at a
 * time. */
static __device__ inline void scatter_bits(const struct arrays &all,
                                           const struct sw_cuda_part *part, uint32_t begin,
                                           uint32_t end, bool some_refused, uint32_t *words)
{
    __shared__ uint32_t found_bits[SW_COMBINED_CHUNK / 32];
    __shared__ uint32_t not_admitted_bits[SW_COMBINED_CHUNK / 32];
    const struct sw_cuda_combined_view *memory = &all.memory;
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t base = begin + threadIdx.x / 32 * 32; base < end; base += SW_CUDA_BLOCK) {
        const uint32_t i = base + lane;
        const bool found = i < end && bit_of(memory->found, part->first + i);
        const bool not_admitted = i < end && memory->not_admitted != NULL &&
                                  bit_of(memory->not_admitted, part->first + i);
        const uint32_t found_here = __ballot_sync(SW_WARP_ALL, found);
        const uint32_t not_admitted_here = __ballot_sync(SW_WARP_ALL, not_admitted);
        if (lane == 0) {
            found_bits[(base - begin) / 32] = found_here;
            not_admitted_bits[(base - begin) / 32] = not_admitted_here;
        }
        if (i < end) {
            count_operation(all, part, i, found, not_admitted, some_refused, words);
        }
    }
    const uint32_t halves = (end - begin + 31) / 32;
    if (part->found != NULL) {
        sw_bits_store((uint32_t *)part->found, end, begin, found_bits, halves);
    }
    if (part->not_admitted != NULL) {
        sw_bits_store((uint32_t *)part->not_admitted, end, begin, not_admitted_bits, halves);
    }
}

/* Adds the words of a block's threads to the words of its part. */
static __device__ inline void add_words(uint32_t *total, const uint32_t *words)
{
    __shared__ uint32_t sums[SW_PART_WORDS];
    if (threadIdx.x < SW_PART_WORDS) {
        sums[threadIdx.x] = 0;
    }
    __syncthreads(); /* M2: the sums are zero */
#pragma unroll
    for (int w = 0; w < SW_PART_WORDS; w++) {
        uint32_t sum = sw_reduce_add(words[w]);
        if (threadIdx.x % 32 == 0 && sum != 0) {
            atomicAdd(&sums[w], sum);
        }
    }
    __syncthreads(); /* M2: the sums of all warps */
    if (threadIdx.x < SW_PART_WORDS && sums[threadIdx.x] != 0) {
        atomicAdd(&total[threadIdx.x], sums[threadIdx.x]);
    }
}

/* `results` and `record` are host memory. On an H200 all blocks of 2^20 operations are resident at
 * once. */
static __global__ void __launch_bounds__(SW_CUDA_BLOCK, SW_CUDA_RESIDENT_BLOCKS(SW_CUDA_BLOCK, 8))
    scatter_kernel(const struct arrays all, const int32_t *status, uint32_t *results,
                   uint64_t *record)
{
    const struct sw_cuda_combined_view *memory = &all.memory;
    sw_cuda_follow();
    const uint32_t number = all.in.parts->of_chunk[blockIdx.x];
    const struct sw_cuda_part part = all.in.parts->parts[number];
    const uint32_t begin = (blockIdx.x - part.first_chunk) * SW_COMBINED_CHUNK;
    const uint32_t end =
        part.count - begin < SW_COMBINED_CHUNK ? part.count : begin + SW_COMBINED_CHUNK;
    uint32_t words[SW_PART_WORDS] = {};
    if (all.counts) {
        scatter_bits(all, &part, begin, end, status != NULL && *status == SW_E_FULL, words);
        add_words(memory->words + number * SW_PART_WORDS, words);
    }
    if (part.group_refused != NULL) {
        for (uint32_t g = begin + threadIdx.x; g < end && g < part.group_count;
             g += SW_CUDA_BLOCK) {
            part.group_refused[g] = all.in.group_refused[part.first_group + g];
        }
    }
    if (part.previous != NULL) {
        copy_elements(part.previous, memory->previous, begin, part.first + begin, end - begin,
                      memory->value_bytes);
    }
    if (!sw_last_block(memory->blocks_done, gridDim.x)) {
        return;
    }
    for (uint32_t w = threadIdx.x; w < all.parts * SW_PART_WORDS; w += SW_CUDA_BLOCK) {
        results[w] = __ldcg(&memory->words[w]);
        memory->words[w] = 0;
    }
    const uint64_t ticket = memory->record[0];
    for (uint32_t w = 1 + threadIdx.x; w < memory->record_bytes / sizeof(uint64_t);
         w += SW_CUDA_BLOCK) {
        record[w] = memory->record[w];
    }
    __syncthreads(); /* M2: all threads have stored record and results before thread 0 fences them
                        (M7) */
    if (threadIdx.x == 0) {
        *memory->blocks_done = 0;
        sw_cuda_check_launches(memory, 1, 0);
        sw_cuda_record_ticket(record, ticket);
    }
}

/* --- the host's side -------------------------------------------------------------------------- */

/* Loads the kernels, so that no batch waits for their loading. */
static cudaError_t load(void)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, scatter_kernel);
    if (error == cudaSuccess) {
        error = sw_cuda_load_gather_parts();
    }
    return error == cudaSuccess ? sw_cuda_load_pairs() : error;
}

cudaError_t sw_cuda_combined_open(struct sw_cuda_combined *memory, bool is_cache,
                                  struct sw_cuda_launcher *launcher)
{
    memory->is_cache = is_cache;
    cudaError_t error = load();
    if (error == cudaSuccess) {
        error = sw_cuda_gather_stream(launcher, &memory->stream);
    }
    return error == cudaSuccess ? sw_cuda_combined_reserve(memory, launcher) : error;
}

static uint32_t chunks_of(uint32_t count)
{
    return (count + SW_COMBINED_CHUNK - 1) / SW_COMBINED_CHUNK;
}

uint32_t sw_cuda_combined_chunks(const struct sw_cuda_combined *memory,
                                 const struct sw_combined_launch *combined)
{
    const struct sw_cuda_part *last = &memory->staged[combined->number]->parts[combined->count - 1];
    return last->first_chunk + chunks_of(last->count);
}

/* Returns whether the scatter kernel counts the parts, from the bits of whole.found. */
static bool counts_parts(const struct sw_combined_launch *combined)
{
    return combined->whole.found != NULL;
}

static struct arrays arrays_of(const struct sw_cuda_combined *memory,
                               const struct sw_combined_launch *combined)
{
    struct arrays all = {*memory, memory->gathered[combined->number], combined->count,
                         counts_parts(combined)};
    return all;
}

/* Describes the parts for the kernels, and fills in the whole batch. */
static void describe(const struct sw_cuda_combined *memory, struct sw_combined_launch *combined)
{
    const struct sw_cuda_gathered *in = &memory->gathered[combined->number];
    struct sw_cuda_parts *staged = memory->staged[combined->number];
    const enum sw_op op = combined->parts[0]->op;
    bool uniform = true;
    bool values = false;
    bool pairs = false;
    bool previous = SW_OPS_HAS(SW_OPS_REFUSE, op); /* counting them needs the old values */
    uint32_t first = 0;
    uint32_t first_group = 0;
    uint32_t first_chunk = 0;
    for (uint32_t p = 0; p < combined->count; p++) {
        const struct sw_batch *batch = combined->parts[p];
        struct sw_cuda_part *part = &staged->parts[p];
        *part = {batch->keys,
                 (const uint8_t *)batch->values,
                 batch->ops,
                 batch->ranges,
                 (const uint8_t *)batch->expected,
                 (uint8_t *)batch->previous,
                 batch->found,
                 batch->not_admitted,
                 batch->group_count > 0 ? batch->group_ends : NULL,
                 batch->group_count > 0 ? batch->group_refused : NULL,
                 (uint32_t)batch->op,
                 batch->count,
                 batch->group_count > 0 ? batch->group_count : 1,
                 first,
                 first_group,
                 first_chunk};
        uniform = uniform && batch->ops == NULL && batch->op == op;
        values = values || batch->values != NULL;
        pairs = pairs || (batch->expected != NULL && memory->value_bytes > 0);
        previous = previous || batch->previous != NULL || pairs;
        first += part->count;
        first_group += part->group_count;
        for (uint32_t c = chunks_of(part->count); c > 0; c--) {
            staged->of_chunk[first_chunk++] = (uint16_t)p;
        }
    }
    struct sw_batch *whole = &combined->whole;
    memset(whole, 0, sizeof(*whole));
    whole->kind = SW_BATCH_OPERATIONS;
    whole->op = op;
    whole->ops = uniform ? NULL : in->ops;
    whole->count = first;
    whole->keys = in->keys;
    whole->values = values ? in->values : NULL;
    whole->expected = pairs ? memory->expected : NULL;
    whole->previous = previous || !uniform ? memory->previous : NULL;
    const bool one = combined->count == 1 && memory->not_admitted == NULL && !memory->counts_alone;
    whole->found = one && combined->parts[0]->found == NULL ? NULL : memory->found;
    whole->not_admitted = memory->not_admitted;
    whole->group_count = first_group;
    whole->group_ends = in->group_ends;
    whole->group_refused = in->group_refused;
}

/* Returns whether the keys and values of all parts are in device memory. */
static bool on_device(const struct sw_combined_launch *combined)
{
    for (uint32_t p = 0; p < combined->count; p++) {
        if (!combined->parts[p]->on_device) {
            return false;
        }
    }
    return true;
}

cudaError_t sw_cuda_combined_gather(struct sw_cuda_combined *memory,
                                    struct sw_combined_launch *combined, cudaStream_t stream)
{
    describe(memory, combined);
    const struct arrays all = arrays_of(memory, combined);
    cudaError_t error = cudaMemcpyAsync(all.in.parts, memory->staged[combined->number],
                                        sizeof(all.in.parts->of_chunk) +
                                            combined->count * sizeof(struct sw_cuda_part),
                                        cudaMemcpyHostToDevice, memory->stream);
    if (error != cudaSuccess) {
        return error;
    }
    error = sw_cuda_launch_gather_parts(all, sw_cuda_combined_chunks(memory, combined),
                                        on_device(combined), memory->stream);
    if (error == cudaSuccess) {
        error = cudaEventRecord(memory->gather_done, memory->stream);
    }
    if (error == cudaSuccess) {
        error = cudaStreamWaitEvent(stream, memory->gather_done, 0);
    }
    if (error == cudaSuccess && combined->whole.expected != NULL) {
        error =
            sw_cuda_launch_gather_expected(all, sw_cuda_combined_chunks(memory, combined), stream);
    }
    return error;
}

cudaError_t sw_cuda_combined_scatter(const struct sw_cuda_combined *memory,
                                     const struct sw_combined_launch *combined,
                                     const int32_t *status, void *record, cudaStream_t stream)
{
    const uint32_t chunks = sw_cuda_combined_chunks(memory, combined);
    struct arrays all = arrays_of(memory, combined);
    if (combined->whole.expected != NULL && all.counts) {
        const cudaError_t error = sw_cuda_launch_mark_unmet(all, chunks, stream);
        if (error != cudaSuccess) {
            return error;
        }
        all.memory.silent = memory->unmet;
    }
    return sw_cuda_launch_following(true, scatter_kernel, chunks, SW_CUDA_BLOCK, stream, all,
                                    status, memory->results, (uint64_t *)record);
}

/* Returns the counters of one part, from its words. */
static struct sw_counters counters_of(const uint32_t *words)
{
    struct sw_counters counters = {};
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        struct sw_op_counters *of_class = &counters.by_class[c];
        of_class->operations = words[SW_PART_OPERATIONS + c];
        of_class->hits = words[SW_PART_HITS + c];
        of_class->misses = of_class->operations - of_class->hits;
    }
    counters.inserted = words[SW_PART_INSERTED];
    counters.updated = words[SW_PART_UPDATED];
    counters.deleted = words[SW_PART_DELETED];
    counters.refused = words[SW_PART_REFUSED];
    counters.not_admitted = words[SW_PART_NOT_ADMITTED];
    return counters;
}

void sw_cuda_combined_finish(struct sw_cuda_combined *memory, struct sw_combined_launch *combined,
                             const struct sw_cuda_channel *channel)
{
    const struct sw_batch *whole = &combined->whole;
    const bool good = whole->status == SW_OK || whole->status == SW_E_FULL;
    struct sw_cuda_buffer_loan *loan = &memory->loans[combined->number];
    const uint32_t *results = (const uint32_t *)sw_cuda_buffer_results(memory->buffers, loan);
    for (uint32_t p = 0; p < combined->count; p++) {
        struct sw_batch *part = combined->parts[p];
        part->status = whole->status;
        if (good) {
            const uint32_t *words = results + p * SW_PART_WORDS;
            const bool counts = counts_parts(combined);
            part->counters = counts ? counters_of(words) : whole->counters;
            part->status = part->counters.refused != 0 || (counts && words[SW_PART_COLLIDED] != 0)
                               ? SW_E_FULL
                               : SW_OK;
            part->status = words[SW_PART_INVALID] != 0 ? SW_E_INVALID : part->status;
        }
    }
    if (good) {
        struct sw_batch *first = combined->parts[0];
        for (int c = 0; c < SW_CLASS_COUNT; c++) {
            first->counters.by_class[c].probes = whole->counters.by_class[c].probes;
        }
        first->counters.failures = whole->counters.failures;
        first->counters.evicted = whole->counters.evicted;
        first->_stash_change = whole->_stash_change;
        sw_cuda_buffer_return(memory->buffers, loan);
    } else {
        sw_cuda_buffer_abandon(memory->buffers, loan, channel->stream, memory->stream);
    }
}
