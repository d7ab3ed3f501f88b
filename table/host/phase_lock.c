/* SPDX-License-Identifier: MIT
 *
 * phase_lock.c - a fair lock for read and write phases.
 */
#include "table/host/phase_lock.h"

#include <assert.h>

#include "table/host/parts.h"
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
    lock->recalls = 0;
    lock->is_long = false;
    lock->readers = 0;
    lock->long_readers = 0;
    lock->patient = 0;
    lock->awaited_ns = 0;
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

/* Would a long phase keep the caller, whose ticket would be the next one, from its turn? */
static bool is_kept_by_long(const struct sw_phase_lock *lock, bool writes)
{
    return lock->is_long || (lock->long_readers > 0 && (writes || lock->next != lock->serving));
}

/* Makes the tickets from `ticket` on void: their threads look again. */
static void recall(struct sw_phase_lock *lock, uint64_t ticket)
{
    lock->next = ticket;
    lock->recalls++;
    pthread_cond_broadcast(&lock->changed);
}

static __attribute__((noinline)) bool wait_for_turn(struct sw_phase_lock *lock, bool writes,
                                                    bool waits)
{
    while (waits || !is_kept_by_long(lock, writes)) {
        if (writes && lock->long_readers > 0) { /* a ticket would keep readers out */
            lock->patient++;
            pthread_cond_wait(&lock->changed, &lock->mutex);
            lock->patient--;
            continue;
        }
        const uint64_t ticket = lock->next++;
        const uint64_t recalls = lock->recalls;
        while (lock->recalls == recalls &&
               (lock->serving != ticket || (writes && lock->readers != 0))) {
            pthread_cond_wait(&lock->changed, &lock->mutex);
        }
        if (lock->recalls == recalls) {
            return true;
        }
    }
    if (writes && lock->long_readers > 0) {
        lock->awaited_ns = sw_now_ns();
    }
    return false;
}

/* Waits for the turn of the caller. Returns with the mutex locked; false: a phase is long, and the
 * caller does not wait for it. During a long phase `next` is larger than `serving`. */
static inline bool take_turn(struct sw_phase_lock *lock, bool writes, bool waits)
{
    pthread_mutex_lock(&lock->mutex);
    if (lock->next == lock->serving && (!writes || lock->readers == 0)) {
        lock->next++;
        return true;
    }
    return wait_for_turn(lock, writes, waits);
}

static inline bool enter_read(struct sw_phase_lock *lock, bool waits)
{
    const bool enters = take_turn(lock, false, waits);
    lock->readers += enters;
    lock->serving += enters;
    if (enters && lock->next != lock->serving) {
        pthread_cond_broadcast(&lock->changed);
    }
    pthread_mutex_unlock(&lock->mutex);
    return enters;
}

void sw_phase_lock_enter_read(struct sw_phase_lock *lock)
{
    (void)enter_read(lock, true);
}

bool sw_phase_lock_try_read(struct sw_phase_lock *lock)
{
    return enter_read(lock, false);
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

/* The caller has locked the mutex. */
static void lengthen_read(struct sw_phase_lock *lock)
{
    assert(lock->readers > 0);
    __atomic_store_n(&lock->long_readers, lock->long_readers + 1, __ATOMIC_RELAXED);
    recall(lock, lock->serving);
}

void sw_phase_lock_lengthen_read(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    lengthen_read(lock);
    pthread_mutex_unlock(&lock->mutex);
}

bool sw_phase_lock_try_lengthen_read(struct sw_phase_lock *lock, uint32_t most)
{
    pthread_mutex_lock(&lock->mutex);
    const bool awaits = lock->patient > 0 || (lock->awaited_ns != 0 &&
                                              sw_now_ns() - lock->awaited_ns < SW_PHASE_AWAITED_NS);
    const bool lengthens = !awaits && lock->long_readers < most;
    if (lengthens) {
        lengthen_read(lock);
    }
    pthread_mutex_unlock(&lock->mutex);
    return lengthens;
}

bool sw_phase_lock_holds(struct sw_phase_lock *lock, bool reads, bool returns)
{
    const bool holds = reads ? sw_phase_lock_is_long_write(lock) : sw_phase_lock_is_long(lock);
    if (holds && returns && !reads) {
        pthread_mutex_lock(&lock->mutex);
        lock->awaited_ns = lock->long_readers > 0 ? sw_now_ns() : lock->awaited_ns;
        pthread_mutex_unlock(&lock->mutex);
    }
    return holds;
}

void sw_phase_lock_leave_long_read(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    __atomic_store_n(&lock->long_readers, lock->long_readers - 1, __ATOMIC_RELAXED);
    if (lock->long_readers == 0 && lock->patient > 0) {
        pthread_cond_broadcast(&lock->changed);
    }
    pthread_mutex_unlock(&lock->mutex);
    sw_phase_lock_leave_read(lock);
}

/* Takes the number while it holds the mutex, as sw_phase_lock_writers promises. */
static inline uint64_t count(struct sw_phase_lock *lock)
{
    lock->writers = sw_sequencer_next(lock->sequencer);
    return lock->writers;
}

uint64_t sw_phase_lock_enter_write(struct sw_phase_lock *lock)
{
    (void)take_turn(lock, true, true);
    const uint64_t number = count(lock);
    pthread_mutex_unlock(&lock->mutex);
    return number;
}

uint64_t sw_phase_lock_enter_uncounted(struct sw_phase_lock *lock)
{
    (void)take_turn(lock, true, true);
    uint64_t writers = lock->writers;
    pthread_mutex_unlock(&lock->mutex);
    return writers;
}

bool sw_phase_lock_try_uncounted(struct sw_phase_lock *lock)
{
    const bool enters = take_turn(lock, true, false);
    pthread_mutex_unlock(&lock->mutex);
    return enters;
}

void sw_phase_lock_lengthen(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    assert(lock->readers == 0 && lock->serving != lock->next);
    __atomic_store_n(&lock->is_long, true, __ATOMIC_RELAXED);
    recall(lock, lock->serving + 1);
    pthread_mutex_unlock(&lock->mutex);
}

uint64_t sw_phase_lock_count(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    assert(lock->readers == 0 && lock->serving != lock->next); /* the caller holds the lock */
    const uint64_t number = count(lock);
    pthread_mutex_unlock(&lock->mutex);
    return number;
}

/* Ends the phase of a writer, which has locked the mutex. */
static inline void leave_write(struct sw_phase_lock *lock)
{
    assert(lock->readers == 0 && lock->serving != lock->next);
    __atomic_store_n(&lock->is_long, false, __ATOMIC_RELAXED);
    lock->awaited_ns = 0;
    lock->serving++;
    if (lock->next != lock->serving) {
        pthread_cond_broadcast(&lock->changed);
    }
    pthread_mutex_unlock(&lock->mutex);
}

void sw_phase_lock_leave_write(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    leave_write(lock);
}

uint64_t sw_phase_lock_leave_counted(struct sw_phase_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    const uint64_t number = count(lock);
    leave_write(lock);
    return number;
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
