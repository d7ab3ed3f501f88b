/* SPDX-License-Identifier: MIT
 *
 * row_runs.cuh - the operations on rows that occur more than once in a batch, sorted by row,
 * stably, and cut into segments; row_repeats.cu defines segments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_RUNS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_RUNS_CUH

#include "table/robin_hood/cuda/rows/row_effects.cuh"
#include "table/robin_hood/cuda/rows/row_move.cuh"
#include "table/robin_hood/cuda/writes/overfull_range_sort.cuh"

typedef struct sw_cuda_row_step step;

/* A step that keeps the row's key string is not a seed. */
template <bool KEY_STRINGS = false> static __device__ inline bool is_seed(const step &one)
{
    return one.writes && !sw_row_updates(one.op) && !(KEY_STRINGS && one.keeps);
}

/* In control->odd: some step adds numbers of 8 bytes. */
#define STEP_OF_PAIRS 16U

/* A flag in the list of long segments: the segment was carried out. */
#define ROW_DONE 0x80000000U

/* The sorted steps, cut into segments. */
struct runs {
    const step *steps;
    const struct sw_overfull_operation *sorted; /* the operation of each step */
    uint32_t count;
    const uint32_t *starts; /* start of each segment; after the last one `count` */
    uint32_t segments;
};

struct segment {
    uint32_t begin, end;
    bool first, last; /* of its run */
};

static __device__ inline struct segment segment_of(const struct runs &runs, uint32_t number)
{
    struct segment of;
    of.begin = runs.starts[number];
    of.end = runs.starts[number + 1];
    const uint32_t row = runs.steps[of.begin].row;
    of.first = of.begin == 0 || runs.steps[of.begin - 1].row != row;
    of.last = of.end == runs.count || runs.steps[of.end].row != row;
    return of;
}

/* Returns whether a segment is carried out in this phase. Segments that wait follow after all
 * others. */
static __device__ inline bool is_due(const struct segment &of, bool waiting)
{
    return (of.last && !of.first) == waiting;
}

/* --- the steps, sorted ------------------------------------------------------------------------ */

template <int BITS, bool KEY_STRINGS>
static __device__ inline step step_of(const struct sw_cuda_rows &rows,
                                      const struct sw_cuda_row_batch<BITS> &batch,
                                      const struct sw_overfull_operation &one)
{
    const uint32_t i = one.number;
    const struct sw_cuda_part *part = part_of(batch.parts, batch.part_count, i);
    const struct row_effect effect = row_effect_of<BITS>(batch, i);
    const uint64_t at = i - part->first;
    step made;
    made.operand =
        effect.writes ? part->values + at * row_operand_bytes<BITS>(batch, rows.value_bytes) : NULL;
    made.answer = part->previous != NULL ? part->previous + at * rows.value_bytes : NULL;
    made.row = one.key_slot;
    made.op = (uint8_t)effect.op;
    made.writes = effect.writes;
    made.found = effect.found;
    if (KEY_STRINGS) {
        made.keeps = effect.writes && row_key_string(rows, made.operand) == NULL;
    }
    return made;
}

/* Sorts the operations on repeated rows and fills in their steps. */
template <int BITS, bool KEY_STRINGS>
static __device__ inline struct runs sort_steps(const struct sw_cuda_rows &rows,
                                                const struct sw_cuda_row_batch<BITS> &batch,
                                                struct sort_memory *memory)
{
    const struct sw_cuda_row_scratch &scratch = rows.scratch;
    const struct grid_stride stride = stride_of_thread();
    const uint64_t rows_used = rows.stack->high + scratch.control->fresh;
    struct unsorted in = {scratch.rows, NULL, batch.count};
    uint32_t pass = 0;
    uint32_t shift = 0;
    do {
        struct sw_overfull_operation *out =
            (struct sw_overfull_operation *)scratch.sorted[pass++ % 2];
        const uint32_t all = sort_pass(memory, in, shift, scratch.counts, out);
        in = {NULL, out, all};
        shift += DIGIT_BITS;
    } while (rows_used >> shift != 0);
    uint32_t odd = 0;
    for (uint64_t j = stride.start; j < in.count; j += stride.step) {
        const step made = step_of<BITS, KEY_STRINGS>(rows, batch, in.from[j]);
        scratch.steps[j] = made;
        odd |= (uint32_t)((uintptr_t)made.operand | (uintptr_t)made.answer) & 15;
        odd |= SW_OPS_HAS(SW_OPS_ADD & SW_OPS_64_BITS, made.op) ? STEP_OF_PAIRS : 0;
    }
    if (odd != 0 && (scratch.control->odd | odd) != scratch.control->odd) {
        atomicOr(&scratch.control->odd, odd); /* M6: other threads set other bits */
    }
    cooperative_groups::this_grid().sync(); /* M4: all steps */
    return {scratch.steps, in.from, in.count, scratch.segments, 0};
}

