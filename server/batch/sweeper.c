/* SPDX-License-Identifier: MIT
 *
 * sweeper.c - submits one sweep after the other until no expired entry is left or the limit is
 * reached.
 */
#include "server/batch/sweeper.h"

#include "server/limits.h"
#include "table/expiring.h"
#include "table/info.h"

void sw_sweeper_init(struct sw_sweeper *sweeper, struct sw_batches *batches,
                     enum sw_sweeping (*may)(void *context), void *context)
{
    *sweeper = (struct sw_sweeper){
        .batches = batches->shape.expires ? batches : NULL, .may = may, .context = context};
}

static void start(struct sw_sweeper *sweeper, uint32_t count);

static uint32_t piece_of(const struct sw_sweeper *sweeper)
{
    const uint32_t most = sweeper->batches->shape.batch_ops_max;
    return most < SW_EXPIRY_SWEEP_ENTRIES ? most : SW_EXPIRY_SWEEP_ENTRIES;
}

static void on_done(struct sw_flight *flight)
{
    struct sw_sweeper *sweeper = SW_CONTAINER(flight, struct sw_sweeper, flight);
    sweeper->is_running = false;
    if (flight->batch.sweep.cursor != 0 && sweeper->left > 0 &&
        sweeper->may(sweeper->context) == SW_SWEEPING_KEYS) {
        sweeper->left--;
        start(sweeper, piece_of(sweeper));
    }
}

static void start(struct sw_sweeper *sweeper, uint32_t count)
{
    sweeper->is_running = true;
    sweeper->flight.batch = (struct sw_batch){.kind = SW_BATCH_SWEEP, .count = count};
    sweeper->flight.done = on_done;
    sw_batches_start(sweeper->batches, &sweeper->flight, 0);
}

void sw_sweeper_tick(struct sw_sweeper *sweeper)
{
    if (sweeper->batches == NULL || sweeper->is_running) {
        return;
    }
    const enum sw_sweeping sweeping = sweeper->may(sweeper->context);
    struct sw_table_stats stats;
    const uint64_t wall_ms = sw_flight_wall_ms();
    sw_table_stats(sweeper->batches->table, &stats);
    /* a sweep sets back a table clock that is ahead, before the next operation uses it */
    const bool is_ahead =
        sw_table_clock(sweeper->batches->table, wall_ms) > wall_ms + SW_CLOCK_HOLD_MS;
    if (sweeping == SW_SWEEPING_CLOCK && is_ahead) {
        start(sweeper, 0);
    } else if (sweeping == SW_SWEEPING_KEYS && (stats.expires > 0 || is_ahead)) {
        sweeper->left = SW_EXPIRY_SWEEP_BATCHES;
        start(sweeper, piece_of(sweeper));
    }
}
