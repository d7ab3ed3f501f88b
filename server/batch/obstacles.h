/* SPDX-License-Identifier: MIT
 *
 * obstacles.h - decides whether a request may run now.
 *
 * An obstacle is a state of the server that keeps some requests from running. Each request heeds
 * some obstacles. Both protocols call sw_obstacles_met with these. If one exists, the protocol
 * refuses the request with an error of its own, or stalls the connection. Obstacles are in the
 * order in which RESP reports them. Rights of users (users/users.h) and slots of a cluster
 * (resp/redirect.h, bulk/cluster.h) depend on the request, and are no obstacles.
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_BATCH_OBSTACLES_H
#define SHERWOOD_SERVER_BATCH_OBSTACLES_H

#include <stdbool.h>

struct sw_batches;
struct sw_repl;
struct sw_repl_state;
struct sw_saver;

enum sw_obstacle {
    SW_OBSTACLE_LOADING = 1 << 0,       /* the saver loads a snapshot */
    SW_OBSTACLE_DOWN = 1 << 1,          /* the member of a shard has no primary, or hands over */
    SW_OBSTACLE_LACKS_DATA = 1 << 2,    /* the replica has not received its primary's table */
    SW_OBSTACLE_REPLICA = 1 << 3,       /* the server is a replica */
    SW_OBSTACLE_UNSAVED = 1 << 4,       /* the last snapshot failed, and this stops writes */
    SW_OBSTACLE_WRITES_PAUSED = 1 << 5, /* CLIENT PAUSE, in either mode */
    SW_OBSTACLE_ALL_PAUSED = 1 << 6,    /* CLIENT PAUSE in the mode ALL */
    SW_OBSTACLE_LOG_FULL = 1 << 7,      /* the write-ahead log has no room now */
    SW_OBSTACLE_LOG_BROKEN = 1 << 8     /* the write-ahead log cannot be written */
};
#define SW_OBSTACLES_OF_PAUSE ((unsigned)(SW_OBSTACLE_WRITES_PAUSED | SW_OBSTACLE_ALL_PAUSED))
/* The server may have tables that it does not know yet. */
#define SW_OBSTACLES_OF_TABLES ((unsigned)(SW_OBSTACLE_LOADING | SW_OBSTACLE_LACKS_DATA))
#define SW_OBSTACLES_OF_LOG ((unsigned)(SW_OBSTACLE_LOG_FULL | SW_OBSTACLE_LOG_BROKEN))

/* The parts of the server in which a loop looks for obstacles. Borrowed. */
struct sw_obstacles {
    const struct sw_saver *saver;     /* NULL: there is no data directory */
    const struct sw_repl_state *role; /* NULL: no replication */
    unsigned paused;                  /* SW_OBSTACLES_OF_PAUSE that CLIENT PAUSE raises now */
};

/* Notes what CLIENT PAUSE holds back from now on: `writes`, or `all` requests. */
static inline void sw_obstacles_pause(struct sw_obstacles *obstacles, bool writes, bool all)
{
    obstacles->paused = all      ? SW_OBSTACLES_OF_PAUSE
                        : writes ? (unsigned)SW_OBSTACLE_WRITES_PAUSED
                                 : 0;
}

/* Returns the obstacles of `heeded` that exist now. If it returns SW_OBSTACLE_LOG_FULL, the log
 * wakes the loop when the log has room again. */
unsigned sw_obstacles_met(struct sw_batches *batches, unsigned heeded);

#endif
