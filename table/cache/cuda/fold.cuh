/* SPDX-License-Identifier: MIT
 *
 * fold.cuh - a block executes operations on one present key, one thread per operation (many.cu).
 * Included after operate.inl.
 *
 * The value before an operation is that of the last earlier operation that writes. The score after
 * an operation comes from a sum of uses, or from the last use. Added values are added in order, one
 * thread per number of the value. The block holds the key's locks (M5).
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_FOLD_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_FOLD_CUH

#include "table/cache/cuda/copy.cuh"
#include "table/cache/cuda/table_step.cuh"

#define THREADS 512
#define WARPS (THREADS / 32)

/* Shared memory for values that are added. A block has at most 64 KiB of shared memory on GPUs of
 * compute capability 7.5, and at least 99 KiB on newer ones. */
#define ARENA_BYTES_LARGE (64U << 10)
#define ARENA_BYTES_SMALL (40U << 10)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define ARENA_BYTES ARENA_BYTES_SMALL
#else
#define ARENA_BYTES ARENA_BYTES_LARGE
#endif
static_assert(SW_CACHE_VALUE_BYTES_MAX / 4 <= THREADS, "a thread a number");

/* A summary of the operations up to one of them. `writer`: 1 + the place of the last that writes;
 * `user`: 1 + the place of the last use; 0: none. `uses`: the number of uses that they add. */
struct sum {
    uint64_t uses;
    uint32_t writer;
    uint32_t user;
};

/* Shared memory of a block. */
struct block {
    struct sw_cache_transfer transfers[THREADS];
    uint64_t scores[THREADS];  /* by place: the score after this use, if it were the first */
    uint32_t indexes[THREADS]; /* by place: index of the operation in the batch */
    struct sum sums[WARPS];
    uint32_t numbers[WARPS];
    uint32_t words[SW_CACHE_WORD_COUNT];
    uint64_t key;
    uint64_t slot; /* slot of the key, or SW_CACHE_NOWHERE */
    uint64_t score;
    uint32_t kind;
    uint32_t result;
    uint32_t taken;
    struct sum last;
};

/* The operation of a thread. */
struct mine {
    uint64_t index;
    uint64_t given;
    uint32_t op;
    uint32_t actions;
    uint32_t kind;
};

/* Kinds of operations that are folded together: those that add numbers of one type, and those that
 * do not add. An operation that erases is executed alone. */
enum kind { KIND_PLAIN, KIND_ERASES, KIND_ADDS };

static __device__ __forceinline__ uint32_t warp_of_mine(void)
{
    return threadIdx.x / 32;
}

/* --- the block -------------------------------------------------------------------------------- */

/* Returns the first thread with `is`, or `none`. All threads. */
static __device__ __forceinline__ uint32_t first_of(struct block *block, bool is, uint32_t none)
{
    uint32_t lanes = __ballot_sync(0xffffffffU, is);
    __syncthreads(); /* M2: numbers[] was read */
    if (threadIdx.x % 32 == 0) {
        block->numbers[warp_of_mine()] =
            lanes == 0 ? SW_CACHE_NONE : threadIdx.x + (uint32_t)__ffs((int)lanes) - 1;
    }
    __syncthreads(); /* M2: numbers[] of all warps */
    uint32_t first = SW_CACHE_NONE;
    for (uint32_t w = 0; w < WARPS; w++) {
        first = min(first, block->numbers[w]);
    }
    return first == SW_CACHE_NONE ? none : first;
}

/* Returns the sum of `mine` over the threads before this one; sets *total to the sum over all. All
 * threads. */
static __device__ __forceinline__ uint32_t sum_before(struct block *block, uint32_t mine,
                                                      uint32_t *total)
{
    uint32_t sum = mine;
#pragma unroll
    for (uint32_t step = 1; step < 32; step *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffU, sum, step);
        sum += threadIdx.x % 32 >= step ? other : 0;
    }
    __syncthreads(); /* M2: numbers[] was read */
    if (threadIdx.x % 32 == 31) {
        block->numbers[warp_of_mine()] = sum;
    }
    __syncthreads(); /* M2: numbers[] of all warps */
    uint32_t before = sum - mine;
    *total = 0;
    for (uint32_t w = 0; w < WARPS; w++) {
        before += w < warp_of_mine() ? block->numbers[w] : 0;
        *total += block->numbers[w];
    }
    return before;
}

