/* SPDX-License-Identifier: MIT
 *
 * pool.cuh - the pool of device memory that the arrays of one table come from.
 *
 * Freed memory stays in the pool, so that the arrays of one merge serve the next, until it is
 * trimmed. Trimming unmaps gigabytes and takes milliseconds: a thread of the pool does it.
 *
 * Threads: sw_cuda_pool_open and sw_cuda_pool_close have the pool to themselves. Any thread may
 * allocate from `memory`, and call sw_cuda_pool_trim.
 * Ownership: the table owns the pool; what was allocated from it must have been freed, in the order
 * of some stream, before it is closed.
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
    bool trim; /* under `mutex`, as `end`: there is memory to give back */
    bool end;
};

/* Zeroed memory is what it takes. After a failure nothing is left to close. */
cudaError_t sw_cuda_pool_open(struct sw_cuda_pool *pool, int device);
/* Waits for a trim that runs. A pool that was never opened is left as it is. */
void sw_cuda_pool_close(struct sw_cuda_pool *pool);

/* Has the pool's thread give the freed memory back to the system. Never blocks. */
void sw_cuda_pool_trim(struct sw_cuda_pool *pool);

#endif
