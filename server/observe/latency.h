/* SPDX-License-Identifier: MIT
 *
 * latency.h - statistics for LATENCY: events longer than latency-monitor-threshold, by kind, and
 * the durations of commands. All memory is in the struct. Threads: any.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_LATENCY_H
#define SHERWOOD_SERVER_OBSERVE_LATENCY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/observe/counters.h"
#include "server/observe/text.h"
#include "server/resp/command.h"

/* X(id, name as LATENCY shows it, what an operator may do about it). */
#define SW_LATENCY_MAP(X)                                                                          \
    X(COMMAND, "command",                                                                          \
      "a RESP command with its batch: SLOWLOG GET shows it; smaller batches (round-ops-max) end "  \
      "sooner")                                                                                    \
    X(FRAME, "frame",                                                                              \
      "a bulk frame, until its reply: smaller frames end sooner; with appendonly its write waits " \
      "for the log")                                                                               \
    X(LOOP, "loop-stall",                                                                          \
      "an I/O loop ran its timer late: a batch ran inside a submit (cpu backend), or the machine " \
      "has too few free cores")                                                                    \
    X(FSYNC, "aof-fsync", "a sync of the log: the storage is slow, or shared; see appendfsync")    \
    X(SNAPSHOT, "snapshot", "writes waited for the image of a snapshot: save less often")          \
    X(GROWTH, "table-growth",                                                                      \
      "a write in which the table grew: a larger capacity from the start avoids it")

enum sw_latency_event {
#define SW_LATENCY_ENUM(id, name, advice) SW_LATENCY_##id,
    SW_LATENCY_MAP(SW_LATENCY_ENUM)
#undef SW_LATENCY_ENUM
        SW_LATENCY_COUNT
};

/* Stored samples of an event. As in redis, a sample is the longest event of a second. */
#define SW_LATENCY_SAMPLES 160

struct sw_latency_sample {
    int64_t at; /* seconds since 1970 */
    uint64_t ms;
};

struct sw_latency {
    pthread_mutex_t lock;
    struct sw_latency_series {
        uint64_t count; /* samples taken; the newest is (count - 1) % SW_LATENCY_SAMPLES */
        uint64_t worst_ms;
        struct sw_latency_sample samples[SW_LATENCY_SAMPLES];
    } series[SW_LATENCY_COUNT];                                  /* under the lock */
    uint64_t histograms[SW_COMMAND_COUNT][SW_HISTOGRAM_BUCKETS]; /* atomic */
};

void sw_latency_init(struct sw_latency *latency);
void sw_latency_fini(struct sw_latency *latency);

/* Adds an event of `us` microseconds. The caller has compared it with the threshold. */
void sw_latency_note(struct sw_latency *latency, enum sw_latency_event event, uint64_t us);
/* Counts `commands` commands of `us` microseconds each. */
void sw_latency_count(struct sw_latency *latency, enum sw_command_id id, uint64_t us,
                      uint64_t commands);

/* Returns the event with this name, in upper or lower case, or SW_LATENCY_COUNT. */
enum sw_latency_event sw_latency_find(const char *name, size_t size);
/* Removes the samples of an event. Returns true if there were any. */
bool sw_latency_reset(struct sw_latency *latency, enum sw_latency_event event);

/* Append the replies to LATEST, HISTORY and HISTOGRAM (of one command) as in redis, and the report
 * of DOCTOR. `threshold_ms` 0: no event is recorded now. */
void sw_latency_latest(struct sw_latency *latency, struct sw_text *reply);
void sw_latency_history(struct sw_latency *latency, enum sw_latency_event event,
                        struct sw_text *reply);
uint64_t sw_latency_calls(const struct sw_latency *latency, enum sw_command_id id);
void sw_latency_histogram(const struct sw_latency *latency, enum sw_command_id id, bool resp3,
                          struct sw_text *reply);
void sw_latency_doctor(struct sw_latency *latency, uint64_t threshold_ms, struct sw_text *report);

#endif