/* Returns the summary of the operations of a, then those of b. */
static __device__ __forceinline__ struct sum joined(const struct sum &a, const struct sum &b)
{
    struct sum sum;
    sum.uses = a.uses > UINT64_MAX - b.uses ? UINT64_MAX : a.uses + b.uses;
    sum.writer = max(a.writer, b.writer);
    sum.user = max(a.user, b.user);
    return sum;
}

static __device__ __forceinline__ struct sum from_before(const struct sum &mine, uint32_t step)
{
    struct sum sum;
    sum.uses = __shfl_up_sync(0xffffffffU, mine.uses, step);
    sum.writer = __shfl_up_sync(0xffffffffU, mine.writer, step);
    sum.user = __shfl_up_sync(0xffffffffU, mine.user, step);
    return sum;
}

/* Returns the summary up to this thread, its own operation included; sets *before to the summary
 * without it. All threads. */
static __device__ __forceinline__ struct sum sum_until(struct block *block, struct sum mine,
                                                       struct sum *before)
{
#pragma unroll
    for (uint32_t step = 1; step < 32; step *= 2) {
        struct sum other = from_before(mine, step);
        if (threadIdx.x % 32 >= step) {
            mine = joined(other, mine);
        }
    }
    struct sum warps = {0, 0, 0};
    __syncthreads(); /* M2: sums[] was read */
    if (threadIdx.x % 32 == 31) {
        block->sums[warp_of_mine()] = mine;
    }
    __syncthreads(); /* M2: sums[] of all warps */
    for (uint32_t w = 0; w < warp_of_mine(); w++) {
        warps = joined(warps, block->sums[w]);
    }
    *before = from_before(mine, 1);
    *before = threadIdx.x % 32 == 0 ? warps : joined(warps, *before);
    return joined(warps, mine);
}

/* --- folding ---------------------------------------------------------------------------------- */

/* Counts the operations of the threads with `has`. Either all of them found their key or none did.
 * All threads. M6: each word is a sum. */
static __device__ __forceinline__ void count(const struct sw_cache_table_batch *batch,
                                             struct block *block, const struct mine *mine, bool has,
                                             bool hit, bool refused)
{
    uint32_t *words = block->words;
    uint32_t its_class = sw_cache_table_class(mine->op);
    bool updates = hit && (mine->actions & (SW_CACHE_DO_WRITE | SW_CACHE_DO_ADD)) != 0;
    for (uint32_t k = 0; k < SW_CLASS_COUNT; k++) {
        uint32_t lanes = __ballot_sync(0xffffffffU, has && its_class == k);
        if (threadIdx.x % 32 == 0 && lanes != 0) {
            uint32_t operations = (uint32_t)__popc(lanes);
            atomicAdd(&words[SW_CACHE_WORD_CLASS + 3 * k + hit], operations);
            atomicAdd(&words[SW_CACHE_WORD_CLASS + 3 * k + 2],
                      operations * (batch->slots.two ? 2 : 1));
        }
    }
    uint32_t updated = __ballot_sync(0xffffffffU, has && updates);
    uint32_t turned_away = __ballot_sync(0xffffffffU, has && refused);
    if (threadIdx.x % 32 == 0 && updated != 0) {
        atomicAdd(&words[SW_CACHE_WORD_UPDATED], (uint32_t)__popc(updated));
    }
    if (threadIdx.x % 32 == 0 && turned_away != 0) {
        atomicAdd(&words[SW_CACHE_WORD_NOT_ADMITTED], (uint32_t)__popc(turned_away));
    }
}

/* Copies a value for each thread with `has`. No destination is the source of another value. All
 * threads. */
static __device__ __forceinline__ void copy_values(const struct sw_cache_table_batch *batch,
                                                   struct block *block, bool has,
                                                   const uint8_t *from, uint8_t *to)
{
    struct sw_cache_transfer *transfers = block->transfers + warp_of_mine() * 32;
    __syncwarp(); /* M3: the list was read */
    uint32_t transfers_count = sw_cache_append_transfers(transfers, 0, has, from, to);
    __syncwarp(); /* M3: the list */
    sw_cache_copy_transfers(transfers, transfers_count, batch->slots.value_bytes);
}

