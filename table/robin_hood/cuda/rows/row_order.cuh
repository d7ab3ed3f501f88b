/* SPDX-License-Identifier: MIT
 *
 * row_order.cuh - the runs (row_runs.cuh) of a batch that has operations on strings. A warp carries
 * out the steps of a run one after the other, each on the whole row: the string after a step
 * depends on every byte before it.
 *
 * Invariant: a run has all steps on its row, and no other warp touches the row meanwhile.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_ORDER_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_ORDER_CUH

#include "proto/ops/string_apply.h"
#include "table/robin_hood/cuda/rows/row_runs.cuh"

/* One lane changes the string. Not inline: few batches have such steps, and the code takes
 * registers. */
static __device__ __attribute__((noinline)) void
apply_to_string(uint32_t op, bool found, uint8_t *row, const uint8_t *operand, uint32_t bytes,
                struct sw_string_space *space)
{
    sw_string_apply(sw_string_verb(op), found, row, operand, bytes - SW_STRING_HEAD_BYTES, space);
}

/* The unit at `offset` after a step. For a string operation, apply_to_string changes the bytes
 * before the key string. */
template <typename T>
static __device__ inline T unit_after(const struct sw_cuda_rows &rows, const step &one, T base,
                                      uint32_t offset)
{
    const T operand = row_load<T>(one.operand, offset);
    if (offset >= rows.value_bytes - rows.text_bytes) {
        return row_either(base, operand);
    }
    return SW_OPS_HAS(SW_OPS_STRING, one.op) ? base
           : sw_row_updates(one.op)          ? row_made(one.op, base, operand)
                                             : operand;
}

template <typename T>
static __device__ inline void carry_out_step(const struct sw_cuda_rows &rows, const step &one,
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
    if (lane == 0 && one.writes && SW_OPS_HAS(SW_OPS_STRING, one.op)) {
        apply_to_string(one.op, one.found, row, one.operand, rows.value_bytes - rows.text_bytes,
                        space);
    }
    __syncwarp(); /* M3: lane 0 has changed the string */
}

template <typename T>
static __device__ inline void carry_out_runs(const struct sw_cuda_rows &rows,
                                             const struct runs &runs, struct sw_string_space *space)
{
    const uint32_t warps = gridDim.x * (OVERFULL_THREADS / 32);
    for (uint32_t s = blockIdx.x * (OVERFULL_THREADS / 32) + threadIdx.x / 32; s < runs.segments;
         s += warps) {
        const struct segment of = segment_of(runs, s);
        const uint32_t row = runs.steps[of.begin].row;
        for (uint32_t j = of.begin; of.first && j < runs.count && runs.steps[j].row == row; j++) {
            carry_out_step<T>(rows, runs.steps[j], space);
        }
    }
}

/* Carries out all runs. `space` belongs to the warp. */
static __device__ inline void carry_out_in_order(const struct sw_cuda_rows &rows,
                                                 const struct runs &runs,
                                                 struct sw_string_space *space)
{
    const uint32_t odd = rows.scratch.control->odd & ~STEP_OF_PAIRS;
    __syncthreads(); /* M2: all threads have read the memory of the sort */
    if (row_unit(odd | rows.value_bytes | rows.text_bytes) >= 8) {
        carry_out_runs<uint2>(rows, runs, space);
    } else {
        carry_out_runs<uint32_t>(rows, runs, space);
    }
}

#endif
