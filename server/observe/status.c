/* SPDX-License-Identifier: MIT
 *
 * status.c - writes the snapshot and the history as JSON.
 */
#include "server/observe/status.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "server/config/options.h"
#include "server/observe/problems.h"
#include "server/observe/table_rows.h"

/* Significant digits of numbers that are not integers. */
#define DIGITS 9

/* libjansson's integers end at 2^63 - 1, which no counter comes near. */
static json_int_t integer(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

/* Returns null for an unknown number: JSON has no NaN and no infinity. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* Appends to a list. If memory is short, the whole list becomes NULL, as everywhere in this file.
 */
static void list_put(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) != 0) {
        json_decref(*list);
        *list = NULL;
    }
}

static const char *state_of(const struct sw_server_stats *snapshot)
{
    return snapshot->persistence.loading ? "loading" : snapshot->ready ? "ready" : "not ready";
}

static json_t *server_of(const struct sw_server_stats *snapshot)
{
    static const char *const formats[] = {
        [SW_VALUE_INTEGER] = "integer", [SW_VALUE_STRING] = "string", [SW_VALUE_FIXED] = "fixed"};
    const struct sw_table_info *info = &snapshot->info;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:s, s:i, s:s, s:i, s:I, s:s, s:I, s:I, s:f}", "version",
        SHERWOOD_VERSION, "engine", info->engine_name, "backend", info->backend_name,
        "backend_reason", info->backend_reason, "key_bytes", (int)info->key_bytes, "resp_keys",
        sw_option_text(snapshot->config, "resp-keys"), "value_bytes",
        (int)(info->value_bytes - info->key_text_bytes), "value_format",
        formats[sw_config_value_format(snapshot->config)], "loops", (int)snapshot->loops,
        "process_id", integer(snapshot->process_id), "run_id", snapshot->run_id, "started_at",
        integer(snapshot->start_time_seconds), "uptime_seconds", integer(snapshot->uptime_seconds),
        "cpu_seconds", snapshot->cpu_user_seconds + snapshot->cpu_system_seconds);
}

static json_t *class_of(const struct sw_op_counters *class)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "operations", integer(class->operations), "hits",
                     integer(class->hits), "misses", integer(class->misses), "probes",
                     integer(class->probes));
}

static json_t *totals_of(const struct sw_server_stats *snapshot)
{
    const struct sw_counters *table = &snapshot->stats.counters;
    const struct sw_loop_counters *loops = &snapshot->counters;
    return json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "get",
        class_of(&table->by_class[SW_CLASS_GET]), "write",
        class_of(&table->by_class[SW_CLASS_UPSERT]), "delete",
        class_of(&table->by_class[SW_CLASS_DELETE]), "inserted", integer(table->inserted),
        "updated", integer(table->updated), "deleted", integer(table->deleted), "refused",
        integer(table->refused), "evicted", integer(table->evicted), "commands",
        integer(loops->commands_processed), "command_errors", integer(loops->command_errors),
        "frames", integer(loops->frames_processed), "frame_errors", integer(loops->frame_errors),
        "batches", integer(loops->batches), "batch_operations", integer(loops->batch_operations),
        "input_bytes", integer(loops->net_input_bytes), "output_bytes",
        integer(loops->net_output_bytes));
}

static json_t *table_of(const struct sw_server_stats *snapshot)
{
    const struct sw_table_info *info = &snapshot->info;
    const struct sw_table_stats *stats = &snapshot->stats;
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "keys",
        integer(stats->occupied), "capacity_slots", integer(info->capacity_slots),
        "max_capacity_slots", integer(info->max_capacity_slots), "occupied_max",
        integer(info->occupied_max), "load", ratio(stats->occupied, info->capacity_slots),
        "max_load", info->max_load, "max_probe_buckets", integer(info->max_probe), "bucket_slots",
        integer(info->bucket_slots), "stash_keys", integer(stats->stash_occupied), "stash_slots",
        integer(info->stash_slots), "growths", integer(stats->grown), "resizes",
        integer(stats->resized), "resize_failures", integer(stats->resize_failed), "write_launches",
        integer(stats->write_launches));
}

