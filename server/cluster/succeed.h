/* SPDX-License-Identifier: MIT
 *
 * succeed.h - may a topology take the place of another one, and which slots are lost by that? All
 * functions may be called from any thread.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_SUCCEED_H
#define SHERWOOD_SERVER_CLUSTER_SUCCEED_H

#include "server/cluster/state_file.h"
#include "server/cluster/view.h"

/* May `after` take the place of what holds? Not if it is of an older epoch, of another cluster, or
 * takes slots, others than those that are given away, from under keys: then it returns false with
 * a sentence in `error`. A replica leaves slots of its shard behind where its primary says so
 * (is_decided): it is their copy, and may be made the primary. So does every node what all of them
 * read. */
bool sw_cluster_may_follow(const struct sw_cluster_view *now, const struct sw_topology *after,
                           bool holds_keys, const struct sw_slot_set *given, bool is_decided,
                           char error[SW_CLUSTER_ERROR_BYTES]);

/* Writes the sentence that says why a change of the topology is refused; returns false. */
__attribute__((format(printf, 2, 3))) bool sw_cluster_refuse(char error[SW_CLUSTER_ERROR_BYTES],
                                                             const char *format, ...);

/* How many slots this node would serve no more. */
unsigned sw_cluster_lost_here(const struct sw_cluster_view *view, const struct sw_topology *after);

/* Would the shard of this node, be it a replica, lose slots other than these? */
bool sw_cluster_shard_loses(const struct sw_cluster_view *view, const struct sw_topology *after,
                            const struct sw_slot_set *given);

/* Notes of every shard when it last lost a slot: requests that clients made by a topology before
 * that are refused. */
void sw_cluster_carry_losses(const struct sw_topology *before, struct sw_topology *after);

/* Notes in the shard of the node with this id that it serves no requests that were made by
 * topologies up to this epoch. */
void sw_cluster_lose_until(struct sw_topology *after, const char *id, uint64_t epoch);

#endif
