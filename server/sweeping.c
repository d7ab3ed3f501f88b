/* SPDX-License-Identifier: MIT
 *
 * sweeping.c - the obstacles of sweeps of expired keys.
 */
#include "server/sweeping.h"

#include "server/loop.h"
#include "server/repl/repl.h"

enum sw_sweeping sw_loop_sweeping(void *context)
{
    struct sw_loop *loop = context;
    const struct sw_repl_state *repl = loop->owner.repl == NULL ? NULL : &loop->owner.repl->state;
    const unsigned met = sw_obstacles_met(
        &loop->first.batches, SW_OBSTACLE_LOADING | SW_OBSTACLE_DOWN | SW_OBSTACLE_REPLICA |
                                  SW_OBSTACLES_OF_PAUSE | SW_OBSTACLES_OF_LOG);
    if (loop->stopping || (met & (SW_OBSTACLE_LOADING | SW_OBSTACLE_DOWN)) != 0) {
        return SW_SWEEPING_NOTHING;
    }
    if ((met & SW_OBSTACLE_REPLICA) != 0) {
        return SW_SWEEPING_CLOCK;
    }
    if (met != 0 || (repl != NULL && sw_repl_lease_is_over(repl))) {
        return SW_SWEEPING_NOTHING;
    }
    return SW_SWEEPING_KEYS;
}
