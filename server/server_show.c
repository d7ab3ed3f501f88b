/* SPDX-License-Identifier: MIT
 *
 * server_show.c - the statistics and the start line of the daemon.
 */
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "proto/plural.h"
#include "server/cluster/cluster.h"
#include "server/config/options.h"
#include "server/describe.h"
#include "server/observe/log.h"
#include "server/served.h"
#include "server/server_parts.h"
#include "table/exported_table.h"

/* Adds the counters of a loop, and the gauges whose values other modules keep. */
static void add_loop(struct sw_loop_counters *sum, const struct sw_loop *loop)
{
    sw_loop_counters_add(sum, &loop->counters);
    const struct sw_io_arena *arena = &loop->first.batches.arena;
    sum->connected_clients += __atomic_load_n(&loop->net.connections, __ATOMIC_RELAXED);
    sum->paused_clients += __atomic_load_n(&loop->net.stalled_count, __ATOMIC_RELAXED);
    sum->arena_bytes += arena->pages * SW_IO_PAGE;
    sum->arena_used_bytes += __atomic_load_n(&arena->pages_used, __ATOMIC_RELAXED) * SW_IO_PAGE;
}

/* Adds what clients have counted that read the table directly. */
static void add_direct_reads(const struct sw_server *server, struct sw_server_stats *snapshot)
{
    struct sw_op_counters *gets = &snapshot->stats.counters.by_class[SW_CLASS_GET];
    uint64_t hits, misses;
    if (server->config.direct_readers_max == 0) {
        return;
    }
    sw_table_direct_counts(server->table, &hits, &misses);
    gets->operations += hits + misses;
    gets->hits += hits;
    gets->misses += misses;
    snapshot->counters.direct_hits = hits;
    snapshot->counters.direct_misses = misses;
}

void sw_server_snapshot(void *argument, struct sw_server_stats *snapshot)
{
    struct sw_server *server = argument;
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->config = &server->config;
    sw_table_info(server->table, &snapshot->info);
    sw_table_stats(server->table, &snapshot->stats);
    snapshot->tables = server->tables;
    sw_served_add_stats(server, snapshot);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        add_loop(&snapshot->counters, &server->loops[i]);
    }
    if (server->listener != NULL) {
        snapshot->counters.connections_rejected = sw_listener_rejected(server->listener);
    }
    if (server->http != NULL) {
        sw_http_add_counters(server->http, &snapshot->counters);
    }
    snapshot->counters.input_memory_bytes = sw_input_budget_used(&server->input_budget);
    snapshot->counters.input_memory_max_bytes = sw_input_budget_most(&server->input_budget);
    sw_region_budget_show(&server->region_budget, &snapshot->counters.region_bytes,
                          &snapshot->counters.device_region_bytes, &snapshot->counters.regions,
                          &snapshot->counters.rings, &snapshot->counters.direct_readers);
    add_direct_reads(server, snapshot);
    snapshot->counters.log_lines_left_out = sw_log_left_out();
    const struct sw_tracer_counts spans = sw_tracer_count(server->tracer);
    snapshot->counters.spans_exported = spans.exported;
    snapshot->counters.spans_failed = spans.failed;
    sw_server_stats_process(snapshot);
    snapshot->start_time_seconds = (uint64_t)server->started_at;
    snapshot->uptime_seconds = (uv_hrtime() - server->started_ns) / 1000000000U;
    snapshot->loops = server->loop_count;
    snapshot->tcp_port = server->port;
    snapshot->ready =
        __atomic_load_n(&server->ready, __ATOMIC_ACQUIRE) && !sw_server_is_loading(server);
    if (server->saver != NULL) {
        sw_saver_status(server->saver, &snapshot->persistence);
    }
    if (server->wal != NULL) {
        sw_wal_stats(server->wal, &snapshot->log);
    }
    sw_repl_status(server->repl, &snapshot->replication);
    sw_ha_status(server->ha, &snapshot->shard);
    sw_gpu_facts(server->gpu, &snapshot->gpu);
    sw_cluster_show(server->cluster, &snapshot->cluster);
    sw_registry_status(server->registry, &snapshot->registry);
    snapshot->pause_left_ms = sw_pause_left_ms(&server->clients.pause, &snapshot->pauses_all);
    sw_mover_read_status(server->mover, &snapshot->move);
    memcpy(snapshot->run_id, server->run_id, sizeof(snapshot->run_id));
}

void sw_server_describe(const struct sw_server *server, char *line, size_t line_bytes)
{
    struct sw_table_info info;
    char addresses[512], widths[192], slots[192], http[128], saved[160];
    sw_table_info(server->table, &info);
    const uint64_t table_bytes = sw_config_table_bytes(&server->config);
    const uint64_t bytes = info.bytes_reserved + sw_device_bytes(server->device);
    const uint64_t more = bytes > table_bytes ? bytes - table_bytes : 0;
    sw_describe_addresses(&server->config, server->has_activated, server->port,
                          sw_listener_tls_port(server->listener), addresses, sizeof(addresses));
    sw_describe_widths(&server->config, &info, widths, sizeof(widths));
    sw_describe_slots(&server->config, &info, slots, sizeof(slots));
    sw_describe_http(&server->config, server->http != NULL, server->http_port, http, sizeof(http));
    sw_describe_files(&server->config, saved, sizeof(saved));
    snprintf(line, line_bytes,
             "sherwoodd %s: RESP and bulk frames on %s, %s; %s engine, %s backend (%s); %s; %s, "
             "%.1f MiB, and %.1f MiB for batches and growth; %s; %u I/O loop%s",
             SHERWOOD_VERSION, addresses, http, info.engine_name, info.backend_name,
             info.backend_reason, widths, slots, (double)table_bytes / 1048576.0,
             (double)more / 1048576.0, saved, server->loop_count, sw_plural_s(server->loop_count));
}
