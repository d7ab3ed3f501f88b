/* SPDX-License-Identifier: MIT
 *
 * pool.h - worker threads that execute a job together with the thread that submits it.
 *
 * The workers start once and sleep between jobs. A pool executes one job at a time. A caller that
 * finds the pool taken does its work on its own thread.
 *
 * Threads: sw_pool_try_lock from any thread; sw_pool_run and sw_pool_unlock by the thread that
 * took the pool.
 */
#ifndef SHERWOOD_TABLE_HOST_POOL_H
#define SHERWOOD_TABLE_HOST_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* Executes one thread's part of a job. `thread` is the number of this thread, from 0 to threads -
 * 1. */
typedef void sw_pool_job(void *context, uint32_t thread, uint32_t threads);

struct sw_pool;

/* Creates a pool. `threads` includes the caller's thread, so threads - 1 workers start (1: none).
 * Returns SW_OK, or SW_E_NOMEM if a thread cannot be started; then *out is NULL. */
int sw_pool_create(uint32_t threads, struct sw_pool **out);

/* Error text for a failed sw_pool_create. Its argument is `threads`, an unsigned. */
#define SW_POOL_REFUSED                                                                           \
    "cannot start the %u threads of the table: not enough memory for their stacks, or the limit " \
    "of threads is reached"
/* Joins the workers. No thread may have taken the pool. NULL is allowed. */
void sw_pool_destroy(struct sw_pool *pool);

uint32_t sw_pool_threads(const struct sw_pool *pool);

/* Returns true if the caller has taken the pool. Never blocks. */
bool sw_pool_try_lock(struct sw_pool *pool);
void sw_pool_unlock(struct sw_pool *pool);

/* Runs the job on every worker and on the calling thread; returns when all have finished. The
 * caller and every thread of the next job see the stores of the job. */
void sw_pool_run(struct sw_pool *pool, sw_pool_job *job, void *context);

#endif
