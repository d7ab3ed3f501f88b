/* SPDX-License-Identifier: MIT
 *
 * distinct_stats.h - server statistics whose values all differ, for tests of what is rendered from
 * them.
 */
#ifndef SHERWOOD_TESTS_SERVER_DISTINCT_STATS_H
#define SHERWOOD_TESTS_SERVER_DISTINCT_STATS_H

#include <string.h>

#include "server/config/options.h"
#include "server/observe/server_stats.h"

/* `config` must outlive the snapshot. */
static inline void fill_distinct_stats(struct sw_config *config, struct sw_server_stats *snapshot)
{
    uint64_t *counters = (uint64_t *)&snapshot->counters;
    uint64_t *table = (uint64_t *)&snapshot->stats.counters;
    sw_config_init(config);
    sw_config_fit(config);
    memset(snapshot, 0, sizeof(*snapshot));
    for (size_t i = 0; i < sizeof(snapshot->counters) / sizeof(*counters); i++) {
        counters[i] = 1000 + i;
    }
    for (size_t i = 0; i < sizeof(snapshot->stats.counters) / sizeof(*table); i++) {
        table[i] = 500000 + i;
    }
    snapshot->config = config;
    snapshot->info = (struct sw_table_info){.backend = SW_BACKEND_CPU,
                                            .backend_name = "cpu",
                                            .backend_reason = "a \"quoted\\reason\"\nof two lines",
                                            .bus_id = "",
                                            .engine = SW_ENGINE_ROBIN_HOOD,
                                            .engine_name = "robin_hood",
                                            .slot_bits = 128,
                                            .key_bytes = 8,
                                            .value_bytes = 8,
                                            .bucket_slots = 4,
                                            .max_probe = 26,
                                            .buckets = 256,
                                            .capacity_slots = 1024,
                                            .max_capacity_slots = 65536,
                                            .max_load = 0.875,
                                            .occupied_max = 870,
                                            .stash_slots = 64,
                                            .bytes_reserved = 3 << 20,
                                            .bytes_unused = 5 << 20};
    snapshot->stats.occupied = 256;
    snapshot->stats.stash_occupied = 3;
    snapshot->stats.batches = 77;
    snapshot->stats.expires = 31;
    snapshot->stats.expired = 32;
    snapshot->stats.clock_steps = 33;
    snapshot->stats.grown = 6;
    snapshot->stats.resized = 8;
    snapshot->stats.resize_failed = 9;
    for (uint64_t w = 0; w < SW_WRITE_PATH_COUNT; w++) {
        snapshot->stats.write_paths[w] = (struct sw_write_path_counters){600 + w, 7000 + w};
    }
    snapshot->counters.connected_clients = 5;
    snapshot->counters.arena_bytes = 1 << 20;
    snapshot->counters.arena_used_bytes = 4096;
    snapshot->counters.paused_clients = 2;
    snapshot->counters.blocked_clients = 1;
    snapshot->gpu = (struct sw_gpu_facts){7ULL << 30, 80ULL << 30, 45, 12};
    snapshot->process_id = 4242;
    snapshot->start_time_seconds = 1700000000;
    snapshot->uptime_seconds = 90061;
    snapshot->resident_bytes = 12345678;
    snapshot->cpu_user_seconds = 1.25;
    snapshot->cpu_system_seconds = 0.5;
    snapshot->loops = 4;
    snapshot->tcp_port = 7379;
    snapshot->ready = true;
    memcpy(snapshot->run_id, "0123456789abcdef0123456789abcdef01234567", 41);
}

#endif
