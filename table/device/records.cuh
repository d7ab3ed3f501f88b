/* SPDX-License-Identifier: MIT
 *
 * records.cuh - pinned memory for the records of channels. A channel has one record, and gets
 * blocks of a few when it has more batches in flight. All channels of a launcher cut their blocks
 * from common allocations, since each allocation takes a page at least.
 *
 * Threads: any; `mutex` guards a pool.
 */
#ifndef SHERWOOD_TABLE_DEVICE_RECORDS_CUH
#define SHERWOOD_TABLE_DEVICE_RECORDS_CUH

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

/* Records of a block after the first record of a channel. */
#define SW_CUDA_BLOCK_RECORDS 8

struct sw_cuda_records {
    pthread_mutex_t mutex;
    struct sw_cuda_record_chunk *chunks;
    uint64_t short_until_ns; /* no allocation before this time, because one failed */
};

void sw_cuda_records_open(struct sw_cuda_records *pool);
/* Every block must have been returned. */
void sw_cuda_records_close(struct sw_cuda_records *pool);

/* Gets a block of this many bytes, all zeros. The device must be current. */
cudaError_t sw_cuda_records_get(struct sw_cuda_records *pool, size_t bytes, char **block);
void sw_cuda_records_return(struct sw_cuda_records *pool, const char *block);

#endif
