/* SPDX-License-Identifier: MIT
 *
 * view.c - a topology as one node sees it.
 */
#include "server/cluster/view.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sw_cluster_view *sw_cluster_view_create(struct sw_topology *topology, const char *id,
                                               const struct sw_cluster_choices *choices)
{
    struct sw_cluster_view *view = calloc(1, sizeof(*view));
    if (view == NULL) {
        return NULL;
    }
    view->topology = topology;
    view->tables = sw_slot_tables();
    view->choices = *choices;
    memcpy(view->id, id, sizeof(view->id));
    view->node = topology == NULL ? -1 : sw_topology_find_node(topology, id);
    view->shard = view->reads = SW_CLUSTER_NO_SHARD;
    if (topology == NULL) {
        memset(view->owner, 0xff, sizeof(view->owner)); /* SW_TOPOLOGY_NOBODY */
        return view;
    }
    memcpy(view->owner, topology->owner, sizeof(view->owner));
    const struct sw_topology_node *me = sw_cluster_me(view);
    if (me != NULL && sw_cluster_is_up(view) && sw_cluster_is_of_its_shard(view)) {
        *(me->is_primary ? &view->shard : &view->reads) = me->shard;
    }
    view->owned.raw = choices->raw_bytes > 0;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        view->owned.slots[slot / 64] |= (uint64_t)sw_cluster_owns(view, slot) << slot % 64;
    }
    return view;
}

void sw_cluster_view_freeze(struct sw_cluster_view *view, const struct sw_slot_set *slots)
{
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        if (sw_slot_set_has(slots, slot) && sw_cluster_owns(view, slot)) {
            view->owner[slot] = SW_CLUSTER_FROZEN;
            view->owned.slots[slot / 64] &= ~(1ULL << slot % 64);
            view->has_frozen = true;
        }
    }
}

void sw_cluster_view_destroy(struct sw_cluster_view *view)
{
    if (view != NULL) {
        sw_topology_free(view->topology);
        free(view);
    }
}

bool sw_cluster_is_up(const struct sw_cluster_view *view)
{
    return view->node >= 0 &&
           (!view->choices.needs_full_coverage || view->topology->slot_count == SW_SLOTS);
}

const char *sw_cluster_endpoint(const struct sw_cluster_view *view,
                                const struct sw_topology_node *node)
{
    return view->choices.by_hostname && node->hostname[0] != '\0' ? node->hostname : node->ip;
}

static_assert(SW_SLOTS == SW_FILTER_SLOTS, "SW_FILTER_SLOTS differs from SW_SLOTS");

/* Returns true if the slot has just left this node: requests then get ASK. */
static bool is_asked(const struct sw_cluster_view *view, unsigned slot)
{
    struct timespec now;
    if (view->asks_until_ns == 0 || !sw_slot_set_has(&view->asks, slot)) {
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec < view->asks_until_ns;
}

void sw_cluster_refusal(const struct sw_cluster_view *view, unsigned slot,
                        char line[SW_CLUSTER_LINE_BYTES])
{
    if (view->topology == NULL || view->node < 0) {
        snprintf(line, SW_CLUSTER_LINE_BYTES, "CLUSTERDOWN The cluster is down: this node %s",
                 view->topology == NULL ? "has no topology" : "is not in the topology");
    } else if (!sw_cluster_is_up(view)) {
        snprintf(line, SW_CLUSTER_LINE_BYTES, "CLUSTERDOWN The cluster is down");
    } else if (!sw_cluster_is_of_its_shard(view)) {
        snprintf(line, SW_CLUSTER_LINE_BYTES,
                 "CLUSTERDOWN The cluster is down: this node is a member of another shard");
    } else if (view->owner[slot] == SW_TOPOLOGY_NOBODY) {
        snprintf(line, SW_CLUSTER_LINE_BYTES, "CLUSTERDOWN Hash slot not served");
    } else if (view->owner[slot] == SW_CLUSTER_FROZEN) {
        snprintf(line, SW_CLUSTER_LINE_BYTES,
                 "TRYAGAIN Slot %u is being handed over to another node", slot);
    } else {
        const struct sw_topology_shard *shard = &view->topology->shards[view->owner[slot]];
        const struct sw_topology_node *primary = &view->topology->nodes[shard->primary];
        snprintf(line, SW_CLUSTER_LINE_BYTES, "%s %u %s:%u", is_asked(view, slot) ? "ASK" : "MOVED",
                 slot, sw_cluster_endpoint(view, primary), primary->port);
    }
}
