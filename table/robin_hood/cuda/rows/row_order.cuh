/* SPDX-License-Identifier: MIT
 *
 * row_order.cuh - the runs (row_runs.cuh) of a batch that has operations on strings, on parts of
 * rows or with two operands. A warp carries out the steps of a run one after the other, each on the
 * whole row: the row after a step may depend on every byte before it.
 *
 * Invariant: a run has all steps on its row, and no other warp touches the row meanwhile.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_ORDER_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_ORDER_CUH

#include "proto/ops/range_apply.h"
#include "table/robin_hood/cuda/rows/row_runs.cuh"

/* One lane changes the string. Not inline: few batches have such steps, and the code takes
 * registers. */
static __device__ __attribute__((noinline)) void
apply_to_string(uint32_t op, bool found, uint8_t *row, const uint8_t *operand, uint32_t bytes,
                struct sw_string_space *space)
{
    sw_string_apply(sw_string_verb(op), found, row, operand, bytes - SW_STRING_HEAD_BYTES, space);
}

/* Replaces part of a row. All lanes. */
static __device__ inline void replace_part(uint32_t range, uint8_t *row, const uint8_t *part,
                                           uint32_t bytes)
{
    const uint32_t lane = threadIdx.x % 32;
    const bool is_string = (range & SW_RANGE_OF_STRING) != 0;
    const uint32_t size = is_string ? sw_string_at(row, bytes - SW_STRING_HEAD_BYTES).size : 0;
    sw_range_copy(range, row, size, part, lane, 32);
    __syncwarp(); /* M3: all lanes have read the length */
    if (lane == 0 && is_string) {
        sw_string_set_size(row, sw_range_size_after(range, size));
    }
}

/* The parameters of a step besides its operand. */
struct step_more {
    uint32_t
        range; /* of an operation of SW_OPS_PART or SW_OPS_PAIR: sw_batch.ranges; otherwise 0 */
    const uint8_t *expected; /* of an operation of SW_OPS_PAIR */
};

/* Replaces the row if its first bytes are those of the expected one. All lanes. */
static __device__ inline void swap_row(const struct step_more &more, uint8_t *row,
                                       const uint8_t *operand, uint32_t bytes)
{
    const uint32_t lane = threadIdx.x % 32;
    bool differs = false;
    for (uint32_t k = lane; k < more.range; k += 32) {
        differs = differs || row[k] != more.expected[k];
    }
    /* M3: all lanes have compared before one writes */
    const bool swaps = __ballot_sync(SW_WARP_ALL, differs) == 0;
    for (uint32_t k = lane; swaps && k < bytes; k += 32) {
        row[k] = operand[k];
    }
}

/* The unit at `offset` after a step. For an operation that sw_row_is_in_order names, it keeps the
 * bytes before the key string, and change_row changes them. */
template <typename T>
static __device__ inline T unit_after(const struct sw_cuda_rows &rows, const step &one, T base,
                                      uint32_t offset)
{
    const T operand = row_load<T>(one.operand, offset);
    if (offset >= rows.value_bytes - rows.key_string_bytes) {
        return row_either(base, operand);
    }
    return sw_row_is_in_order(one.op) ? base
           : sw_row_updates(one.op)   ? row_made(one.op, base, operand)
                                      : operand;
}

/* Changes the bytes before the key string by an operation that sw_row_is_in_order names. All
 * lanes. */
static __device__ inline void change_row(const struct sw_cuda_rows &rows, const step &one,
                                         const struct step_more &more,
                                         struct sw_string_space *space)
{
    uint8_t *row = row_at(rows, one.row);
    const uint32_t bytes = rows.value_bytes - rows.key_string_bytes;
    if (SW_OPS_HAS(SW_OPS_PART, one.op)) {
        replace_part(more.range, row, one.operand, bytes);
    } else if (SW_OPS_HAS(SW_OPS_PAIR, one.op)) {
        swap_row(more, row, one.operand, bytes);
    } else if (SW_OPS_HAS(SW_OPS_FITTING, one.op)) {
        sw_numbers_apply(one.op, row, one.operand, bytes, threadIdx.x % 32, 32);
    } else if (threadIdx.x % 32 == 0 && SW_OPS_HAS(SW_OPS_STRING, one.op)) {
        apply_to_string(one.op, one.found, row, one.operand, bytes, space);
    }
}

