/* SPDX-License-Identifier: MIT
 *
 * metrics.c - writes the snapshot as text for Prometheus. Every series exists from the start. The
 * lines of a family are contiguous.
 */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "proto/operation.h"
#include "server/config/live.h"
#include "server/observe/http.h"
#include "server/observe/metrics_page.h"

static_assert(SW_COUNTED_OPERATIONS == SW_OPERATION_NUMBERS, "each number has a counter");

static void put_build(struct page *page, const struct sw_server_stats *snapshot)
{
    char bits[8];
    snprintf(bits, sizeof(bits), "%u", snapshot->info.key_bytes * 8);
    family(page, "sherwood_build_info", "gauge", "What is running; always 1.");
    sw_text_printf(page->text, "sherwood_build_info{");
    label(page, "version", SHERWOOD_VERSION, ",");
    label(page, "backend", snapshot->info.backend_name, ",");
    label(page, "backend_reason", snapshot->info.backend_reason, ",");
    label(page, "engine", snapshot->info.engine_name, ",");
    label(page, "key_bits", bits, "} 1\n");
    gauge(page, "sherwood_start_time_seconds", "Start of the server, seconds since 1970.",
          snapshot->start_time_seconds);
    gauge(page, "sherwood_ready", "1 while the server accepts work, 0 before and during shutdown.",
          snapshot->ready);
    gauge(page, "sherwood_loops", "I/O threads.", snapshot->loops);
}

/* Each of the four counts of a class of operations is a family. */
static void put_operations(struct page *page, const struct sw_counters *counters)
{
    static const char *const classes[SW_CLASS_COUNT] = {
        [SW_CLASS_GET] = "get", [SW_CLASS_UPSERT] = "upsert", [SW_CLASS_DELETE] = "delete"};
    static const struct {
        const char *name, *help;
        size_t offset;
    } rows[] = {
        {"sherwood_operations", "Operations carried out on the table.",
         offsetof(struct sw_op_counters, operations)},
        {"sherwood_probes",
         "Buckets inspected for operations. A batch that a GPU merges by streaming the table "
         "counts "
         "every bucket of the table.",
         offsetof(struct sw_op_counters, probes)},
        {"sherwood_hits", "Operations whose key was present before them.",
         offsetof(struct sw_op_counters, hits)},
        {"sherwood_misses", "Operations whose key was absent before them.",
         offsetof(struct sw_op_counters, misses)},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        family(page, rows[row].name, "counter", rows[row].help);
        for (unsigned i = 0; i < SW_CLASS_COUNT; i++) {
            const char *base = (const char *)&counters->by_class[i];
            sw_text_printf(page->text, "%s_total{operation=\"%s\"} %" PRIu64 "\n", rows[row].name,
                           classes[i], *(const uint64_t *)(const void *)(base + rows[row].offset));
        }
    }
    counter(page, "sherwood_keyspace_hits", "Gets that found their key.",
            counters->by_class[SW_CLASS_GET].hits);
    counter(page, "sherwood_keyspace_misses", "Gets that did not find their key.",
            counters->by_class[SW_CLASS_GET].misses);
    counter(page, "sherwood_inserted", "Keys inserted.", counters->inserted);
    counter(page, "sherwood_updated", "Writes to present keys.", counters->updated);
    counter(page, "sherwood_deleted", "Keys removed.", counters->deleted);
    counter(page, "sherwood_failures",
            "Entries stored in the stash because they met the probe cap; nothing is lost.",
            counters->failures);
    counter(page, "sherwood_refused_operations",
            "Operations refused because the table would have passed its maximum load.",
            counters->refused);
    counter(page, "sherwood_evictions", "Keys evicted to make room for others.", counters->evicted);
    counter(
        page, "sherwood_cache_refused",
        "New keys not stored because every key that they could have replaced had a higher score.",
        counters->not_admitted);
}

static void put_write_paths(struct page *page,
                            const struct sw_write_path_counters write_paths[SW_WRITE_PATH_COUNT])
{
    static const struct {
        const char *name, *help;
        size_t offset;
    } rows[] = {
        {"sherwood_table_way_batches",
         "Batches of writes by the write path on the GPU (table/robin_hood/README.md); 0 if there "
         "is one path only.",
         offsetof(struct sw_write_path_counters, batches)},
        {"sherwood_table_way_operations", "Operations of these batches.",
         offsetof(struct sw_write_path_counters, operations)},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        family(page, rows[row].name, "counter", rows[row].help);
        for (unsigned w = 0; w < SW_WRITE_PATH_COUNT; w++) {
            const char *base = (const char *)&write_paths[w];
            sw_text_printf(page->text, "%s_total{way=\"%s\"} %" PRIu64 "\n", rows[row].name,
                           sw_write_path_name((enum sw_write_path)w),
                           *(const uint64_t *)(const void *)(base + rows[row].offset));
        }
    }
}

