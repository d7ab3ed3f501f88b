/* SPDX-License-Identifier: MIT
 *
 * ha_status.h - status of a shard, for INFO, HA STATUS, the metrics and the pages.
 */
#ifndef SHERWOOD_SERVER_HA_HA_STATUS_H
#define SHERWOOD_SERVER_HA_HA_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct sw_ha_status {
    bool is_on;
    bool is_primary;
    bool is_stuck; /* etcd holds an older term than this member has seen */
    char shard[64];
    char self[64];
    char primary[64]; /* as etcd last named it; empty: unknown */
    uint64_t term;    /* the highest term that this member has seen */
    uint64_t in_sync, members, quorum;
    char in_sync_names[256]; /* only on a primary */
    uint64_t lease_ms;       /* only on a primary: remaining time of its lease */
    uint64_t silent_ms;      /* since etcd last answered, or since the start */
    uint64_t lonely_ms;      /* only on a primary: since when no other member is in sync */
    uint64_t elections;      /* elections that this member has won */
    uint64_t losses;         /* times that it ceased to be primary */
    uint64_t discards;       /* times that it dropped writes which others may lack */
    uint64_t etcd_failures;  /* requests that etcd did not answer */
    char trouble[256];       /* error of the last such request */
};

#endif
