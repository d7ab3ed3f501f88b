/* SPDX-License-Identifier: MIT
 *
 * sweeper.h - removes expired entries, in small batches.
 *
 * One loop of a server has a sweeper. Everything belongs to the thread of this loop.
 */
#ifndef SHERWOOD_SERVER_BATCH_SWEEPER_H
#define SHERWOOD_SERVER_BATCH_SWEEPER_H

#include "server/batch/batches.h"

/* What a sweep may do. CLOCK: another server removes the keys; the sweep only follows a clock that
 * goes back. */
enum sw_sweeping { SW_SWEEPING_NOTHING, SW_SWEEPING_CLOCK, SW_SWEEPING_KEYS };

struct sw_sweeper {
    struct sw_batches *batches;             /* NULL: there is nothing to sweep */
    enum sw_sweeping (*may)(void *context); /* called before each batch */
    void *context;
    struct sw_flight flight;
    bool is_running;
    uint32_t left; /* batches that may follow before the next sweep */
};

/* Borrows the batches. */
void sw_sweeper_init(struct sw_sweeper *sweeper, struct sw_batches *batches,
                     enum sw_sweeping (*may)(void *context), void *context);

/* Starts sweeps if there is something to remove. The loop calls this every SW_SWEEP_MS. */
void sw_sweeper_tick(struct sw_sweeper *sweeper);

#endif
