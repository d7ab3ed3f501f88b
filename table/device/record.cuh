/* SPDX-License-Identifier: MIT
 *
 * record.cuh - how a batch ended, as a device tells the host.
 */
#ifndef SHERWOOD_TABLE_DEVICE_RECORD_CUH
#define SHERWOOD_TABLE_DEVICE_RECORD_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "table/table.h"

/* How a batch ended, in mapped host memory. The device writes `done` last. */
struct sw_cuda_record {
    uint64_t done; /* the batch's ticket, once all it wrote is visible to the host */
    int32_t status;
    uint32_t leftover_count;
    int64_t stash_change;
    uint32_t serial;        /* 1: one thread carried a batch of writes out, in order */
    uint32_t fell_back;     /* 1: a rebuild could not do its part of the batch */
    uint32_t first_outside; /* of a batch of reads: the first key outside its filter, or count */
    uint32_t collided;      /* 1: a key of a batch of reads has another text */
    struct sw_counters counters;
};

#endif
