/* SPDX-License-Identifier: MIT
 *
 * pool.cu - the pool of device memory, and the thread that maps and releases it.
 */
#include "table/device/pool.cuh"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "table/host/parts.h"

#define NS_PER_S 1000000000ULL

/* Reads the state of the memory, and updates pool->mapped. If a query fails, returns zeroes: with
 * them the thread maps nothing. */
static struct sw_ahead_memory read_memory(struct sw_cuda_pool *pool)
{
    struct sw_ahead_memory memory = {};
    uint64_t mapped = 0;
    uint64_t used = 0;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (cudaMemPoolGetAttribute(pool->memory, cudaMemPoolAttrReservedMemCurrent, &mapped) ==
            cudaSuccess &&
        cudaMemPoolGetAttribute(pool->memory, cudaMemPoolAttrUsedMemCurrent, &used) ==
            cudaSuccess &&
        cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) {
        memory.unused = mapped > used ? mapped - used : 0;
        memory.free = free_bytes;
        memory.total = total_bytes;
        __atomic_store_n(&pool->mapped, mapped, __ATOMIC_RELAXED);
    } else {
        (void)cudaGetLastError();
    }
    return memory;
}

/* Maps `bytes`: allocates them, and frees them to the pool. */
static void map(struct sw_cuda_pool *pool, uint64_t bytes)
{
    void *memory = NULL;
    if (cudaMallocFromPoolAsync(&memory, bytes, pool->memory, cudaStreamPerThread) != cudaSuccess) {
        (void)cudaGetLastError(); /* growth will try again */
        return;
    }
    (void)cudaFreeAsync(memory, cudaStreamPerThread);
    (void)cudaStreamSynchronize(cudaStreamPerThread);
    (void)read_memory(pool);
}

/* Waits for a request, or for the time of the plan if it has one. Under the mutex. */
static void wait(struct sw_cuda_pool *pool)
{
    const uint64_t until = pool->plan.quiet_ns;
    if (until == 0) {
        pthread_cond_wait(&pool->wake, &pool->mutex);
        return;
    }
    const struct timespec time = {(time_t)(until / NS_PER_S), (long)(until % NS_PER_S)};
    (void)pthread_cond_timedwait(&pool->wake, &pool->mutex, &time);
}

/* Takes the next step of the plan, or waits. Under the mutex, which no thread holds during a call
 * of the runtime. */
static void step(struct sw_cuda_pool *pool)
{
    const uint64_t requests = pool->requests;
    pthread_mutex_unlock(&pool->mutex);
    const struct sw_ahead_memory memory = read_memory(pool);
    pthread_mutex_lock(&pool->mutex);
    if (pool->requests != requests || pool->end) {
        return; /* `memory` may be older than the request */
    }
    const uint64_t bytes = pool->plan.expected;
    const enum sw_ahead_step next = sw_ahead_next(&pool->plan, &memory, sw_now_ns());
    if (next == SW_AHEAD_WAIT) {
        wait(pool);
        return;
    }
    pthread_mutex_unlock(&pool->mutex);
    if (next == SW_AHEAD_MAP) {
        map(pool, bytes);
    } else {
        sw_cuda_pool_release(pool);
    }
    pthread_mutex_lock(&pool->mutex);
}

static void *run_thread(void *argument)
{
    struct sw_cuda_pool *pool = (struct sw_cuda_pool *)argument;
    (void)cudaSetDevice(pool->device);
    pthread_mutex_lock(&pool->mutex);
    while (!pool->end) {
        if (pool->plan.quiet_ns == 0) {
            wait(pool);
        } else {
            step(pool);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Blocks all signals in the thread: the program's own threads handle them. */
static bool start_thread(struct sw_cuda_pool *pool)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool->has_thread = pthread_create(&pool->thread, NULL, run_thread, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool->has_thread;
}

/* The default attributes of Linux and a clock that exists need no resources, so these calls cannot
 * fail. */
static void init_locks(struct sw_cuda_pool *pool)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

cudaError_t sw_cuda_pool_open(struct sw_cuda_pool *pool, int device)
{
    struct cudaMemPoolProps properties;
    uint64_t all = UINT64_MAX;
    memset(&properties, 0, sizeof(properties));
    properties.allocType = cudaMemAllocationTypePinned; /* device memory, for as long as it lives */
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaError_t error = cudaMemPoolCreate(&pool->memory, &properties);
    if (error != cudaSuccess) {
        pool->memory = NULL;
        return error;
    }
    pool->device = device;
    init_locks(pool);
    error = cudaMemPoolSetAttribute(pool->memory, cudaMemPoolAttrReleaseThreshold, &all);
    if (error == cudaSuccess && !start_thread(pool)) {
        error = cudaErrorOperatingSystem;
    }
    if (error != cudaSuccess) {
        sw_cuda_pool_close(pool);
    }
    return error;
}

void sw_cuda_pool_close(struct sw_cuda_pool *pool)
{
    if (pool->memory == NULL) {
        return;
    }
    if (pool->has_thread) {
        pthread_mutex_lock(&pool->mutex);
        pool->end = true;
        pthread_cond_signal(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
        (void)pthread_join(pool->thread, NULL);
    }
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    (void)cudaMemPoolDestroy(pool->memory);
    pool->memory = NULL;
}

void sw_cuda_pool_freed(struct sw_cuda_pool *pool)
{
    pthread_mutex_lock(&pool->mutex); /* every holder keeps it this briefly */
    pool->requests++;
    sw_ahead_freed(&pool->plan, sw_now_ns());
    pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

void sw_cuda_pool_expect(struct sw_cuda_pool *pool, uint64_t bytes)
{
    pthread_mutex_lock(&pool->mutex);
    if (sw_ahead_expect(&pool->plan, bytes, sw_now_ns())) {
        pool->requests++;
        pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void sw_cuda_pool_release(struct sw_cuda_pool *pool)
{
    (void)cudaMemPoolTrimTo(pool->memory, 0); /* memory that cannot be released stays in the pool */
    (void)read_memory(pool);
}
