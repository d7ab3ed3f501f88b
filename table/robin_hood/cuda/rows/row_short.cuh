/* SPDX-License-Identifier: MIT
 *
 * row_short.cuh - short segments (row_runs.cuh): a thread carries out one unit of a row from the
 * first step to the last.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_SHORT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_SHORT_CUH

#include "table/robin_hood/cuda/rows/row_runs.cuh"

#define WARPS (OVERFULL_THREADS / 32)
/* Segments that a warp processes at a time. */
#define GROUP 8
/* Operand loads that a thread has in flight. */
#define AHEAD 8

/* Returns whether the result of a segment is visible: in the row or in an answer. */
static __device__ inline bool is_seen(const struct runs &runs, const struct segment &of)
{
    bool seen = of.last || of.first || runs.steps[of.end].answer != NULL;
    for (uint32_t j = of.begin + 1; j < of.end && !seen; j++) {
        seen = runs.steps[j].answer != NULL;
    }
    return seen;
}

/* Carries out a segment for one unit. */
template <typename T, typename OPERAND, bool KEY_STRINGS>
static __device__ inline void carry_out(const struct sw_cuda_rows &rows, const struct runs &runs,
                                        const struct segment &of, uint32_t offset)
{
    const step first = runs.steps[of.begin];
    T v;
    first_step<T, OPERAND, KEY_STRINGS>(rows, of, first, offset, &v);
    bool wrote = first.writes;
    for (uint32_t from = of.begin + 1; from < of.end; from += AHEAD) {
        const uint8_t *at[AHEAD];
        OPERAND operand[AHEAD];
#pragma unroll
        for (uint32_t a = 0; a < AHEAD; a++) {
            at[a] = runs.steps[min(from + a, of.end - 1)].operand;
        }
#pragma unroll
        for (uint32_t a = 0; a < AHEAD; a++) {
            operand[a] = row_operand<T, OPERAND>(from + a < of.end ? at[a] : NULL, offset);
        }
#pragma unroll
        for (uint32_t a = 0; a < AHEAD; a++) {
            if (from + a < of.end) {
                const step &one = runs.steps[from + a];
                if (one.answer != NULL) {
                    __stcs((T *)(one.answer + offset), v);
                }
                if (one.writes) {
                    if constexpr (KEY_STRINGS) {
                        v = row_made_at<true>(rows, one.op, v, operand[a], offset);
                    } else {
                        v = row_made(one.op, v, operand[a]);
                    }
                    wrote = true;
                }
            }
        }
    }
    last_step<T>(rows, runs, of, first.row, wrote, offset, v);
}

/* Carries out the segments that are due and short, and lists the long ones. If rows have key
 * strings, all segments count as short. */
template <typename T, typename OPERAND, bool KEY_STRINGS = false>
static __device__ inline void carry_out_short(const struct sw_cuda_rows &rows,
                                              const struct runs &runs, bool waiting,
                                              struct segment *own)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t warps = gridDim.x * WARPS;
    const uint32_t units = rows.value_bytes / (uint32_t)sizeof(T);
    for (uint32_t from = (blockIdx.x * WARPS + threadIdx.x / 32) * GROUP; from < runs.segments;
         from += warps * GROUP) {
        struct segment of = {};
        bool due = false;
        if (lane < GROUP && from + lane < runs.segments) {
            of = segment_of(runs, from + lane);
            due = is_due(of, waiting);
            if (!KEY_STRINGS && of.end - of.begin >= SW_CUDA_ROW_LONG) {
                if (!waiting) { /* M6: a place in the list */
                    rows.scratch.longs[atomicAdd(&rows.scratch.control->longs, 1U)] = from + lane;
                }
                due = false;
            }
            due = due && is_seen(runs, of);
        }
        const uint32_t all = __ballot_sync(SW_WARP_ALL, due);
        if (due) {
            own[__popc(all & ((1U << lane) - 1))] = of;
        }
        __syncwarp(); /* M3: all lanes have stored their segments */
        for (uint32_t at = lane; at < (uint32_t)__popc(all) * units; at += 32) {
            uint32_t offset;
            const uint32_t owner = row_owner(at, units, &offset);
            carry_out<T, OPERAND, KEY_STRINGS>(rows, runs, own[owner],
                                               offset * (uint32_t)sizeof(T));
        }
        __syncwarp(); /* M3: all lanes have read the segments */
    }
}

#endif
