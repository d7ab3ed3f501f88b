/* SPDX-License-Identifier: MIT
 *
 * sweeper.h - removes entries whose time has come, in small batches.
 *
 * Everything belongs to the thread of the loop that has it; one loop of a server has.
 */
#ifndef SHERWOOD_SERVER_BATCH_SWEEPER_H
#define SHERWOOD_SERVER_BATCH_SWEEPER_H

#include "server/batch/batches.h"

/* Where another server removes keys, only the clock is followed when it goes back. */
enum sw_sweeping { SW_SWEEPING_NOTHING, SW_SWEEPING_CLOCK, SW_SWEEPING_KEYS };

struct sw_sweeper {
    struct sw_batches *batches;             /* NULL: there is nothing to sweep */
    enum sw_sweeping (*may)(void *context); /* asked before each batch */
    void *context;
    struct sw_flight flight;
    bool is_running;
    uint32_t left; /* batches that may yet follow before the next look */
};

/* Borrows the batches. */
void sw_sweeper_init(struct sw_sweeper *sweeper, struct sw_batches *batches,
                     enum sw_sweeping (*may)(void *context), void *context);

/* To be called every SW_SWEEP_MS. */
void sw_sweeper_look(struct sw_sweeper *sweeper);

#endif
