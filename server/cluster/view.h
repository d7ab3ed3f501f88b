/* SPDX-License-Identifier: MIT
 *
 * view.h - a topology as one node sees it. A loop checks requests against its view. A view never
 * changes.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_VIEW_H
#define SHERWOOD_SERVER_CLUSTER_VIEW_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/cluster/slot.h"
#include "proto/cluster/topology.h"
#include "table/slot_filter.h"

/* A host, ":" and a port, with the NUL. */
#define SW_CLUSTER_ADDRESS_BYTES (SW_TOPOLOGY_HOSTNAME_MAX + 8)
/* A line that refuses a key, without "-". */
#define SW_CLUSTER_LINE_BYTES (SW_CLUSTER_ADDRESS_BYTES + 16)
#define SW_CLUSTER_NO_SHARD (SW_TOPOLOGY_NOBODY - 1) /* owns no slot */
/* Owner of a slot of this node that is being handed over: no node serves it for a moment. */
#define SW_CLUSTER_FROZEN (SW_TOPOLOGY_NOBODY - 2)

/* Options of a node. */
struct sw_cluster_choices {
    bool by_hostname;         /* cluster-preferred-endpoint-type */
    bool needs_full_coverage; /* cluster-require-full-coverage */
    uint32_t raw_bytes;       /* resp-keys raw: 4 or 8; else 0 */
    bool any_slots; /* cluster-multi-slot: keys of one command in several slots of this node */
    char shard[SW_TOPOLOGY_NAME_MAX + 1]; /* the shard that it is a member of (--ha); "": none */
};

struct sw_cluster_view {
    struct sw_cluster_view *next; /* older views, which loops may still read */
    uint64_t number;              /* views of a process are numbered from 1 */
    struct sw_topology *topology; /* NULL: the node has no topology */
    const struct sw_slot_tables *tables;
    struct sw_cluster_choices choices;
    char id[SW_TOPOLOGY_ID + 1]; /* of this node */
    int node;                    /* its index in the topology; -1: it is not in the topology */
    uint16_t shard;              /* the shard whose slots it serves; or SW_CLUSTER_NO_SHARD */
    uint16_t reads;              /* the shard whose reads it serves as a replica; or `shard` */
    uint16_t owner[SW_SLOTS];    /* a shard, SW_TOPOLOGY_NOBODY or SW_CLUSTER_FROZEN */
    struct sw_slot_filter owned; /* the slots that the node owns */
    bool has_frozen;             /* slots */
    bool may_have_foreign;       /* the table may hold keys of slots that the node does not own */
    bool takes;                  /* such keys may arrive at any time: slots move to this node */
    bool is_target;              /* `takes`, or slots have arrived and are not served yet */
    struct sw_slot_set asks;     /* slots that have just left: ASK, until asks_until_ns */
    uint64_t asks_until_ns;      /* monotonic clock; 0: no slot has just left */
};

/* How long requests get ASK for a slot that has just left. */
#define SW_CLUSTER_ASK_NS 1000000000ULL
/* Takes over the topology on success (NULL: none). Returns NULL if memory is short. */
struct sw_cluster_view *sw_cluster_view_create(struct sw_topology *topology, const char *id,
                                               const struct sw_cluster_choices *choices);
void sw_cluster_view_destroy(struct sw_cluster_view *view);
/* Freezes slots that are being handed over. Call it before the view is published. */
void sw_cluster_view_freeze(struct sw_cluster_view *view, const struct sw_slot_set *slots);

static inline bool sw_cluster_owns(const struct sw_cluster_view *view, unsigned slot)
{
    return view->owner[slot] == view->shard;
}

/* Returns true if this node's table has all keys of the slot: the node owns it, is handing it over,
 * or is a replica of its owner. */
static inline bool sw_cluster_holds(const struct sw_cluster_view *view, unsigned slot)
{
    return sw_cluster_owns(view, slot) || view->owner[slot] == SW_CLUSTER_FROZEN ||
           view->owner[slot] == view->reads;
}

/* Returns the slot of a key of the table, 4 or 8 bytes wide: the slot of its decimal text; with
 * resp-keys raw, of its bytes. */
static inline unsigned sw_cluster_slot(const struct sw_cluster_view *view, uint64_t key)
{
    if (view->choices.raw_bytes > 0) {
        uint64_t bytes = htole64(key);
        return sw_slot_of_text(&bytes, view->choices.raw_bytes);
    }
    return sw_slot_of_u64(view->tables, key);
}

/* Returns true if every slot has an owner, or full coverage is not required. */
bool sw_cluster_is_up(const struct sw_cluster_view *view);

/* Returns true if the topology has the node in the shard that it is a member of (--ha), or not at
 * all. In another shard it would serve the wrong keys. */
static inline bool sw_cluster_is_of_its_shard(const struct sw_cluster_view *view)
{
    return view->node < 0 || view->choices.shard[0] == '\0' ||
           strcmp(view->choices.shard,
                  view->topology->shards[view->topology->nodes[view->node].shard].name) == 0;
}

/* Writes the error line for a key of a slot that this node does not own: MOVED or CLUSTERDOWN.
 * TRYAGAIN while the slot is handed over. ASK for a moment after that, because another node may
 * still send clients an older topology. */
void sw_cluster_refusal(const struct sw_cluster_view *view, unsigned slot,
                        char line[SW_CLUSTER_LINE_BYTES]);

/* Returns the node's host name or address for clients. */
const char *sw_cluster_endpoint(const struct sw_cluster_view *view,
                                const struct sw_topology_node *node);

/* This node's entry, or NULL. */
static inline const struct sw_topology_node *sw_cluster_me(const struct sw_cluster_view *view)
{
    return view->node < 0 ? NULL : &view->topology->nodes[view->node];
}

#endif
