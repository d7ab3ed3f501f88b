/* SPDX-License-Identifier: MIT
 *
 * replicas.c - the state of a primary, which its replicas store.
 */
#include "server/cluster/replicas.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/cluster/cluster_parts.h"
#include "server/cluster/topology_change.h"

bool sw_cluster_replica(struct sw_cluster *cluster, unsigned number,
                        char ip[SW_TOPOLOGY_IP_MAX + 1], uint16_t *port)
{
    bool found = false;
    pthread_mutex_lock(&cluster->lock);
    const struct sw_cluster_view *view = cluster->newest;
    const struct sw_topology_node *me = sw_cluster_me(view);
    const struct sw_topology *topology = view->topology;
    for (unsigned i = 0; me != NULL && me->is_primary && i < topology->node_count && !found; i++) {
        const struct sw_topology_node *node = &topology->nodes[i];
        if (node->shard == me->shard && node != me && number-- == 0) {
            memcpy(ip, node->ip, SW_TOPOLOGY_IP_MAX + 1);
            *port = node->port;
            found = true;
        }
    }
    pthread_mutex_unlock(&cluster->lock);
    return found;
}

char *sw_cluster_print_all(struct sw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_state state = {.may_have_foreign = cluster->may_have_foreign,
                                     .move = cluster->move,
                                     .topology = cluster->newest->topology};
    memcpy(state.id, cluster->id, sizeof(state.id));
    char *text = sw_cluster_state_print(&state);
    pthread_mutex_unlock(&cluster->change);
    return text;
}

static bool is_same(const struct sw_cluster_move *a, const struct sw_cluster_move *b)
{
    return a->role == b->role && a->last == b->last && a->attempt == b->attempt &&
           strcmp(a->peer, b->peer) == 0 && memcmp(&a->slots, &b->slots, sizeof(a->slots)) == 0 &&
           memcmp(&a->leaving, &b->leaving, sizeof(a->leaving)) == 0;
}

/* Returns true if the state is that of this replica's primary, else false and an error. The caller
 * holds `change`. */
static bool is_of_primary(const struct sw_cluster *cluster, const struct sw_cluster_state *state,
                          char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *after = state->topology, *now = cluster->newest->topology;
    if (sw_config_shares_topology(cluster->config)) {
        return sw_cluster_refuse(error, "the topology of this node is in etcd");
    }
    int me = after == NULL ? -1 : sw_topology_find_node(after, cluster->id);
    int they = after == NULL ? -1 : sw_topology_find_node(after, state->id);
    if (me < 0 || they < 0 || after->nodes[me].is_primary || !after->nodes[they].is_primary ||
        after->nodes[me].shard != after->nodes[they].shard) {
        return sw_cluster_refuse(error, "this node is not a replica of %s", state->id);
    }
    if (now != NULL && (after->epoch < now->epoch || strcmp(after->cluster, now->cluster) != 0)) {
        return sw_cluster_refuse(
            error, "the epoch of this node is %" PRIu64 ", that of the primary %" PRIu64,
            now->epoch, after->epoch);
    }
    return cluster->state_path[0] != '\0' ||
           sw_cluster_refuse(error,
                             "this replica has no state file: set --cluster-state or --data-dir");
}

uint64_t sw_cluster_take_state(struct sw_cluster *cluster, const char *text, size_t size,
                               char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_cluster_state state;
    uint64_t number = 0;
    if (!sw_cluster_state_parse(text, size, &state, error)) {
        return 0;
    }
    pthread_mutex_lock(&cluster->change);
    if (is_of_primary(cluster, &state, error)) {
        number = sw_cluster_take_parsed(cluster, state.topology, true, error);
        state.topology = NULL;
    }
    if (number != 0) {
        struct sw_cluster_move *move = &state.move;
        const bool same_foreign = cluster->may_have_foreign || !state.may_have_foreign;
        cluster->may_have_foreign |= state.may_have_foreign;
        move->last = cluster->move.last > move->last ? cluster->move.last : move->last;
        number = same_foreign && is_same(move, &cluster->move)
                     ? number
                     : sw_cluster_change_move(cluster, move, error);
    }
    pthread_mutex_unlock(&cluster->change);
    sw_topology_free(state.topology);
    return number;
}
