/* SPDX-License-Identifier: MIT
 *
 * move.h - migration of slots with their keys, between this node and another one: one thread that
 * takes slots, sends them, or removes keys of slots that have left.
 *
 * server/cluster/moving.h has the stored state, and decides which node serves a slot. This module
 * moves the data: the keys of the slots at one instant, then the later writes from the backlog of
 * server/repl. If the connection ends, the attempt has failed, and the target begins another one.
 *
 * Threads: any. Create, start, stop and destroy are the exceptions: only the owner calls them.
 */
#ifndef SHERWOOD_SERVER_MOVE_MOVE_H
#define SHERWOOD_SERVER_MOVE_MOVE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/cluster/moving.h"
#include "server/log/saver.h"
#include "server/log/wal.h"
#include "server/move/move_status.h"
#include "server/move/stream.h"
#include "server/repl/peer_socket.h"
#include "server/repl/repl.h"

struct sw_mover;

struct sw_mover_parts {
    const struct sw_config *config; /* borrowed, like the fields below */
    struct sw_table *table;
    struct sw_cluster *cluster;
    struct sw_repl *repl;
    struct sw_saver *saver; /* NULL: there is no data directory */
    struct sw_wal *wal;     /* NULL: writes are not logged */
};

/* Sets *out to NULL without a cluster. Returns 0; or logs an error and returns -1: the caller then
 * destroys *out. */
int sw_mover_create(const struct sw_mover_parts *parts, struct sw_mover **out);
/* Continues the move in the state file. `mover` may be NULL here and below. Returns 0; or logs an
 * error and returns -1. */
int sw_mover_start(struct sw_mover *mover);
/* Call it when the loops have ended. */
void sw_mover_stop(struct sw_mover *mover);
void sw_mover_destroy(struct sw_mover *mover);

/* Begins to take slots from the node with the id `source`. If it fails, returns false and an error.
 */
bool sw_mover_run_target(struct sw_mover *mover, const char *source,
                         const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES]);
/* Cancels the migration to this node, unless it is decided. If it fails, returns false and an
 * error. */
bool sw_mover_cancel(struct sw_mover *mover, char error[SW_CLUSTER_ERROR_BYTES]);
/* Takes over a socket and sends slots on it. If it fails, returns false and an error, and the
 * caller keeps the socket. *for_good: another attempt would also be refused. */
bool sw_mover_send(struct sw_mover *mover, const struct sw_peer_socket *socket,
                   const struct sw_move_hello *hello, bool *for_good,
                   char error[SW_CLUSTER_ERROR_BYTES]);

/* Call it after a change of the topology: the current attempt begins again with the new one. Does
 * not block. */
void sw_mover_nudge(struct sw_mover *mover);
/* Returns true if no batch of the mover is in flight. Call it after the server has become a
 * replica: later batches then fail. */
bool sw_mover_is_quiet(struct sw_mover *mover);

/* Fills in the status. All zero if `mover` is NULL. */
void sw_mover_read_status(struct sw_mover *mover, struct sw_move_status *facts);
/* Writes lines of "name:value". Returns their length. */
size_t sw_mover_status(struct sw_mover *mover, char *text, size_t bytes);

#endif
