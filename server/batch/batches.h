/* SPDX-License-Identifier: MIT
 *
 * batches.h - one loop's way into the table: its queues, the batches in flight, its I/O memory.
 *
 * RESP rounds have a queue of their own: batches of a queue are done one after the other, and a
 * round must not wait for large frames that came before it. One owner thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_BATCHES_H
#define SHERWOOD_SERVER_BATCH_BATCHES_H

#include <stdbool.h>

#include "server/batch/flight.h"
#include "server/batch/io_arena.h"
#include "server/batch/shape.h"
#include "server/observe/counters.h"
#include "table/table.h"

struct sw_batches {
    struct sw_table *table;
    struct sw_table_shape shape;
    struct sw_loop_counters *counters;
    struct sw_queue *queue, *round_queue;
    struct sw_flights flights, round_flights;
    struct sw_io_arena arena; /* frames are received into it and answered from it */
};

/* Borrows the table and the counters. Returns 0, or -1 (memory); fini is allowed after both, once
 * nothing is in flight. */
int sw_batches_init(struct sw_batches *batches, struct sw_table *table,
                    const struct sw_config *config, struct sw_loop_counters *counters);
void sw_batches_fini(struct sw_batches *batches);

/* Are there batches to poll? A round that another loop submitted is not one: that loop wakes us. */
static inline bool sw_batches_in_flight(const struct sw_batches *batches)
{
    return batches->flights.count + batches->round_flights.count > 0;
}

/* Calls back what is done, rounds first. A loop that `waits` looks for some time before it gives
 * up. Returns true if anything was. */
bool sw_batches_poll(struct sw_batches *batches, bool waits);

/* Has a batch ended because the device failed? Told once. */
bool sw_batches_lost_device(struct sw_batches *batches);

/* Is the loop inside a submit that may take long? Any thread. */
bool sw_batches_is_submitting(const struct sw_batches *batches);

#endif
