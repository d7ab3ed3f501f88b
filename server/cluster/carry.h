/* SPDX-License-Identifier: MIT
 *
 * carry.h - what becomes of a move where another topology comes in the middle of it.
 *
 * A replica remembers the move of its primary, and does nothing about it. Where it becomes the
 * primary it goes on as the old one would after a restart.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_CARRY_H
#define SHERWOOD_SERVER_CLUSTER_CARRY_H

#include "server/cluster/state_file.h"
#include "server/cluster/view.h"

/* Changes a move that is under way at the node of this view to what it is by the topology `after`.
 * Returns false, with a sentence, if that is not to be taken now. */
bool sw_cluster_carry_move(const struct sw_cluster_view *now, const struct sw_topology *after,
                           struct sw_cluster_move *move, char error[SW_CLUSTER_ERROR_BYTES]);

/* Gives, in a newer topology that does not know what this node has decided, the slots of the move
 * to its shard, at the next epoch. Returns false with a sentence if more is other there than that,
 * as far as it concerns the move; `after` is not to be used then. */
bool sw_cluster_carry_decision(const struct sw_cluster_view *now, struct sw_topology *after,
                               struct sw_cluster_move *move, char error[SW_CLUSTER_ERROR_BYTES]);

/* No slot is on its way. */
void sw_cluster_rest(struct sw_cluster_move *move);
/* The keys of its slots are to be removed. */
void sw_cluster_add_leaving(struct sw_cluster_move *move);

/* Have both the same nodes, as primaries and replicas of the same shards? */
bool sw_cluster_same_roles(const struct sw_topology *one, const struct sw_topology *other);

#endif
