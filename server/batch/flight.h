/* SPDX-License-Identifier: MIT
 *
 * flight.h - the batches in flight in a queue of a loop, oldest first.
 *
 * A queue completes batches in the order of their submission, so only the oldest is polled. When
 * the queue is full (SW_E_BUSY), flights wait here in order and are submitted as others complete.
 * Everything belongs to the loop's thread. No function fails: a batch that the table refuses is
 * done with the table's error as its status.
 */
#ifndef SHERWOOD_SERVER_BATCH_FLIGHT_H
#define SHERWOOD_SERVER_BATCH_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/list.h"
#include "server/observe/counters.h"
#include "table/table.h"

struct sw_flight {
    struct sw_batch batch;
    /* Called once, when the batch is done and out of the list. It owns the flight again, and may
     * start other flights. */
    void (*done)(struct sw_flight *flight);
    struct sw_list link; /* link in the list of its queue */
    uint64_t started_us; /* when sw_flight_start was called */
    bool submitted;      /* the queue has accepted the batch */
};

struct sw_flights {
    struct sw_queue *queue;
    struct sw_loop_counters *counters;
    struct sw_list list;          /* all flights, oldest first */
    struct sw_list *unsubmitted;  /* the first one that is not submitted yet; &list: none */
    uint64_t count;               /* length of `list` */
    bool device_lost;             /* a batch has ended with SW_E_DEVICE */
    uint64_t submitting_since_us; /* atomic: when sw_batch_submit was called; 0: not inside it */
};

/* Initialises an empty list. The struct must not move afterwards. */
void sw_flights_init(struct sw_flights *flights, struct sw_queue *queue,
                     struct sw_loop_counters *counters);

/* Submits the flight's batch, now or when the queue has room, and borrows the flight until its
 * `done` is called. */
void sw_flight_start(struct sw_flights *flights, struct sw_flight *flight);

/* Calls `done` of every flight whose batch is done, except of flights that were started by such a
 * call: a chain of flights must not keep the loop from its other work. Returns how many were done.
 * Never blocks. */
unsigned sw_flights_poll(struct sw_flights *flights);

/* Is the loop inside a submit, for at most SW_SUBMIT_MS_MAX so far? A table in host memory grows
 * there. May be called from any thread. */
bool sw_flights_is_submitting(const struct sw_flights *flights);

/* Asserts the invariants that hold between two events. */
void sw_flights_check(const struct sw_flights *flights);

#endif
