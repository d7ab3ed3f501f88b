/* SPDX-License-Identifier: MIT
 *
 * history.h - statistics of the last ten minutes, one sample a second, for the status page. A page
 * that is opened after an incident still shows it.
 *
 * The history is a ring of fixed size. It exists only with an HTTP server. Threads: the HTTP
 * thread, which takes and reads the samples.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HISTORY_H
#define SHERWOOD_SERVER_OBSERVE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "server/observe/server_stats.h"

#define SW_HISTORY_INTERVAL_MS 1000
#define SW_HISTORY_SAMPLES \
    600 /* intervals; the ring has one sample more, at the start of the first */

/* Counters since the start of the daemon. The page shows their change per second:
 * X(name, expression over a snapshot `s`, unit of the rate). */
#define SW_HISTORY_COUNTER_MAP(X)                                                              \
    X(gets, s->stats.counters.by_class[SW_CLASS_GET].operations, "gets carried out")           \
    X(hits, s->stats.counters.by_class[SW_CLASS_GET].hits, "gets that found their key")        \
    X(misses, s->stats.counters.by_class[SW_CLASS_GET].misses, "gets that did not")            \
    X(writes, s->stats.counters.by_class[SW_CLASS_UPSERT].operations, "writes of a value")     \
    X(deletes, s->stats.counters.by_class[SW_CLASS_DELETE].operations, "deletes")              \
    X(get_probes, s->stats.counters.by_class[SW_CLASS_GET].probes, "buckets read by gets")     \
    X(write_probes, s->stats.counters.by_class[SW_CLASS_UPSERT].probes,                        \
      "buckets read by writes of a value")                                                     \
    X(refused, s->stats.counters.refused, "operations refused for lack of room in the table")  \
    X(evicted, s->stats.counters.evicted, "keys that left the cache to make room")             \
    X(batches, s->counters.batches, "batches submitted to the table")                          \
    X(commands, s->counters.commands_processed, "RESP commands replied to")                    \
    X(frames, s->counters.frames_processed, "bulk frames replied to")                          \
    X(errors, s->counters.command_errors + s->counters.frame_errors,                           \
      "commands and frames whose reply was an error")                                          \
    X(input_bytes, s->counters.net_input_bytes, "bytes received from clients")                 \
    X(output_bytes, s->counters.net_output_bytes, "bytes sent to clients")                     \
    X(rejected, s->counters.connections_rejected, "connections refused at connections-max")    \
    X(protocol_errors, s->counters.resp_protocol_errors + s->counters.frame_protocol_errors,   \
      "connections closed for malformed requests")                                             \
    X(tls_failures, s->counters.tls_handshake_failures + s->counters.tls_failures,             \
      "connections by TLS that failed, in their handshake or after it")                        \
    X(region_refusals, s->counters.region_refusals + s->counters.ring_errors,                  \
      "regions and rings that were refused, or ended for what was in them")                    \
    X(login_failures, s->counters.login_failures, "logins that failed")                        \
    X(replication_errors, s->replication.errors + s->replication.senders.errors,               \
      "connections of replication that ended for wrong bytes")                                 \
    X(topologies_refused, s->cluster.reload_failures, "topologies that were refused")          \
    X(resize_failures, s->stats.resize_failed, "growths and resizes of the table that failed") \
    X(way_ranges, s->stats.write_paths[SW_WRITE_PATH_RANGES].batches,                          \
      "batches of writes in the way ranges")                                                   \
    X(way_stream, s->stats.write_paths[SW_WRITE_PATH_STREAM].batches,                          \
      "batches of writes in the way stream")                                                   \
    X(way_general, s->stats.write_paths[SW_WRITE_PATH_GENERAL].batches,                        \
      "batches of writes in the way general")                                                  \
    X(way_serial, s->stats.write_paths[SW_WRITE_PATH_SERIAL].batches,                          \
      "batches of writes in the way serial")

