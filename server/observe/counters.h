/* SPDX-License-Identifier: MIT
 *
 * counters.h - what a loop counts. Each loop owns one struct and is its only writer; the metrics
 * thread reads it at any time. Plain relaxed loads and stores: no lock, no atomic add.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_COUNTERS_H
#define SHERWOOD_SERVER_OBSERVE_COUNTERS_H

#include <stdint.h>

#include "server/resp/command.h"

/* name (metric: sherwood_<name>_total), help */
#define SW_COUNTER_MAP(X)                                                                        \
    X(connections_accepted, "Connections accepted.")                                             \
    X(connections_closed, "Connections closed, for any reason.")                                 \
    X(connections_rejected, "Connections refused because connections-max was reached.")          \
    X(net_input_bytes, "Bytes received from clients.")                                           \
    X(net_output_bytes, "Bytes sent to clients.")                                                \
    X(commands_processed, "RESP commands answered, errors included.")                            \
    X(command_errors, "RESP commands answered with an error.")                                   \
    X(frames_processed, "Bulk frames answered, errors included.")                                \
    X(frame_errors, "Bulk frames answered with a status that is not OK.")                        \
    X(frames_gathered, "Bulk frames of writes that were copied together into shared batches.")   \
    X(rounds_shared,                                                                             \
      "Rounds of RESP writes that were copied together into batches of several loops.")          \
    X(resp_protocol_errors, "Connections closed for a RESP protocol error.")                     \
    X(frame_protocol_errors, "Connections closed for a malformed bulk frame.")                   \
    X(request_timeouts, "Connections closed because a request did not arrive in time.")          \
    X(write_timeouts, "Connections closed because the peer stopped reading.")                    \
    X(idle_timeouts, "Connections closed for idleness.")                                         \
    X(output_limit_closes, "Connections closed because output-bytes-max was reached.")           \
    X(output_pauses, "Times a connection's input was paused for unsent answers.")                \
    X(arena_pauses, "Times a connection's input was paused for lack of arena memory.")           \
    X(frames_in_flight_pauses, "Times a connection's input was paused at frames-in-flight-max.") \
    X(turn_pauses,                                                                               \
      "Times a connection's input waited for the next turn, because its replies that are texts " \
      "had taken their share.")                                                                  \
    X(input_memory_closes,                                                                       \
      "Connections closed because incomplete requests reached input-bytes-max.")                 \
    X(round_pauses, "Times a connection's input was paused because the loop's round was full.")  \
    X(log_lines_left_out,                                                                        \
      "Lines that clients provoked and that the log left out, because it had many like them.")   \
    X(http_requests, "HTTP requests answered.")                                                  \
    X(http_timeouts, "HTTP connections closed because a request and its reply took longer than " \
                     "http-timeout-ms, or none came for so long.")                               \
    X(http_evictions,                                                                            \
      "HTTP connections closed for a new one at http-connections-max; the one that had waited "  \
      "longest each time.")                                                                      \
    X(batches, "Batches submitted to the table.")                                                \
    X(batch_operations, "Operations in those batches.")

/* What is so now, as a sum over the loops. name (metric: sherwood_<name>), help */
#define SW_GAUGE_MAP(X)                                                                          \
    X(connected_clients, "Connections open now.")                                                \
    X(paused_clients, "Connections whose input is paused now.")                                  \
    X(http_connections, "HTTP connections open now.")                                            \
    X(input_memory_bytes, "Memory of requests that arrived in part; input-bytes-max limits it.") \
    X(arena_bytes, "I/O memory of all loops.")                                                   \
    X(arena_used_bytes, "I/O memory in use by requests and replies.")

/* Power-of-two histogram buckets: bucket i counts values <= 2^i (and > 2^(i-1)); the last one
 * counts everything above. */
#define SW_HISTOGRAM_BUCKETS 26

struct sw_loop_counters {
#define SW_COUNTER_FIELD(name, help) uint64_t name;
    SW_COUNTER_MAP(SW_COUNTER_FIELD)
    SW_GAUGE_MAP(SW_COUNTER_FIELD)
#undef SW_COUNTER_FIELD
    uint64_t commands[SW_COMMAND_COUNT]; /* replied to, by command */
    /* Of the time from the submission of a batch to its completion an equal share for each command
     * whose reply waited for it. */
    uint64_t command_ns[SW_COMMAND_COUNT];
    uint64_t batch_size[SW_HISTOGRAM_BUCKETS]; /* operations of a batch */
    uint64_t batch_us[SW_HISTOGRAM_BUCKETS];   /* submit to completion, microseconds */
    uint64_t batch_us_sum;
};

/* Owner thread only. */
#define SW_COUNT(counters, name, n) \
    __atomic_store_n(&(counters)->name, (counters)->name + (uint64_t)(n), __ATOMIC_RELAXED)

/* Sets a gauge. Owner thread only. */
#define SW_GAUGE(counters, name, value) \
    __atomic_store_n(&(counters)->name, (uint64_t)(value), __ATOMIC_RELAXED)

/* Index of a value's histogram bucket. */
static inline unsigned sw_histogram_bucket(uint64_t value)
{
    unsigned bits = value <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(value - 1);
    return bits < SW_HISTOGRAM_BUCKETS ? bits : SW_HISTOGRAM_BUCKETS - 1;
}

/* Adds what `from` holds now to `to` (any thread). */
void sw_loop_counters_add(struct sw_loop_counters *to, const struct sw_loop_counters *from);

#endif
