/* SPDX-License-Identifier: MIT
 *
 * flight.h - batches on their way through a loop's queue, oldest first.
 *
 * A queue completes batches in the order of their submission, so only the oldest is polled. When
 * the queue is full (SW_E_BUSY), flights wait here in order and are submitted as others complete.
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
    /* Called once, when the batch is done and out of the list; may start other flights. */
    void (*done)(struct sw_flight *flight);
    struct sw_list link; /* the queue's flights */
    uint64_t started_us;
    bool submitted;
};

struct sw_flights {
    struct sw_queue *queue;
    struct sw_loop_counters *counters;
    struct sw_list list;         /* oldest first */
    struct sw_list *unsubmitted; /* the first that the queue has not taken yet, or &list */
    uint64_t count;
    bool device_lost; /* a batch ended with SW_E_DEVICE; its flight was called back all the same */
    uint64_t submitting_since_us; /* atomic; 0: not inside sw_batch_submit */
};

/* Makes it empty, in place: it must not move afterwards. */
void sw_flights_init(struct sw_flights *flights, struct sw_queue *queue,
                     struct sw_loop_counters *counters);

/* Takes the flight until its done callback. A batch the table refuses outright completes with that
 * status like any other. */
void sw_flight_start(struct sw_flights *flights, struct sw_flight *flight);

/* Calls back every flight that is done, but none that a callback starts: one that goes on and on
 * leaves the loop its other work. Returns how many. Never blocks. */
unsigned sw_flights_poll(struct sw_flights *flights);

/* Has the loop been inside a submit for some time, though not for longer than SW_SUBMIT_MS_MAX? A
 * table in host memory grows there. Any thread. */
bool sw_flights_is_submitting(const struct sw_flights *flights);

/* Asserts what holds between two events. */
void sw_flights_check(const struct sw_flights *flights);

#endif
