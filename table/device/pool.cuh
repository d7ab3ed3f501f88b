/* SPDX-License-Identifier: MIT
 *
 * pool.cuh - the pool of device memory for the arrays of one table.
 *
 * Freed memory stays in the pool until the pool releases it, so that the next merge or resize
 * reuses the arrays of the last one. A thread of the pool releases memory, and maps memory before
 * the table needs it. Both take milliseconds. ahead.h decides when.
 *
 * Threads: no other call may run during sw_cuda_pool_open and sw_cuda_pool_close. Any thread may
 * allocate from `memory`, and call the other functions. Ownership: the table owns the pool. All
 * memory allocated from the pool must be freed, in stream order, before the pool is closed.
 */
#ifndef SHERWOOD_TABLE_DEVICE_POOL_CUH
#define SHERWOOD_TABLE_DEVICE_POOL_CUH

#include <cuda_runtime.h>
#include <pthread.h>

#include "table/device/ahead.h"

struct sw_cuda_pool {
    int device;
    cudaMemPool_t memory; /* NULL: not open */
    uint64_t mapped;      /* atomic: bytes that the pool has mapped, as last read */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t thread;
    bool has_thread;
    struct sw_ahead_plan plan; /* under `mutex`, like the members below */
    uint64_t requests;         /* number of changes of `plan` by other threads */
    bool end;
};

/* `pool` must be zeroed. After a failure the pool is closed. */
cudaError_t sw_cuda_pool_open(struct sw_cuda_pool *pool, int device);
/* Waits for the thread's present step. A zeroed pool that was never opened is allowed. */
void sw_cuda_pool_close(struct sw_cuda_pool *pool);

/* Reports that memory was freed to the pool, and that the device has finished the work before the
 * free. Does not wait for the thread. */
void sw_cuda_pool_freed(struct sw_cuda_pool *pool);
/* Reports that the table will soon allocate `bytes` in one piece. The thread maps them if enough
 * memory is free. Does not wait for the thread. */
void sw_cuda_pool_expect(struct sw_cuda_pool *pool, uint64_t bytes);
/* Releases all unused memory at once. May take milliseconds. */
void sw_cuda_pool_release(struct sw_cuda_pool *pool);

/* Returns the bytes that the pool has mapped besides `used` allocated ones. */
static inline uint64_t sw_cuda_pool_unused(const struct sw_cuda_pool *pool, uint64_t used)
{
    const uint64_t mapped = __atomic_load_n(&pool->mapped, __ATOMIC_RELAXED);
    return mapped > used ? mapped - used : 0;
}

#endif
