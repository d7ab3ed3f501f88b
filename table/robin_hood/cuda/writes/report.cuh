/* SPDX-License-Identifier: MIT
 *
 * report.cuh - completes the record of a write batch.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_REPORT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_REPORT_CUH

#include <stddef.h>

#include "table/robin_hood/cuda/device.cuh"

/* Writes the record and zeroes the control block. All threads of a block do it, since one thread
 * would wait for memory at every word. */
static __device__ inline void report_write(struct sw_cuda_control *control,
                                           const struct sw_state *state,
                                           struct sw_cuda_record *record, uint64_t ticket,
                                           bool gathered)
{
    const uint32_t counter_words = sizeof(record->counters) / sizeof(uint64_t);
    const uint32_t control_words = sizeof(*control) / sizeof(uint64_t);
    static_assert(sizeof(*control) % sizeof(uint64_t) == 0 &&
                      sizeof(*control) / sizeof(uint64_t) <= SW_CUDA_BLOCK,
                  "a thread a word");
    static_assert(offsetof(struct sw_cuda_control, counters) % sizeof(uint64_t) == 0 &&
                      sizeof(record->counters) % sizeof(uint64_t) == 0,
                  "whole words");
    if (threadIdx.x < counter_words) {
        ((uint64_t *)&record->counters)[threadIdx.x] =
            ((const uint64_t *)&control->counters)[threadIdx.x];
    }
    if (threadIdx.x == 0) {
        record->status = control->lost != 0               ? SW_E_DEVICE
                         : control->counters.refused != 0 ? SW_E_FULL
                                                          : SW_OK;
        record->leftover_count = control->leftovers;
        record->stash_change = control->stash_noted != 0
                                   ? (int64_t)(state->stash_occupied - control->stash_before)
                                   : 0;
        record->serial = control->mode == SW_CUDA_SERIAL;
        record->fell_back = control->rebuild_failed;
    }
    __syncthreads(); /* M2: the record is complete before the control block is zeroed */
    if (threadIdx.x < control_words) {
        ((uint64_t *)control)[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0 && gathered) {
        record->done = ticket; /* the host sees it after scatter_kernel copied it */
    } else if (threadIdx.x == 0) {
        sw_record_done(record, ticket);
    }
}

#endif
