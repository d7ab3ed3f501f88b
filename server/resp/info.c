/* SPDX-License-Identifier: MIT
 *
 * info.c - the text of INFO, with the fields that redis-cli, redis_exporter and clients read, and a
 * section of our own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "server/config/live.h"
#include "server/config/options.h"
#include "server/observe/table_rows.h"
#include "server/resp/session.h"
#include "server/tables/tables.h"

static void info_put(struct sw_text *text, const char *name, uint64_t value)
{
    sw_text_printf(text, "%s:%" PRIu64 "\r\n", name, value);
}

/* Writes a number of bytes as redis shows it to people: 1.43M. */
static void put_bytes(struct sw_text *text, const char *name, uint64_t bytes)
{
    static const char units[] = "BKMGTP";
    double shown = (double)bytes;
    size_t unit = 0;
    info_put(text, name, bytes);
    while (shown >= 1024 && unit + 2 < sizeof(units)) {
        shown /= 1024;
        unit++;
    }
    sw_text_printf(text, unit == 0 ? "%s_human:%.0f%c\r\n" : "%s_human:%.2f%c\r\n", name, shown,
                   units[unit]);
}

static void section_server(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    struct utsname os;
    sw_text_printf(text, "redis_version:%s\r\nsherwood_version:%s\r\nredis_mode:%s\r\n",
                   SW_REDIS_VERSION, SHERWOOD_VERSION,
                   snapshot->cluster.is_enabled ? "cluster" : "standalone");
    if (uname(&os) == 0) {
        sw_text_printf(text, "os:%s %s %s\r\n", os.sysname, os.release, os.machine);
    }
    info_put(text, "arch_bits", sizeof(void *) * 8);
    info_put(text, "process_id", snapshot->process_id);
    sw_text_printf(text, "run_id:%s\r\n", snapshot->run_id);
    info_put(text, "tcp_port", snapshot->tcp_port);
    info_put(text, "uptime_in_seconds", snapshot->uptime_seconds);
    info_put(text, "uptime_in_days", snapshot->uptime_seconds / 86400);
    info_put(text, "io_threads_active", snapshot->loops > 1);
}

static void section_clients(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    info_put(text, "connected_clients", snapshot->counters.connected_clients);
    info_put(text, "maxclients", sw_config_connections(snapshot->config));
    info_put(text, "blocked_clients", snapshot->counters.blocked_clients);
    info_put(text, "paused_clients", snapshot->counters.paused_clients);
    bool paused = snapshot->pause_left_ms > 0;
    sw_text_printf(text, "paused_reason:%s\r\npaused_actions:%s\r\n",
                   paused ? "client_pause" : "none",
                   !paused                ? "none"
                   : snapshot->pauses_all ? "all"
                                          : "write");
    info_put(text, "paused_timeout_milliseconds", snapshot->pause_left_ms);
}

static void section_memory(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    /* All memory that the table has reserved or keeps mapped, but only the used part of the arenas,
     * because most of an arena may never be touched. */
    put_bytes(text, "used_memory",
              snapshot->info.bytes_reserved + snapshot->info.bytes_unused +
                  snapshot->counters.arena_used_bytes);
    put_bytes(text, "used_memory_rss", snapshot->resident_bytes);
    put_bytes(text, "maxmemory", 0);
    sw_text_printf(text, "maxmemory_policy:%s\r\n", sw_config_redis_policy(snapshot->config));
}

static void put_loading(const struct sw_persistence *facts, struct sw_text *text)
{
    info_put(text, "loading_start_time", facts->loading_since);
    info_put(text, "loading_total_bytes", facts->loading_bytes);
    info_put(text, "loading_loaded_bytes", facts->loaded_bytes);
    info_put(text, "loading_loaded_perc", sw_persistence_percent(facts));
}

