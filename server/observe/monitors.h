/* SPDX-License-Identifier: MIT
 *
 * monitors.h - lines from all loops for connections in MONITOR mode.
 *
 * The loop that makes a line appends it to the pending lines of each monitor, and wakes the
 * monitor's loop, which sends them. If the pending lines exceed a monitor's limit, the monitor gets
 * no further line, and its loop closes it. Threads: any, unless a comment says otherwise.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_MONITORS_H
#define SHERWOOD_SERVER_OBSERVE_MONITORS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/list.h"
#include "server/observe/text.h"

struct sw_monitors {
    pthread_mutex_t lock;
    struct sw_list list; /* under the lock */
    uint64_t count;      /* atomic: its length */
};

struct sw_monitor {
    struct sw_list link;
    struct sw_text lines; /* pending lines, under the lock; failed: they exceeded the limit */
    uv_async_t *wake;     /* of the monitor's loop; borrowed */
};

void sw_monitors_init(struct sw_monitors *monitors);
/* Call it when every monitor is removed. */
void sw_monitors_fini(struct sw_monitors *monitors);

/* Adds a monitor, whose address must not change. Returns false if there are `most` monitors
 * already. `bytes_max`: limit of its pending lines. */
bool sw_monitors_add(struct sw_monitors *monitors, struct sw_monitor *monitor, uint64_t most,
                     size_t bytes_max, uv_async_t *wake);
void sw_monitors_remove(struct sw_monitors *monitors, struct sw_monitor *monitor);

/* Returns true if there is a monitor. Callers make no line otherwise. */
static inline bool sw_monitors_are_there(const struct sw_monitors *monitors)
{
    return __atomic_load_n(&monitors->count, __ATOMIC_RELAXED) != 0;
}
/* Adds a line to the pending lines of each monitor. A text that has failed is too long for every
 * monitor. */
void sw_monitors_show(struct sw_monitors *monitors, const struct sw_text *line);
/* Moves the pending lines to `out`, which is empty. Returns false if they exceeded the limit. */
bool sw_monitors_take(struct sw_monitors *monitors, struct sw_monitor *monitor,
                      struct sw_text *out);

#endif
