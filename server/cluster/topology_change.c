/* SPDX-License-Identifier: MIT
 *
 * topology_change.c - checks whether a topology may replace another one, and finds the slots that a
 * node loses by that.
 */
#include "server/cluster/topology_change.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/plural.h"

static const struct sw_topology_shard *find_shard(const struct sw_topology *topology,
                                                  const char *id)
{
    for (unsigned i = 0; i < topology->shard_count; i++) {
        if (strcmp(topology->shards[i].id, id) == 0) {
            return &topology->shards[i];
        }
    }
    return NULL;
}

static bool is_of(const struct sw_topology *topology, unsigned slot, const char *shard_id)
{
    uint16_t owner = topology->owner[slot];
    return owner != SW_TOPOLOGY_NOBODY && strcmp(topology->shards[owner].id, shard_id) == 0;
}

/* Returns how many slots of this shard belong to another shard or to none in `after`. Slots in
 * `given` (NULL: none) do not count. */
static unsigned count_lost(const struct sw_topology *after, const struct sw_topology_shard *shard,
                           const struct sw_slot_set *given)
{
    unsigned lost = 0;
    for (unsigned i = 0; i < shard->range_count; i++) {
        for (unsigned slot = shard->ranges[i].first; slot <= shard->ranges[i].last; slot++) {
            bool counts = given == NULL || !sw_slot_set_has(given, slot);
            lost += counts && !is_of(after, slot, shard->id);
        }
    }
    return lost;
}

void sw_cluster_copy_losses(const struct sw_topology *before, struct sw_topology *after)
{
    for (unsigned i = 0; i < after->shard_count; i++) {
        struct sw_topology_shard *shard = &after->shards[i];
        const struct sw_topology_shard *old = find_shard(before, shard->id);
        if (old == NULL) {
            continue;
        }
        uint64_t epoch = count_lost(after, old, NULL) > 0 ? before->epoch : old->lost_after;
        shard->lost_after = epoch > shard->lost_after ? epoch : shard->lost_after;
    }
}

unsigned sw_cluster_lost_here(const struct sw_cluster_view *view, const struct sw_topology *after)
{
    const struct sw_topology_node *me = sw_cluster_me(view);
    if (me == NULL || !me->is_primary) {
        return 0;
    }
    const struct sw_topology_shard *shard = &view->topology->shards[me->shard];
    int place = sw_topology_find_node(after, view->id);
    bool stays = place >= 0 && after->nodes[place].is_primary &&
                 strcmp(after->shards[after->nodes[place].shard].id, shard->id) == 0;
    return stays ? count_lost(after, shard, NULL) : shard->slot_count;
}

bool sw_cluster_shard_loses(const struct sw_cluster_view *view, const struct sw_topology *after,
                            const struct sw_slot_set *given)
{
    const struct sw_topology_node *me = sw_cluster_me(view);
    return me != NULL && count_lost(after, &view->topology->shards[me->shard], given) > 0;
}

bool sw_cluster_refuse(char error[SW_CLUSTER_ERROR_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, SW_CLUSTER_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

bool sw_cluster_may_follow(const struct sw_cluster_view *now, const struct sw_topology *after,
                           bool holds_keys, const struct sw_slot_set *given, bool is_decided,
                           char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *before = now->topology;
    if (after->is_raw != (now->choices.raw_bytes > 0)) {
        return sw_cluster_refuse(error, "$.keys: differs from --resp-keys of this node, %s",
                                 after->is_raw ? "decimal" : "raw");
    }
    if (before == NULL) {
        return true;
    }
    if (strcmp(before->cluster, after->cluster) != 0) {
        return sw_cluster_refuse(error, "$.cluster: this node belongs to the cluster \"%s\"",
                                 before->cluster);
    }
    if (after->epoch < before->epoch) {
        return sw_cluster_refuse(
            error, "epoch %" PRIu64 " is older than epoch %" PRIu64 ", which is in effect",
            after->epoch, before->epoch);
    }
    if (after->epoch == before->epoch) {
        return sw_cluster_refuse(error,
                                 "epoch %" PRIu64 " exists with other contents: use a higher epoch",
                                 after->epoch);
    }
    const struct sw_topology_node *me = sw_cluster_me(now);
    int place = sw_topology_find_node(after, now->id);
    bool stays =
        me != NULL && place >= 0 &&
        strcmp(after->shards[after->nodes[place].shard].id, before->shards[me->shard].id) == 0;
    unsigned lost = is_decided ? 0
                    : stays    ? count_lost(after, &before->shards[me->shard], given)
                               : sw_cluster_lost_here(now, after);
    return lost == 0 || after->is_forced || !holds_keys ||
           sw_cluster_refuse(error,
                             "it takes %u slot%s from this node, which holds keys: move the slots "
                             "first, or set \"force\": true to abandon these keys",
                             lost, sw_plural_s(lost));
}

void sw_cluster_lose_until(struct sw_topology *after, const char *id, uint64_t epoch)
{
    int place = sw_topology_find_node(after, id);
    if (place >= 0) {
        struct sw_topology_shard *shard = &after->shards[after->nodes[place].shard];
        shard->lost_after = epoch > shard->lost_after ? epoch : shard->lost_after;
    }
}
