/* SPDX-License-Identifier: MIT
 *
 * phase_lock.h - a fair read-write lock that separates the phases of a table: readers share the
 * lock, a writer holds it exclusively.
 *
 * Threads enter in the order of their arrival: a reader that arrives after a waiting writer waits
 * for that writer. A writer waits for all readers that arrived earlier. So neither starves.
 *
 * A phase whose time grows with the table, such as growth, is long. Threads that must not wait for
 * a long phase are turned away. The others enter in any order behind it. Readers share the lock
 * with a long reader: a writer that waits gets its turn only behind the long reader. Meanwhile no
 * further phase of a reader that must not wait becomes long. That is also so if a long reader has
 * turned a writer away, until a writer has entered, or SW_PHASE_AWAITED_NS after the writer's last
 * attempt.
 *
 * Threads: any number. A thread must not enter twice.
 */
#ifndef SHERWOOD_TABLE_HOST_PHASE_LOCK_H
#define SHERWOOD_TABLE_HOST_PHASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/sequencer.h"

/* A writer that was turned away comes back much sooner, unless its owner gave it up. */
#define SW_PHASE_AWAITED_NS 1000000000ULL

struct sw_phase_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t next;         /* ticket for the next thread that arrives */
    uint64_t serving;      /* ticket that may enter; a writer keeps it until it leaves */
    uint64_t recalls;      /* times that all tickets behind `serving` became void */
    bool is_long;          /* atomic, set under `mutex`: a writer holds a long phase */
    uint32_t readers;      /* readers that hold the lock */
    uint32_t long_readers; /* atomic, set under `mutex`: those among them that are long */
    uint32_t patient;      /* writers that wait for the end of long readers, without a ticket */
    uint64_t awaited_ns;   /* last time a long reader turned a writer away; 0: one entered since */
    uint64_t writers;      /* number of the last counted writer */
    struct sw_sequencer *sequencer; /* numbers the counted writers; borrowed, or `own` */
    struct sw_sequencer own;
};

/* Lets `sequencer` number the counted writers, and borrows it; NULL: the lock's own. Returns SW_OK
 * or SW_E_NOMEM. After SW_E_NOMEM do not call sw_phase_lock_fini. The lock must not move
 * afterwards. */
int sw_phase_lock_init(struct sw_phase_lock *lock, struct sw_sequencer *sequencer);
void sw_phase_lock_fini(struct sw_phase_lock *lock);

void sw_phase_lock_enter_read(struct sw_phase_lock *lock);
/* Does the same, unless a phase is long, or becomes long meanwhile: then returns false. */
bool sw_phase_lock_try_read(struct sw_phase_lock *lock);
void sw_phase_lock_leave_read(struct sw_phase_lock *lock);
/* Makes the phase of a reader long. Leave it with sw_phase_lock_leave_long_read. */
void sw_phase_lock_lengthen_read(struct sw_phase_lock *lock);
/* Does the same, unless `most` readers are long, or a writer is to enter first: then returns false,
 * and the phase stays short. */
bool sw_phase_lock_try_lengthen_read(struct sw_phase_lock *lock, uint32_t most);
void sw_phase_lock_leave_long_read(struct sw_phase_lock *lock);
/* Returns the writer's number, which the sequencer gives it when it enters. */
uint64_t sw_phase_lock_enter_write(struct sw_phase_lock *lock);
void sw_phase_lock_leave_write(struct sw_phase_lock *lock);
/* Enters as a writer without being counted; leave with sw_phase_lock_leave_write. Returns the
 * number of the last counted writer. */
uint64_t sw_phase_lock_enter_uncounted(struct sw_phase_lock *lock);
/* Enters as a writer without being counted, unless a phase is long, or becomes long meanwhile: then
 * returns false. */
bool sw_phase_lock_try_uncounted(struct sw_phase_lock *lock);
/* Counts a writer that holds the lock without being counted. Returns its number. */
uint64_t sw_phase_lock_count(struct sw_phase_lock *lock);
/* Does the same, and leaves. */
uint64_t sw_phase_lock_leave_counted(struct sw_phase_lock *lock);
/* Makes the phase of a writer long until the writer leaves. Another thread may leave for it. */
void sw_phase_lock_lengthen(struct sw_phase_lock *lock);

/* Returns whether the phase of a writer is long now, so that readers wait also. */
static inline bool sw_phase_lock_is_long_write(const struct sw_phase_lock *lock)
{
    return __atomic_load_n(&lock->is_long, __ATOMIC_RELAXED);
}
/* Returns whether a phase is long now. */
static inline bool sw_phase_lock_is_long(const struct sw_phase_lock *lock)
{
    return sw_phase_lock_is_long_write(lock) ||
           __atomic_load_n(&lock->long_readers, __ATOMIC_RELAXED) != 0;
}
/* Does a long phase keep readers, or else writers, from the lock? `returns`: the caller comes back,
 * and counts as one that was turned away. */
bool sw_phase_lock_holds(struct sw_phase_lock *lock, bool reads, bool returns);

/* Returns the number of the last counted writer, after a writer that is being counted. It does not
 * change during a read phase. */
uint64_t sw_phase_lock_writers(struct sw_phase_lock *lock);
/* Sets the number of the last counted writer, also in the sequencer. No thread may hold the lock or
 * wait for it, or take a number from the sequencer. */
void sw_phase_lock_set_writers(struct sw_phase_lock *lock, uint64_t writers);

#endif
