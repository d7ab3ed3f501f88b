/* SPDX-License-Identifier: MIT
 *
 * moving.h - which slots are on their way to this node, or from it: each step is in the state file
 * before it takes effect.
 *
 * A move has a target, which takes slots, and a source, which hands them over. Attempts are
 * numbered by the target, upwards. The target decides, by writing a topology in which the slots
 * are its own. From the moment that the source has handed over the slots, it serves them no more
 * until the target has said what became of that attempt; and an attempt that the target has said
 * no to is never decided. So there is no moment at which two nodes serve a slot, whoever is killed
 * when.
 *
 * The replicas of both have the state of their primary in their own files (replicas.h) before the
 * source says that the slots are handed over, and before the target serves them: whichever becomes
 * the primary goes on from there (carry.h).
 *
 * Threads: any. Functions that write the state file block meanwhile.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_MOVING_H
#define SHERWOOD_SERVER_CLUSTER_MOVING_H

#include "server/cluster/cluster.h"

void sw_cluster_move_show(struct sw_cluster *cluster, struct sw_cluster_move *move);

/* The id of this node: static storage while the cluster lives. */
const char *sw_cluster_id(const struct sw_cluster *cluster);

/* Where the primary with this id is. Returns false if no primary has it. */
bool sw_cluster_find(struct sw_cluster *cluster, const char *id, char ip[SW_TOPOLOGY_IP_MAX + 1],
                     uint16_t *port);

/* The topology as JSON, which the caller frees; NULL: there is none, or no memory. */
char *sw_cluster_topology(struct sw_cluster *cluster);

/* --- the target ------------------------------------------------------------------------------- */

/* Begins to take these slots from the node of this id. Returns the number of a view; or 0 with a
 * sentence. */
uint64_t sw_cluster_take_slots(struct sw_cluster *cluster, const char *source,
                               const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES]);
/* The attempt has failed for ever; another one begins. */
bool sw_cluster_try_again(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);
/* It has failed, and no other one begins: what came of the slots is to be removed. */
bool sw_cluster_give_up(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);
/* The slots are this node's, in a topology newer than both its own and the source's. Returns the
 * number of its view; or 0 with a sentence. Then *is_over: it is not this attempt's any more, and
 * nothing has changed; otherwise whether the next start would find it decided is not known: it is
 * to be called again. Where the shard has replicas the slots are not served yet. */
uint64_t sw_cluster_decide(struct sw_cluster *cluster, uint64_t attempt, uint64_t source_epoch,
                           bool *is_over, char error[SW_CLUSTER_ERROR_BYTES]);
/* The attempt is never decided, whether that can be written or not: the next start begins another
 * one in any case. Returns false if it may be decided already. */
bool sw_cluster_abandon(struct sw_cluster *cluster, uint64_t attempt);
/* A replica has this topology, which may be newer, and does not hear what was decided by an older
 * one: decides anew in that one. Returns false with a sentence if it cannot be, or is not newer. */
bool sw_cluster_decide_anew(struct sw_cluster *cluster, const char *text, size_t size,
                            char error[SW_CLUSTER_ERROR_BYTES]);
/* The replicas know what was decided: serves the slots. */
bool sw_cluster_serve(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);

/* What became of an attempt, for the source that asks. */
enum sw_cluster_outcome {
    SW_CLUSTER_UNDER_WAY,
    SW_CLUSTER_NEVER,   /* it is not decided, and never will be */
    SW_CLUSTER_DECIDED, /* *topology, which the caller frees, has the slots elsewhere */
    SW_CLUSTER_UNKNOWN  /* it cannot be said now: the state file was not written */
};
enum sw_cluster_outcome sw_cluster_outcome(struct sw_cluster *cluster, const char *source,
                                           uint64_t attempt, const struct sw_slot_set *slots,
                                           char **topology);

/* --- the source ------------------------------------------------------------------------------- */

/* Are all of these slots served here, and may they go to this node? False with a sentence. */
bool sw_cluster_may_give(struct sw_cluster *cluster, const char *target,
                         const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES]);
/* Serves them no more, if the epoch is this. Returns the number of a view; or 0 with a sentence. */
uint64_t sw_cluster_hand_over(struct sw_cluster *cluster, const char *target, uint64_t attempt,
                              const struct sw_slot_set *slots, uint64_t epoch,
                              char error[SW_CLUSTER_ERROR_BYTES]);
/* The attempt has failed: serves them again. */
uint64_t sw_cluster_keep(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);
/* It was decided, by this topology: the slots are the target's, and what is left of them is to be
 * removed. Where nodes have other roles here than there, they keep those of here. */
uint64_t sw_cluster_let_go(struct sw_cluster *cluster, const char *text, size_t size,
                           char error[SW_CLUSTER_ERROR_BYTES]);

/* --- both ------------------------------------------------------------------------------------- */

/* What was to be removed is gone. */
bool sw_cluster_removed(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES]);

#endif