static void put_table(struct page *page, const struct sw_server_stats *snapshot)
{
    const struct sw_table_info *info = &snapshot->info;
    const struct sw_table_stats *stats = &snapshot->stats;
    gauge(page, "sherwood_db_keys", "Keys in the table, including the stash.", stats->occupied);
    gauge(page, "sherwood_expiring_keys",
          "Keys with an expiry time, including expired keys that are not removed yet.",
          stats->expires);
    counter(page, "sherwood_expired", "Keys removed because they had expired.", stats->expired);
    counter(
        page, "sherwood_clock_steps",
        "Times the expiry clock was set back by more than a minute because the system's clock was.",
        stats->clock_steps);
    gauge(page, "sherwood_table_capacity_slots", "Slots of the table now.", info->capacity_slots);
    gauge(page, "sherwood_table_max_capacity_slots", "Limit of the slots of the table.",
          info->max_capacity_slots);
    gauge(page, "sherwood_table_occupied_max",
          "Keys at which the table grows, or writes of new keys are refused.", info->occupied_max);
    gauge(page, "sherwood_table_rows_mapped", "Rows with memory; 0 if values are not rows.",
          info->rows_mapped);
    family(page, "sherwood_table_row_bytes", "gauge", "Memory of rows, by its location.");
    const char *const row_bytes = "sherwood_table_row_bytes{memory=\"%s\"} %" PRIu64 "\n";
    sw_text_printf(page->text, row_bytes, "gpu", info->row_bytes_gpu);
    sw_text_printf(page->text, row_bytes, "host", info->row_bytes_host);
    gauge(page, "sherwood_table_rows_max", "Limit of the rows of the table.", info->rows_max);
    gauge_ratio(page, "sherwood_table_max_load_ratio",
                "Maximum load: the number that is occupied_max over slots.", info->max_load);
    gauge_ratio(page, "sherwood_table_load_ratio", "Keys in the table divided by its slots.",
                info->capacity_slots > 0 ? (double)stats->occupied / (double)info->capacity_slots
                                         : 0);
    gauge(page, "sherwood_table_max_probe_buckets",
          "Limit of the distance of an entry from its home bucket, in buckets.", info->max_probe);
    gauge(page, "sherwood_stash_keys", "Keys in the stash.", stats->stash_occupied);
    gauge(page, "sherwood_stash_capacity_slots", "Slots of the stash.", info->stash_slots);
    gauge(page, "sherwood_table_bytes", "Memory of the table, on the device for the CUDA backend.",
          info->bytes_reserved);
    gauge(page, "sherwood_table_unused_bytes",
          "Device memory that the table keeps mapped and does not use: arrays that a growth or "
          "resize replaced, or memory for the next growth.",
          info->bytes_unused);
    counter(page, "sherwood_table_growths", "Times the table grew by itself.", stats->grown);
    counter(page, "sherwood_table_writes", "Batches that may have changed the table.",
            stats->writes);
    counter(page, "sherwood_table_write_launches",
            "Launches that ran these batches. A device runs all batches that gather while it is "
            "busy in one launch.",
            stats->write_launches);
    put_write_paths(page, stats->write_paths);
    counter(page, "sherwood_table_resizes", "Times the table was resized on request.",
            stats->resized);
    counter(
        page, "sherwood_table_resize_failures",
        "Growths and resizes that failed, for lack of memory for both tables or because too many "
        "keys would meet the probe cap; the table stayed as it was.",
        stats->resize_failed);
    gauge(page, "sherwood_table_holes_max_slots",
          "Upper bound of the slots that large batches of deletes left as holes on a GPU.",
          stats->holes_max);
    counter(page, "sherwood_table_hole_passes",
            "Passes over the table that closed these holes: while the table was idle, or before a "
            "batch that needs a table without holes.",
            stats->hole_passes);
}

/* Writes a family. If the figure is unknown, the family has no sample. */
static void put_gpu_figure(struct page *page, const char *name, const char *help, uint64_t value,
                           double unit)
{
    family(page, name, "gauge", help);
    if (value != SW_GPU_UNKNOWN) {
        sw_text_printf(page->text, "%s %.15g\n", name, (double)value * unit);
    }
}