static json_t *row_of(const struct sw_table_row *row)
{
    const struct sw_table_stats *stats = &row->stats;
    const struct sw_counters *counters = &stats->counters;
    const struct sw_op_counters *gets = &counters->by_class[SW_CLASS_GET];
    return json_pack(
        "{s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I, s:I, s:I}",
        "name", row->name, "number", integer(row->number), "id", integer(row->id), "engine",
        row->info.engine_name, "keys", integer(stats->occupied), "expires", integer(stats->expires),
        "capacity_slots", integer(row->info.capacity_slots), "max_capacity_slots",
        integer(row->info.max_capacity_slots), "bytes", integer(row->info.bytes_reserved), "full",
        sw_table_row_full(row), "gets", integer(gets->operations), "hits", integer(gets->hits),
        "writes", integer(counters->by_class[SW_CLASS_UPSERT].operations), "deletes",
        integer(counters->by_class[SW_CLASS_DELETE].operations), "expired", integer(stats->expired),
        "evicted", integer(counters->evicted), "refused", integer(counters->refused), "growths",
        integer(stats->grown), "resize_failures", integer(stats->resize_failed), "log_bytes",
        integer(row->log_bytes));
}

/* The tables with the most memory, at most metrics-tables-max. */
static json_t *tables_of(const struct sw_server_stats *snapshot)
{
    struct sw_table_rows rows;
    json_t *list = json_array();
    if (sw_table_rows_collect(snapshot, &rows) != 0) {
        json_decref(list);
        return NULL;
    }
    sw_table_rows_limit(&rows, snapshot->config->metrics_tables_max);
    for (uint32_t i = 0; i < rows.count && list != NULL; i++) {
        list_put(&list, row_of(&rows.at[i]));
    }
    sw_table_rows_free(&rows);
    return list;
}

static json_t *write_paths_of(const struct sw_write_path_counters write_paths[SW_WRITE_PATH_COUNT])
{
    json_t *list = json_array();
    for (unsigned i = 0; i < SW_WRITE_PATH_COUNT; i++) {
        list_put(&list,
                 json_pack("{s:s, s:I, s:I}", "way", sw_write_path_name((enum sw_write_path)i),
                           "batches", integer(write_paths[i].batches), "operations",
                           integer(write_paths[i].operations)));
    }
    return list;
}

static json_t *connections_of(const struct sw_server_stats *snapshot)
{
    const struct sw_loop_counters *counters = &snapshot->counters;
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "clients", integer(counters->connected_clients),
        "clients_max", integer(sw_config_connections(snapshot->config)), "paused",
        integer(counters->paused_clients), "accepted", integer(counters->connections_accepted),
        "closed", integer(counters->connections_closed), "rejected",
        integer(counters->connections_rejected), "http", integer(counters->http_connections));
}

static json_t *memory_of(const struct sw_server_stats *snapshot)
{
    const struct sw_loop_counters *counters = &snapshot->counters;
    const bool device = snapshot->info.backend == SW_BACKEND_CUDA;
    return json_pack(
        "{s:I, s:s, s:I, s:I, s:I, s:I, s:I}", "table_bytes",
        integer(snapshot->info.bytes_reserved), "table_lies_in", device ? "device" : "host",
        "resident_bytes", integer(snapshot->resident_bytes), "arena_bytes",
        integer(counters->arena_bytes), "arena_used_bytes", integer(counters->arena_used_bytes),
        "input_bytes", integer(counters->input_memory_bytes), "input_bytes_max",
        integer(counters->input_memory_max_bytes));
}

static json_t *known(uint64_t figure)
{
    return figure == SW_GPU_UNKNOWN ? json_null() : json_integer(integer(figure));
}

static json_t *gpu_of(const struct sw_server_stats *snapshot)
{
    const struct sw_gpu_facts *gpu = &snapshot->gpu;
    return gpu->memory_used_bytes == SW_GPU_UNKNOWN && gpu->busy_percent == SW_GPU_UNKNOWN
               ? json_null()
               : json_pack("{s:s, s:o, s:o, s:o, s:o}", "bus_id", snapshot->info.bus_id,
                           "memory_used_bytes", known(gpu->memory_used_bytes), "memory_total_bytes",
                           known(gpu->memory_total_bytes), "busy_percent", known(gpu->busy_percent),
                           "memory_busy_percent", known(gpu->memory_busy_percent));
}

