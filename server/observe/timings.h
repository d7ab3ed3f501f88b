/* SPDX-License-Identifier: MIT
 *
 * timings.h - the state of SLOWLOG, LATENCY and MONITOR, with the thresholds of the first two. All
 * loops share it. Threads: any.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_TIMINGS_H
#define SHERWOOD_SERVER_OBSERVE_TIMINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/config/live.h"
#include "server/observe/latency.h"
#include "server/observe/monitors.h"
#include "server/observe/slowlog.h"

struct sw_timings {
    const struct sw_config *config; /* borrowed */
    struct sw_slowlog slowlog;
    struct sw_latency latency;
    struct sw_monitors monitors;
};

static inline void sw_timings_init(struct sw_timings *timings, const struct sw_config *config)
{
    timings->config = config;
    sw_slowlog_init(&timings->slowlog);
    sw_latency_init(&timings->latency);
    sw_monitors_init(&timings->monitors);
}

static inline void sw_timings_fini(struct sw_timings *timings)
{
    sw_slowlog_fini(&timings->slowlog);
    sw_latency_fini(&timings->latency);
    sw_monitors_fini(&timings->monitors);
}

/* Returns true if a command of this duration belongs into the slow log. `timings` NULL: false. The
 * option -1 is stored as the largest number, which no duration reaches. */
static inline bool sw_timings_are_slow(const struct sw_timings *timings, uint64_t us)
{
    return timings != NULL && us >= SW_LIVE(timings->config->slowlog_log_slower_than) &&
           SW_LIVE(timings->config->slowlog_max_len) > 0;
}

/* Records an event if it took at least latency-monitor-threshold. */
static inline void sw_timings_event(struct sw_timings *timings, enum sw_latency_event event,
                                    uint64_t us)
{
    uint64_t threshold_ms =
        timings == NULL ? 0 : SW_LIVE(timings->config->latency_monitor_threshold);
    if (threshold_ms > 0 && us / 1000 >= threshold_ms) {
        sw_latency_note(&timings->latency, event, us);
    }
}

static inline void sw_timings_slow(struct sw_timings *timings, const struct sw_slowlog_draft *draft)
{
    sw_slowlog_add(&timings->slowlog, draft, SW_LIVE(timings->config->slowlog_max_len));
}

/* Returns true if commands are counted in histograms. */
static inline bool sw_timings_track(const struct sw_timings *timings)
{
    return timings != NULL && SW_LIVE(timings->config->latency_tracking) != 0;
}

#endif
