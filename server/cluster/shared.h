/* SPDX-License-Identifier: MIT
 *
 * shared.h - a topology that all nodes read at one place, which numbers its versions: a key of
 * etcd, whose revision is the epoch (server/registry/). What lies there is decided: a node takes
 * it whatever keys it has, so whether keys would be left behind is asked before it is written.
 *
 * Threads: any. Functions that write the state file block meanwhile.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_SHARED_H
#define SHERWOOD_SERVER_CLUSTER_SHARED_H

#include "server/cluster/cluster.h"

/* The epoch of the topology that holds on this node; 0: there is none. */
uint64_t sw_cluster_epoch(struct sw_cluster *cluster);

/* Takes what lies there with this epoch. Returns the number of a view, which may be of a newer one
 * that this node has by now; or 0 with a sentence, and what was there before holds. */
uint64_t sw_cluster_take_shared(struct sw_cluster *cluster, const char *text, size_t size,
                                uint64_t epoch, char error[SW_CLUSTER_ERROR_BYTES]);
/* One was refused, for the figures. */
void sw_cluster_count_refusal(struct sw_cluster *cluster);

/* What an operator wants to lie there, in the place of what has the epoch `seen` (0: nothing).
 * Returns the text to be written, which the caller frees; or NULL: with an empty `error` it lies
 * there already, otherwise that says what is wrong with it. Without `only_if` its epoch has to be
 * higher than `seen`, as for one that comes from a file. A topology that takes slots from a shard
 * which may hold keys needs "force": only of its own a node knows that it holds none. */
char *sw_cluster_propose(struct sw_cluster *cluster, const char *text, size_t size, bool only_if,
                         uint64_t seen, char error[SW_CLUSTER_ERROR_BYTES]);

/* The topology that holds, of epoch *epoch, with this node as the primary of its shard, by which it
 * was elected. NULL: it has that already, is in no topology or in that of another shard, or there
 * is no memory. */
char *sw_cluster_claim(struct sw_cluster *cluster, uint64_t *epoch);

#endif