static __device__ __forceinline__ const uint8_t *value_of(const struct sw_cache_table_batch *batch,
                                                          uint64_t index)
{
    return batch->values + index * batch->slots.value_bytes;
}

static __device__ __forceinline__ uint8_t *previous_of(const struct sw_cache_table_batch *batch,
                                                       uint64_t index)
{
    return batch->previous + index * batch->slots.value_bytes;
}

/* Answers the operations of the threads with `has`, which find no entry and make none. All
 * threads. */
static __device__ __forceinline__ void miss(const struct sw_cache_table_batch *batch,
                                            struct block *block, const struct mine *mine, bool has)
{
    bool refused = (mine->actions & SW_CACHE_DO_INSERT) != 0;
    if (has) {
        sw_cache_note(batch, mine->index, refused ? SW_CACHE_REFUSED : SW_CACHE_MISS);
    }
    if (has && batch->scores_out != NULL) {
        batch->scores_out[mine->index] = 0;
    }
    if (batch->previous != NULL) {
        copy_values(batch, block, has, sw_cache_no_value(batch, mine->actions),
                    previous_of(batch, mine->index));
    }
    count(batch, block, mine, has, false, refused);
}

/* Returns the score of an entry after the operations of a summary; `before`: its score before
 * them. */
static __device__ __forceinline__ uint64_t score_after(const struct sw_cache_table_batch *batch,
                                                       const struct block *block,
                                                       const struct sum *sum, uint64_t before)
{
    if (sum->user == 0) {
        return before;
    }
    switch (batch->slots.policy) {
    case SW_CACHE_LFU:
        return before > UINT64_MAX - sum->uses ? UINT64_MAX : before + sum->uses;
    case SW_CACHE_EPOCH_LFU:
        return batch->time.epoch << 32 |
               sw_cache_least((before & UINT32_MAX) + sum->uses, UINT32_MAX);
    default:
        return block->scores[sum->user - 1];
    }
}

/* Adds the values of the operations [begin, end) to the value at `slot`, one thread per number of
 * the value. If the batch requests previous values, writes the value before each operation. All
 * threads. */
template <typename NUMBER>
static __device__ __forceinline__ void add_values(const struct sw_cache_table_batch *batch,
                                                  const struct block *block, uint8_t *arena,
                                                  uint64_t slot, uint32_t begin, uint32_t end)
{
    constexpr uint32_t IN_FLIGHT = 8;
    const uint32_t bytes = batch->slots.value_bytes;
    const uint32_t words = bytes / 4;
    const uint32_t at_once = ARENA_BYTES / bytes;
    const uint32_t numbers = bytes / (uint32_t)sizeof(NUMBER);
    bool has = threadIdx.x < numbers;
    NUMBER *there = (NUMBER *)sw_cache_value_at(&batch->slots, slot) + threadIdx.x;
    NUMBER sum = has ? __ldcg(there) : 0;
    for (uint32_t from = begin; from < end; from += at_once) {
        uint32_t ops = min(at_once, end - from);
        for (uint32_t first = threadIdx.x; first < ops * words; first += THREADS * IN_FLIGHT) {
            uint32_t part[IN_FLIGHT];
#pragma unroll
            for (uint32_t u = 0; u < IN_FLIGHT; u++) {
                uint32_t at = first + u * THREADS;
                if (at < ops * words) {
                    const uint8_t *value = value_of(batch, block->indexes[from + at / words]);
                    part[u] = __ldcg((const uint32_t *)value + at % words);
                }
            }
#pragma unroll
            for (uint32_t u = 0; u < IN_FLIGHT; u++) {
                uint32_t at = first + u * THREADS;
                if (at < ops * words) {
                    ((uint32_t *)arena)[at] = part[u];
                }
            }
        }
        __syncthreads(); /* M2: the addends of these operations */
        const NUMBER *addend = (const NUMBER *)arena + threadIdx.x;
        if (has && batch->previous == NULL) {
#pragma unroll 8
            for (uint32_t i = 0; i < ops; i++) {
                sum += addend[i * numbers];
            }
        } else if (has) {
            for (uint32_t i = 0; i < ops; i++) {
                uint8_t *previous = previous_of(batch, block->indexes[from + i]);
                ((NUMBER *)previous)[threadIdx.x] = sum;
                sum += addend[i * numbers];
            }
        }
        __syncthreads(); /* M2: all threads have read the addends before the next ones are loaded */
    }
    if (has) {
        *there = sum;
    }
}

