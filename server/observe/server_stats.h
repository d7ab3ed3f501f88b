/* SPDX-License-Identifier: MIT
 *
 * server_stats.h - the statistics of the server at one moment, for /metrics, INFO and STATS. Any
 * thread may take a snapshot without blocking another one. Each figure is exact, but figures of
 * different loops may be read an instant apart.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_SERVER_STATS_H
#define SHERWOOD_SERVER_OBSERVE_SERVER_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/cluster/cluster.h"
#include "server/config/config.h"
#include "server/ha/ha_status.h"
#include "server/log/wal.h"
#include "server/move/move_status.h"
#include "server/observe/counters.h"
#include "server/observe/gpu.h"
#include "server/observe/persistence.h"
#include "server/registry/registry_status.h"
#include "server/repl/repl_status.h"
#include "table/info.h"

struct sw_server_stats {
    const struct sw_config *config;
    struct sw_tables *tables;  /* the server's, for the keys of each; NULL: one table (in tests) */
    struct sw_table_info info; /* of all tables together: slots and bytes are sums */
    struct sw_table_stats stats;
    struct sw_loop_counters counters; /* counters and gauges: sum over the loops, and of HTTP */
    struct sw_persistence persistence;
    struct sw_wal_stats log; /* all zero if writes are not logged */
    struct sw_repl_status replication;
    struct sw_ha_status shard;
    struct sw_gpu_facts gpu;
    struct sw_cluster_status cluster;   /* all zero without a cluster */
    struct sw_move_status move;         /* .. */
    struct sw_registry_status registry; /* all zero unless the topology is in etcd */
    uint64_t process_id;
    uint64_t start_time_seconds; /* since 1970 */
    uint64_t uptime_seconds;
    uint64_t resident_bytes; /* of the process */
    double cpu_user_seconds;
    double cpu_system_seconds;
    uint32_t loops;
    uint16_t tcp_port;      /* as bound */
    bool ready;             /* READY was announced, and no shutdown has begun */
    bool pauses_all;        /* CLIENT PAUSE also pauses reads */
    uint64_t pause_left_ms; /* time until CLIENT PAUSE ends; 0: no pause */
    char run_id[41];
};

/* Fills in the process id, memory and CPU time of this process (process.c). */
void sw_server_stats_process(struct sw_server_stats *snapshot);

#endif