/* Lists where segments begin. */
template <bool KEY_STRINGS>
static __device__ inline void cut_runs(const struct sw_cuda_row_scratch &scratch, struct runs *runs,
                                       struct sort_memory *memory)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t own = 0;
    share_of(runs->count, &begin, &end);
    for (uint32_t round = 0; round < 2; round++) { /* first counts the segments, then lists them */
        uint32_t before = own;
        own = 0;
        for (uint64_t from = begin; from < end; from += OVERFULL_THREADS) {
            const uint64_t j = from + threadIdx.x;
            const bool starts =
                j < end && (j == 0 || runs->steps[j - 1].row != runs->steps[j].row ||
                            is_seed<KEY_STRINGS>(runs->steps[j]));
            uint32_t all = 0;
            const uint32_t at = sum_before(memory->sums, starts, &all);
            if (round == 1 && starts) {
                scratch.segments[before + own + at] = (uint32_t)j;
            }
            own += all;
        }
        if (round == 0) {
            if (threadIdx.x == 0) {
                scratch.counts[blockIdx.x] = own;
            }
            grid.sync(); /* M4: the counts of all blocks */
            uint32_t sum = 0;
            for (uint32_t from = 0; from < gridDim.x; from += OVERFULL_THREADS) {
                const uint32_t b = from + threadIdx.x;
                uint32_t all = 0;
                sum_before(memory->sums, b < blockIdx.x && b < gridDim.x ? scratch.counts[b] : 0,
                           &all);
                sum += all;
                sum_before(memory->sums, b < gridDim.x ? scratch.counts[b] : 0, &all);
                runs->segments += all;
            }
            own = sum;
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        scratch.segments[runs->segments] = runs->count;
    }
    grid.sync(); /* M4: the list */
}

/* --- the ends of a segment -------------------------------------------------------------------- */

/* Carries out the first step of a segment. *v is the unit of the row after it. */
template <typename T, typename OPERAND, bool KEY_STRINGS = false>
static __device__ inline void first_step(const struct sw_cuda_rows &rows, const struct segment &of,
                                         const step &one, uint32_t offset, T *v)
{
    *v = T();
    if (of.first) {
        if (one.found && (one.answer != NULL || !is_seed<KEY_STRINGS>(one))) {
            *v = __ldcg((const T *)(row_at(rows, one.row) + offset));
        }
        if (one.answer != NULL) {
            __stcs((T *)(one.answer + offset), *v);
        }
    }
    if (one.writes) {
        const OPERAND operand = row_operand<T, OPERAND>(one.operand, offset);
        if constexpr (sizeof(OPERAND) == sizeof(T)) {
            *v = is_seed<KEY_STRINGS>(one)
                     ? operand
                     : row_made_at<KEY_STRINGS>(rows, one.op, *v, operand, offset);
        } else { /* a seed has no wide operand */
            *v = row_made(one.op, *v, operand);
        }
    }
}

/* Stores the result of a segment: in the answer of the next seed, or in the row. */
template <typename T>
static __device__ inline void last_step(const struct sw_cuda_rows &rows, const struct runs &runs,
                                        const struct segment &of, uint32_t row, bool wrote,
                                        uint32_t offset, T v)
{
    if (!of.last) {
        uint8_t *answer = runs.steps[of.end].answer;
        if (answer != NULL) {
            __stcs((T *)(answer + offset), v);
        }
    } else if (wrote) {
        *(T *)(row_at(rows, row) + offset) = v;
    }
}

#endif