/* A rewrite of the log is a snapshot. */
static void put_log(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    const struct sw_wal_stats *log = &snapshot->log;
    const bool failed = log->state != SW_WAL_OK;
    info_put(text, "aof_enabled", log->has_begun);
    info_put(text, "aof_rewrite_in_progress", log->has_begun && snapshot->persistence.saving);
    info_put(text, "aof_rewrite_scheduled", 0);
    sw_text_printf(text, "aof_last_bgrewrite_status:%s\r\n",
                   snapshot->persistence.last_failed ? "err" : "ok");
    sw_text_printf(text, "aof_last_write_status:%s\r\n", failed ? "err" : "ok");
    if (log->has_begun) {
        info_put(text, "aof_current_size", log->log_bytes);
        info_put(text, "aof_base_size", snapshot->persistence.last_bytes);
        info_put(text, "aof_buffer_length", log->backlog_bytes);
        info_put(text, "sherwood_written_sequence", log->written);
        info_put(text, "sherwood_durable_sequence", log->durable);
    }
}

/* Without a data directory every write counts as a change since the last save. */
static void section_persistence(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    const struct sw_persistence *facts = &snapshot->persistence;
    const uint64_t written = snapshot->stats.changes;
    const bool saved = facts->saves > 0;
    const int64_t saving_for = (int64_t)time(NULL) - (int64_t)facts->saving_since;
    info_put(text, "loading", facts->loading);
    info_put(text, "async_loading", 0);
    info_put(text, "sherwood_data_dir_set", facts->enabled);
    info_put(text, "rdb_changes_since_last_save", facts->enabled ? facts->changes : written);
    info_put(text, "rdb_bgsave_in_progress", facts->saving);
    info_put(text, "rdb_last_save_time", facts->saved_at);
    sw_text_printf(text, "rdb_last_bgsave_status:%s\r\n", facts->last_failed ? "err" : "ok");
    sw_text_printf(text, "rdb_last_bgsave_time_sec:%" PRId64 "\r\n",
                   saved ? (int64_t)(facts->last_ms / 1000) : -1);
    /* The number is never negative, even if the clock was set back. */
    sw_text_printf(text, "rdb_current_bgsave_time_sec:%" PRId64 "\r\n",
                   !facts->saving   ? -1
                   : saving_for > 0 ? saving_for
                                    : 0);
    info_put(text, "rdb_saves", facts->saves);
    info_put(text, "sherwood_last_save_hold_usec", facts->last_hold_us);
    info_put(text, "rdb_last_load_keys_loaded", facts->loaded_keys);
    put_log(snapshot, text);
    if (facts->loading) {
        put_loading(facts, text);
    }
}

static void section_stats(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    const struct sw_loop_counters *counters = &snapshot->counters;
    const struct sw_op_counters *get = &snapshot->stats.counters.by_class[SW_CLASS_GET];
    info_put(text, "total_connections_received", counters->connections_accepted);
    info_put(text, "total_commands_processed", counters->commands_processed);
    info_put(text, "total_net_input_bytes", counters->net_input_bytes);
    info_put(text, "total_net_output_bytes", counters->net_output_bytes);
    info_put(text, "rejected_connections", counters->connections_rejected);
    info_put(text, "expired_keys", snapshot->stats.expired);
    info_put(text, "evicted_keys", snapshot->stats.counters.evicted);
    info_put(text, "keyspace_hits", get->hits);
    info_put(text, "keyspace_misses", get->misses);
    info_put(text, "pubsub_channels", 0);
    info_put(text, "pubsub_patterns", 0);
    info_put(text, "latest_fork_usec", 0);
    info_put(text, "total_error_replies", counters->command_errors);
}

static void section_cpu(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    sw_text_printf(text, "used_cpu_sys:%.6f\r\nused_cpu_user:%.6f\r\n",
                   snapshot->cpu_system_seconds, snapshot->cpu_user_seconds);
}

