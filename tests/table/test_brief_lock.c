/* SPDX-License-Identifier: MIT
 *
 * test_brief_lock.c - who tries before it sleeps, and that either way one thread holds the mutex.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "table/host/brief_lock.h"
#include "table/host/parts.h"
#include "tests/support/threads.h"

TestSuite(brief_lock, .timeout = 60);

#define THREADS 4
#define TURNS 2000

Test(brief_lock, nobody_tries_without_a_core_for_each_thread)
{
    const uint32_t cores = sw_cpu_cores();
    cr_assert_gt(sw_brief_lock_tries(1), 0);
    cr_assert_gt(sw_brief_lock_tries(cores), 0);
    cr_assert_eq(sw_brief_lock_tries(cores + 1), 0);
    cr_assert_eq(sw_brief_lock_tries(0), 0, "their number is not known");
}

struct contest {
    pthread_mutex_t mutex;
    uint32_t tries;
    uint64_t turns; /* under the mutex */
};

static void *take_turns(void *argument)
{
    struct contest *contest = argument;
    for (int i = 0; i < TURNS; i++) {
        sw_brief_lock(&contest->mutex, contest->tries);
        const uint64_t turns = contest->turns;
        if (i % 64 == 0) {
            sched_yield(); /* so that others find the mutex locked, for longer than they try */
        }
        contest->turns = turns + 1;
        pthread_mutex_unlock(&contest->mutex);
    }
    return NULL;
}

/* Threads that sleep at once, and threads that give up after a try. */
Test(brief_lock, one_thread_holds_the_mutex)
{
    for (uint32_t tries = 0; tries <= 2; tries++) {
        struct contest contest = {.mutex = PTHREAD_MUTEX_INITIALIZER, .tries = tries};
        threads_run(THREADS, take_turns, &contest, 0);
        cr_assert_eq(contest.turns, (uint64_t)THREADS * TURNS, "%u tries", tries);
    }
}
