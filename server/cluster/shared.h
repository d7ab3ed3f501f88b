/* SPDX-License-Identifier: MIT
 *
 * shared.h - a topology that all nodes read from one key of etcd. The key's revision is the epoch
 * (server/registry/).
 *
 * A node takes the topology in etcd whatever keys the node has. So the check for keys that would be
 * left behind comes before the write to etcd.
 *
 * Threads: any. Functions that write the state file block meanwhile.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_SHARED_H
#define SHERWOOD_SERVER_CLUSTER_SHARED_H

#include "server/cluster/cluster.h"

/* Returns the epoch of this node's topology; 0: it has none. */
uint64_t sw_cluster_epoch(struct sw_cluster *cluster);

/* Takes the topology that etcd has at this epoch. Returns the number of a view, which may be a
 * newer one that this node has by now; or changes nothing and returns 0 with an error. */
uint64_t sw_cluster_take_shared(struct sw_cluster *cluster, const char *text, size_t size,
                                uint64_t epoch, char error[SW_CLUSTER_ERROR_BYTES]);
/* Counts a refused topology, for the statistics. */
void sw_cluster_count_refusal(struct sw_cluster *cluster);

/* Checks an operator's topology that is to replace the one of epoch `seen` in etcd (0: nothing).
 * Returns the text to write, which the caller frees. Returns NULL with an empty `error` if etcd has
 * this topology already, or NULL with an error. Without `only_if` the topology's epoch must be
 * higher than `seen`, as for a file. A topology that takes slots from a shard needs "force", unless
 * the shard is this node's and the node has no keys: it knows this about no other shard. */
char *sw_cluster_propose(struct sw_cluster *cluster, const char *text, size_t size, bool only_if,
                         uint64_t seen, char error[SW_CLUSTER_ERROR_BYTES]);

/* Returns the current topology, of epoch *epoch, changed so that this node is the primary of its
 * shard, which has elected it. Returns NULL if the node is that already, is in no topology, is in
 * another shard there, or if memory is short. */
char *sw_cluster_claim(struct sw_cluster *cluster, uint64_t *epoch);

#endif
