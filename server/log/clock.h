/* SPDX-License-Identifier: MIT
 *
 * clock.h - the two clocks of the data directory: a monotonic one for waits, and the wall clock,
 * which is written to files for people.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_SERVER_LOG_CLOCK_H
#define SHERWOOD_SERVER_LOG_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t sw_log_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Monotonic. */
static inline uint64_t sw_log_now_ns(void)
{
    return sw_log_clock_ns(CLOCK_MONOTONIC);
}

/* Microseconds since 1970. */
static inline uint64_t sw_log_wall_us(void)
{
    return sw_log_clock_ns(CLOCK_REALTIME) / 1000;
}

#endif