static void put_gpu(struct page *page, const struct sw_gpu_facts *gpu)
{
    put_gpu_figure(page, "sherwood_gpu_memory_used_bytes",
                   "Memory of the table's GPU in use, by all processes. Absent without a GPU or "
                   "without NVML, as all of sherwood_gpu_.",
                   gpu->memory_used_bytes, 1);
    put_gpu_figure(page, "sherwood_gpu_memory_total_bytes", "Memory of the table's GPU.",
                   gpu->memory_total_bytes, 1);
    put_gpu_figure(page, "sherwood_gpu_busy_ratio",
                   "Share of the driver's last period in which a kernel ran on the GPU.",
                   gpu->busy_percent, 0.01);
    put_gpu_figure(page, "sherwood_gpu_memory_busy_ratio",
                   "Share of it in which the GPU's memory was read or written.",
                   gpu->memory_busy_percent, 0.01);
}

static void put_persistence(struct page *page, const struct sw_persistence *facts)
{
    gauge(page, "sherwood_persistence_enabled", "1 if there is a data directory.", facts->enabled);
    gauge(page, "sherwood_persistence_loading", "1 while a snapshot is being loaded.",
          facts->loading);
    gauge(page, "sherwood_persistence_loading_percent", "Part of the snapshot that is loaded.",
          facts->enabled ? sw_persistence_percent(facts) : 0);
    gauge(page, "sherwood_persistence_saving", "1 while a snapshot is being written.",
          facts->saving);
    counter(page, "sherwood_persistence_saves", "Snapshots written.", facts->saves);
    counter(page, "sherwood_persistence_save_failures", "Snapshots that could not be written.",
            facts->failures);
    gauge(page, "sherwood_persistence_last_save_ok", "1 unless the last snapshot failed.",
          !facts->last_failed);
    gauge(page, "sherwood_persistence_writes_refused",
          "1 while writes are refused because the last snapshot failed.", facts->refuses_writes);
    gauge(page, "sherwood_persistence_last_save_timestamp_seconds",
          "Time of the last snapshot, or of the start, in seconds since 1970.", facts->saved_at);
    gauge_ratio(page, "sherwood_persistence_last_save_duration_seconds",
                "Duration of the last snapshot.", (double)facts->last_ms / 1e3);
    gauge_ratio(page, "sherwood_persistence_last_save_hold_seconds",
                "Time that writes waited for the last snapshot.",
                (double)facts->last_hold_us / 1e6);
    gauge(page, "sherwood_persistence_last_save_bytes", "Bytes of the newest snapshot.",
          facts->last_bytes);
    gauge(page, "sherwood_persistence_last_save_keys", "Keys in the newest snapshot.",
          facts->last_keys);
    gauge(page, "sherwood_persistence_changes_since_last_save",
          "Changes of keys, expiry times and scores since the newest snapshot.", facts->changes);
}

/* The bounds of buckets are powers of two. The last bucket holds all larger values and appears only
 * as +Inf. _count is the sum of the buckets that were read, so that it equals +Inf although loops
 * go on counting. */
static void histogram(struct page *page, const char *name, const char *help,
                      const uint64_t buckets[SW_HISTOGRAM_BUCKETS], bool microseconds)
{
    uint64_t sum = 0;
    family(page, name, "histogram", help);
    for (unsigned i = 0; i < SW_HISTOGRAM_BUCKETS - 1; i++) {
        sum += buckets[i];
        uint64_t bound = 1ULL << i;
        if (microseconds) {
            sw_text_printf(page->text, "%s_bucket{le=\"%" PRIu64 ".%06" PRIu64 "\"} %" PRIu64 "\n",
                           name, bound / 1000000, bound % 1000000, sum);
        } else {
            sw_text_printf(page->text, "%s_bucket{le=\"%" PRIu64 ".0\"} %" PRIu64 "\n", name, bound,
                           sum);
        }
    }
    sum += buckets[SW_HISTOGRAM_BUCKETS - 1];
    sw_text_printf(page->text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_count %" PRIu64 "\n", name,
                   sum, name, sum);
}