/* Time is measured for batches; a command has an equal share of the time of its batch. */
static void section_commandstats(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    for (unsigned i = 0; i < SW_COMMAND_COUNT; i++) {
        uint64_t calls = snapshot->counters.commands[i];
        if (calls > 0) {
            uint64_t ns = snapshot->counters.command_ns[i];
            sw_text_printf(text,
                           "cmdstat_%s:calls=%" PRIu64 ",usec=%" PRIu64 ",usec_per_call=%.2f\r\n",
                           sw_command_at((enum sw_command_id)i)->name, calls, ns / 1000,
                           (double)ns / 1000 / (double)calls);
        }
    }
}

static void section_errorstats(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    for (unsigned i = 0; i < SW_ERROR_WORDS; i++) {
        const uint64_t count = snapshot->counters.error_replies[i];
        if (count > 0) {
            sw_text_printf(text, "errorstat_%s:count=%" PRIu64 "\r\n",
                           sw_error_word((enum sw_error_word)i), count);
        }
    }
}

/* The topology is in etcd. */
static void put_registry(const struct sw_registry_status *facts, struct sw_text *text)
{
    sw_text_printf(text, "cluster_registry_watch:%s\r\n", facts->is_watching ? "up" : "down");
    info_put(text, "cluster_registry_epoch", facts->epoch);
    info_put(text, "cluster_registry_silent_ms", facts->silent_ms);
    info_put(text, "cluster_registry_watch_restarts", facts->watch_restarts);
    info_put(text, "cluster_registry_failures", facts->failures);
    info_put(text, "cluster_registry_writes", facts->writes);
    info_put(text, "cluster_registry_conflicts", facts->conflicts);
    info_put(text, "cluster_registry_claims", facts->claims);
    sw_text_printf(text, "cluster_registry_refused:%s\r\n", facts->refused);
    sw_text_printf(text, "cluster_registry_trouble:%s\r\n", facts->trouble);
}

static void section_cluster(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    info_put(text, "cluster_enabled", snapshot->cluster.is_enabled);
    if (snapshot->cluster.is_enabled) {
        info_put(text, "cluster_moving", snapshot->move.phase != SW_MOVE_RESTS);
        info_put(text, "cluster_moves_taken", snapshot->move.taken);
        info_put(text, "cluster_moves_handed_over", snapshot->move.handed_over);
        info_put(text, "cluster_move_failures", snapshot->move.failures);
        info_put(text, "cluster_move_freeze_us", snapshot->move.freeze_us);
        sw_text_printf(text, "cluster_topology_from:%s\r\n",
                       snapshot->registry.is_on ? "etcd" : "file");
    }
    if (snapshot->registry.is_on) {
        put_registry(&snapshot->registry, text);
    }
}

/* Appends the line of a place that has keys. */
static void put_place(struct sw_text *text, uint32_t number, const char *name,
                      const struct sw_table_stats *stats)
{
    if (stats->occupied > 0) {
        sw_text_printf(text, "db%u:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=%" PRIu64, number,
                       stats->occupied, stats->expires, stats->ttl_mean_ms);
        sw_text_printf(text, number == 0 ? "\r\n" : ",name=%s\r\n", name);
    }
}

static void put_keyspace(void *context, const struct sw_place *place,
                         const struct sw_served *served)
{
    struct sw_table_stats stats;
    if (place != NULL) {
        sw_table_stats(served->table, &stats);
        put_place(context, place->number, place->name, &stats);
    }
}

static void section_keyspace(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    if (snapshot->tables != NULL) {
        sw_tables_each(snapshot->tables, put_keyspace, text);
    } else {
        put_place(text, 0, "", &snapshot->stats);
    }
}

