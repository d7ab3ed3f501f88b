/* SPDX-License-Identifier: MIT
 *
 * migration_state.h - continues a move when the node takes another topology during the move.
 *
 * A replica stores the move of its primary and does not act on it. If it becomes the primary, it
 * continues the move as the old primary would after a restart.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_MIGRATION_STATE_H
#define SHERWOOD_SERVER_CLUSTER_MIGRATION_STATE_H

#include "server/cluster/state_file.h"
#include "server/cluster/view.h"

/* Adapts the move that is under way in this view to the topology `after`. If the node must not take
 * `after` now, returns false and an error. */
bool sw_cluster_move_continue(const struct sw_cluster_view *now, const struct sw_topology *after,
                              struct sw_cluster_move *move, char error[SW_CLUSTER_ERROR_BYTES]);

/* Assigns the slots of the move to this node's shard in `after`, a newer topology that lacks the
 * node's decision, and raises its epoch by one. Returns false and an error if `after` differs in
 * anything else that concerns the move; `after` must not be used then. */
bool sw_cluster_move_copy_decision(const struct sw_cluster_view *now, struct sw_topology *after,
                                   struct sw_cluster_move *move,
                                   char error[SW_CLUSTER_ERROR_BYTES]);

/* Clears the move: no slot is moving. */
void sw_cluster_move_clear(struct sw_cluster_move *move);
/* Adds the slots of the move to those whose keys must be removed. */
void sw_cluster_add_leaving(struct sw_cluster_move *move);

/* Returns true if both have the same nodes in the same roles of the same shards. */
bool sw_cluster_same_roles(const struct sw_topology *one, const struct sw_topology *other);

#endif
