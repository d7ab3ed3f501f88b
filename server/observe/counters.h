/* SPDX-License-Identifier: MIT
 *
 * counters.h - the counters and gauges of a loop. Each loop (and the HTTP thread) owns one struct
 * and is its only writer. Any thread may read it at any time. Loads and stores are relaxed atomics;
 * there is no lock and no atomic addition.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_COUNTERS_H
#define SHERWOOD_SERVER_OBSERVE_COUNTERS_H

#include <stdint.h>

#include "server/observe/error_replies.h"
#include "server/resp/command.h"

/* The numbers of operations of frames, SW_OPERATION_NUMBERS of proto/operation.h, which this header
 * does not include, because most files of the server include this one. */
#define SW_COUNTED_OPERATIONS 128

/* Counters: X(name, help). The metric is sherwood_<name>_total. */
#define SW_COUNTER_MAP(X)                                                                          \
    X(connections_accepted, "Connections accepted.")                                               \
    X(connections_closed, "Connections closed, for any reason.")                                   \
    X(connections_rejected, "Connections refused because connections-max was reached.")            \
    X(net_input_bytes, "Bytes received from clients.")                                             \
    X(net_output_bytes, "Bytes sent to clients.")                                                  \
    X(commands_processed, "RESP commands replied to, errors included.")                            \
    X(command_errors, "RESP commands whose reply was an error.")                                   \
    X(frames_processed, "Bulk frames replied to, errors included.")                                \
    X(frame_errors, "Bulk frames whose reply had a status other than OK.")                         \
    X(frame_segments, "Segments read by bulk frames that name several tables.")                    \
    X(replica_waits, "WAIT commands and frames replied to.")                                       \
    X(replica_waits_short,                                                                         \
      "WAITs replied to although fewer replicas than requested had the writes.")                   \
    X(ring_requests, "Requests received through rings; frames_processed also counts them.")        \
    X(ring_bells, "Times a client woke the server to read a ring.")                                \
    X(ring_wakes, "Times the server woke a client that waited for its ring.")                      \
    X(ring_copies,                                                                                 \
      "Requests through rings whose keys and operands were copied before they ran: for the log, "  \
      "key ranges, strings or operations in several steps, or because the backend reads them "     \
      "twice.")                                                                                    \
    X(ring_errors, "Connections closed because the counters of their ring were wrong.")            \
    X(region_refusals, "Regions and rings refused because of a limit or unsuitable memory.")       \
    X(direct_hits, "Keys that direct reads of clients found. The hits of GET contain them.")       \
    X(direct_misses, "Keys that direct reads did not find. The misses of GET contain them.")       \
    X(small_page_regions,                                                                          \
      "Regions in GPU memory whose allocation is above 2 MiB and not a multiple of 2 MiB: random " \
      "reads of them may be slow.")                                                                \
    X(resp_protocol_errors, "Connections closed for a RESP protocol error.")                       \
    X(frame_protocol_errors, "Connections closed for a malformed bulk frame.")                     \
    X(request_timeouts,                                                                            \
      "Connections closed because a request did not arrive within request-timeout-ms.")            \
    X(write_timeouts, "Connections closed because the peer stopped reading.")                      \
    X(idle_timeouts, "Connections closed for idleness.")                                           \
    X(output_limit_closes, "Connections closed because output-bytes-max was reached.")             \
    X(output_pauses, "Times a connection's input was paused for unsent replies.")                  \
    X(arena_pauses, "Times a connection's input was paused for lack of arena memory, or because "  \
                    "requests for held tables had half of it.")                                    \
    X(frames_in_flight_pauses, "Times a connection's input was paused at frames-in-flight-max.")   \
    X(turn_pauses, "Times a connection yielded: it had used up its share of an event-loop "        \
                   "iteration, in time or in text replies.")                                       \
    X(client_pauses, "Times a connection's input was paused by CLIENT PAUSE.")                     \
    X(connections_killed, "Connections closed by CLIENT KILL.")                                    \
    X(input_memory_closes,                                                                         \
      "Connections closed because incomplete requests reached input-bytes-max.")                   \
    X(round_pauses,                                                                                \
      "Times a connection's input was paused because the RESP batch of its table was full, or "    \
      "waits until the table has grown.")                                                          \
    X(resp_batches_pauses, "Times a connection's input was paused because RESP batches of other "  \
                           "tables were all resp-batches-max or resp-batch-bytes.")                \
    X(key_collisions,                                                                              \
      "Commands and transactions refused with COLLISION: another key had the same hash.")          \
    X(watch_refusals, "WATCH commands refused because watched-keys-max was reached.")              \
    X(watch_aborts, "Transactions that EXEC discarded because a watched key had changed.")         \
    X(logins, "Logins of connections, by a password or by another proof of the user.")             \
    X(login_failures, "Failed logins: wrong password, unknown user, or disabled user.")            \
    X(login_timeouts, "Connections closed because they did not log in within login-timeout-ms.")   \
    X(login_limit_refusals,                                                                        \
      "Connections refused because connections-before-login-max was reached.")                     \
    X(unauthenticated_requests, "Commands and frames refused because of a missing login.")         \
    X(permission_refusals, "Commands and frames that the rules of their user forbid.")             \
    X(protected_mode_refusals,                                                                     \
      "Connections of other hosts refused by protected-mode, because the user default has no "     \
      "password.")                                                                                 \
    X(log_lines_left_out,                                                                          \
      "Log lines caused by clients that were dropped because the log had many of the kind.")       \
    X(tls_handshakes, "TLS handshakes that were completed.")                                       \
    X(tls_handshake_failures,                                                                      \
      "Connections to the TLS port that did not complete their handshake: not TLS, no accepted "   \
      "certificate, or too slow.")                                                                 \
    X(tls_failures, "TLS connections that failed after their handshake.")                          \
    X(tls_cuts, "TLS connections whose input ended without close_notify.")                         \
    X(cluster_moved, "Commands refused with MOVED: another node owns their keys.")                 \
    X(cluster_wrong_shard, "Bulk frames refused for a key of another node, or an old topology.")   \
    X(cluster_frozen, "Bulk frames refused while a slot was handed over; their clients retry.")    \
    X(cluster_cross_slot, "Commands refused with CROSSSLOT: their keys are in several slots.")     \
    X(cluster_down,                                                                                \
      "Commands refused with CLUSTERDOWN: their slot has no owner, or the node is loading or not " \
      "in the topology.")                                                                          \
    X(spans_exported, "Spans that otlp-endpoint accepted.")                                        \
    X(spans_dropped, "Spans dropped by a loop because otlp-spans-max of them waited.")             \
    X(spans_failed,                                                                                \
      "Spans dropped because otlp-endpoint rejected them or did not accept them in time.")         \
    X(http_requests, "HTTP requests replied to.")                                                  \
    X(http_errors,                                                                                 \
      "HTTP requests whose reply had status 400 or above, including headers larger than "          \
      "http-request-bytes-max, excluding request lines that are too long.")                        \
    X(http_timeouts, "HTTP connections closed because a request and its reply took longer than "   \
                     "http-timeout-ms, or no request arrived within it.")                          \
    X(http_evictions,                                                                              \
      "HTTP connections closed at http-connections-max to accept a new one: the one that had "     \
      "waited longest.")                                                                           \
    X(batches, "Batches submitted to the table.")                                                  \
    X(batch_operations, "Operations in those batches.")

