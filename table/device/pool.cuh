/* SPDX-License-Identifier: MIT
 *
 * pool.cuh - the pool of device memory for the arrays of one table.
 *
 * Freed memory stays in the pool until the pool is trimmed, so that the next merge reuses the
 * arrays of the last one. Trimming unmaps gigabytes and takes milliseconds, so a thread of the pool
 * does it.
 *
 * Threads: no other call may run during sw_cuda_pool_open and sw_cuda_pool_close. Any thread may
 * allocate from `memory`, and call sw_cuda_pool_trim. Ownership: the table owns the pool. All
 * memory allocated from the pool must be freed, in stream order, before the pool is closed.
 */
#ifndef SHERWOOD_TABLE_DEVICE_POOL_CUH
#define SHERWOOD_TABLE_DEVICE_POOL_CUH

#include <cuda_runtime.h>
#include <pthread.h>

struct sw_cuda_pool {
    int device;
    cudaMemPool_t memory; /* NULL: not open */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t trimmer;
    bool has_trimmer;
    bool trim; /* a trim was requested; under `mutex`, as is `end` */
    bool end;
};

/* `pool` must be zeroed. After a failure the pool is closed. */
cudaError_t sw_cuda_pool_open(struct sw_cuda_pool *pool, int device);
/* Waits for a running trim. A zeroed pool that was never opened is allowed. */
void sw_cuda_pool_close(struct sw_cuda_pool *pool);

/* Requests that the pool's thread release the freed memory to the system. Does not wait for the
 * thread. */
void sw_cuda_pool_trim(struct sw_cuda_pool *pool);

#endif
