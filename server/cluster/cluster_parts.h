/* SPDX-License-Identifier: MIT
 *
 * cluster_parts.h - the cluster as one object: what cluster.c and moving.c share.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_CLUSTER_PARTS_H
#define SHERWOOD_SERVER_CLUSTER_CLUSTER_PARTS_H

#include <pthread.h>

#include "server/cluster/cluster.h"

struct sw_cluster {
    const struct sw_config *config;
    struct sw_cluster_owner owner;
    struct sw_cluster_choices choices;
    char state_path[SW_CLUSTER_PATH_BYTES]; /* empty: nothing is remembered */
    char id[SW_TOPOLOGY_ID + 1];
    pthread_mutex_t change; /* held by who takes a topology, or moves slots */
    bool may_have_foreign;  /* under `change`; a move's own slots do not count */
    bool is_unsure;         /* under `change`: the state file may say what is not so here */
    uint64_t abandoned;     /* under `change`: attempts up to this one are not decided any more */
    pthread_mutex_t lock;   /* of what follows; held for a moment */
    struct sw_cluster_move move; /* changes under `change` and the lock: either is enough to read */
    struct sw_cluster_view
        *newest; /* atomic; older ones hang from it until no loop looks at them */
    struct sw_cluster_seat *seats;
    uint64_t reload_failures; /* atomic */
    uint64_t clean_at;        /* atomic: a view while which no keys of other nodes were found */
};

/* Under `change`. Writes the state, and then publishes the topology, which it takes, as a view.
 * `asks`: slots whose keys are asked for elsewhere for a moment; NULL: none. Returns the number of
 * the view; or 0 with a sentence, and nothing has changed. */
uint64_t sw_cluster_install(struct sw_cluster *cluster, struct sw_topology *topology,
                            const struct sw_cluster_move *move, bool may_have_foreign,
                            const struct sw_slot_set *asks, char error[SW_CLUSTER_ERROR_BYTES]);

/* Under `change`, too. Takes a topology, which is freed if it is not taken, as sw_cluster_take
 * does; `is_decided`: it holds whatever keys this node has, since its primary, whose replica it
 * stays, has told it, or since all nodes read it at one place. */
uint64_t sw_cluster_take_parsed(struct sw_cluster *cluster, struct sw_topology *topology,
                                bool is_decided, char error[SW_CLUSTER_ERROR_BYTES]);
/* Installs a move with the topology that holds, and wakes the loops. */
uint64_t sw_cluster_change_move(struct sw_cluster *cluster, const struct sw_cluster_move *move,
                                char error[SW_CLUSTER_ERROR_BYTES]);

#endif
