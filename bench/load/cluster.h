/* SPDX-License-Identifier: MIT
 *
 * cluster.h - a load at a cluster: a handle of libsherwood for all of its nodes, and what went to
 * each node.
 */
#ifndef SHERWOOD_LOAD_CLUSTER_H
#define SHERWOOD_LOAD_CLUSTER_H

#include "bench/load/options.h"
#include "client/sherwood-cluster.h"

/* Addresses that -a may name. */
#define SW_LOAD_ADDRESSES_MAX 64
/* Nodes that a report tells of: more than a handle has, as they may change during a run. */
#define SW_LOAD_NODES_MAX (2 * SHERWOOD_STRIPES_MAX)

/* Counts of all handles of a run for one node, each since its last connection to the node. */
struct sw_load_node {
    char address[128];
    char name[64];   /* of its shard */
    uint32_t slots;  /* of the newest topology; 0: it is the primary of no shard any more */
    uint64_t keys;   /* also those that were refused */
    uint64_t frames; /* the same */
    uint64_t refusals;
};

/* Zeros: no cluster. */
struct sw_load_nodes {
    uint64_t epoch; /* of the newest topology that a handle has */
    uint32_t count;
    uint32_t left_out; /* there was no room for them */
    struct sw_load_node each[SW_LOAD_NODES_MAX];
};

/* Connects to a cluster. The options name addresses of its nodes, separated by commas.
 * Returns an sw_load_status, with one sentence in `error` on failure. */
int sw_load_cluster_connect(const struct sw_load_options *options,
                            const struct sherwood_options *connection, struct sherwood **out,
                            char *error);

/* Adds what a handle of a cluster has sent. */
void sw_load_nodes_add(struct sw_load_nodes *nodes, const struct sherwood *client);

#endif
