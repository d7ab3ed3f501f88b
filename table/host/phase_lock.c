/* SPDX-License-Identifier: MIT
 *
 * phase_lock.c - a fair lock for read and write phases.
 */
#include "table/host/phase_lock.h"

#include <assert.h>

#include "table/table.h"

int sw_phase_lock_init(struct sw_phase_lock *lock, struct sw_sequencer *sequencer)
{
    if (pthread_mutex_init(&lock->mutex, NULL) != 0) {
        return SW_E_NOMEM;
    }
    if (pthread_cond_init(&lock->changed, NULL) != 0) {
        pthread_mutex_destroy(&lock->mutex);
        return SW_E_NOMEM;
    }
    lock->next = 0;
    lock->serving = 0;
    lock->readers = 0;
    lock->writers = 0;
    lock->own.last = 0;
    lock->sequencer = sequencer != NULL ? sequencer : &lock->own;
    return SW_OK;
}

void sw_phase_lock_fini(struct sw_phase_lock *lock)
{
    assert(lock->readers == 0 && lock->serving == lock->next);
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
}

void sw_phase_lock_enter_read(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    uint64_t ticket = lock->next++;
    while (lock->serving != ticket) {
        pthread_cond_wait(&lock->changed, &lock->mutex);
    }
    lock->readers++;
    lock->serving++;
    if (lock->next != lock->serving) {
        pthread_cond_broadcast(&lock->changed);
    }
    pthread_mutex_unlock(&lock->mutex);
}

void sw_phase_lock_leave_read(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    assert(lock->readers > 0);
    if (--lock->readers == 0 && lock->next != lock->serving) {
        pthread_cond_broadcast(&lock->changed);
    }
    pthread_mutex_unlock(&lock->mutex);
}

/* Waits for the lock as a writer. Returns with the mutex locked. */
static inline void wait_to_write(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    uint64_t ticket = lock->next++;
    while (lock->serving != ticket || lock->readers != 0) {
        pthread_cond_wait(&lock->changed, &lock->mutex);
    }
}

uint64_t sw_phase_lock_enter_write(struct sw_phase_lock *lock)
{
    wait_to_write(lock);
    const uint64_t number = sw_sequencer_next(lock->sequencer);
    lock->writers = number;
    pthread_mutex_unlock(&lock->mutex);
    return number;
}

uint64_t sw_phase_lock_enter_uncounted(struct sw_phase_lock *lock)
{
    wait_to_write(lock);
    uint64_t writers = lock->writers;
    pthread_mutex_unlock(&lock->mutex);
    return writers;
}

uint64_t sw_phase_lock_count(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    assert(lock->readers == 0 && lock->serving != lock->next); /* the caller holds the lock */
    const uint64_t number = sw_sequencer_next(lock->sequencer);
    lock->writers = number;
    pthread_mutex_unlock(&lock->mutex);
    return number;
}

void sw_phase_lock_leave_write(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    assert(lock->readers == 0 && lock->serving != lock->next);
    lock->serving++;
    if (lock->next != lock->serving) {
        pthread_cond_broadcast(&lock->changed);
    }
    pthread_mutex_unlock(&lock->mutex);
}

uint64_t sw_phase_lock_writers(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    uint64_t writers = lock->writers;
    pthread_mutex_unlock(&lock->mutex);
    return writers;
}

void sw_phase_lock_set_writers(struct sw_phase_lock *lock, uint64_t writers)
{
    pthread_mutex_lock(&lock->mutex);
    lock->writers = writers;
    sw_sequencer_set(lock->sequencer, writers);
    pthread_mutex_unlock(&lock->mutex);
}