static void put_log(struct page *page, const struct sw_wal_stats *log)
{
    gauge(page, "sherwood_persistence_log_enabled", "1 if writes are logged (appendonly).",
          log->has_begun);
    gauge(page, "sherwood_persistence_log_full",
          "1 while writes are refused because there is no room for the next segment of the log.",
          log->state == SW_WAL_FULL);
    gauge(page, "sherwood_persistence_log_broken",
          "1 while writes are refused because a write or a sync of the log has failed.",
          log->state == SW_WAL_BROKEN);
    gauge(page, "sherwood_persistence_log_bytes", "Bytes of the log in all of its segments.",
          log->log_bytes);
    gauge(page, "sherwood_persistence_log_segments", "Files of the log.", log->segments);
    gauge(page, "sherwood_persistence_log_backlog_bytes",
          "Bytes of changes that are not written to the log yet.", log->backlog_bytes);
    gauge(page, "sherwood_persistence_written_sequence",
          "Sequence of the last write in the log, which survives the end of the server.",
          log->written);
    gauge(page, "sherwood_persistence_durable_sequence",
          "Sequence of the last write on storage, which survives a loss of power.", log->durable);
    counter(page, "sherwood_persistence_log_breaks",
            "Failed writes and syncs of the log, and removals of its files.", log->breaks);
    counter(page, "sherwood_persistence_log_mends",
            "Restarts of the log behind a snapshot after a failure.", log->restarts);
    counter(page, "sherwood_persistence_log_records", "Records written to the log.", log->records);
    histogram(page, "sherwood_persistence_log_sync_seconds", "Duration of a sync of the log.",
              log->sync_took, true);
    sw_text_printf(page->text,
                   "sherwood_persistence_log_sync_seconds_sum %" PRIu64 ".%06" PRIu64 "\n",
                   log->sync_us / 1000000, log->sync_us % 1000000);
}

static void put_replication(struct page *page, const struct sw_repl_status *facts)
{
    gauge(page, "sherwood_replication_is_replica", "1 if this server is a replica.",
          facts->is_replica);
    gauge(page, "sherwood_replication_link_up",
          "1 if a replica receives the writes of its primary; 1 of a primary.",
          !facts->is_replica || facts->link == SW_LINK_CONNECTED);
    gauge(page, "sherwood_replication_lacks_data",
          "1 while a replica has not received its primary's table, and refuses reads.",
          facts->lacks_data);
    gauge(page, "sherwood_replication_position", "Sequence of the last write that took effect.",
          facts->position);
    gauge(page, "sherwood_replication_lag_writes",
          "Writes of the primary that have not taken effect on this replica.", facts->lag_writes);
    gauge_ratio(page, "sherwood_replication_lag_seconds",
                "Time since a replica last had every write of its primary; 0 of a primary.",
                (double)facts->lag_ms / 1e3);
    gauge(page, "sherwood_replication_replicas", "Connected replicas.", facts->senders.replicas);
    gauge(page, "sherwood_replication_backlog_bytes",
          "Bytes of writes in the backlog for replicas.", facts->backlog.bytes);
    gauge(page, "sherwood_replication_backlog_max_bytes",
          "Limit of the backlog: repl-backlog-bytes.", facts->backlog.bytes_max);
    counter(page, "sherwood_replication_sent_bytes", "Bytes sent to replicas.",
            facts->senders.sent_bytes);
    counter(page, "sherwood_replication_snapshots", "Snapshots sent to replicas.",
            facts->senders.snapshots);
    counter(page, "sherwood_replication_resumes", "Replicas that resumed without a snapshot.",
            facts->senders.resumes);
    counter(page, "sherwood_replication_dropped",
            "Connections to replicas that ended: they closed, were silent, or were behind by more "
            "than the backlog.",
            facts->senders.dropped);
    counter(
        page, "sherwood_replication_errors",
        "Replication connections closed because of malformed bytes or a write that did not fit.",
        facts->senders.errors + facts->errors);
    counter(page, "sherwood_replication_resyncs", "Snapshots that this replica has received.",
            facts->resyncs);
}

static void put_shard(struct page *page, const struct sw_ha_status *facts)
{
    gauge(page, "sherwood_ha_enabled", "1 if this is a member of a shard (--ha).", facts->is_on);
    gauge(page, "sherwood_ha_is_primary", "1 if it is the primary of the shard.",
          facts->is_primary);
    gauge(page, "sherwood_ha_stuck",
          "1 if etcd holds an older term than this member has seen: it was restored from a backup.",
          facts->is_stuck);
    gauge(page, "sherwood_ha_term", "Highest term that this member has seen.", facts->term);
    gauge(page, "sherwood_ha_members", "Members of the shard.", facts->members);
    gauge(page, "sherwood_ha_in_sync",
          "Members other than the primary that have every write which WAIT has counted.",
          facts->in_sync);
    gauge_ratio(page, "sherwood_ha_lease_seconds", "Time until the lease of this primary expires.",
                (double)facts->lease_ms / 1e3);
    gauge_ratio(page, "sherwood_ha_etcd_silent_seconds", "Time since etcd last answered.",
                (double)facts->silent_ms / 1e3);
    counter(page, "sherwood_ha_elections", "Elections won by this member.", facts->elections);
    counter(page, "sherwood_ha_losses", "Times this member stopped being primary.", facts->losses);
    counter(page, "sherwood_ha_discards",
            "Times this member dropped writes that the other members may lack (ha-discarded-max).",
            facts->discards);
    counter(page, "sherwood_ha_etcd_failures", "Requests to etcd without an answer.",
            facts->etcd_failures);
}

