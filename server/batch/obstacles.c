/* SPDX-License-Identifier: MIT
 *
 * obstacles.c - looking for obstacles.
 */
#include "server/batch/obstacles.h"

#include "server/batch/batches.h"
#include "server/log/saver.h"
#include "server/repl/state.h"

#define OF_SAVER ((unsigned)SW_OBSTACLE_LOADING | (unsigned)SW_OBSTACLE_UNSAVED)
#define OF_ROLE \
    ((unsigned)SW_OBSTACLE_DOWN | (unsigned)SW_OBSTACLE_LACKS_DATA | (unsigned)SW_OBSTACLE_REPLICA)

static unsigned met_at_saver(const struct sw_saver *saver)
{
    return (sw_saver_is_loading(saver) ? (unsigned)SW_OBSTACLE_LOADING : 0) |
           (sw_saver_refuses_writes(saver) ? (unsigned)SW_OBSTACLE_UNSAVED : 0);
}

static unsigned met_in_role(const struct sw_repl_state *role)
{
    return (sw_repl_is_down(role) ? (unsigned)SW_OBSTACLE_DOWN : 0) |
           (sw_repl_lacks_data(role) ? (unsigned)SW_OBSTACLE_LACKS_DATA : 0) |
           (sw_repl_is_replica(role) ? (unsigned)SW_OBSTACLE_REPLICA : 0);
}

static unsigned met_at_log(struct sw_batches *batches)
{
    switch (sw_batches_admit(batches)) {
    case SW_ADMIT_LATER:
        return SW_OBSTACLE_LOG_FULL;
    case SW_ADMIT_REJECT:
        return SW_OBSTACLE_LOG_BROKEN;
    case SW_ADMIT_NOW:
        break;
    }
    return 0;
}

unsigned sw_obstacles_met(struct sw_batches *batches, unsigned heeded)
{
    const struct sw_obstacles *obstacles = &batches->obstacles;
    unsigned met = obstacles->paused;
    if (obstacles->saver != NULL && (heeded & OF_SAVER) != 0) {
        met |= met_at_saver(obstacles->saver);
    }
    if (obstacles->role != NULL && (heeded & OF_ROLE) != 0) {
        met |= met_in_role(obstacles->role);
    }
    if (batches->wal != NULL && (heeded & SW_OBSTACLES_OF_LOG) != 0) {
        met |= met_at_log(batches);
    }
    return met & heeded;
}
