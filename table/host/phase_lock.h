/* SPDX-License-Identifier: MIT
 *
 * phase_lock.h - a fair read-write lock that separates the phases of a table: readers share the
 * lock, a writer holds it exclusively.
 *
 * Threads enter in the order of their arrival: a reader that arrives after a waiting writer waits
 * for that writer. A writer waits for all readers that arrived earlier. So neither starves.
 *
 * Threads: any number. A thread must not enter twice.
 */
#ifndef SHERWOOD_TABLE_HOST_PHASE_LOCK_H
#define SHERWOOD_TABLE_HOST_PHASE_LOCK_H

#include <pthread.h>
#include <stdint.h>

struct sw_phase_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t next;    /* ticket for the next thread that arrives */
    uint64_t serving; /* ticket that may enter; a writer keeps it until it leaves */
    uint32_t readers; /* readers that hold the lock */
    uint64_t writers; /* counted writers that have entered */
};

/* Returns SW_OK or SW_E_NOMEM. After SW_E_NOMEM do not call sw_phase_lock_fini. */
int sw_phase_lock_init(struct sw_phase_lock *lock);
void sw_phase_lock_fini(struct sw_phase_lock *lock);

void sw_phase_lock_enter_read(struct sw_phase_lock *lock);
void sw_phase_lock_leave_read(struct sw_phase_lock *lock);
/* Returns the number of counted writers that have entered so far, this one included. */
uint64_t sw_phase_lock_enter_write(struct sw_phase_lock *lock);
void sw_phase_lock_leave_write(struct sw_phase_lock *lock);
/* Enters as a writer without being counted; leave with sw_phase_lock_leave_write. Returns the
 * number of counted writers that have entered so far. */
uint64_t sw_phase_lock_enter_uncounted(struct sw_phase_lock *lock);
/* Counts a writer that holds the lock by sw_phase_lock_enter_uncounted. Returns the number that
 * sw_phase_lock_enter_write would have returned. */
uint64_t sw_phase_lock_count(struct sw_phase_lock *lock);

/* Returns the number of counted writers that have entered so far. It does not change during a read
 * phase. */
uint64_t sw_phase_lock_writers(struct sw_phase_lock *lock);
/* Sets the number of counted writers. No thread may hold the lock or wait for it. */
void sw_phase_lock_set_writers(struct sw_phase_lock *lock, uint64_t writers);

#endif
