/* SPDX-License-Identifier: MIT
 *
 * pool.h - worker threads that carry out one job together with the thread that brings it.
 *
 * The workers are started once and sleep between jobs. A pool does one job at a time; who finds it
 * taken does its work alone.
 *
 * Threads: sw_pool_try_take from any thread; sw_pool_run and sw_pool_give_back by the one that took
 * it.
 */
#ifndef SHERWOOD_TABLE_HOST_POOL_H
#define SHERWOOD_TABLE_HOST_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* What one thread of `threads` does of a job; `thread` counts from 0. */
typedef void sw_pool_job(void *context, uint32_t thread, uint32_t threads);

struct sw_pool;

/* `threads` includes the caller's, so threads - 1 are started (1: none). Returns SW_OK, or
 * SW_E_NOMEM if a thread cannot be started; then *out is NULL. */
int sw_pool_create(uint32_t threads, struct sw_pool **out);

/* What to tell the user then; its argument is `threads`, an unsigned. */
#define SW_POOL_REFUSED                                                                         \
    "the %u threads of the table could not be started: not enough memory for their stacks, or " \
    "the limit of threads is reached"
/* Joins the workers. Nobody may hold the pool. NULL is allowed. */
void sw_pool_destroy(struct sw_pool *pool);

uint32_t sw_pool_threads(const struct sw_pool *pool);

/* True if the pool is the caller's now. Never blocks. */
bool sw_pool_try_take(struct sw_pool *pool);
void sw_pool_give_back(struct sw_pool *pool);

/* Runs the job on every thread, this one included; returns when all have returned. What they wrote
 * is visible to this thread and to every thread of the next job. */
void sw_pool_run(struct sw_pool *pool, sw_pool_job *job, void *context);

#endif
