/* SPDX-License-Identifier: MIT
 *
 * obstacles.c - looking for obstacles.
 */
#include "server/batch/obstacles.h"

#include "server/batch/batches.h"
#include "server/log/saver.h"
#include "server/repl/state.h"

static unsigned met_at_saver(const struct sw_saver *saver, unsigned heeded)
{
    unsigned met = 0;
    if ((heeded & SW_OBSTACLE_LOADING) != 0 && sw_saver_is_loading(saver)) {
        met |= SW_OBSTACLE_LOADING;
    }
    if ((heeded & SW_OBSTACLE_UNSAVED) != 0 && sw_saver_refuses_writes(saver)) {
        met |= SW_OBSTACLE_UNSAVED;
    }
    return met;
}

static unsigned met_in_role(const struct sw_repl_state *role, unsigned heeded)
{
    unsigned met = 0;
    if ((heeded & SW_OBSTACLE_DOWN) != 0 && sw_repl_is_down(role)) {
        met |= SW_OBSTACLE_DOWN;
    }
    if ((heeded & SW_OBSTACLE_LACKS_DATA) != 0 && sw_repl_lacks_data(role)) {
        met |= SW_OBSTACLE_LACKS_DATA;
    }
    if ((heeded & SW_OBSTACLE_REPLICA) != 0 && sw_repl_is_replica(role)) {
        met |= SW_OBSTACLE_REPLICA;
    }
    return met;
}

static unsigned met_at_log(struct sw_batches *batches)
{
    switch (sw_batches_door(batches)) {
    case SW_DOOR_WAIT:
        return SW_OBSTACLE_LOG_FULL;
    case SW_DOOR_REFUSE:
        return SW_OBSTACLE_LOG_BROKEN;
    case SW_DOOR_OPEN:
        break;
    }
    return 0;
}

unsigned sw_obstacles_met(struct sw_batches *batches, unsigned heeded)
{
    const struct sw_obstacles *obstacles = &batches->obstacles;
    unsigned met = obstacles->paused & heeded;
    if (obstacles->saver != NULL) {
        met |= met_at_saver(obstacles->saver, heeded);
    }
    if (obstacles->role != NULL) {
        met |= met_in_role(obstacles->role, heeded);
    }
    if ((heeded & SW_OBSTACLES_OF_LOG) != 0) {
        met |= met_at_log(batches) & heeded;
    }
    return met;
}