static void put_commands(struct page *page, const struct sw_loop_counters *counters)
{
    family(page, "sherwood_commands", "counter", "RESP commands replied to, by command.");
    for (unsigned i = 0; i < SW_COMMAND_COUNT; i++) {
        sw_text_printf(page->text, "sherwood_commands_total{cmd=\"%s\"} %" PRIu64 "\n",
                       sw_command_at((enum sw_command_id)i)->name, counters->commands[i]);
    }
    family(page, "sherwood_error_replies", "counter",
           "RESP commands whose reply was an error, by the first word of the error.");
    for (unsigned i = 0; i < SW_ERROR_WORDS; i++) {
        sw_text_printf(page->text, "sherwood_error_replies_total{error=\"%s\"} %" PRIu64 "\n",
                       sw_error_word((enum sw_error_word)i), counters->error_replies[i]);
    }
    family(page, "sherwood_frames", "counter", "Bulk frames replied to, by operation.");
    for (uint32_t i = 0; i < SW_OPERATION_NUMBERS; i++) {
        if (sw_operation_is_known(i)) {
            sw_text_printf(page->text, "sherwood_frames_total{operation=\"%s\"} %" PRIu64 "\n",
                           sw_operation_name(i), counters->frame_operations[i]);
        }
    }
#define SW_COUNTER_PUT(name, help) counter(page, "sherwood_" #name, help, counters->name);
    SW_COUNTER_MAP(SW_COUNTER_PUT)
#undef SW_COUNTER_PUT
#define SW_GAUGE_PUT(name, help) gauge(page, "sherwood_" #name, help, counters->name);
    SW_GAUGE_MAP(SW_GAUGE_PUT)
#undef SW_GAUGE_PUT
}

static void put_batches(struct page *page, const struct sw_loop_counters *counters)
{
    histogram(page, "sherwood_batch_size", "Operations of a batch.", counters->batch_size, false);
    sw_text_printf(page->text, "sherwood_batch_size_sum %" PRIu64 "\n", counters->batch_operations);
    histogram(page, "sherwood_batch_duration_seconds",
              "Time from a batch's submission to its completion.", counters->batch_us, true);
    sw_text_printf(page->text, "sherwood_batch_duration_seconds_sum %" PRIu64 ".%06" PRIu64 "\n",
                   counters->batch_us_sum / 1000000, counters->batch_us_sum % 1000000);
}

static void put_pause(struct page *page, const struct sw_server_stats *snapshot)
{
    gauge_ratio(page, "sherwood_client_pause_seconds", "Time until CLIENT PAUSE ends; 0: no pause.",
                (double)snapshot->pause_left_ms / 1e3);
}

static void put_process(struct page *page, const struct sw_server_stats *snapshot)
{
    gauge(page, "sherwood_clients_max", "Connections allowed at once.",
          sw_config_connections(snapshot->config));
    counter_seconds(page, "process_cpu_seconds", "CPU time of the process, user and system.",
                    snapshot->cpu_user_seconds + snapshot->cpu_system_seconds);
    gauge(page, "process_resident_memory_bytes", "Resident memory of the process.",
          snapshot->resident_bytes);
}

void sw_metrics_render(const struct sw_server_stats *snapshot, bool openmetrics,
                       struct sw_text *text)
{
    struct page page = {text, openmetrics};
    put_build(&page, snapshot);
    put_table(&page, snapshot);
    sw_metrics_put_tables(&page, snapshot);
    put_gpu(&page, &snapshot->gpu);
    put_persistence(&page, &snapshot->persistence);
    put_log(&page, &snapshot->log);
    sw_metrics_put_cluster(&page, snapshot);
    put_replication(&page, &snapshot->replication);
    put_shard(&page, &snapshot->shard);
    put_operations(&page, &snapshot->stats.counters);
    put_pause(&page, snapshot);
    put_process(&page, snapshot);
    put_commands(&page, &snapshot->counters);
    put_batches(&page, &snapshot->counters);
    if (openmetrics) {
        sw_text_append(text, "# EOF\n", 6);
    }
}
