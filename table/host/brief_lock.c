/* SPDX-License-Identifier: MIT
 *
 * brief_lock.c - implements brief_lock.h.
 */
#include "table/host/brief_lock.h"

#include "table/host/parts.h"

/* A thread tries for 0.15 to 0.4 ms, which depends on the time of a pause. On an H200 a launch of
 * writes holds the mutex for some 30 us, and several threads may come first. */
#define TRIES 1000
#define PAUSES_PER_TRY 8

uint32_t sw_brief_lock_tries(uint32_t threads)
{
    return threads > 0 && threads <= sw_cpu_cores() ? TRIES : 0;
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    for (int i = 0; i < PAUSES_PER_TRY; i++) {
        __builtin_ia32_pause();
    }
#elif defined(__aarch64__)
    for (int i = 0; i < PAUSES_PER_TRY; i++) {
        __asm__ volatile("isb");
    }
#endif
}

bool sw_brief_try_lock(pthread_mutex_t *mutex, uint32_t tries)
{
    bool locked = pthread_mutex_trylock(mutex) == 0;
    for (uint32_t i = 0; i < tries && !locked; i++) {
        pause_briefly();
        locked = pthread_mutex_trylock(mutex) == 0;
    }
    return locked;
}

void sw_brief_lock(pthread_mutex_t *mutex, uint32_t tries)
{
    if (!sw_brief_try_lock(mutex, tries)) {
        pthread_mutex_lock(mutex);
    }
}
