/* SPDX-License-Identifier: MIT
 *
 * combine.h - the order of the writes of all queues, and what of them is launched together.
 *
 * A launch of writes costs a device much the same whether it has one operation or ten thousand, and
 * launches of writes run one after the other. So write batches of all queues wait here in the order
 * of their submission while SW_TOGETHERS launches are in flight, and the next launch takes what has
 * gathered. Each batch remains a batch of its own: its groups are admitted or refused, and its
 * results and counters are its own. The order here is the order of the writes; write_sequence tells
 * a batch's place in it.
 *
 * Reads are not combined here. A read goes to its queue at once, unless a write of its stream still
 * waits; then it, and what its stream submits after it, is deferred until that write is launched.
 * A deferred read has a place in its queue from the start: were it taken by reads that came later,
 * a caller that polls them only after this one would wait for ever.
 *
 * A batch, from submit to completion:
 *
 *   read:   [deferred ->] in its queue -> done
 *   write:  [deferred ->] waiting -> launched, alone or together with others -> done
 *
 * A batch that concerns times (sw_batch.clock_ms) is launched alone: what one batch writes may be
 * dead by the clock of the next, which removes it first, and lists it as its own. A sweep that
 * finds out by itself what it removes has a number only if it removes something, so it is carried
 * out when nothing waits: nobody may take the next number meanwhile.
 *
 * Nothing here has a thread of its own. Whoever submits or polls and finds nobody doing so leads:
 * it completes launches that are done and starts the next ones, whosever batches they are. Only an
 * image is launched by nobody but the thread that asked for it, and with nothing in flight.
 *
 * Only the leader calls the backend with the queue of the launches, and no other queue is given
 * writes. So while submit runs there, no write begins, whatever mutex the backend gives up.
 *
 * Threads: struct sw_combine_queue belongs to the queue's thread; a combiner is shared. `lock` is
 * held for a few instructions, and never during a launch; but during a sweep.
 */
#ifndef SHERWOOD_TABLE_COMBINE_H
#define SHERWOOD_TABLE_COMBINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/backend.h"

/* Streams of a queue are told apart modulo this number: two that are not may only wait longer. */
#define SW_COMBINE_STREAMS 64

/* A batch of so many operations goes by itself as several do together: loading its operations then
 * overlaps the launch before it. */
#define SW_COLLECTED_MIN 32768

struct sw_combiner {
    const struct sw_backend *backend;
    void *table;             /* the backend's */
    void *queue;             /* the backend's, of all launches; the leader's */
    uint32_t operations_max; /* of a launch of several batches */
    uint32_t collected_max;  /* of one that is collected, at least as many */
    bool collects_all;       /* a batch that is alone, too, however small */

    pthread_mutex_t lock;
    struct sw_batch *waiting; /* under `lock`: oldest first */
    struct sw_batch **waiting_end;
    struct sw_batch *sweeps; /* under `lock`: those that wait until nothing else does */
    struct sw_batch **sweeps_end;
    uint64_t sequence; /* atomic, written under `lock`: of the batch that came last */

    uint64_t gathered; /* atomic: number of waiting batches */
    uint64_t sweeping; /* atomic: .. of sweeps */
    uint64_t launched; /* atomic: sequence of the batch launched last */
    uint64_t era;      /* atomic: how often the sequence went back */
    uint64_t launches; /* atomic: how many there were */
    bool is_led;       /* atomic: some thread is the leader */

    /* The leader's. */
    struct sw_together together[SW_TOGETHERS];
    uint32_t oldest; /* index of the oldest in flight */
    uint32_t flying; /* launches in flight */
};

/* A queue of the table, as the combiner sees it. */
struct sw_combine_queue {
    struct sw_combiner *combiner;
    void *backend_queue;       /* of its reads */
    struct sw_batch *deferred; /* oldest first */
    struct sw_batch **deferred_end;
    uint64_t last_write[SW_COMBINE_STREAMS]; /* sequence of the stream's last write; 0: none */
    uint64_t era;                            /* of the combiner, that these are of */
    uint32_t deferred_of[SW_COMBINE_STREAMS];
    uint32_t reads; /* deferred, or in the queue and not polled to their end */
    bool scans;     /* one of them is a scan */
};

/* Opens a queue of the backend for the launches; the limits are those of sw_backend_facts. Returns
 * the backend's status; after a failure nothing is owed. Every queue must be idle before it is
 * closed. */
int sw_combiner_open(struct sw_combiner *combiner, const struct sw_backend *backend, void *table,
                     uint32_t operations_max, uint32_t collected_max, bool collects_all);
void sw_combiner_close(struct sw_combiner *combiner);

/* The next write has the number after this. No write is waiting or in flight; and no read either,
 * if it is a lower number than before. */
void sw_combiner_set_sequence(struct sw_combiner *combiner, uint64_t sequence);
uint64_t sw_combiner_last_sequence(const struct sw_combiner *combiner);

/* Whether a write can be launched as several together are, if it is alone too: its operations are
 * then collected, each key and operand loaded once, into memory of the table. */
bool sw_combiner_collects(const struct sw_combiner *combiner, const struct sw_batch *batch);

/* How many launches there were. Any thread may ask. */
static inline uint64_t sw_combiner_launches(const struct sw_combiner *combiner)
{
    return __atomic_load_n(&combiner->launches, __ATOMIC_RELAXED);
}

void sw_combine_queue_init(struct sw_combine_queue *queue, struct sw_combiner *combiner,
                           void *backend_queue);

/* submit and poll of struct sw_backend, for a valid batch. Only a read may be SW_E_BUSY. */
int sw_combine_submit(struct sw_combine_queue *queue, struct sw_batch *batch);
int sw_combine_poll(struct sw_combine_queue *queue, struct sw_batch *batch);

#endif
