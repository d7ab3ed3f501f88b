/* SPDX-License-Identifier: MIT
 *
 * pool.cuh - the pool of device memory for the arrays of the tables of a device.
 *
 * Freed memory stays in the pool until the pool releases it, so that the next merge or resize
 * reuses the arrays of the last one. A thread of the pool releases memory, and maps memory before
 * the table needs it. Both take milliseconds. ahead.h decides when.
 *
 * Threads: no other call may run during sw_cuda_pool_open and sw_cuda_pool_close. Any thread may
 * allocate from `memory`, and call the other functions. Ownership: the launcher owns the pool. All
 * memory allocated from the pool must be freed, in stream order, before the pool is closed.
 *
 * The thread prepares one allocation at a time: the one that a table reported last. A table that
 * grows at the same time as another may thus map its memory itself.
 */
#ifndef SHERWOOD_TABLE_DEVICE_POOL_CUH
#define SHERWOOD_TABLE_DEVICE_POOL_CUH

#include <cuda_runtime.h>
#include <pthread.h>

#include "table/device/ahead.h"

/* After an allocation failed, launches and growth do without the memory for this time. */
#define SW_CUDA_RETRY_NS 1000000000ULL

struct sw_cuda_pool {
    int device;
    cudaMemPool_t memory; /* NULL: not open */
    uint64_t mapped;      /* atomic: bytes that the pool has mapped, as last read */
    uint64_t used;        /* atomic: bytes of the arrays of all tables */
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

/* Counts `bytes` as allocated. Freed bytes are counted as their negative. */
static inline void sw_cuda_pool_use(struct sw_cuda_pool *pool, uint64_t bytes)
{
    __atomic_fetch_add(&pool->used, bytes, __ATOMIC_RELAXED);
}

/* Returns the share of a table in the bytes that are mapped and not allocated. The table has
 * allocated `bytes`. */
static inline uint64_t sw_cuda_pool_unused(const struct sw_cuda_pool *pool, uint64_t bytes)
{
    const uint64_t mapped = __atomic_load_n(&pool->mapped, __ATOMIC_RELAXED);
    const uint64_t used = __atomic_load_n(&pool->used, __ATOMIC_RELAXED);
    const uint64_t unused = mapped > used ? mapped - used : 0;
    return bytes >= used ? unused : (uint64_t)((double)unused * (double)bytes / (double)used);
}

#endif
