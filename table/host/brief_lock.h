/* SPDX-License-Identifier: MIT
 *
 * brief_lock.h - locks a mutex that other threads hold for some 10 us, without a system call.
 *
 * A thread that sleeps until the mutex is unlocked wakes up later than it could go on: with eight
 * threads some 50 us later. So the thread first tries again and again. This only helps while every
 * thread has a core. Otherwise a thread that tries may keep the holder from its core.
 */
#ifndef SHERWOOD_TABLE_HOST_BRIEF_LOCK_H
#define SHERWOOD_TABLE_HOST_BRIEF_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns how often a thread tries to lock before it sleeps, if `threads` threads use the mutex: 0
 * if `threads` is 0 (unknown) or exceeds the cores. */
uint32_t sw_brief_lock_tries(uint32_t threads);

/* Locks the mutex if it is unlocked at one of 1 + `tries` attempts. Returns whether it did. */
bool sw_brief_try_lock(pthread_mutex_t *mutex, uint32_t tries);
/* Locks the mutex. */
void sw_brief_lock(pthread_mutex_t *mutex, uint32_t tries);

#ifdef __cplusplus
}
#endif

#endif