/* Gauges: X(name, help). The metric sherwood_<name> is the sum over all loops. */
#define SW_GAUGE_MAP(X)                                                                            \
    X(connected_clients, "Connections open now.")                                                  \
    X(connections_without_login, "Connections that must log in and have not.")                     \
    X(paused_clients, "Connections whose input is paused now.")                                    \
    X(blocked_clients, "Connections that wait in WAIT or WAITAOF.")                                \
    X(http_connections, "HTTP connections open now.")                                              \
    X(input_memory_bytes, "Memory of requests that arrived in part; input-bytes-max limits it.")   \
    X(input_memory_max_bytes, "Limit of this memory: input-bytes-max.")                            \
    X(watched_keys, "Keys that connections watch; watched-keys-max limits them.")                  \
    X(rings, "Connections with a ring; rings-max limits them.")                                    \
    X(regions, "Registered regions.")                                                              \
    X(direct_readers,                                                                              \
      "Clients whose kernels read the table directly; direct-readers-max limits them.")            \
    X(device_region_bytes, "Bytes of regions in GPU memory; device-region-bytes-max limits them.") \
    X(region_bytes, "Bytes of all other regions; region-bytes-max limits them.")                   \
    X(resp_batch_bytes, "Memory for RESP batches of all loops; resp-batch-bytes limits a loop.")   \
    X(arena_bytes, "I/O memory of all loops.")                                                     \
    X(arena_used_bytes, "I/O memory in use by requests and replies.")

/* The buckets of a histogram are powers of two: bucket i counts values <= 2^i that are > 2^(i-1),
 * and the last one counts all larger values. */
#define SW_HISTOGRAM_BUCKETS 26

struct sw_loop_counters {
#define SW_COUNTER_FIELD(name, help) uint64_t name;
    SW_COUNTER_MAP(SW_COUNTER_FIELD)
    SW_GAUGE_MAP(SW_COUNTER_FIELD)
#undef SW_COUNTER_FIELD
    uint64_t frame_operations[SW_COUNTED_OPERATIONS]; /* frames replied to, by operation */
    uint64_t commands[SW_COMMAND_COUNT];              /* replied to, by command */
    uint64_t error_replies[SW_ERROR_WORDS];           /* command_errors, by enum sw_error_word */
    /* Time from the submission of a batch to its completion, in equal shares for the commands whose
     * replies waited for it. */
    uint64_t command_ns[SW_COMMAND_COUNT];
    uint64_t batch_size[SW_HISTOGRAM_BUCKETS]; /* operations of a batch */
    uint64_t batch_us[SW_HISTOGRAM_BUCKETS];   /* submit to completion, microseconds */
    uint64_t batch_us_sum;
};

/* Adds to a counter. Only the owner's thread may call this. */
#define SW_COUNT(counters, name, n) \
    __atomic_store_n(&(counters)->name, (counters)->name + (uint64_t)(n), __ATOMIC_RELAXED)

/* Sets a gauge. Only the owner's thread may call this. */
#define SW_GAUGE(counters, name, value) \
    __atomic_store_n(&(counters)->name, (uint64_t)(value), __ATOMIC_RELAXED)

/* Returns the index of the bucket that counts this value. */
static inline unsigned sw_histogram_bucket(uint64_t value)
{
    unsigned bits = value <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(value - 1);
    return bits < SW_HISTOGRAM_BUCKETS ? bits : SW_HISTOGRAM_BUCKETS - 1;
}

/* Adds the current values of `from` to `to`. Threads: any. */
void sw_loop_counters_add(struct sw_loop_counters *to, const struct sw_loop_counters *from);

#endif