template <typename T>
static __device__ inline void carry_out_step(const struct sw_cuda_rows &rows, const step &one,
                                             const struct step_more &more,
                                             struct sw_string_space *space)
{
    const uint32_t lane = threadIdx.x % 32;
    uint8_t *row = row_at(rows, one.row);
    for (uint32_t offset = lane * (uint32_t)sizeof(T); offset < rows.value_bytes;
         offset += 32 * (uint32_t)sizeof(T)) {
        const T base = one.found ? __ldcg((const T *)(row + offset)) : T();
        if (one.answer != NULL) {
            __stcs((T *)(one.answer + offset), base);
        }
        if (one.writes) {
            *(T *)(row + offset) = unit_after<T>(rows, one, base, offset);
        }
    }
    __syncwarp(); /* M3: all lanes have stored their units of the row */
    if (one.writes) {
        change_row(rows, one, more, space);
    }
    __syncwarp(); /* M3: the row is changed */
}

template <int BITS>
static __device__ inline struct step_more more_of(const struct sw_cuda_rows &rows,
                                                  const struct sw_cuda_row_batch<BITS> &batch,
                                                  const struct runs &runs, uint32_t j)
{
    struct step_more more = {0, NULL};
    const uint32_t op = runs.steps[j].op;
    if (!SW_OPS_HAS(SW_OPS_PART | SW_OPS_PAIR, op) || !runs.steps[j].writes) {
        return more;
    }
    const uint32_t i = runs.sorted[j].number;
    const struct sw_cuda_part *part = part_of(batch.parts, batch.part_count, i);
    more.range = part->ranges[i - part->first];
    more.expected = SW_OPS_HAS(SW_OPS_PAIR, op)
                        ? part->expected + (uint64_t)(i - part->first) * rows.value_bytes
                        : NULL;
    return more;
}

template <int BITS, typename T>
static __device__ inline void carry_out_runs(const struct sw_cuda_rows &rows,
                                             const struct sw_cuda_row_batch<BITS> &batch,
                                             const struct runs &runs, struct sw_string_space *space)
{
    const uint32_t warps = gridDim.x * (OVERFULL_THREADS / 32);
    for (uint32_t s = blockIdx.x * (OVERFULL_THREADS / 32) + threadIdx.x / 32; s < runs.segments;
         s += warps) {
        const struct segment of = segment_of(runs, s);
        const uint32_t row = runs.steps[of.begin].row;
        for (uint32_t j = of.begin; of.first && j < runs.count && runs.steps[j].row == row; j++) {
            carry_out_step<T>(rows, runs.steps[j], more_of<BITS>(rows, batch, runs, j), space);
        }
    }
}

/* Carries out all runs. `space` belongs to the warp. */
template <int BITS>
static __device__ inline void
carry_out_in_order(const struct sw_cuda_rows &rows, const struct sw_cuda_row_batch<BITS> &batch,
                   const struct runs &runs, struct sw_string_space *space)
{
    const uint32_t odd = rows.scratch.control->odd & ~STEP_OF_PAIRS;
    __syncthreads(); /* M2: all threads have read the memory of the sort */
    if (row_unit(odd | rows.value_bytes | rows.key_string_bytes) >= 8) {
        carry_out_runs<BITS, uint2>(rows, batch, runs, space);
    } else {
        carry_out_runs<BITS, uint32_t>(rows, batch, runs, space);
    }
}

#endif
