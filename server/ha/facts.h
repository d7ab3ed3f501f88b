/* SPDX-License-Identifier: MIT
 *
 * facts.h - what INFO, HA STATUS, the metrics and the pages tell of a shard.
 */
#ifndef SHERWOOD_SERVER_HA_FACTS_H
#define SHERWOOD_SERVER_HA_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct sw_ha_facts {
    bool is_on;
    bool is_primary;
    bool is_stuck; /* etcd holds an older term than this member has seen */
    char shard[64];
    char self[64];
    char primary[64]; /* as it last was in etcd; empty: unknown */
    uint64_t term;    /* the highest one it knows of */
    uint64_t in_sync, members, quorum;
    char in_sync_names[256]; /* of a primary */
    uint64_t lease_ms;       /* of a primary: left of it */
    uint64_t silent_ms;      /* since etcd last answered, or since the start */
    uint64_t lonely_ms;      /* of a primary: since when no other member is in sync */
    uint64_t elections;      /* that it has won */
    uint64_t losses;         /* times that it ceased to be primary */
    uint64_t discards;       /* times that it dropped writes which others may lack */
    uint64_t etcd_failures;  /* requests without an answer */
    char trouble[256];       /* of the last one of these */
};

#endif
