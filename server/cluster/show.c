/* SPDX-License-Identifier: MIT
 *
 * show.c - the status of a cluster.
 */
#include <string.h>

#include "server/cluster/cluster_parts.h"

void sw_cluster_show(struct sw_cluster *cluster, struct sw_cluster_status *facts)
{
    memset(facts, 0, sizeof(*facts));
    if (cluster == NULL) {
        return;
    }
    facts->is_enabled = true;
    facts->reload_failures = __atomic_load_n(&cluster->reload_failures, __ATOMIC_RELAXED);
    pthread_mutex_lock(&cluster->lock);
    const struct sw_cluster_view *view = cluster->newest;
    const struct sw_topology_node *me = sw_cluster_me(view);
    facts->has_topology = view->topology != NULL;
    facts->is_in_topology = me != NULL;
    facts->is_up = sw_cluster_is_up(view);
    facts->epoch = view->topology == NULL ? 0 : view->topology->epoch;
    if (me != NULL) {
        const struct sw_topology_shard *shard = &view->topology->shards[me->shard];
        const struct sw_topology_node *primary = &view->topology->nodes[shard->primary];
        facts->is_replica = !me->is_primary;
        facts->slots_owned = view->shard == SW_CLUSTER_NO_SHARD ? 0 : shard->slot_count;
        memcpy(facts->primary_ip, primary->ip, sizeof(facts->primary_ip));
        facts->primary_port = primary->port;
    }
    pthread_mutex_unlock(&cluster->lock);
}
