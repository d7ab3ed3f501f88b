/* SPDX-License-Identifier: MIT
 *
 * watch.h - logs that the table grew, was resized, or could not grow or be resized.
 *
 * The table changes its capacity inside a batch, on the thread of the loop that submits the batch.
 * One loop compares the statistics at each sweep, and logs one line for all changes since the sweep
 * before. Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_WATCH_H
#define SHERWOOD_SERVER_OBSERVE_WATCH_H

#include <stdint.h>

struct sw_table;

struct sw_watch {
    const struct sw_table *table; /* borrowed */
    uint64_t capacity_slots;      /* as of the last call, like the three counts below */
    uint64_t grown;
    uint64_t resized;
    uint64_t resize_failed;
    uint64_t warned_ms; /* 0: never */
};

void sw_watch_init(struct sw_watch *watch, const struct sw_table *table);

/* Logs a change of capacity as info. Logs growths and resizes that failed, for lack of memory or
 * because of the probe cap, as a warning, at most one in SW_WATCH_WARNING_MS, because every refused
 * write may be a failed growth. `now_ms` is the time of any clock that only moves forward.
 * UINT64_MAX stands for the last call, which logs everything that is not yet logged. */
void sw_watch_check(struct sw_watch *watch, uint64_t now_ms);

#endif
