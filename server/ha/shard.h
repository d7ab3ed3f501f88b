/* SPDX-License-Identifier: MIT
 *
 * shard.h - a shard in etcd: where it is, what the values of its three keys say, and the bodies of
 * requests to etcd's JSON gateway.
 *
 *     PREFIX/SHARD/term     {"term": 7, "primary": "10.0.0.1:7379", "incarnation": "1f.."}
 *     PREFIX/SHARD/sync     {"quorum": 1, "members": ["10.0.0.1:7379", ..],
 *                            "in_sync": [["10.0.0.2:7379", "9a.."], ..]}
 *     PREFIX/SHARD/renewal  {"term": 7, "renewals": 12, "ttl_ms": 3000}
 *
 * A member is known by the address that the others reach it at. Pure functions.
 */
#ifndef SHERWOOD_SERVER_HA_SHARD_H
#define SHERWOOD_SERVER_HA_SHARD_H

#include <jansson.h>
#include <stddef.h>

#include "server/etcd/where.h"
#include "server/ha/member.h"

#define SW_HA_NAME_BYTES SW_ETCD_NAME_BYTES
#define SW_HA_NAMES_MAX 64
#define SW_HA_NAMES_ROOM 24 /* what is read of etcd at once has fewer names */
#define SW_HA_REASON_BYTES 256
#define SW_HA_TTL_SECONDS_MAX 60

struct sw_ha_where {
    struct sw_etcd_where etcd;
    char shard[SW_HA_NAME_BYTES];
    char announce[SW_HA_NAME_BYTES]; /* empty: bind and port */
    uint64_t ttl_ns;
    uint64_t quorum;
};

/* Parses etcd://host:port,../prefix?shard=NAME[&ttl=SECONDS][&quorum=N][&announce=host:port].
 * Returns 0; or -1 with a sentence in `reason`. */
int sw_ha_where_parse(struct sw_ha_where *where, const char *text, char *reason,
                      size_t reason_bytes);

/* The addresses of members, by their numbers. */
struct sw_ha_names {
    unsigned count;
    struct sw_ha_named {
        uint64_t node;
        char name[SW_HA_NAME_BYTES];
    } at[SW_HA_NAMES_MAX]; /* the one that was added last, or again, is the last */
};
uint64_t sw_ha_node(const char *name);
/* Returns false if there is no room, or another name has the number. */
bool sw_ha_names_add(struct sw_ha_names *names, const char *name);
/* Where there is not much room any more, forgets the oldest others than these: the newest may be of
 * members that are about to be in sync. */
void sw_ha_names_tidy(struct sw_ha_names *names, const uint64_t *nodes, unsigned count);
/* "?" for one that is unknown. */
const char *sw_ha_name(const struct sw_ha_names *names, uint64_t node);

/* Reads the answer to sw_ha_ask_all, or to a transaction that was refused. Names that it has are
 * added. Returns 0; or -1 with a sentence in `reason`: the values are none of ours. */
int sw_ha_read_shard(const struct sw_ha_where *where, const json_t *answer,
                     struct sw_ha_shard *shard, struct sw_ha_names *names, char *reason,
                     size_t reason_bytes);

/* Bodies, for the caller to free. NULL: no memory. All but the first compare revisions with those
 * of `shard`, and read everything where these differ. */
json_t *sw_ha_ask_all(const struct sw_ha_where *where);
json_t *sw_ha_ask_election(const struct sw_ha_where *where, const struct sw_ha_shard *shard,
                           const struct sw_ha_sync *next, struct sw_ha_id self,
                           const struct sw_ha_names *names);
json_t *sw_ha_ask_renewal(const struct sw_ha_where *where, const struct sw_ha_shard *shard,
                          uint64_t number);
json_t *sw_ha_ask_change(const struct sw_ha_where *where, const struct sw_ha_shard *shard,
                         const struct sw_ha_sync *next, const struct sw_ha_names *names);
/* A primary that hands over takes its renewal away. */
json_t *sw_ha_ask_end(const struct sw_ha_where *where, const struct sw_ha_shard *shard);

#endif
