/* SPDX-License-Identifier: MIT
 *
 * flight.h - the batches of a loop on their way through the table, oldest first.
 *
 * A list is polled from its oldest flight on, up to the first one whose batch is not done. A search
 * (SCAN, COUNT_SCORES) may take long, so a poll passes it. Reads may overtake writes of the same
 * queue, so reads and writes have separate lists. If the queue is full (SW_E_BUSY), or the gate is
 * closed (gate.h) and the next flight writes, the flights of all lists of the submitter wait. They
 * are submitted in the order in which they were started, as others complete. Behind a write that
 * waits for a long read, and behind a search that was turned away, flights of other streams may be
 * submitted first. From its submission on, the table keeps a batch in the order of its stream.
 * Everything belongs to the loop's thread. No function fails: if the table refuses a batch, the
 * flight is done with the table's error as its status.
 */
#ifndef SHERWOOD_SERVER_BATCH_FLIGHT_H
#define SHERWOOD_SERVER_BATCH_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/gate.h"
#include "server/batch/logging.h"
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
    uint64_t held_since_us;     /* when it was submitted, if the table is held since then, and its
                                   growth may be an event of LATENCY; 0: none */
    uint64_t grown;             /* held_since_us: growths of the table before */
    uint64_t waits_for;         /* held flights: the write that must be answerable first */
    uint8_t generation;         /* that of the list when it was started */
    bool submitted;             /* the queue has accepted the batch */
    bool is_shared;             /* a client may change arrays of the batch meanwhile */
    bool hides_results;         /* its results lie where a client may change them, or on a device:
                                   a backlog that is on since it was started skips the write */
    bool is_inside;             /* a write that has entered the gate and has not left it */
    bool lends; /* its arrays stay until it may be answered, so the log needs no copy of them, even
                   in a list whose `copies` is set */
    bool is_done;    /* the batch is done; the log may not have room for it yet */
    bool is_unknown; /* its write, or the writes that it read, may not survive a crash: the log
                        failed, or changed its history, before they were durable */
};

/* The result of a search of the waiting flights. It stays valid until the oldest one is submitted.
 * The next search goes on behind `last`. */
#define SW_STREAM_BITS 12 /* of the hash of a stream */
struct sw_passing {
    struct sw_list *last;        /* the last flight that was searched; NULL: none */
    struct sw_flight *must_wait; /* the first one that could not go for its kind, which is not that
                                    of the oldest; NULL: none */
    uint64_t streams[(1U << SW_STREAM_BITS) / 64]; /* of the flights up to `last` */
};

/* Submits flights to one queue of the table. */
struct sw_submitter {
    struct sw_queue *queue;     /* NULL: the first submit creates it */
    struct sw_table *table;     /* borrowed: of the queue that is created */
    uint32_t thread;            /* number of the loop's thread for sw_queue_create_for */
    struct sw_gate_side *gate;  /* which its writes enter; NULL: no gate */
    struct sw_watched *watched; /* whose watchers its writes mark; NULL: no keys are watched */
    struct sw_watched_widths widths;
    struct sw_list waiting;       /* flights that the queue has not taken yet, oldest first */
    struct sw_passing passing;    /* which of them may pass the oldest */
    uint64_t submitting_since_us; /* atomic: when sw_batch_submit was called; 0: not inside it */
    struct sw_timings *timings;   /* NULL: submits are not timed */
};

struct sw_flights {
    struct sw_submitter *submitter; /* borrowed; shared with other lists */
    struct sw_loop_counters *counters;
    struct sw_list list;       /* flights that were submitted, oldest first */
    uint64_t count;            /* flights in `list`, plus those that wait to be submitted to it */
    uint64_t of_generation[2]; /* the same flights, by generation */
    uint8_t generation;        /* of flights that are started now: 0 or 1 */
    bool device_lost;          /* a batch has ended with SW_E_DEVICE */

    /* The write-ahead log. `done` of a write is called when the write may be answered; if `copies`
     * is set, when the log has a copy of it. */
    struct sw_wal *wal;         /* borrowed; NULL: there is none */
    struct sw_backlog *backlog; /* borrowed; the writes for replicas; NULL: no replication */
    bool copies;
    uint64_t *log_bytes; /* of the table (struct sw_account); NULL: not counted */
    struct sw_logged_widths widths;
    struct sw_table *reads_wait; /* borrowed; batches of this list that only read are held until the
                                    writes that they may show are answerable; NULL: they are not */
    /* Called when a batch is done, before its results leave. If the lease of a primary has ended,
     * this disconnects the clients, so they get no results. NULL: there is no lease. */
    void (*before_done)(void *context);
    void *before_context;
    struct sw_list held; /* flights that may not be answered yet, ascending by waits_for */
    uint64_t held_count; /* length of `held`; `count` does not include these flights */
};

/* Does the batch belong in a list of reads? A batch with an operation for each key belongs in a
 * list of writes, even if all its operations read. */
bool sw_flight_reads(const struct sw_batch *batch);

/* Borrows the table. The first submit creates a queue of it, which the caller destroys. The struct
 * must not move afterwards. */
void sw_submitter_init(struct sw_submitter *submitter, struct sw_table *table, uint32_t thread);
/* Creates the queue now. Returns a status of the table. */
int sw_submitter_open(struct sw_submitter *submitter);
/* Initialises an empty list. Borrows the arguments. The struct must not move afterwards. */
void sw_flights_init(struct sw_flights *flights, struct sw_submitter *submitter,
                     struct sw_loop_counters *counters);

/* Milliseconds since 1970. */
uint64_t sw_flight_wall_ms(void);

/* Submits the flight's batch, now or when the queue has room, and borrows the flight until its
 * `done` is called. */
void sw_flight_start(struct sw_flights *flights, struct sw_flight *flight);

/* Counts the flights of the current generation among those of the one before. */
void sw_flights_join_generations(struct sw_flights *flights);

/* Calls `done` of every held flight that may be answered now, or of all if the log is hopeless.
 * `leaves`: the log is about to change to another history, whose sequences count other writes. Then
 * every held flight ends as unknown, as soon as the log no longer reads its memory. Returns the
 * number of flights that ended. */
unsigned sw_flights_release(struct sw_flights *flights, bool leaves);

/* Calls `done` of every flight whose batch is done, except flights that these calls start: a chain
 * of flights must not keep the loop from its other work. Returns the number of flights that it took
 * out of the list. Never blocks. */
unsigned sw_flights_poll(struct sw_flights *flights);

/* Is the loop inside a submit, for at most SW_SUBMIT_MS_MAX so far? A table in host memory may grow
 * there. May be called from any thread. */
bool sw_submitter_is_submitting(const struct sw_submitter *submitter);

/* Asserts the invariants that hold between two events. */
void sw_flights_check(const struct sw_flights *flights);

#endif
