/* SPDX-License-Identifier: MIT
 *
 * test_phase_lock.c - readers share, a writer is alone, no thread waits forever.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "table/host/phase_lock.h"

TestSuite(phase_lock, .timeout = 60);

struct shared {
    struct sw_phase_lock lock;
    atomic_int readers;
    atomic_int writers;
    atomic_int errors;
    atomic_bool stop;
    long value; /* written by writers only: a race would be seen by ThreadSanitizer */
};

static void nap(void)
{
    struct timespec short_time = {0, 20000};
    nanosleep(&short_time, NULL);
}

static void *reader_main(void *argument)
{
    struct shared *shared = argument;
    for (int i = 0; i < 300; i++) {
        sw_phase_lock_enter_read(&shared->lock);
        atomic_fetch_add(&shared->readers, 1);
        long value = shared->value;
        nap();
        if (atomic_load(&shared->writers) != 0 || shared->value != value) {
            atomic_fetch_add(&shared->errors, 1);
        }
        atomic_fetch_sub(&shared->readers, 1);
        sw_phase_lock_leave_read(&shared->lock);
    }
    return NULL;
}

static void *writer_main(void *argument)
{
    struct shared *shared = argument;
    for (int i = 0; i < 300; i++) {
        sw_phase_lock_enter_write(&shared->lock);
        if (atomic_fetch_add(&shared->writers, 1) != 0 || atomic_load(&shared->readers) != 0) {
            atomic_fetch_add(&shared->errors, 1);
        }
        shared->value++;
        atomic_fetch_sub(&shared->writers, 1);
        sw_phase_lock_leave_write(&shared->lock);
    }
    return NULL;
}

Test(phase_lock, excludes)
{
    struct shared shared = {.value = 0};
    pthread_t threads[8];
    cr_assert_eq(sw_phase_lock_init(&shared.lock, NULL), 0);
    for (int t = 0; t < 8; t++) {
        void *(*start)(void *) = t % 2 != 0 ? writer_main : reader_main;
        cr_assert_eq(pthread_create(&threads[t], NULL, start, &shared), 0);
    }
    for (int t = 0; t < 8; t++) {
        pthread_join(threads[t], NULL);
    }
    cr_assert_eq(atomic_load(&shared.errors), 0);
    cr_assert_eq(shared.value, 4 * 300);
    sw_phase_lock_fini(&shared.lock);
}

static void *visitor_main(void *argument)
{
    struct shared *shared = argument;
    sw_phase_lock_enter_read(&shared->lock);
    sw_phase_lock_leave_read(&shared->lock);
    return NULL;
}

/* A reader comes and goes while another stays. */
Test(phase_lock, readers_share)
{
    struct shared shared = {.value = 0};
    pthread_t thread;
    cr_assert_eq(sw_phase_lock_init(&shared.lock, NULL), 0);
    sw_phase_lock_enter_read(&shared.lock);
    cr_assert_eq(pthread_create(&thread, NULL, visitor_main, &shared), 0);
    pthread_join(thread, NULL);
    sw_phase_lock_leave_read(&shared.lock);
    sw_phase_lock_enter_write(&shared.lock);
    sw_phase_lock_leave_write(&shared.lock);
    sw_phase_lock_fini(&shared.lock);
}

static void *endless_reader_main(void *argument)
{
    struct shared *shared = argument;
    while (!atomic_load(&shared->stop)) {
        sw_phase_lock_enter_read(&shared->lock);
        nap();
        sw_phase_lock_leave_read(&shared->lock);
    }
    return NULL;
}

static void *endless_writer_main(void *argument)
{
    struct shared *shared = argument;
    while (!atomic_load(&shared->stop)) {
        sw_phase_lock_enter_write(&shared->lock);
        nap();
        sw_phase_lock_leave_write(&shared->lock);
    }
    return NULL;
}

/* Under a stream of readers that never leaves the lock empty, a writer gets in; and the reverse. A
 * lock that lets one side starve hangs here until the test's time is over. */
static void does_not_starve(void *(*rival_main)(void *), bool writer)
{
    struct shared shared = {.value = 0};
    pthread_t threads[4];
    cr_assert_eq(sw_phase_lock_init(&shared.lock, NULL), 0);
    for (int t = 0; t < 4; t++) {
        cr_assert_eq(pthread_create(&threads[t], NULL, rival_main, &shared), 0);
    }
    for (int i = 0; i < 200; i++) {
        if (writer) {
            sw_phase_lock_enter_write(&shared.lock);
            sw_phase_lock_leave_write(&shared.lock);
        } else {
            sw_phase_lock_enter_read(&shared.lock);
            sw_phase_lock_leave_read(&shared.lock);
        }
    }
    atomic_store(&shared.stop, true);
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
    }
    sw_phase_lock_fini(&shared.lock);
}

