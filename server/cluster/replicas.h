/* SPDX-License-Identifier: MIT
 *
 * replicas.h - what a primary tells the replicas of its shard of its moves, and what these keep of
 * that: its state. Threads: any.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_REPLICAS_H
#define SHERWOOD_SERVER_CLUSTER_REPLICAS_H

#include "server/cluster/cluster.h"

/* Where the replica of this number, from 0, of this node's shard is. False: there are fewer, or
 * this node is no primary. */
bool sw_cluster_replica(struct sw_cluster *cluster, unsigned number,
                        char ip[SW_TOPOLOGY_IP_MAX + 1], uint16_t *port);

/* The state of this node, as its file has it; the caller frees it. NULL: no memory. */
char *sw_cluster_print_all(struct sw_cluster *cluster);

/* A replica takes the state of its primary, and its topology if that is newer. Returns the number
 * of a view; or 0 with a sentence, and nothing has changed. */
uint64_t sw_cluster_take_state(struct sw_cluster *cluster, const char *text, size_t size,
                               char error[SW_CLUSTER_ERROR_BYTES]);

#endif