static json_t *log_of(const struct sw_server_stats *snapshot)
{
    static const char *const states[] = {
        [SW_WAL_OK] = "ok", [SW_WAL_FULL] = "full", [SW_WAL_BROKEN] = "broken"};
    static const uint64_t none[SW_HISTOGRAM_BUCKETS] = {0};
    const struct sw_wal_stats *log = &snapshot->log;
    return !log->has_begun
               ? json_null()
               : json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "state",
                           states[log->state], "written", integer(log->written), "durable",
                           integer(log->durable), "durable_lag", integer(sw_history_lag(log)),
                           "backlog_bytes", integer(log->backlog_bytes), "bytes",
                           integer(log->log_bytes), "segments", integer(log->segments), "records",
                           integer(log->records), "sync_us_p50",
                           log->syncs == 0 ? json_null()
                                           : real(sw_histogram_quantile(none, log->sync_took, 0.5)),
                           "sync_us_p99",
                           log->syncs == 0
                               ? json_null()
                               : real(sw_histogram_quantile(none, log->sync_took, 0.99)));
}

static json_t *persistence_of(const struct sw_server_stats *snapshot)
{
    const struct sw_persistence *facts = &snapshot->persistence;
    return json_pack(
        "{s:b, s:b, s:i, s:I, s:b, s:I, s:b, s:b, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:o}",
        "enabled", facts->enabled, "loading", facts->loading, "loading_percent",
        facts->enabled ? (int)sw_persistence_percent(facts) : 0, "loaded_keys",
        integer(facts->loaded_keys), "saving", facts->saving, "saving_since",
        integer(facts->saving_since), "last_save_ok", !facts->last_failed, "writes_refused",
        facts->refuses_writes, "saved_at", integer(facts->saved_at), "saves", integer(facts->saves),
        "failures", integer(facts->failures), "changes", integer(facts->changes), "last_seconds",
        (double)facts->last_ms / 1e3, "last_hold_seconds", (double)facts->last_hold_us / 1e6,
        "last_bytes", integer(facts->last_bytes), "last_keys", integer(facts->last_keys), "log",
        log_of(snapshot));
}

static json_t *problems_of(const struct sw_server_stats *snapshot, const struct sw_history *history,
                           uint64_t now_ms)
{
    struct sw_problem problems[SW_PROBLEMS_MAX];
    unsigned count = sw_problems_find(snapshot, history, now_ms, problems);
    json_t *list = json_array();
    for (unsigned i = 0; i < count; i++) {
        list_put(&list, json_pack("{s:s, s:s, s:s}", "alert", problems[i].alert, "severity",
                                  problems[i].severity, "text", problems[i].text));
    }
    return list;
}

/* --- history ---------------------------------------------------------------------------------- */

/* The samples from number `first` on. Each of them has a predecessor. */
struct span {
    const struct sw_history *history;
    uint64_t first;
    uint64_t newest;
};

static struct span span_of(const struct sw_history *history, uint64_t since)
{
    struct span span = {history, since + 1, sw_history_newest(history)};
    uint64_t oldest = sw_history_oldest(history);
    if (since == UINT64_MAX || span.first > span.newest) {
        span.first = span.newest + 1;
    } else if (span.first <= oldest) {
        span.first = oldest + 1;
    }
    return span;
}

static json_t *rates(const struct span *span, enum sw_history_counter counter)
{
    json_t *list = json_array();
    for (uint64_t n = span->first; n <= span->newest; n++) {
        const struct sw_history_sample *to = sw_history_at(span->history, n);
        const struct sw_history_sample *from = sw_history_at(span->history, n - 1);
        const double moved = (double)(to->counters[counter] - from->counters[counter]);
        const double seconds = (double)(to->at_ms - from->at_ms) / 1e3;
        /* Most columns are idle most of the time, and 0 is shorter than 0.0. */
        list_put(&list, moved > 0 ? real(moved / seconds) : json_integer(0));
    }
    return list;
}

static json_t *gauges(const struct span *span, enum sw_history_gauge gauge)
{
    json_t *list = json_array();
    for (uint64_t n = span->first; n <= span->newest; n++) {
        list_put(&list, json_integer(integer(sw_history_at(span->history, n)->gauges[gauge])));
    }
    return list;
}

static json_t *quantile(const uint64_t *from, const uint64_t *to, double share)
{
    double value = sw_histogram_quantile(from, to, share);
    return value < 0 ? json_null() : real(value);
}

