/* SPDX-License-Identifier: MIT
 *
 * cluster.h - loads a cluster by handles of libsherwood, and counts what was sent to each node.
 */
#ifndef SHERWOOD_LOAD_CLUSTER_H
#define SHERWOOD_LOAD_CLUSTER_H

#include "bench/load/options.h"
#include "client/sherwood-cluster.h"

/* The most addresses in -a. */
#define SW_LOAD_ADDRESSES_MAX 64
/* The most nodes of a report: more than a handle has, as the topology may change during a run. */
#define SW_LOAD_NODES_MAX (2 * SHERWOOD_STRIPES_MAX)

/* Counts of all handles of a run for one node, each since its last connection to the node. */
struct sw_load_node {
    char address[128];
    char name[64];   /* name of its shard */
    uint32_t slots;  /* slots in the newest topology; 0: the node is no longer a primary */
    uint64_t keys;   /* keys sent, including refused ones */
    uint64_t frames; /* frames sent, including refused ones */
    uint64_t refusals;
};

/* The nodes of a cluster. All zeros: the run uses no cluster. */
struct sw_load_nodes {
    uint64_t epoch; /* epoch of the newest topology of any handle */
    uint32_t count;
    uint32_t left_out; /* number of nodes without room in the report */
    struct sw_load_node each[SW_LOAD_NODES_MAX];
};

/* Connects to a cluster. The options name addresses of its nodes, separated by commas.
 * Returns an sw_load_status, with one sentence in `error` on failure. */
int sw_load_cluster_connect(const struct sw_load_options *options,
                            const struct sherwood_options *connection, struct sherwood **out,
                            char *error);

/* Adds the counts of a handle. */
void sw_load_nodes_add(struct sw_load_nodes *nodes, const struct sherwood *client);

#endif
