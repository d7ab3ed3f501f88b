/* SPDX-License-Identifier: MIT
 *
 * view.h - a topology as one node sees it: what a loop judges requests by. It does not change once
 * it is made.
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
/* Owner of a slot of this node that is being handed over: nobody serves it for a moment. */
#define SW_CLUSTER_FROZEN (SW_TOPOLOGY_NOBODY - 2)

/* What the options say of a node. */
struct sw_cluster_choices {
    bool by_hostname;         /* cluster-preferred-endpoint-type */
    bool needs_full_coverage; /* cluster-require-full-coverage */
    uint32_t raw_bytes;       /* resp-keys raw: 4 or 8; else 0 */
    bool any_slots; /* cluster-multi-slot: keys of one command in several slots of this node */
    char shard[SW_TOPOLOGY_NAME_MAX + 1]; /* whose member it is (--ha); "": of none */
};

struct sw_cluster_view {
    struct sw_cluster_view *next; /* older ones, which loops may still look at */
    uint64_t number;              /* views of a process are numbered from 1 */
    struct sw_topology *topology; /* NULL: none is known */
    const struct sw_slot_tables *tables;
    struct sw_cluster_choices choices;
    char id[SW_TOPOLOGY_ID + 1]; /* of this node */
    int node;                    /* its place in the topology; -1: it is not in it */
    uint16_t shard;              /* whose slots it serves; SW_CLUSTER_NO_SHARD: it serves none */
    uint16_t reads;              /* whose replica it is, so that it serves reads; or the same */
    uint16_t owner[SW_SLOTS];    /* a shard, SW_TOPOLOGY_NOBODY or SW_CLUSTER_FROZEN */
    struct sw_slot_filter owned; /* the slots that the node owns */
    bool has_frozen;             /* slots */
    bool may_have_foreign;       /* the table may hold keys of slots that the node does not own */
    bool takes;                  /* such keys may come at any time: slots are on their way here */
    bool is_target;              /* .. or have come, and are not served yet */
    struct sw_slot_set asks;     /* slots that have just left: ASK, until asks_until_ns */
    uint64_t asks_until_ns;      /* of the monotonic clock; 0: none has */
};

/* Takes the topology (NULL: there is none) on success. Returns NULL if there is no memory. */
#define SW_CLUSTER_ASK_NS 1000000000ULL
struct sw_cluster_view *sw_cluster_view_create(struct sw_topology *topology, const char *id,
                                               const struct sw_cluster_choices *choices);
void sw_cluster_view_destroy(struct sw_cluster_view *view);
/* Before others look at the view: slots of its own are being handed over. */
void sw_cluster_view_freeze(struct sw_cluster_view *view, const struct sw_slot_set *slots);

static inline bool sw_cluster_owns(const struct sw_cluster_view *view, unsigned slot)
{
    return view->owner[slot] == view->shard;
}

/* Does the table hold the keys of the slot, as a primary's, and no other primary's all of them, or
 * as a replica's? */
static inline bool sw_cluster_holds(const struct sw_cluster_view *view, unsigned slot)
{
    return sw_cluster_owns(view, slot) || view->owner[slot] == SW_CLUSTER_FROZEN ||
           view->owner[slot] == view->reads;
}

/* The slot of a key as the table has it, 4 or 8 bytes wide: of its decimal text, or of its bytes.
 */
static inline unsigned sw_cluster_slot(const struct sw_cluster_view *view, uint64_t key)
{
    if (view->choices.raw_bytes > 0) {
        uint64_t bytes = htole64(key);
        return sw_slot_of_text(&bytes, view->choices.raw_bytes);
    }
    return sw_slot_of_u64(view->tables, key);
}

/* Is every slot served by somebody, or need it not be? */
bool sw_cluster_is_up(const struct sw_cluster_view *view);

/* Has the topology the node in the shard whose member it is? Elsewhere it would serve the keys of
 * another shard. */
static inline bool sw_cluster_is_of_its_shard(const struct sw_cluster_view *view)
{
    return view->node < 0 || view->choices.shard[0] == '\0' ||
           strcmp(view->choices.shard,
                  view->topology->shards[view->topology->nodes[view->node].shard].name) == 0;
}

/* The line by which a key of a slot that this node does not own is refused: MOVED or CLUSTERDOWN;
 * TRYAGAIN while the slot is handed over, and ASK for a moment after that, since the topology that
 * another node tells may be older than this one's. */
void sw_cluster_refusal(const struct sw_cluster_view *view, unsigned slot,
                        char line[SW_CLUSTER_LINE_BYTES]);

/* The name or the address at which clients are told to reach the node. */
const char *sw_cluster_endpoint(const struct sw_cluster_view *view,
                                const struct sw_topology_node *node);

/* This node's entry, or NULL. */
static inline const struct sw_topology_node *sw_cluster_me(const struct sw_cluster_view *view)
{
    return view->node < 0 ? NULL : &view->topology->nodes[view->node];
}

#endif
