/* SPDX-License-Identifier: MIT
 *
 * threads.h - several threads that run one function.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_THREADS_H
#define SHERWOOD_TESTS_SUPPORT_THREADS_H

#include <criterion/criterion.h>
#include <pthread.h>

#define THREADS_RUN_MAX 64

/* Runs main(arguments + i * size) on a thread for each i below count, and waits for all of them.
 * size: of an argument; 0 gives all threads the same one. */
static inline void threads_run(size_t count, void *(*main)(void *), void *arguments, size_t size)
{
    pthread_t threads[THREADS_RUN_MAX];
    cr_assert_leq(count, THREADS_RUN_MAX);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, main, (char *)arguments + i * size), 0);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

#endif
