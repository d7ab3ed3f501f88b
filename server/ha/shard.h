/* SPDX-License-Identifier: MIT
 *
 * shard.h - a shard in etcd: its address, the values of its three keys, and the bodies of requests
 * to etcd's JSON gateway.
 *
 *     PREFIX/SHARD/term     {"term": 7, "primary": "10.0.0.1:7379", "incarnation": "1f.."}
 *     PREFIX/SHARD/sync     {"quorum": 1, "members": ["10.0.0.1:7379", ..],
 *                            "in_sync": [["10.0.0.2:7379", "9a.."], ..]}
 *     PREFIX/SHARD/renewal  {"term": 7, "renewals": 12, "ttl_ms": 3000}
 *
 * A member's name is the address at which the others reach it. Pure functions.
 */
#ifndef SHERWOOD_SERVER_HA_SHARD_H
#define SHERWOOD_SERVER_HA_SHARD_H

#include <jansson.h>
#include <stddef.h>

#include "server/etcd/etcd_address.h"
#include "server/ha/member.h"

#define SW_HA_NAME_BYTES SW_ETCD_NAME_BYTES
#define SW_HA_NAMES_MAX 64
#define SW_HA_NAMES_ROOM 24 /* more than the names that one answer of etcd can have */
#define SW_HA_REASON_BYTES 256
#define SW_HA_TTL_SECONDS_MAX 60

struct sw_ha_address {
    struct sw_etcd_address etcd;
    char shard[SW_HA_NAME_BYTES];
    char announce[SW_HA_NAME_BYTES]; /* empty: bind and port */
    uint64_t ttl_ns;
    uint64_t quorum;
};

/* Parses etcd://host:port,../prefix?shard=NAME[&ttl=SECONDS][&quorum=N][&announce=host:port].
 * Returns 0; or -1 and an error in `reason`. */
int sw_ha_address_parse(struct sw_ha_address *address, const char *text, char *reason,
                        size_t reason_bytes);

/* The addresses of members, by their numbers. */
struct sw_ha_names {
    unsigned count;
    struct sw_ha_named {
        uint64_t node;
        char name[SW_HA_NAME_BYTES];
    } at[SW_HA_NAMES_MAX]; /* by the time of the last sw_ha_names_add, oldest first */
};
uint64_t sw_ha_node(const char *name);
/* Returns false if there is no room, or another name has the same number. */
bool sw_ha_names_add(struct sw_ha_names *names, const char *name);
/* If the table of names is nearly full, removes the oldest names that are not in `nodes`. Keeps the
 * newest: they may belong to members about to be in sync. */
void sw_ha_names_tidy(struct sw_ha_names *names, const uint64_t *nodes, unsigned count);
/* Returns "?" for an unknown node. */
const char *sw_ha_name(const struct sw_ha_names *names, uint64_t node);

/* Reads the answer to sw_ha_ask_all, or to a transaction that etcd refused. Adds the names in it to
 * `names`. Returns 0; or -1 and an error in `reason` if another program wrote the values. */
int sw_ha_read_shard(const struct sw_ha_address *address, const json_t *answer,
                     struct sw_ha_shard *shard, struct sw_ha_names *names, char *reason,
                     size_t reason_bytes);

/* Return bodies of requests, which the caller frees. NULL: no memory. sw_ha_ask_all reads all keys.
 * The others are transactions: if the revisions differ from `shard`, etcd reads all keys instead.
 */
json_t *sw_ha_ask_all(const struct sw_ha_address *address);
json_t *sw_ha_ask_election(const struct sw_ha_address *address, const struct sw_ha_shard *shard,
                           const struct sw_ha_sync *next, struct sw_ha_id self,
                           const struct sw_ha_names *names);
json_t *sw_ha_ask_renewal(const struct sw_ha_address *address, const struct sw_ha_shard *shard,
                          uint64_t number);
json_t *sw_ha_ask_change(const struct sw_ha_address *address, const struct sw_ha_shard *shard,
                         const struct sw_ha_sync *next, const struct sw_ha_names *names);
/* Body of a hand-over: the primary deletes its renewal. */
json_t *sw_ha_ask_end(const struct sw_ha_address *address, const struct sw_ha_shard *shard);

#endif
