/* SPDX-License-Identifier: MIT
 *
 * moving.h - the state of a migration of slots to this node, or from it. Each step is in the state
 * file before it takes effect.
 *
 * A move has a target, which takes slots, and a source, which hands them over. The target numbers
 * the attempts upwards. It decides an attempt by writing a topology that gives the slots to it.
 * Once the source has handed over the slots, it does not serve them until the target has reported
 * the outcome of the attempt. The target never decides an attempt that it has reported as failed.
 * So two nodes never serve a slot at the same time, whichever node is killed at any moment.
 *
 * Before the source reports the slots as handed over, its replicas have its state in their own
 * files (replicas.h). Before the target serves the slots, its replicas have its state. A replica
 * that becomes primary continues from there (migration_state.h).
 *
 * Threads: any. Functions that write the state file block meanwhile.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_MOVING_H
#define SHERWOOD_SERVER_CLUSTER_MOVING_H

#include "server/cluster/cluster.h"

void sw_cluster_move_show(struct sw_cluster *cluster, struct sw_cluster_move *move);

/* Returns the id of this node, which is valid as long as the cluster. */
const char *sw_cluster_id(const struct sw_cluster *cluster);

/* Writes the address of the primary with this id. Returns false if no primary has it. */
bool sw_cluster_find(struct sw_cluster *cluster, const char *id, char ip[SW_TOPOLOGY_IP_MAX + 1],
                     uint16_t *port);

/* Returns the topology as JSON, which the caller frees. NULL: no topology, or memory is short. */
char *sw_cluster_topology(struct sw_cluster *cluster);

/* --- the target ------------------------------------------------------------------------------- */

/* Begins to take these slots from the node with the id `source`. Returns the number of a view; or 0
 * and an error. */
uint64_t sw_cluster_take_slots(struct sw_cluster *cluster, const char *source,
                               const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES]);
/* Ends the attempt as failed, and begins another one. */
bool sw_cluster_try_again(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);
/* Ends the attempt as failed without another one. Notes that the keys that have arrived must be
 * removed. */
bool sw_cluster_give_up(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);
/* Decides the attempt: the slots become this node's, in a topology newer than its own and the
 * source's. Returns the number of its view; or 0 and an error. If it fails with *is_over, the
 * attempt is over and nothing has changed. If it fails without *is_over, the next start may find
 * the decision or not: call again. If the shard has replicas, the slots are not served yet. */
uint64_t sw_cluster_decide(struct sw_cluster *cluster, uint64_t attempt, uint64_t source_epoch,
                           bool *is_over, char error[SW_CLUSTER_ERROR_BYTES]);
/* Abandons the attempt: it will never be decided. That holds even if the state cannot be written,
 * because a start begins another attempt. Returns false if it may be decided already. */
bool sw_cluster_abandon(struct sw_cluster *cluster, uint64_t attempt);
/* Decides again in a newer topology that a replica has: the replica ignores a decision in an older
 * one. Returns false and an error if that is impossible, or the topology is not newer. */
bool sw_cluster_decide_anew(struct sw_cluster *cluster, const char *text, size_t size,
                            char error[SW_CLUSTER_ERROR_BYTES]);
/* Serves the slots. Call it when the replicas know the decision. */
bool sw_cluster_serve(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);

/* Outcome of an attempt, for a request of the source. */
enum sw_cluster_outcome {
    SW_CLUSTER_UNDER_WAY,
    SW_CLUSTER_NEVER,   /* it will never be decided */
    SW_CLUSTER_DECIDED, /* the source has lost the slots in *topology, which the caller frees */
    SW_CLUSTER_UNKNOWN  /* ask again: the primary knows, or the state file was not written */
};
enum sw_cluster_outcome sw_cluster_outcome(struct sw_cluster *cluster, const char *source,
                                           uint64_t attempt, const struct sw_slot_set *slots,
                                           char **topology);

/* --- the source ------------------------------------------------------------------------------- */

/* Returns true if this node serves all of these slots and the target may take them. Otherwise
 * returns false and an error. */
bool sw_cluster_may_give(struct sw_cluster *cluster, const char *target,
                         const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES]);
/* Stops serving the slots, if the current epoch is `epoch`. Returns the number of a view; or 0 and
 * an error. */
uint64_t sw_cluster_hand_over(struct sw_cluster *cluster, const char *target, uint64_t attempt,
                              const struct sw_slot_set *slots, uint64_t epoch,
                              char error[SW_CLUSTER_ERROR_BYTES]);
/* Serves the slots again after a failed attempt. */
uint64_t sw_cluster_serve_again(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);
/* Takes the topology in which the slots are the target's. Notes that their keys must be removed. If
 * nodes have different roles in that topology, they keep their roles of the current one. */
uint64_t sw_cluster_release_slots(struct sw_cluster *cluster, const char *text, size_t size,
                                  char error[SW_CLUSTER_ERROR_BYTES]);

/* --- both ------------------------------------------------------------------------------------- */

/* Notes that the keys of all lost slots are removed. */
bool sw_cluster_removed(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);

#endif
