/* SPDX-License-Identifier: MIT
 *
 * long_phase.c - long phases, and the threads that carry them out.
 */
#include "table/host/long_phase.h"

#include <stdlib.h>

#include "table/host/parts.h"
#include "table/table.h"

static void carry_out(const struct sw_long_phase *phase)
{
    phase->run(phase->table, phase->batch);
    if (phase->reads) {
        sw_phase_lock_leave_long_read(phase->lock);
    } else {
        sw_batch_leave_write(phase->lock, phase->batch);
    }
}

/* Owns the phase of a read. Copies that of a write: behind its end another one may begin. After the
 * batch is done, the table may be gone. */
static void *run_thread(void *argument)
{
    const struct sw_long_phase phase = *(const struct sw_long_phase *)argument;
    if (phase.reads) {
        free(argument);
    }
    carry_out(&phase);
    __atomic_store_n(&phase.batch->_stage, 0, __ATOMIC_RELEASE);
    return NULL;
}

/* The thread has the signal mask of the caller. */
static bool start_thread(struct sw_long_phase *phase)
{
    pthread_attr_t detached;
    pthread_t thread;
    if (pthread_attr_init(&detached) != 0) {
        return false;
    }
    (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    const bool started = pthread_create(&thread, &detached, run_thread, phase) == 0;
    pthread_attr_destroy(&detached);
    return started;
}

void sw_long_phase_run(struct sw_long_phase *phase, struct sw_phase_lock *lock,
                       void (*run)(void *table, struct sw_batch *batch), void *table,
                       struct sw_batch *batch)
{
    *phase = (struct sw_long_phase){lock, run, table, batch, false};
    sw_phase_lock_lengthen(lock);
    __atomic_store_n(&batch->_stage, batch->no_wait, __ATOMIC_RELAXED);
    if (!batch->no_wait || !start_thread(phase)) {
        carry_out(phase);
        __atomic_store_n(&batch->_stage, 0, __ATOMIC_RELAXED);
    }
}

int sw_long_read_run(struct sw_phase_lock *lock, void (*run)(void *table, struct sw_batch *batch),
                     void *table, struct sw_batch *batch)
{
    const struct sw_long_phase own = {lock, run, table, batch, true};
    if (!batch->no_wait) {
        sw_phase_lock_lengthen_read(lock);
    } else if (!sw_phase_lock_try_lengthen_read(lock, sw_cpu_cores())) {
        sw_phase_lock_leave_read(lock);
        return SW_E_BUSY;
    }
    struct sw_long_phase *phase = batch->no_wait ? malloc(sizeof(*phase)) : NULL;
    if (phase != NULL) {
        *phase = own;
        __atomic_store_n(&batch->_stage, 1, __ATOMIC_RELAXED);
        if (start_thread(phase)) {
            return SW_OK;
        }
        __atomic_store_n(&batch->_stage, 0, __ATOMIC_RELAXED);
        free(phase);
    }
    carry_out(&own);
    return SW_OK;
}
