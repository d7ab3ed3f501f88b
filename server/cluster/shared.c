/* SPDX-License-Identifier: MIT
 *
 * shared.c - a topology that all nodes read from etcd.
 */
#include "server/cluster/shared.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/plural.h"
#include "server/cluster/cluster_parts.h"
#include "server/cluster/topology_change.h"

uint64_t sw_cluster_epoch(struct sw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    const struct sw_topology *topology = cluster->newest->topology;
    uint64_t epoch = topology == NULL ? 0 : topology->epoch;
    pthread_mutex_unlock(&cluster->lock);
    return epoch;
}

uint64_t sw_cluster_take_shared(struct sw_cluster *cluster, const char *text, size_t size,
                                uint64_t epoch, char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_topology *topology = sw_topology_parse_shared(text, size, epoch, error);
    uint64_t number = 0;
    if (topology == NULL) {
        return 0;
    }
    pthread_mutex_lock(&cluster->change);
    const struct sw_cluster_view *now = cluster->newest;
    if (now->topology != NULL && now->topology->epoch > epoch) { /* a newer one is here */
        sw_topology_free(topology);
        number = now->number;
    } else {
        number = sw_cluster_take_parsed(cluster, topology, true, error);
    }
    pthread_mutex_unlock(&cluster->change);
    if (number != 0) {
        cluster->owner.wake(cluster->owner.server);
        cluster->owner.moved(cluster->owner.server);
    }
    return number;
}

void sw_cluster_count_refusal(struct sw_cluster *cluster)
{
    __atomic_fetch_add(&cluster->reload_failures, 1, __ATOMIC_RELAXED);
}

/* Returns how many slots `after` takes from shards other than this primary's own. */
static unsigned count_taken(const struct sw_cluster_view *now, const struct sw_topology *after)
{
    const struct sw_topology *before = now->topology;
    const struct sw_topology_node *me = sw_cluster_me(now);
    unsigned taken = 0;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        const uint16_t owner = before->owner[slot], next = after->owner[slot];
        const bool is_own = me != NULL && me->is_primary && owner == me->shard;
        taken += owner != SW_TOPOLOGY_NOBODY && !is_own &&
                 (next == SW_TOPOLOGY_NOBODY ||
                  strcmp(before->shards[owner].id, after->shards[next].id) != 0);
    }
    return taken;
}

/* Returns true if the operator's topology may replace the current one. Notes in it which shards
 * lose slots. The caller holds `change`. */
static bool may_share(struct sw_cluster *cluster, struct sw_topology *after, uint64_t seen,
                      char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_cluster_view *now = cluster->newest;
    bool holds_keys = cluster->owner.holds_keys(cluster->owner.server);
    after->epoch = INT64_MAX; /* etcd assigns the epoch, which is higher than any current one */
    if (!sw_cluster_may_follow(now, after, holds_keys, NULL, false, error)) {
        return false;
    }
    const unsigned taken = now->topology == NULL ? 0 : count_taken(now, after);
    if (taken > 0 && !after->is_forced) {
        return sw_cluster_refuse(error,
                                 "it takes %u slot%s from other shards, which may hold keys: move "
                                 "the slots first, or set \"force\": true to abandon these keys",
                                 taken, sw_plural_s(taken));
    }
    if (now->topology != NULL) {
        sw_cluster_copy_losses(now->topology, after);
    }
    for (unsigned i = 0; i < after->shard_count; i++) {
        /* epochs above `seen` would be of another numbering */
        struct sw_topology_shard *shard = &after->shards[i];
        shard->lost_after = shard->lost_after > seen ? seen : shard->lost_after;
    }
    return true;
}

/* Returns true if the topology's own epoch is higher than `seen`. The caller holds `change`. */
static bool is_newer(const struct sw_cluster *cluster, const struct sw_topology *after,
                     uint64_t seen, char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *now = cluster->newest->topology;
    if (after->epoch > seen) {
        return true;
    }
    if (now != NULL && now->epoch == seen && sw_topology_equal(now, after)) {
        error[0] = '\0';
        return false;
    }
    return after->epoch == seen
               ? sw_cluster_refuse(
                     error, "epoch %" PRIu64 " exists with other contents: use a higher epoch",
                     seen)
               : sw_cluster_refuse(
                     error, "epoch %" PRIu64 " is older than epoch %" PRIu64 ", which is in etcd",
                     after->epoch, seen);
}

char *sw_cluster_propose(struct sw_cluster *cluster, const char *text, size_t size, bool only_if,
                         uint64_t seen, char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_topology *topology = sw_topology_parse(text, size, error);
    char *proposed = NULL;
    if (topology == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&cluster->change);
    if ((only_if || is_newer(cluster, topology, seen, error)) &&
        may_share(cluster, topology, seen, error)) {
        proposed = sw_topology_print_shared(topology);
        sw_cluster_refuse(error, "%s", proposed == NULL ? "not enough memory for it" : "");
    }
    pthread_mutex_unlock(&cluster->change);
    sw_topology_free(topology);
    return proposed;
}

/* Makes the node the primary of its shard in a topology that no other thread has yet. The caller
 * holds `change`. */
static void make_primary(struct sw_topology *topology, unsigned place)
{
    struct sw_topology_shard *shard = &topology->shards[topology->nodes[place].shard];
    topology->nodes[shard->primary].is_primary = false;
    topology->nodes[place].is_primary = true;
    shard->primary = (uint16_t)place;
}

char *sw_cluster_claim(struct sw_cluster *cluster, uint64_t *epoch)
{
    char error[SW_TOPOLOGY_ERROR_BYTES], *text = NULL;
    pthread_mutex_lock(&cluster->change);
    const struct sw_cluster_view *now = cluster->newest;
    const struct sw_topology_node *me = sw_cluster_me(now);
    if (me != NULL && !me->is_primary && sw_cluster_is_of_its_shard(now)) {
        char *held = sw_topology_print(now->topology);
        struct sw_topology *after =
            held == NULL ? NULL : sw_topology_parse(held, strlen(held), error);
        if (after != NULL) {
            make_primary(after, (unsigned)now->node);
            *epoch = after->epoch;
            text = sw_topology_print_shared(after);
        }
        sw_topology_free(after);
        free(held);
    }
    pthread_mutex_unlock(&cluster->change);
    return text;
}
