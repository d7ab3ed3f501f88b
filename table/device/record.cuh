/* SPDX-License-Identifier: MIT
 *
 * record.cuh - the record of a batch's result, which the device writes for the host.
 */
#ifndef SHERWOOD_TABLE_DEVICE_RECORD_CUH
#define SHERWOOD_TABLE_DEVICE_RECORD_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "table/table.h"

/* The result of a batch, in mapped host memory. The device writes `done` last. */
struct sw_cuda_record {
    uint64_t done; /* the batch's ticket, once all it wrote is visible to the host */
    int32_t status;
    uint32_t leftover_count;
    int64_t stash_change;
    uint32_t serial;        /* 1: one thread executed a batch of writes in order */
    uint32_t fell_back;     /* 1: a rebuild could not do its part of the batch */
    uint32_t first_outside; /* reads: index of the first key outside the batch's filter, or count */
    uint32_t collided;      /* reads: 1: a key string differs from the stored one */
    struct sw_counters counters;
};

#endif
