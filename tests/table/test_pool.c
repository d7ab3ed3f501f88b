/* SPDX-License-Identifier: MIT
 *
 * test_pool.c - a job runs once on every thread, and what it wrote is seen afterwards.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/host/pool.h"
#include "table/table.h"
#include "tests/support/threads.h"

TestSuite(pool, .timeout = 60);

struct job {
    uint32_t runs[64];
    uint32_t threads;
};

static void count_job(void *context, uint32_t thread, uint32_t threads)
{
    struct job *job = context;
    job->runs[thread]++; /* its own element: no race */
    if (thread == 0) {
        job->threads = threads;
    }
}

Test(pool, every_thread_once_a_job)
{
    for (uint32_t threads = 1; threads <= 9; threads += 2) {
        struct sw_pool *pool;
        struct job job;
        memset(&job, 0, sizeof(job));
        cr_assert_eq(sw_pool_create(threads, &pool), SW_OK);
        cr_assert_eq(sw_pool_threads(pool), threads);
        for (uint32_t round = 1; round <= 300; round++) {
            cr_assert(sw_pool_try_lock(pool));
            sw_pool_run(pool, count_job, &job);
            sw_pool_unlock(pool);
            for (uint32_t t = 0; t < threads; t++) {
                cr_assert_eq(job.runs[t], round, "thread %u of %u", t, threads);
            }
            cr_assert_eq(job.threads, threads);
        }
        sw_pool_destroy(pool);
    }
}

struct contest {
    struct sw_pool *pool;
    uint32_t inside; /* touched by the holder only */
    uint32_t taken;
    uint32_t errors;
};

static void *contest_main(void *argument)
{
    struct contest *contest = argument;
    for (int i = 0; i < 2000; i++) {
        if (!sw_pool_try_lock(contest->pool)) {
            continue;
        }
        contest->errors += contest->inside++ != 0;
        contest->taken++;
        contest->inside--;
        sw_pool_unlock(contest->pool);
    }
    return NULL;
}

Test(pool, one_holder_at_a_time)
{
    struct contest contest = {0};
    cr_assert_eq(sw_pool_create(2, &contest.pool), SW_OK);
    threads_run(4, contest_main, &contest, 0);
    cr_assert_eq(contest.errors, 0);
    cr_assert_gt(contest.taken, 0);
    sw_pool_destroy(contest.pool);
}

Test(pool, destroyed_without_a_job)
{
    for (int i = 0; i < 100; i++) {
        struct sw_pool *pool;
        cr_assert_eq(sw_pool_create(4, &pool), SW_OK);
        sw_pool_destroy(pool);
    }
    sw_pool_destroy(NULL);
}
