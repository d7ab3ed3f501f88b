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

/* Returns a topology that the caller frees, or NULL with a sentence in `error`: the first error
 * with its JSON path ("$.nodes[2].port: .."), or a syntax error with its line and column. */
struct sw_topology *sw_topology_parse(const char *text, size_t size,
                                      char error[SW_TOPOLOGY_ERROR_BYTES]);

/* Parses a text whose epoch comes from its store (the revision of a key of etcd). Ignores the epoch
 * in the text itself. */
struct sw_topology *sw_topology_parse_shared(const char *text, size_t size, uint64_t epoch,
                                             char error[SW_TOPOLOGY_ERROR_BYTES]);

/* `topology` may be NULL. */
void sw_topology_free(struct sw_topology *topology);

/* Returns JSON for sw_topology_parse, on one line and without "force". The caller frees it. NULL if
 * there is no memory. */
char *sw_topology_print(const struct sw_topology *topology);
/* Returns JSON for sw_topology_parse_shared: without an epoch, and with "force". */
char *sw_topology_print_shared(const struct sw_topology *topology);

/* Compares two topologies, except for "force" and "lost_after". "force" tells only how to install a
 * topology; servers find out "lost_after" while they install it. */
bool sw_topology_equal(const struct sw_topology *one, const struct sw_topology *other);

/* Gives these slots to a shard. Changes the topology in place, so no other thread may read it.
 * Returns false if there is no memory; free the topology then. */
bool sw_topology_assign(struct sw_topology *topology, const struct sw_slot_set *slots,
                        uint16_t shard);

/* Returns the index of the node with this id in `nodes`, or -1. */
int sw_topology_find_node(const struct sw_topology *topology, const char *id);

/* is_id: is the text 40 hex digits in lower case? is_hostname: is it a host name by RFC 1123, not a
 * literal address? is_ip: is it a literal address? Then `canonical` receives its canonical form. */
bool sw_topology_is_id(const char *text);
bool sw_topology_is_hostname(const char *text);
bool sw_topology_is_ip(const char *text, char canonical[SW_TOPOLOGY_IP_MAX + 1]);

#endif
