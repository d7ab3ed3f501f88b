/* SPDX-License-Identifier: MIT
 *
 * tracer.h - exports the spans of all loops by OTLP/HTTP.
 *
 * A thread takes the spans from the queues of the loops and posts them to --otlp-endpoint, one
 * batch at a time. It tries a batch again a few times, then drops it. While it waits, the queues
 * fill, and loops drop their spans: no request waits for the endpoint. Threads: that of the server,
 * except where a comment says otherwise.
 */
#ifndef SHERWOOD_SERVER_TRACE_TRACER_H
#define SHERWOOD_SERVER_TRACE_TRACER_H

#include <stdint.h>

#include "server/config/config.h"
#include "server/trace/span_queue.h"

struct sw_tracer;

/* The spans that reached the endpoint, and those that it rejected or did not take in time. */
struct sw_tracer_counts {
    uint64_t exported, failed;
};

/* Creates a queue for each loop of `config`, and starts the thread. Sets *out to NULL without
 * otlp-endpoint. `instance` identifies this run of the server. Borrows both. Returns 0, or -1 with
 * an error logged. */
int sw_tracer_start(const struct sw_config *config, const char *instance, struct sw_tracer **out);
/* Exports the spans that wait, for at most SW_TRACE_STOP_MS, and ends the thread. The loops have
 * ended. NULL is allowed. */
void sw_tracer_destroy(struct sw_tracer *tracer);

/* Returns the queue of a loop; NULL: nothing is traced. */
struct sw_span_queue *sw_tracer_queue(struct sw_tracer *tracer, uint32_t loop);
/* Makes the thread export soon. Threads: any. */
void sw_tracer_wake(struct sw_tracer *tracer);
/* Threads: any. Without a tracer, all counts are 0. */
struct sw_tracer_counts sw_tracer_count(const struct sw_tracer *tracer);

#endif
