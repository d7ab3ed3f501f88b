/* SPDX-License-Identifier: MIT
 *
 * cluster_parts.h - internals of the cluster, shared by the files of this folder.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_CLUSTER_PARTS_H
#define SHERWOOD_SERVER_CLUSTER_CLUSTER_PARTS_H

#include <pthread.h>

#include "server/cluster/cluster.h"

struct sw_cluster {
    const struct sw_config *config;
    struct sw_cluster_owner owner;
    struct sw_cluster_choices choices;
    char state_path[SW_CLUSTER_PATH_BYTES]; /* empty: the state is not stored */
    char id[SW_TOPOLOGY_ID + 1];
    pthread_mutex_t change; /* held while a topology is taken, or the state of a move changes */
    bool may_have_foreign;  /* under `change`; a move's own slots do not count */
    bool is_unsure;         /* under `change`: the state file may differ from the state here */
    uint64_t abandoned;     /* under `change`: attempts up to this one will not be decided */
    pthread_mutex_t lock;   /* for the fields below; held for a moment */
    struct sw_cluster_move move;    /* written under `change` and `lock`, read under either */
    struct sw_cluster_view *newest; /* atomic; links to older views until no loop uses them */
    struct sw_cluster_handle *handles;
    uint64_t reload_failures; /* atomic */
    uint64_t clean_at;        /* atomic: view under which no keys of other nodes were found */
};

/* Takes over the topology, writes the state, then publishes the topology as a view. `asks`: slots
 * whose requests get ASK for a moment; NULL: none. Returns the number of the view; or changes
 * nothing and returns 0 with an error. The caller holds `change`. */
uint64_t sw_cluster_install(struct sw_cluster *cluster, struct sw_topology *topology,
                            const struct sw_cluster_move *move, bool may_have_foreign,
                            const struct sw_slot_set *asks, char error[SW_CLUSTER_ERROR_BYTES]);

/* Takes a topology as sw_cluster_take does, and frees it if that fails. `is_decided`: takes it
 * whatever keys this node has, because it comes from the node's primary or from etcd. The caller
 * holds `change`. */
uint64_t sw_cluster_take_parsed(struct sw_cluster *cluster, struct sw_topology *topology,
                                bool is_decided, char error[SW_CLUSTER_ERROR_BYTES]);
/* Installs a move with the current topology, and wakes the loops. */
uint64_t sw_cluster_change_move(struct sw_cluster *cluster, const struct sw_cluster_move *move,
                                char error[SW_CLUSTER_ERROR_BYTES]);

#endif
