/* SPDX-License-Identifier: MIT
 *
 * phase_lock.h - keeps the phases of a table apart: reads share, a write is alone.
 *
 * First come, first served: a reader that arrives after a waiting writer waits for it, and a writer
 * that arrives after waiting readers waits for them, so neither starves.
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
    uint64_t next;    /* ticket of the next to arrive */
    uint64_t serving; /* ticket that may enter; a writer keeps it until it leaves */
    uint32_t readers; /* inside */
    uint64_t writers; /* that have entered */
};

/* Returns SW_OK or SW_E_NOMEM; then nothing is owed. */
int sw_phase_lock_init(struct sw_phase_lock *lock);
void sw_phase_lock_fini(struct sw_phase_lock *lock);

void sw_phase_lock_enter_read(struct sw_phase_lock *lock);
void sw_phase_lock_leave_read(struct sw_phase_lock *lock);
/* Returns the number of writers that have entered so far, this one included. */
uint64_t sw_phase_lock_enter_write(struct sw_phase_lock *lock);
void sw_phase_lock_leave_write(struct sw_phase_lock *lock);
/* As a writer that is not counted; it leaves as one. Returns how many have entered so far. */
uint64_t sw_phase_lock_enter_alone(struct sw_phase_lock *lock);
/* Such a writer, inside, is to be counted after all. Returns the number that enter_write would have
 * returned. */
uint64_t sw_phase_lock_count(struct sw_phase_lock *lock);

/* How many writers have entered so far. In a read phase none enters. */
uint64_t sw_phase_lock_writers(struct sw_phase_lock *lock);
/* Goes on counting from here. Nobody may be inside or waiting. */
void sw_phase_lock_set_writers(struct sw_phase_lock *lock, uint64_t writers);

#endif
