/* SPDX-License-Identifier: MIT
 *
 * pool.cu - a table's pool of device memory, and the thread that trims it.
 */
#include "table/device/pool.cuh"

#include <signal.h>
#include <stdint.h>
#include <string.h>

/* Trims the pool on each request, until the pool is closed. */
static void *run_trimmer(void *argument)
{
    struct sw_cuda_pool *pool = (struct sw_cuda_pool *)argument;
    (void)cudaSetDevice(pool->device);
    pthread_mutex_lock(&pool->mutex);
    while (!pool->end) {
        if (!pool->trim) {
            pthread_cond_wait(&pool->wake, &pool->mutex);
            continue;
        }
        pool->trim = false;
        pthread_mutex_unlock(&pool->mutex);
        (void)cudaMemPoolTrimTo(pool->memory, 0); /* memory that cannot be released stays in the
                                                     pool */
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Blocks all signals in the trimmer: the program's own threads handle them. */
static bool start_trimmer(struct sw_cuda_pool *pool)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool->has_trimmer = pthread_create(&pool->trimmer, NULL, run_trimmer, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool->has_trimmer;
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
    /* the default attributes of Linux need no resources, so these cannot fail */
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    error = cudaMemPoolSetAttribute(pool->memory, cudaMemPoolAttrReleaseThreshold, &all);
    if (error == cudaSuccess && !start_trimmer(pool)) {
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
    if (pool->has_trimmer) {
        pthread_mutex_lock(&pool->mutex);
        pool->end = true;
        pthread_cond_signal(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
        (void)pthread_join(pool->trimmer, NULL);
    }
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    (void)cudaMemPoolDestroy(pool->memory);
    pool->memory = NULL;
}

void sw_cuda_pool_trim(struct sw_cuda_pool *pool)
{
    pthread_mutex_lock(&pool->mutex); /* every holder keeps it this briefly */
    pool->trim = true;
    pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}