/* Copies the value before each operation that requests it, then writes the value of the last
 * operation that writes. All threads. */
static __device__ __forceinline__ void write_values(const struct sw_cache_table_batch *batch,
                                                    struct block *block, const struct mine *mine,
                                                    uint64_t slot, bool has,
                                                    const struct sum *before)
{
    uint8_t *there = sw_cache_value_at(&batch->slots, slot);
    if (batch->previous != NULL) {
        const uint8_t *from = there;
        if (has && before->writer != 0) {
            from = value_of(batch, block->indexes[before->writer - 1]);
        }
        copy_values(batch, block, has, from, previous_of(batch, mine->index));
    }
    __syncthreads(); /* M2: all warps have read the old value before warp 0 writes the new one */
    uint32_t writer = block->last.writer;
    if (writer != 0 && warp_of_mine() == 0) {
        copy_values(batch, block, threadIdx.x == 0, value_of(batch, block->indexes[writer - 1]),
                    there);
    }
}

/* Returns the number of uses that an operation adds, under policies that count uses. */
static __device__ __forceinline__ uint64_t uses_of(uint32_t policy, uint64_t given)
{
    return policy == SW_CACHE_EPOCH_LFU ? sw_cache_least(given, UINT32_MAX) : given;
}

/* Executes the operations [begin, end), all of one kind, whose key is at `slot`. All threads. */
static __device__ __forceinline__ void fold(const struct sw_cache_table_batch *batch,
                                            struct block *block, uint8_t *arena,
                                            const struct mine *mine, uint64_t slot, uint32_t kind,
                                            uint32_t begin, uint32_t end)
{
    const struct sw_cache_slots *slots = &batch->slots;
    struct sw_cache_entry *entry = sw_cache_entry_at(slots, slot);
    bool has = threadIdx.x >= begin && threadIdx.x < end;
    uint64_t score = __ldcg(&entry->score);
    struct sum sum = {0, 0, 0};
    struct sum before;
    if (has && (mine->actions & SW_CACHE_DO_USE)) {
        sum.user = threadIdx.x + 1;
        sum.uses = uses_of(slots->policy, mine->given);
        block->scores[threadIdx.x] =
            sw_cache_score_used(slots->policy, &batch->time, mine->index, mine->given, score);
    }
    if (has && (mine->actions & SW_CACHE_DO_WRITE)) {
        sum.writer = threadIdx.x + 1;
    }
    sum = sum_until(block, sum, &before);
    score = score_after(batch, block, &sum, score);
    if (has) {
        sw_cache_note(batch, mine->index, SW_CACHE_HIT);
    }
    if (has && batch->scores_out != NULL) {
        batch->scores_out[mine->index] = score;
    }
    if (threadIdx.x == end - 1) {
        block->last = sum;
        block->score = score;
    }
    count(batch, block, mine, has, true, false);
    if (kind == KIND_PLAIN) {
        write_values(batch, block, mine, slot, has, &before);
    } else if (kind == KIND_ADDS + SW_CACHE_F32) {
        add_values<float>(batch, block, arena, slot, begin, end);
    } else if (kind == KIND_ADDS + SW_CACHE_U32) {
        add_values<uint32_t>(batch, block, arena, slot, begin, end);
    } else {
        add_values<unsigned long long>(batch, block, arena, slot, begin, end);
    }
    __syncthreads(); /* M2: the values are written, `last` and `score` are known */
    if (threadIdx.x == 0 && block->last.user != 0) {
        entry->score = block->score;
        if (slots->policy == SW_CACHE_CUSTOM) {
            sw_cache_mark(slots, slot / SW_CACHE_BUCKET_SLOTS, slot, block->score);
        }
    }
    __syncthreads(); /* M2: thread 0 has stored the score before the locks are released */
}

#endif