/* A name may have colons, at which clients cut a line: so the number of the place begins it. */
static void put_table(const struct sw_table_row *row, struct sw_text *text)
{
    const struct sw_counters *counters = &row->stats.counters;
    const struct sw_op_counters *get = &counters->by_class[SW_CLASS_GET];
    sw_text_printf(text,
                   "table%u:name=%s,keys=%" PRIu64 ",expires=%" PRIu64 ",slots=%" PRIu64
                   ",slots_max=%" PRIu64 ",bytes=%" PRIu64 ",hits=%" PRIu64 ",misses=%" PRIu64,
                   row->number, row->name, row->stats.occupied, row->stats.expires,
                   row->info.capacity_slots, row->info.max_capacity_slots, row->info.bytes_reserved,
                   get->hits, get->misses);
    sw_text_printf(text,
                   ",inserted=%" PRIu64 ",deleted=%" PRIu64 ",expired=%" PRIu64 ",evicted=%" PRIu64
                   ",refused=%" PRIu64 "\r\n",
                   counters->inserted, counters->deleted, row->stats.expired, counters->evicted,
                   counters->refused);
}

static void section_tables(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    struct sw_table_rows rows;
    if (sw_table_rows_collect(snapshot, &rows) != 0) {
        text->failed = true;
        return;
    }
    info_put(text, "tables", rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        put_table(&rows.at[i], text);
    }
    sw_table_rows_free(&rows);
}

static void put_operation(struct sw_text *text, const char *name,
                          const struct sw_op_counters *counters)
{
    sw_text_printf(text,
                   "table_%s:operations=%" PRIu64 ",probes=%" PRIu64 ",hits=%" PRIu64
                   ",misses=%" PRIu64 "\r\n",
                   name, counters->operations, counters->probes, counters->hits, counters->misses);
}

/* How keys are written. If key texts are hashed, also writes the chance that two of the present
 * keys have the same hash. With auto it is an upper bound, because two integers never do. */
static void put_keys(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    const double keys = (double)snapshot->stats.occupied;
    sw_text_printf(text, "resp_keys:%s\r\n", sw_option_text(snapshot->config, "resp-keys"));
    if (snapshot->config->resp_keys == SW_RESP_KEYS_HASH ||
        snapshot->config->resp_keys == SW_RESP_KEYS_AUTO) {
        sw_text_printf(text, "resp_keys_collision_odds:%.3g\r\n", keys * keys / 0x1p65);
    }
    if (snapshot->config->resp_keys == SW_RESP_KEYS_HASH) {
        info_put(text, "resp_key_text_bytes", snapshot->config->resp_key_text_bytes);
        info_put(text, "resp_key_collisions", snapshot->counters.key_collisions);
    }
}

