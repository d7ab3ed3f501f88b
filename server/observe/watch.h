/* SPDX-License-Identifier: MIT
 *
 * watch.h - notices that the table grew, was resized or could not be, and says so in the log.
 *
 * The table changes its capacity inside a batch, on whichever loop submits it; one loop looks at
 * the figures once a sweep and writes one line for all that happened since. One thread at a time.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_WATCH_H
#define SHERWOOD_SERVER_OBSERVE_WATCH_H

#include <stdint.h>

#include "table/table.h"

struct sw_watch {
    const struct sw_table *table; /* borrowed */
    uint64_t capacity_slots;      /* as last seen, like the rest */
    uint64_t grown;
    uint64_t resized;
    uint64_t resize_failed;
    uint64_t warned_ms; /* 0: never */
};

void sw_watch_init(struct sw_watch *watch, const struct sw_table *table);

/* Logs a change of capacity (info), and growths and resizes that failed, for lack of memory or for
 * the probe cap (a warning, at most one in SW_WATCH_WARNING_MS: many refused writes may be failed
 * growths). `now_ms` is any
 * clock that only moves forward; UINT64_MAX: the last look, say everything. */
void sw_watch_look(struct sw_watch *watch, uint64_t now_ms);

#endif