Test(phase_lock, writer_does_not_starve)
{
    does_not_starve(endless_reader_main, true);
}

Test(phase_lock, reader_does_not_starve)
{
    does_not_starve(endless_writer_main, false);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void *count_main(void *argument)
{
    struct shared *shared = argument;
    (void)sw_phase_lock_leave_counted(&shared->lock);
    atomic_store(&shared->stop, true);
    return NULL;
}

static void *look_main(void *argument)
{
    struct shared *shared = argument;
    const uint64_t last = sw_sequencer_last(shared->lock.sequencer);
    atomic_fetch_add(&shared->errors, sw_phase_lock_writers(&shared->lock) < last);
    atomic_store(&shared->stop, true);
    return NULL;
}

/* A thread that has read a number of the sequencer also sees that number of its writer: both happen
 * under the mutex, which the test holds. */
Test(phase_lock, numbers_are_taken_under_the_mutex)
{
    struct shared shared = {.value = 0};
    pthread_t counts, looks;
    cr_assert_eq(sw_phase_lock_init(&shared.lock, NULL), 0);
    (void)sw_phase_lock_enter_uncounted(&shared.lock);
    pthread_mutex_lock(&shared.lock.mutex);
    cr_assert_eq(pthread_create(&counts, NULL, count_main, &shared), 0);
    for (int i = 0; i < 100 && !atomic_load(&shared.stop); i++) {
        nap(); /* in vain, unless the thread counts without the mutex */
    }
    cr_assert_eq(sw_sequencer_last(shared.lock.sequencer), 0);
    pthread_mutex_unlock(&shared.lock.mutex);
    pthread_join(counts, NULL);
    atomic_store(&shared.stop, false);
    pthread_mutex_lock(&shared.lock.mutex);
    const uint64_t number = sw_sequencer_next(shared.lock.sequencer);
    cr_assert_eq(pthread_create(&looks, NULL, look_main, &shared), 0);
    for (int i = 0; i < 100 && !atomic_load(&shared.stop); i++) {
        nap();
    }
    shared.lock.writers = number;
    pthread_mutex_unlock(&shared.lock.mutex);
    pthread_join(looks, NULL);
    cr_assert_eq(number, 2);
    cr_assert_eq(atomic_load(&shared.errors), 0);
    sw_phase_lock_fini(&shared.lock);
}

/* --- long phases ------------------------------------------------------------------------------ */

static void *patient_writer_main(void *argument)
{
    struct shared *shared = argument;
    sw_phase_lock_enter_write(&shared->lock);
    shared->value++;
    sw_phase_lock_leave_write(&shared->lock);
    return NULL;
}

/* Enters and leaves at once, if no long phase prevents it. */
static bool may_read(struct sw_phase_lock *lock)
{
    const bool enters = sw_phase_lock_try_read(lock);
    if (enters) {
        sw_phase_lock_leave_read(lock);
    }
    return enters;
}

static bool may_write(struct sw_phase_lock *lock)
{
    const bool enters = sw_phase_lock_try_uncounted(lock);
    if (enters) {
        sw_phase_lock_leave_write(lock);
    }
    return enters;
}

static void *impatient_main(void *argument)
{
    struct shared *shared = argument;
    const bool enters = may_read(&shared->lock) || may_write(&shared->lock);
    atomic_fetch_add(&shared->errors, enters);
    return NULL;
}

static void *impatient_writer_main(void *argument)
{
    struct shared *shared = argument;
    atomic_fetch_add(&shared->errors, may_write(&shared->lock));
    return NULL;
}

static void wait_for_tickets(struct sw_phase_lock *lock, uint64_t behind)
{
    bool are = false;
    while (!are) {
        pthread_mutex_lock(&lock->mutex);
        are = lock->next >= lock->serving + behind;
        pthread_mutex_unlock(&lock->mutex);
    }
}

/* A thread that waits when the phase becomes long is turned away, and so is one that comes later. A
 * patient writer gets in behind it. */
Test(phase_lock, long_writes_turn_others_away)
{
    struct shared shared = {.value = 0};
    pthread_t patient, impatient;
    cr_assert_eq(sw_phase_lock_init(&shared.lock, NULL), 0);
    cr_assert(may_read(&shared.lock) && may_write(&shared.lock));
    sw_phase_lock_enter_write(&shared.lock);
    cr_assert_eq(pthread_create(&impatient, NULL, impatient_main, &shared), 0);
    wait_for_tickets(&shared.lock, 2);
    cr_assert_eq(pthread_create(&patient, NULL, patient_writer_main, &shared), 0);
    wait_for_tickets(&shared.lock, 3);
    sw_phase_lock_lengthen(&shared.lock);
    pthread_join(impatient, NULL);
    cr_assert_not(may_read(&shared.lock) || may_write(&shared.lock));
    cr_assert(sw_phase_lock_is_long(&shared.lock));
    cr_assert_eq(shared.value, 0);
    sw_phase_lock_leave_write(&shared.lock);
    pthread_join(patient, NULL);
    cr_assert_not(sw_phase_lock_is_long(&shared.lock));
    cr_assert(may_read(&shared.lock) && may_write(&shared.lock));
    cr_assert_eq(shared.value, 1);
    cr_assert_eq(atomic_load(&shared.errors), 0);
    sw_phase_lock_fini(&shared.lock);
}

static void wait_for_patient(struct sw_phase_lock *lock)
{
    bool is = false;
    while (!is) {
        pthread_mutex_lock(&lock->mutex);
        is = lock->patient > 0;
        pthread_mutex_unlock(&lock->mutex);
    }
}

/* Readers share the lock with a long reader, also while a patient writer waits for it. */
Test(phase_lock, long_reads_turn_writers_away)
{
    struct shared shared = {.value = 0};
    pthread_t patient, impatient;
    cr_assert_eq(sw_phase_lock_init(&shared.lock, NULL), 0);
    sw_phase_lock_enter_read(&shared.lock);
    cr_assert_eq(pthread_create(&patient, NULL, patient_writer_main, &shared), 0);
    wait_for_tickets(&shared.lock, 1);
    cr_assert_eq(pthread_create(&impatient, NULL, impatient_writer_main, &shared), 0);
    wait_for_tickets(&shared.lock, 2);
    sw_phase_lock_lengthen_read(&shared.lock);
    pthread_join(impatient, NULL);
    wait_for_patient(&shared.lock);
    cr_assert(may_read(&shared.lock) && !may_write(&shared.lock));
    sw_phase_lock_enter_read(&shared.lock);
    cr_assert_not(sw_phase_lock_try_lengthen_read(&shared.lock, 2), "the writer waits");
    sw_phase_lock_leave_read(&shared.lock);
    sw_phase_lock_leave_long_read(&shared.lock);
    pthread_join(patient, NULL);
    cr_assert_eq(shared.value, 1);
    sw_phase_lock_enter_read(&shared.lock);
    sw_phase_lock_lengthen_read(&shared.lock);
    cr_assert(may_read(&shared.lock) && !may_write(&shared.lock));
    sw_phase_lock_leave_long_read(&shared.lock);
    cr_assert_eq(atomic_load(&shared.errors), 0);
    sw_phase_lock_fini(&shared.lock);
}

/* Enters, makes the phase long if that is possible, and leaves. */
static bool may_read_long(struct sw_phase_lock *lock, uint32_t most)
{
    cr_assert(sw_phase_lock_try_read(lock));
    const bool lengthens = sw_phase_lock_try_lengthen_read(lock, most);
    if (lengthens) {
        sw_phase_lock_leave_long_read(lock);
    } else {
        sw_phase_lock_leave_read(lock);
    }
    return lengthens;
}

/* Long reads that overlap do not starve a writer that is turned away: no further one begins before
 * the writer, unless the writer does not come back. */
Test(phase_lock, long_reads_await_a_writer)
{
    struct sw_phase_lock lock;
    cr_assert_eq(sw_phase_lock_init(&lock, NULL), 0);
    cr_assert(sw_phase_lock_try_read(&lock) && sw_phase_lock_try_lengthen_read(&lock, 2));
    cr_assert(may_read_long(&lock, 2) && !may_read_long(&lock, 1));
    cr_assert_not(may_write(&lock));
    cr_assert(!may_read_long(&lock, 2) && may_read(&lock));
    sw_phase_lock_leave_long_read(&lock);
    cr_assert_not(may_read_long(&lock, 2));
    cr_assert(may_write(&lock) && may_read_long(&lock, 2));
    cr_assert(sw_phase_lock_try_read(&lock) && sw_phase_lock_try_lengthen_read(&lock, 2));
    cr_assert_not(may_write(&lock));
    const struct timespec pause = {.tv_sec = SW_PHASE_AWAITED_NS / 1000000000ULL};
    nanosleep(&pause, NULL);
    cr_assert(may_read_long(&lock, 2));
    sw_phase_lock_leave_long_read(&lock);
    sw_phase_lock_fini(&lock);
}