/* Gauges, shown unchanged: X(name, expression over a snapshot `s`, meaning). */
#define SW_HISTORY_GAUGE_MAP(X)                                                                  \
    X(keys, s->stats.occupied, "keys held")                                                      \
    X(capacity_slots, s->info.capacity_slots, "slots of the table")                              \
    X(clients, s->counters.connected_clients, "connections open")                                \
    X(paused, s->counters.paused_clients, "of them, those whose input is paused")                \
    X(resident_bytes, s->resident_bytes, "host memory of the process")                           \
    X(arena_used_bytes, s->counters.arena_used_bytes, "I/O memory in use")                       \
    X(durable_lag, sw_history_lag(&s->log), "writes that are in the log and not yet on storage") \
    X(backlog_bytes, s->log.backlog_bytes, "bytes that are not yet in the log")                  \
    X(gpu_memory_used_bytes, sw_history_known(s->gpu.memory_used_bytes),                         \
      "memory of the GPU in use, 0 where `gpu` is `null`")                                       \
    X(gpu_busy_percent, sw_history_known(s->gpu.busy_percent), "how busy the GPU was, likewise")

enum sw_history_counter {
#define SW_HISTORY_ENUM(name, from, help) SW_HISTORY_##name,
    SW_HISTORY_COUNTER_MAP(SW_HISTORY_ENUM) SW_HISTORY_COUNTER_COUNT
};
enum sw_history_gauge { SW_HISTORY_GAUGE_MAP(SW_HISTORY_ENUM) SW_HISTORY_GAUGE_END };
#define SW_HISTORY_GAUGE_COUNT ((unsigned)SW_HISTORY_GAUGE_END)
#undef SW_HISTORY_ENUM

struct sw_history_sample {
    uint64_t number; /* 1, 2, 3, .. since the start of the daemon */
    uint64_t at_ms;  /* monotonic */
    uint64_t counters[SW_HISTORY_COUNTER_COUNT];
    uint64_t gauges[SW_HISTORY_GAUGE_COUNT];
    uint64_t batch_us[SW_HISTOGRAM_BUCKETS]; /* as in struct sw_loop_counters */
};

struct sw_history;

/* Returns the writes that are not durable yet. The two numbers are read one after the other, so
 * `durable` may be the larger one. */
static inline uint64_t sw_history_lag(const struct sw_wal_stats *log)
{
    return log->written > log->durable ? log->written - log->durable : 0;
}

static inline uint64_t sw_history_known(uint64_t figure)
{
    return figure == SW_GPU_UNKNOWN ? 0 : figure;
}

/* Returns NULL if there is no memory (about 300 KiB). */
struct sw_history *sw_history_create(void);
/* NULL is allowed. */
void sw_history_destroy(struct sw_history *history);

/* Returns the milliseconds until the next sample is due, at most `most_ms`. */
int sw_history_due(const struct sw_history *history, uint64_t now_ms, int most_ms);
/* Adds a sample, and drops the oldest one if the ring is full. */
void sw_history_add(struct sw_history *history, const struct sw_server_stats *snapshot,
                    uint64_t now_ms);

/* Return the numbers of the newest sample (0: none) and of the oldest one in the ring. */
uint64_t sw_history_newest(const struct sw_history *history);
uint64_t sw_history_oldest(const struct sw_history *history);
/* Returns a sample in the ring, which is valid until the next sw_history_add. */
const struct sw_history_sample *sw_history_at(const struct sw_history *history, uint64_t number);

/* Returns the increase of a counter in the last `window_ms`; `value` is its current value. Counts
 * from the newest sample of that age, else from the start of the daemon, else from the oldest
 * sample in the ring. */
uint64_t sw_history_increase(const struct sw_history *history, enum sw_history_counter counter,
                             uint64_t value, uint64_t now_ms, uint64_t window_ms);

/* Returns the microseconds that `share` (0 to 1) of the batches took at most. Counts the batches in
 * `to` that `from` lacks; -1: none. Buckets are powers of two; within a bucket the values count as
 * evenly distributed. */
double sw_histogram_quantile(const uint64_t from[SW_HISTOGRAM_BUCKETS],
                             const uint64_t to[SW_HISTOGRAM_BUCKETS], double share);

#endif
