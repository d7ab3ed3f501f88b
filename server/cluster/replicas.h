/* SPDX-License-Identifier: MIT
 *
 * replicas.h - the state of moves that a primary sends to the replicas of its shard, and that they
 * store. Threads: any.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_REPLICAS_H
#define SHERWOOD_SERVER_CLUSTER_REPLICAS_H

#include "server/cluster/cluster.h"

/* Writes the address of replica `number` (from 0) of this node's shard. Returns false if there are
 * fewer replicas, or this node is not a primary. */
bool sw_cluster_replica(struct sw_cluster *cluster, unsigned number,
                        char ip[SW_TOPOLOGY_IP_MAX + 1], uint16_t *port);

/* Returns the contents of this node's state file, which the caller frees. NULL: no memory. */
char *sw_cluster_print_all(struct sw_cluster *cluster);

/* A replica takes the state of its primary, and its topology if that is newer. Returns the number
 * of a view; or changes nothing and returns 0 with an error. */
uint64_t sw_cluster_take_state(struct sw_cluster *cluster, const char *text, size_t size,
                               char error[SW_CLUSTER_ERROR_BYTES]);

#endif