static void section_sherwood(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    const struct sw_table_info *info = &snapshot->info;
    const struct sw_table_stats *stats = &snapshot->stats;
    static const char *const formats[] = {
        [SW_VALUE_INTEGER] = "integer", [SW_VALUE_STRING] = "string", [SW_VALUE_FIXED] = "fixed"};
    sw_text_printf(text, "engine:%s\r\nbackend:%s\r\nbackend_reason:%s\r\n", info->engine_name,
                   info->backend_name, info->backend_reason);
    info_put(text, "ready", snapshot->ready);
    info_put(text, "loops", snapshot->loops);
    info_put(text, "key_bits", (uint64_t)info->key_bytes * 8);
    info_put(text, "value_bits", (uint64_t)(info->value_bytes - info->key_text_bytes) * 8);
    sw_text_printf(text, "value_format:%s\r\n", formats[sw_config_value_format(snapshot->config)]);
    if (sw_config_value_format(snapshot->config) != SW_VALUE_INTEGER || info->value_bytes == 0) {
        sw_text_printf(text, "value_type:%s\r\n",
                       sw_value_type_name(sw_config_value_type(snapshot->config)));
    }
    put_keys(snapshot, text);
    info_put(text, "bucket_slots", info->bucket_slots);
    info_put(text, "capacity_slots", info->capacity_slots);
    info_put(text, "max_capacity_slots", info->max_capacity_slots);
    info_put(text, "occupied", stats->occupied);
    info_put(text, "occupied_max", info->occupied_max);
    sw_text_printf(text, "load:%.6f\r\n",
                   info->capacity_slots > 0 ? (double)stats->occupied / (double)info->capacity_slots
                                            : 0.0);
    sw_text_printf(text, "max_load:%.6f\r\n", info->max_load);
    info_put(text, "growths", stats->grown);
    info_put(text, "resizes", stats->resized);
    info_put(text, "resize_failures", stats->resize_failed);
    info_put(text, "max_probe", info->max_probe);
    info_put(text, "stash_slots", info->stash_slots);
    info_put(text, "stash_occupied", stats->stash_occupied);
    info_put(text, "table_bytes", info->bytes_reserved);
    info_put(text, "table_unused_bytes", info->bytes_unused);
    info_put(text, "row_bytes_gpu", info->row_bytes_gpu);
    info_put(text, "row_bytes_host", info->row_bytes_host);
    info_put(text, "arena_bytes", snapshot->counters.arena_bytes);
    info_put(text, "arena_used_bytes", snapshot->counters.arena_used_bytes);
    put_operation(text, "get", &stats->counters.by_class[SW_CLASS_GET]);
    put_operation(text, "upsert", &stats->counters.by_class[SW_CLASS_UPSERT]);
    put_operation(text, "delete", &stats->counters.by_class[SW_CLASS_DELETE]);
    info_put(text, "inserted", stats->counters.inserted);
    info_put(text, "updated", stats->counters.updated);
    info_put(text, "deleted", stats->counters.deleted);
    info_put(text, "failures", stats->counters.failures);
    info_put(text, "refused", stats->counters.refused);
    info_put(text, "evicted", stats->counters.evicted);
    info_put(text, "not_admitted", stats->counters.not_admitted);
    info_put(text, "batches", stats->batches);
    info_put(text, "bulk_frames", snapshot->counters.frames_processed);
}

static const struct {
    const char *title;
    const char *word; /* upper case */
    bool in_default;
    void (*render)(const struct sw_server_stats *snapshot, struct sw_text *text);
} sections[] = {
    {"Server", "SERVER", true, section_server},
    {"Clients", "CLIENTS", true, section_clients},
    {"Memory", "MEMORY", true, section_memory},
    {"Persistence", "PERSISTENCE", true, section_persistence},
    {"Stats", "STATS", true, section_stats},
    {"Replication", "REPLICATION", true, sw_info_replication},
    {"CPU", "CPU", true, section_cpu},
    {"Commandstats", "COMMANDSTATS", false, section_commandstats},
    {"Errorstats", "ERRORSTATS", true, section_errorstats},
    {"Cluster", "CLUSTER", true, section_cluster},
    {"Keyspace", "KEYSPACE", true, section_keyspace},
    {"Tables", "TABLES", false, section_tables},
    {"Sherwood", "SHERWOOD", true, section_sherwood},
};
#define SECTION_COUNT (sizeof(sections) / sizeof(sections[0]))

static bool wanted(size_t section, const struct sw_resp_argument *words, uint32_t count)
{
    if (count == 0) {
        return sections[section].in_default;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sw_argument_is(&words[i], sections[section].word) || sw_argument_is(&words[i], "ALL") ||
            sw_argument_is(&words[i], "EVERYTHING") ||
            (sections[section].in_default && sw_argument_is(&words[i], "DEFAULT"))) {
            return true;
        }
    }
    return false;
}

void sw_info_render(const struct sw_server_stats *snapshot, const struct sw_resp_argument *words,
                    uint32_t count, struct sw_text *text)
{
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (!wanted(i, words, count)) {
            continue;
        }
        sw_text_printf(text, "%s# %s\r\n", text->size > 0 ? "\r\n" : "", sections[i].title);
        sections[i].render(snapshot, text);
    }
}