static json_t *latencies(const struct span *span, double share)
{
    json_t *list = json_array();
    for (uint64_t n = span->first; n <= span->newest; n++) {
        list_put(&list, quantile(sw_history_at(span->history, n - 1)->batch_us,
                                 sw_history_at(span->history, n)->batch_us, share));
    }
    return list;
}

static json_t *times(const struct span *span, const struct sw_status_query *query)
{
    json_t *list = json_array();
    for (uint64_t n = span->first; n <= span->newest; n++) {
        /* by the monotonic clock, so that a wall clock that was set leaves no gap */
        uint64_t age_ms = query->now_ms - sw_history_at(span->history, n)->at_ms;
        list_put(&list, json_integer(integer(query->wall_ms - age_ms)));
    }
    return list;
}

static json_t *history_of(const struct sw_history *history, const struct sw_status_query *query)
{
    const struct span span = span_of(history, query->since);
    json_t *document =
        json_pack("{s:i, s:I, s:I, s:o, s:o, s:o}", "interval_ms", SW_HISTORY_INTERVAL_MS, "first",
                  integer(span.first), "newest", integer(span.newest), "at_ms", times(&span, query),
                  "batch_us_p50", latencies(&span, 0.5), "batch_us_p99", latencies(&span, 0.99));
    int failed = document == NULL;
#define SW_HISTORY_COLUMN(name, from, help) \
    failed |= json_object_set_new(document, #name, rates(&span, SW_HISTORY_##name));
    SW_HISTORY_COUNTER_MAP(SW_HISTORY_COLUMN)
#undef SW_HISTORY_COLUMN
#define SW_HISTORY_COLUMN(name, from, help) \
    failed |= json_object_set_new(document, #name, gauges(&span, SW_HISTORY_##name));
    SW_HISTORY_GAUGE_MAP(SW_HISTORY_COLUMN)
#undef SW_HISTORY_COLUMN
    if (failed != 0) {
        json_decref(document);
        return NULL;
    }
    return document;
}

/* Returns the latency of the batches of the last minute. */
static json_t *latency_of(const struct sw_server_stats *snapshot, const struct sw_history *history,
                          uint64_t now_ms)
{
    static const uint64_t none[SW_HISTOGRAM_BUCKETS] = {0};
    const uint64_t *from = none; /* the start of the daemon */
    for (uint64_t n = sw_history_newest(history); n > 0 && n >= sw_history_oldest(history); n--) {
        if (now_ms - sw_history_at(history, n)->at_ms >= 60000) {
            from = sw_history_at(history, n)->batch_us;
            break;
        }
    }
    return json_pack("{s:i, s:o, s:o, s:o}", "window_seconds", 60, "batch_us_p50",
                     quantile(from, snapshot->counters.batch_us, 0.5), "batch_us_p99",
                     quantile(from, snapshot->counters.batch_us, 0.99), "batch_us_p999",
                     quantile(from, snapshot->counters.batch_us, 0.999));
}

/* --- the document ----------------------------------------------------------------------------- */

static int append(const char *bytes, size_t size, void *text)
{
    sw_text_append(text, bytes, size);
    return ((struct sw_text *)text)->failed ? -1 : 0;
}

void sw_status_render(const struct sw_server_stats *snapshot, const struct sw_history *history,
                      const struct sw_status_query *query, struct sw_text *text)
{
    json_t *document = json_pack(
        "{s:i, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
        SW_STATUS_SCHEMA, "now_ms", integer(query->wall_ms), "state", state_of(snapshot),
        "problems", problems_of(snapshot, history, query->now_ms), "server", server_of(snapshot),
        "totals", totals_of(snapshot), "latency", latency_of(snapshot, history, query->now_ms),
        "table", table_of(snapshot), "tables", tables_of(snapshot), "ways",
        write_paths_of(snapshot->stats.write_paths), "connections", connections_of(snapshot),
        "memory", memory_of(snapshot), "gpu", gpu_of(snapshot), "persistence",
        persistence_of(snapshot), "history", history_of(history, query));
    if (document == NULL || json_dump_callback(document, append, text,
                                               JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) != 0) {
        text->failed = true;
    }
    json_decref(document);
}

bool sw_status_parse_since(const char *text, uint64_t *since)
{
    *since = 0;
    if (text == NULL) {
        return true;
    }
    size_t size = strlen(text);
    if (size == 0 || size > 18 || strspn(text, "0123456789") != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        *since = *since * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}
