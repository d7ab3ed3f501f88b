/* SPDX-License-Identifier: MIT
 *
 * long_phase.h - batches whose time grows with the table: growth, RESIZE, CLEAR, searches by score
 * and for expired entries.
 *
 * Such a batch takes a time in which its thread could serve other tables. A write has the table
 * alone meanwhile; other reads go on beside a search. So if the batch must not wait (no_wait of
 * struct sw_batch), a thread of its own carries it out, and sw_cpu_poll returns SW_PENDING
 * meanwhile. Other batches that must not wait are turned away with SW_E_BUSY. A long phase is
 * counted at its end: until then no later write of another table waits for its record in a log.
 *
 * Threads: any. Memory: one struct sw_long_phase for the writes of each phase lock; each search
 * allocates its own.
 */
#ifndef SHERWOOD_TABLE_HOST_LONG_PHASE_H
#define SHERWOOD_TABLE_HOST_LONG_PHASE_H

#include "table/batch.h"
#include "table/configuration.h"
#include "table/host/phase_lock.h"

/* Passes over fewer bytes end within some milliseconds. */
#define SW_LONG_BYTES (8ULL << 20)

/* Returns whether a pass over arrays of `bytes` is long. */
static inline bool sw_pass_is_long(uint64_t bytes, const struct sw_table_tuning *tuning)
{
    return bytes >= (tuning->long_bytes != 0 ? tuning->long_bytes : SW_LONG_BYTES);
}

struct sw_long_phase {
    struct sw_phase_lock *lock;
    void (*run)(void *table, struct sw_batch *batch);
    void *table;
    struct sw_batch *batch;
    bool reads;
};

/* Enter a phase for a batch, the second one as a writer that is not counted. Return SW_OK, or
 * SW_E_BUSY if the batch must not wait and the phase of another batch is long. */
static inline int sw_batch_enter_read(struct sw_phase_lock *lock, const struct sw_batch *batch)
{
    if (batch->no_wait) {
        return sw_phase_lock_try_read(lock) ? SW_OK : SW_E_BUSY;
    }
    sw_phase_lock_enter_read(lock);
    return SW_OK;
}

static inline int sw_batch_enter_write(struct sw_phase_lock *lock, const struct sw_batch *batch)
{
    if (batch->no_wait) {
        return sw_phase_lock_try_uncounted(lock) ? SW_OK : SW_E_BUSY;
    }
    (void)sw_phase_lock_enter_uncounted(lock);
    return SW_OK;
}

/* Counts the batch, and ends the phase that sw_batch_enter_write began. */
static inline void sw_batch_leave_write(struct sw_phase_lock *lock, struct sw_batch *batch)
{
    batch->write_sequence = sw_phase_lock_leave_counted(lock);
}

/* Makes the phase that sw_batch_enter_write began a long one, calls run() in it, counts the batch
 * and ends the phase. If the batch must not wait, a thread does that, and the batch is pending. If
 * the system starts no thread, the caller does it. */
void sw_long_phase_run(struct sw_long_phase *phase, struct sw_phase_lock *lock,
                       void (*run)(void *table, struct sw_batch *batch), void *table,
                       struct sw_batch *batch);
/* Does the same in a phase that sw_batch_enter_read began, without counting the batch. Other reads
 * go on. A batch that must not wait ends the phase with SW_E_BUSY in two cases: a write was turned
 * away and comes first, or each core has a long read already. Otherwise returns SW_OK. */
int sw_long_read_run(struct sw_phase_lock *lock, void (*run)(void *table, struct sw_batch *batch),
                     void *table, struct sw_batch *batch);

#endif
