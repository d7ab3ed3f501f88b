/* SPDX-License-Identifier: MIT
 *
 * timings.h - what is timed for SLOWLOG and LATENCY, the options that say from when on it is noted,
 * and what MONITOR shows. Shared by all loops. Functions may be called from any thread.
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

/* Does a command of this duration go to the slow log? Without a slow log (NULL) the answer is no.
 * An option of -1 is the largest number, which nothing reaches. */
static inline bool sw_timings_are_slow(const struct sw_timings *timings, uint64_t us)
{
    return timings != NULL && us >= SW_LIVE(timings->config->slowlog_log_slower_than) &&
           SW_LIVE(timings->config->slowlog_max_len) > 0;
}

/* Notes an event if it took as long as latency-monitor-threshold. */
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

/* Are the histograms of commands kept? */
static inline bool sw_timings_track(const struct sw_timings *timings)
{
    return timings != NULL && SW_LIVE(timings->config->latency_tracking) != 0;
}

#endif
