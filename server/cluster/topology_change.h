/* SPDX-License-Identifier: MIT
 *
 * topology_change.h - checks whether a topology may replace another one, and finds the slots that a
 * node loses by that. Threads: any.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_TOPOLOGY_CHANGE_H
#define SHERWOOD_SERVER_CLUSTER_TOPOLOGY_CHANGE_H

#include "server/cluster/state_file.h"
#include "server/cluster/view.h"

/* Returns true if `after` may replace the current topology. Returns false and an error in `error`
 * if `after` has an older epoch, belongs to another cluster, or takes slots with keys from this
 * node's shard. Slots in `given` are the exception. `is_decided`: the topology comes from the
 * node's primary, or from etcd, so the node takes it even if it loses slots with keys. */
bool sw_cluster_may_follow(const struct sw_cluster_view *now, const struct sw_topology *after,
                           bool holds_keys, const struct sw_slot_set *given, bool is_decided,
                           char error[SW_CLUSTER_ERROR_BYTES]);

/* Writes the error for a refused change of the topology. Returns false. */
__attribute__((format(printf, 2, 3))) bool sw_cluster_refuse(char error[SW_CLUSTER_ERROR_BYTES],
                                                             const char *format, ...);

/* Returns the number of slots that this node would stop serving. */
unsigned sw_cluster_lost_here(const struct sw_cluster_view *view, const struct sw_topology *after);

/* Returns true if this node's shard would lose slots other than `given`. The node may be a replica.
 */
bool sw_cluster_shard_loses(const struct sw_cluster_view *view, const struct sw_topology *after,
                            const struct sw_slot_set *given);

/* Notes in `after` at which epoch each shard last lost a slot. Nodes refuse requests that clients
 * made with an older topology than that. */
void sw_cluster_copy_losses(const struct sw_topology *before, struct sw_topology *after);

/* Notes that the shard of the node `id` refuses requests made with topologies up to this epoch. */
void sw_cluster_lose_until(struct sw_topology *after, const char *id, uint64_t epoch);

#endif
