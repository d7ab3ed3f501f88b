/* SPDX-License-Identifier: MIT
 *
 * pool.c - the worker threads of the CPU backend.
 */
#include "table/host/pool.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "table/table.h"

struct worker {
    struct sw_pool *pool;
    uint32_t index;
    pthread_t thread;
};

struct sw_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work; /* a job was submitted, or `stop` was set */
    pthread_cond_t done; /* the last worker returned */
    pthread_mutex_t taken;
    uint32_t threads;
    uint32_t started; /* workers that must be joined */
    uint32_t running; /* workers that have not returned from the current job */
    uint64_t jobs;    /* jobs submitted so far */
    bool stop;
    sw_pool_job *job;
    void *context;
    struct worker workers[];
};

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct sw_pool *pool = worker->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->jobs == seen && !pool->stop) {
            pthread_cond_wait(&pool->work, &pool->mutex);
        }
        if (pool->jobs == seen) {
            break;
        }
        seen = pool->jobs;
        sw_pool_job *job = pool->job;
        void *context = pool->context;
        pthread_mutex_unlock(&pool->mutex);
        job(context, worker->index, pool->threads);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->running == 0) {
            pthread_cond_signal(&pool->done);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Blocks all signals in the worker: the program's own threads handle them. */
static int start_worker(struct worker *worker)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void join_workers(struct sw_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    assert(pool->running == 0);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->started; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
}

int sw_pool_create(uint32_t threads, struct sw_pool **out)
{
    *out = NULL;
    assert(threads > 0);
    struct sw_pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->workers[0]));
    if (pool == NULL) {
        return SW_E_NOMEM;
    }
    /* the default attributes of Linux need no resources, so these cannot fail */
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_mutex_init(&pool->taken, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->threads = threads;
    for (uint32_t i = 0; i + 1 < threads; i++) {
        pool->workers[i].pool = pool;
        pool->workers[i].index = i + 1;
        if (start_worker(&pool->workers[i]) != 0) {
            sw_pool_destroy(pool);
            return SW_E_NOMEM;
        }
        pool->started++;
    }
    *out = pool;
    return SW_OK;
}

void sw_pool_destroy(struct sw_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    join_workers(pool);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->taken);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

uint32_t sw_pool_threads(const struct sw_pool *pool)
{
    return pool->threads;
}

bool sw_pool_try_lock(struct sw_pool *pool)
{
    return pthread_mutex_trylock(&pool->taken) == 0;
}

void sw_pool_unlock(struct sw_pool *pool)
{
    pthread_mutex_unlock(&pool->taken);
}

void sw_pool_run(struct sw_pool *pool, sw_pool_job *job, void *context)
{
    if (pool->started > 0) {
        pthread_mutex_lock(&pool->mutex);
        assert(pool->running == 0 && !pool->stop);
        pool->job = job;
        pool->context = context;
        pool->running = pool->started;
        pool->jobs++;
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
    job(context, 0, pool->threads);
    if (pool->started > 0) {
        pthread_mutex_lock(&pool->mutex);
        while (pool->running > 0) {
            pthread_cond_wait(&pool->done, &pool->mutex);
        }
        pthread_mutex_unlock(&pool->mutex);
    }
}
