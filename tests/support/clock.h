/* SPDX-License-Identifier: MIT
 *
 * clock.h - the time since some moment.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_CLOCK_H
#define SHERWOOD_TESTS_SUPPORT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline uint64_t ms_now(void)
{
    return (uint64_t)(seconds_now() * 1e3);
}

#endif
