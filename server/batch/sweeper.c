/* SPDX-License-Identifier: MIT
 *
 * sweeper.c - one batch after the other, as long as there is something to remove.
 */
#include "server/batch/sweeper.h"

#include "server/limits.h"

void sw_sweeper_init(struct sw_sweeper *sweeper, struct sw_batches *batches)
{
    *sweeper = (struct sw_sweeper){.batches = batches->shape.expires ? batches : NULL};
}

static void start(struct sw_sweeper *sweeper);

static void on_done(struct sw_flight *flight)
{
    struct sw_sweeper *sweeper = SW_CONTAINER(flight, struct sw_sweeper, flight);
    sweeper->is_running = false;
    if (flight->batch.cursor != 0 && sweeper->left > 0) {
        sweeper->left--;
        start(sweeper);
    }
}

static void start(struct sw_sweeper *sweeper)
{
    const uint32_t most = sweeper->batches->shape.batch_ops_max;
    sweeper->is_running = true;
    sweeper->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_SWEEP,
        .count = most < SW_EXPIRY_SWEEP_ENTRIES ? most : SW_EXPIRY_SWEEP_ENTRIES,
    };
    sweeper->flight.done = on_done;
    sw_batches_start(sweeper->batches, &sweeper->flight, 0);
}

void sw_sweeper_look(struct sw_sweeper *sweeper, bool is_stopping)
{
    if (is_stopping) {
        sweeper->left = 0;
    }
    if (sweeper->batches == NULL || sweeper->is_running || is_stopping) {
        return;
    }
    struct sw_table_stats stats;
    const uint64_t wall_ms = sw_flight_wall_ms();
    sw_table_stats(sweeper->batches->table, &stats);
    /* a clock that is ahead goes back by a sweep, before the next key is given a time by it */
    if (stats.expires > 0 ||
        sw_table_clock(sweeper->batches->table, wall_ms) > wall_ms + SW_CLOCK_HOLD_MS) {
        sweeper->left = SW_EXPIRY_SWEEP_BATCHES;
        start(sweeper);
    }
}
