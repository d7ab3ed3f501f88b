/* SPDX-License-Identifier: MIT
 *
 * flight.h - the batches of a loop on their way through the table, oldest first.
 *
 * Of a list of flights only the oldest is polled, so they are done in the order in which they were
 * started. Reads may overtake writes of the same queue, so the two have lists of their own. When
 * the queue is full (SW_E_BUSY), or the next flight writes and the gate is closed (gate.h), the
 * flights of all its lists wait, and are submitted in the order in which they were started as
 * others complete: the table keeps the order of a stream from the submission on. Everything belongs
 * to the loop's thread. No function fails: a batch that the table refuses is done with the table's
 * error as its status.
 */
#ifndef SHERWOOD_SERVER_BATCH_FLIGHT_H
#define SHERWOOD_SERVER_BATCH_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/gate.h"
#include "server/batch/watched.h"
#include "server/list.h"
#include "server/log/wal.h"
#include "server/observe/counters.h"
#include "server/observe/timings.h"
#include "server/repl/backlog.h"
#include "table/batch.h"

struct sw_flights;

struct sw_flight {
    struct sw_batch batch;
    /* Called once, when the batch is done and out of the list. It owns the flight again, and may
     * start other flights. */
    void (*done)(struct sw_flight *flight);
    struct sw_flights *flights; /* the list that it was started in */
    struct sw_list link;        /* link in that list, or in the submitter's `waiting` */
    uint64_t started_us;        /* when sw_flight_start was called */
    uint64_t waits_for; /* of a flight that the log holds: the write that must be answerable */
    uint8_t generation; /* that of the list when it was started */
    bool submitted;     /* the queue has accepted the batch */
    bool is_shared;     /* a client may change arrays of the batch meanwhile */
    bool is_inside;     /* it is a write that has passed the gate, and has not left */
    bool lends;         /* its arrays stay until it may be answered: of a list that copies for the
                           log it is not copied */
    bool is_done;       /* the batch is done, and waits to be taken by the log */
    bool is_unknown;    /* its write, or the writes that it read, may not survive a crash: the log
                           failed, or changed its history, before they were durable */
};

/* Submits flights to one queue of the table. */
struct sw_submitter {
    struct sw_queue *queue;
    struct sw_gate_side *gate;  /* that its writes pass; NULL: they pass none */
    struct sw_watched *watched; /* what its writes mark; NULL: no keys are watched */
    struct sw_watched_widths widths;
    struct sw_list waiting;       /* flights that the queue has not taken yet, oldest first */
    uint64_t submitting_since_us; /* atomic: when sw_batch_submit was called; 0: not inside it */
    const struct sw_timings *timings; /* NULL: submits are not timed */
    uint64_t slowest_us; /* the longest submit since sw_batches_look_at_growth; 0: none */
};

struct sw_flights {
    struct sw_submitter *submitter; /* borrowed; shared with other lists */
    struct sw_loop_counters *counters;
    struct sw_list list;       /* flights that were submitted, oldest first */
    uint64_t count;            /* length of `list`, and those of them that wait to be submitted */
    uint64_t of_generation[2]; /* these, by generation */
    uint8_t generation;        /* of flights that are started now: 0 or 1 */
    bool device_lost;          /* a batch has ended with SW_E_DEVICE */

    /* The write-ahead log. `done` of a write is called when it may be answered; with `copies` when
     * the log has a copy of it. */
    struct sw_wal *wal;         /* borrowed; NULL: there is none */
    struct sw_backlog *backlog; /* borrowed; of what replicas are sent; NULL: there are none */
    bool copies;
    uint32_t key_bytes, value_bytes;
    struct sw_table *reads_wait; /* borrowed; reads of this list are held until what they may show
                                    is answerable; NULL: they are not */
    /* Called when a batch is done, before its results leave: a primary whose lease is over answers
     * nothing. NULL: there is no lease. */
    void (*before_done)(void *context);
    void *before_context;
    struct sw_list held; /* flights that may not be answered yet, by the write they wait for */
    uint64_t held_count; /* its length; not counted above */
};

/* Does the batch go with the reads? A batch with an operation for each key goes with the writes,
 * whatever these are. */
bool sw_flight_reads(const struct sw_batch *batch);

/* Borrows the queue. The struct must not move afterwards. */
void sw_submitter_init(struct sw_submitter *submitter, struct sw_queue *queue);
/* Initialises an empty list. Borrows the arguments. The struct must not move afterwards. */
void sw_flights_init(struct sw_flights *flights, struct sw_submitter *submitter,
                     struct sw_loop_counters *counters);

/* Milliseconds since 1970. */
uint64_t sw_flight_wall_ms(void);

/* Submits the flight's batch, now or when the queue has room, and borrows the flight until its
 * `done` is called. */
void sw_flight_start(struct sw_flights *flights, struct sw_flight *flight);

/* Calls the flight's `done` when this write may be answered, at once if it is 0. The flight is in
 * no list, and its arrays stay until then. */
void sw_flights_hold(struct sw_flights *flights, struct sw_flight *flight, uint64_t sequence);

/* Calls `done` of every flight that the log has held and that may be answered now, or of all if the
 * log is hopeless. With `leaves`, the numbers of the log are about to be another history's: all
 * are done as unknown, each once the log does not read its memory any more. Returns how many there
 * were. */
unsigned sw_flights_release(struct sw_flights *flights, bool leaves);

/* Calls `done` of every flight whose batch is done, except of flights that were started by such a
 * call: a chain of flights must not keep the loop from its other work. Returns how many were done.
 * Never blocks. */
unsigned sw_flights_poll(struct sw_flights *flights);

/* Is the loop inside a submit, for at most SW_SUBMIT_MS_MAX so far? A table in host memory grows
 * there. May be called from any thread. */
bool sw_submitter_is_submitting(const struct sw_submitter *submitter);

/* Asserts the invariants that hold between two events. */
void sw_flights_check(const struct sw_flights *flights);

#endif
