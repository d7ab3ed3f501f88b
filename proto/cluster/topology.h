/* SPDX-License-Identifier: MIT
 *
 * topology.h - which nodes a cluster has, and which slots each shard: the JSON text, checked as a
 * whole.
 *
 *   { "format": 1, "cluster": "prod", "epoch": 12, "keys": "decimal",
 *     "shards": [ { "id": "<40 hex>", "name": "s1", "slots": [[0, 8191]] }, .. ],
 *     "nodes":  [ { "id": "<40 hex>", "shard": "s1", "role": "primary", "ip": "10.0.0.1",
 *                   "hostname": "a.example", "port": 7379 }, .. ],
 *     "moves":  [] }
 *
 * "hostname" and "moves" may be absent; so may "force" (may a node lose slots in which it holds
 * keys?) and a shard's "lost_after" (the epoch that was current when it last lost a slot). Slots of
 * no shard are legal. A topology does not change once it is parsed: any thread may read it.
 */
#ifndef SHERWOOD_PROTO_CLUSTER_TOPOLOGY_H
#define SHERWOOD_PROTO_CLUSTER_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cluster/slot_set.h"

#define SW_TOPOLOGY_FORMAT 1
#define SW_TOPOLOGY_BYTES_MAX ((size_t)4 << 20)
#define SW_TOPOLOGY_NODES_MAX 1000U
#define SW_TOPOLOGY_ID 40U       /* lower-case hex digits of an id */
#define SW_TOPOLOGY_NAME_MAX 63U /* of a cluster, of a shard: a-z, 0-9, - */
#define SW_TOPOLOGY_IP_MAX 45U
#define SW_TOPOLOGY_HOSTNAME_MAX 253U
#define SW_TOPOLOGY_NOBODY UINT16_MAX /* owner of a slot that no shard has */
#define SW_TOPOLOGY_ERROR_BYTES 256U

struct sw_topology_range {
    uint16_t first, last; /* both belong to it */
};

struct sw_topology_shard {
    char id[SW_TOPOLOGY_ID + 1];
    char name[SW_TOPOLOGY_NAME_MAX + 1];
    struct sw_topology_range *ranges; /* ascending; neighbours are one range */
    unsigned range_count;
    unsigned slot_count;
    uint16_t primary;    /* a node */
    unsigned node_count; /* with the primary */
    uint64_t lost_after; /* 0: it never lost a slot */
};

struct sw_topology_node {
    char id[SW_TOPOLOGY_ID + 1];
    char ip[SW_TOPOLOGY_IP_MAX + 1];             /* a literal address, as inet_ntop writes it */
    char hostname[SW_TOPOLOGY_HOSTNAME_MAX + 1]; /* "": it has none */
    uint16_t port;
    uint16_t shard;
    bool is_primary;
};

struct sw_topology {
    char cluster[SW_TOPOLOGY_NAME_MAX + 1];
    uint64_t epoch; /* 1 to 2^63 - 1 */
    bool is_raw;    /* keys by RESP are raw bytes, else decimal text */
    bool is_forced;
    struct sw_topology_shard *shards;
    unsigned shard_count;
    struct sw_topology_node *nodes; /* in the order of the text */
    unsigned node_count;
    unsigned slot_count;      /* that have an owner */
    uint16_t owner[SW_SLOTS]; /* a shard, or SW_TOPOLOGY_NOBODY */
};

/* Returns a topology that the caller frees, or NULL with a sentence in `error`: the first fault by
 * its JSON path ("$.nodes[2].port: .."), a fault of JSON by its line and column. */
struct sw_topology *sw_topology_parse(const char *text, size_t size,
                                      char error[SW_TOPOLOGY_ERROR_BYTES]);

/* Parses a text whose epoch comes from its store (the revision of a key of etcd). Ignores the epoch
 * in the text itself. */
struct sw_topology *sw_topology_parse_shared(const char *text, size_t size, uint64_t epoch,
                                             char error[SW_TOPOLOGY_ERROR_BYTES]);

/* `topology` may be NULL. */
void sw_topology_free(struct sw_topology *topology);

/* JSON that sw_topology_parse takes, on one line and without "force"; the caller frees it. NULL if
 * there is no memory. */
char *sw_topology_print(const struct sw_topology *topology);
/* The same without an epoch, and with "force": what sw_topology_parse_shared takes. */
char *sw_topology_print_shared(const struct sw_topology *topology);

/* Do both say the same? "force" and "lost_after" do not count: one is about the way to a topology,
 * the other one is found on it. */
bool sw_topology_equal(const struct sw_topology *one, const struct sw_topology *other);

/* Gives these slots to a shard, which changes a topology that nobody else looks at. Returns false,
 * and it is to be freed, if there is no memory. */
bool sw_topology_give(struct sw_topology *topology, const struct sw_slot_set *slots,
                      uint16_t shard);

/* The place of the node with this id in `nodes`, or -1. */
int sw_topology_find_node(const struct sw_topology *topology, const char *id);

/* Is the text 40 hex digits in lower case? A host name by RFC 1123 that is no literal address? A
 * literal address, which is written to `canonical` then? */
bool sw_topology_is_id(const char *text);
bool sw_topology_is_hostname(const char *text);
bool sw_topology_is_ip(const char *text, char canonical[SW_TOPOLOGY_IP_MAX + 1]);

#endif
