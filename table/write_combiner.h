/* SPDX-License-Identifier: MIT
 *
 * write_combiner.h - the order of the writes of all queues, and their grouping into launches.
 *
 * A launch of writes costs a device much the same whether it has one operation or ten thousand, and
 * launches of writes run one after the other. So write batches of all queues wait here in the order
 * of their submission while SW_COMBINED_LAUNCHES launches are in flight. The next launch takes the
 * batches that wait. Each batch keeps its own groups, results and counters. The order here is the
 * order of the writes; write_sequence is a batch's number in it.
 *
 * Reads are not combined here. A read goes to its queue at once, unless a write of its stream still
 * waits. Then the read, and everything its stream submits after it, is deferred until that write is
 * launched. A deferred read reserves a place in its queue from the start. Otherwise later reads
 * could take all places, and a caller that polls them only after this read would wait for ever.
 *
 * In a table of ids a batch of FIND_OR_INSERT alone first goes to its queue as a GET. If all its
 * keys are present, it is done. Otherwise it becomes a write. Batches of other operations that its
 * stream submits after it are deferred until one of the two is known.
 *
 * A batch, from submit to completion:
 *
 *   read:   [deferred ->] in its queue -> done
 *   write:  [deferred ->] waiting -> launched, alone or together with others -> done
 *   ids:    [deferred ->] finding -> done, or waiting and so on
 *
 * A batch that concerns expiry times (sw_batch.clock_ms) is launched alone: an entry that one batch
 * writes may have expired by the clock of the next batch, which removes it first and lists it among
 * its own removals. A sweep without `remove_keys` finds the expired entries by itself, and has a
 * number only if it removes something. So it is carried out when nothing waits: no other batch may
 * take the next number meanwhile.
 *
 * The combiner has no thread of its own. A thread that submits or polls leads if no other thread
 * leads: it completes finished launches and starts the next ones, for batches of all queues. An
 * image is the exception: only the thread that requested it launches it, with no other launch in
 * flight.
 *
 * Only the leader calls the backend with the queue of the launches, and no other queue gets writes.
 * So no write begins while submit runs on that queue, even if the backend unlocks a mutex.
 *
 * Threads: struct sw_combiner_queue belongs to the queue's thread; a combiner is shared. `lock` is
 * locked for a few instructions, never during a launch. A sweep is the exception: `lock` stays
 * locked during it.
 */
#ifndef SHERWOOD_TABLE_WRITE_COMBINER_H
#define SHERWOOD_TABLE_WRITE_COMBINER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/backend.h"
#include "table/sequencer.h"

/* Streams are tracked modulo this number. Two streams with the same remainder may wait for each
 * other's writes; results do not change. */
#define SW_COMBINER_STREAMS 64

/* A batch in host memory of at least this many operations is gathered even if it is launched alone:
 * loading its operations then overlaps the previous launch. */
#define SW_GATHERED_MIN 32768

struct sw_combiner {
    const struct sw_backend *backend;
    void *table;             /* the backend's */
    void *queue;             /* the backend's queue of all launches; used by the leader only */
    uint32_t operations_max; /* most operations of a launch of several batches */
    uint32_t gathered_max;   /* most operations of one gathered batch, at least operations_max */
    bool gathers_all;        /* gather every batch, even a small one that is launched alone */
    bool finds_first;        /* sw_backend_facts; the caller of open sets it */

    pthread_mutex_t lock;
    struct sw_batch *waiting; /* under `lock`: oldest first */
    struct sw_batch **waiting_end;
    struct sw_batch *sweeps; /* under `lock`: sweeps that wait until no other batch waits; oldest
                                first */
    struct sw_batch **sweeps_end;
    struct sw_sequencer *sequencer; /* borrowed: gives each write its number, under `lock` */
    uint64_t sequence; /* atomic, set under `lock`: number of the last write of this table */

    uint64_t gathered; /* atomic: number of waiting batches */
    uint64_t sweeping; /* atomic: number of waiting sweeps */
    uint64_t launched; /* atomic: number of the write launched last */
    uint64_t era;      /* atomic: times that the sequence decreased */
    uint64_t launches; /* atomic: number of launches so far */
    bool is_led;       /* atomic: some thread leads */

    /* Used by the leader only. */
    struct sw_combined_launch *combined; /* [SW_COMBINED_LAUNCHES] */
    uint32_t oldest;                     /* index of the oldest launch in flight */
    uint32_t flying;                     /* launches in flight */
    bool postponed; /* the next launch is gathered, and waits until one in flight is completed */

    /* Used by sw_combiner_tidy only. */
    uint64_t idle_launches;   /* `launches` at the last call */
    uint64_t tidied_launches; /* `launches` when the backend tidied last */
};

/* The combiner's state of a queue of the table. */
struct sw_combiner_queue {
    struct sw_combiner *combiner;
    void *backend_queue;       /* for its reads */
    struct sw_batch *deferred; /* oldest first */
    struct sw_batch **deferred_end;
    uint64_t last_write[SW_COMBINER_STREAMS]; /* sequence of the stream's last write; 0: none */
    uint64_t era;                             /* the combiner's era of `last_write` */
    uint32_t deferred_of[SW_COMBINER_STREAMS];
    struct sw_batch *finding; /* batches that run as a GET first: oldest first */
    struct sw_batch **finding_end;
    uint32_t finding_of[SW_COMBINER_STREAMS];
    uint32_t reads; /* reads deferred, or in the queue and not yet polled done */
    bool scans;     /* one of them is a scan */
};

/* Opens a queue of the backend for the launches; the limits are those of sw_backend_facts. Returns
 * the backend's status. After a failure the caller need not close the combiner. Every queue must be
 * idle before sw_combiner_close. */
int sw_combiner_open(struct sw_combiner *combiner, const struct sw_backend *backend, void *table,
                     struct sw_sequencer *sequencer, uint32_t operations_max, uint32_t gathered_max,
                     bool gathers_all);
void sw_combiner_close(struct sw_combiner *combiner);

/* Sets the number of the last write, also in the sequencer: the next write gets the number after
 * it. No write of any table of the sequencer may wait or be in flight. If the number decreases, no
 * read may be in flight either. */
void sw_combiner_set_sequence(struct sw_combiner *combiner, uint64_t sequence);
uint64_t sw_combiner_last_sequence(const struct sw_combiner *combiner);

/* Returns whether a write batch can be gathered, also if it is launched alone: each key and
 * operand is then loaded once, into memory of the table. */
bool sw_combiner_gathers(const struct sw_combiner *combiner, const struct sw_batch *batch);

/* Returns the number of launches so far. Threads: any. */
static inline uint64_t sw_combiner_launches(const struct sw_combiner *combiner)
{
    return __atomic_load_n(&combiner->launches, __ATOMIC_RELAXED);
}

/* As sw_table_tidy (idle.h), for a backend with `tidy`. */
void sw_combiner_tidy(struct sw_combiner *combiner);

void sw_combiner_queue_init(struct sw_combiner_queue *queue, struct sw_combiner *combiner,
                            void *backend_queue);

/* Submit and poll a valid batch, as in struct sw_backend. Only a read may return SW_E_BUSY. */
int sw_combiner_submit(struct sw_combiner_queue *queue, struct sw_batch *batch);
int sw_combiner_poll(struct sw_combiner_queue *queue, struct sw_batch *batch);

#endif
