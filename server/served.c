/* SPDX-License-Identifier: MIT
 *
 * served.c - the tables of a server beside the one that it starts with.
 */
#include "server/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server/batch/gate.h"
#include "server/config/table_options.h"
#include "server/log/wal_of_table.h"
#include "server/observe/log.h"
#include "server/seat.h"
#include "server/server_parts.h"
#include "table/expiring.h"
#include "table/image.h"
#include "table/table.h"

/* --- closing ---------------------------------------------------------------------------------- */

static void close_seats(struct sw_served *served, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sw_seat_fini(served->loops[i].seat);
        free(served->loops[i].seat);
    }
    free(served->loops);
    served->loops = NULL;
}

/* Frees what a table has except its seats. */
static void free_table(struct sw_served *served)
{
    sw_gate_destroy(served->gate);
    sw_table_destroy(served->table);
    if (served->account != NULL) { /* its memory counts until it is free */
        sw_account_close(served->account);
    }
    free(served->account);
    free((void *)served->config);
}

static void close_table(void *argument, struct sw_served *served)
{
    struct sw_server *server = argument;
    if (served->table == server->table) {
        sw_served_empty(server, served);
        return;
    }
    close_seats(served, server->loop_count);
    free_table(served);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int refuse(char *error, size_t error_bytes, const char *reason)
{
    snprintf(error, error_bytes, "ERR the table cannot be created: %s", reason);
    return -1;
}

/* Returns whether the tables of this server have replicas, or are those of a replica. While a start
 * loads the files of a replica, returns false: the tables of its primary replace theirs. */
static bool replicates(const struct sw_server *server)
{
    return !__atomic_load_n(&server->ledger.loads, __ATOMIC_RELAXED) &&
           (server->config.ha[0] != '\0' || sw_repl_is_replica(&server->repl->state) ||
            sw_backlog_is_on(server->repl->backlog));
}

#define SMALL_SLOTS 1024

/* Returns the options to create the table. A table that begins small may grow to its capacity. */
static struct sw_config first_options(const struct sw_served *served)
{
    struct sw_config config = *served->config;
    if (served->begins_small && config.engine != SW_ENGINE_CUCKOO &&
        config.capacity > SMALL_SLOTS) {
        config.max_capacity =
            config.max_capacity > config.capacity ? config.max_capacity : config.capacity;
        config.capacity = SMALL_SLOTS;
    }
    return config;
}

/* Creates the table and its gate. */
static int create_table(struct sw_server *server, struct sw_served *served, char *error,
                        size_t error_bytes)
{
    const struct sw_config first = first_options(served);
    struct sw_table_config table;
    struct sw_table_info info;
    char reason[SW_CONFIG_ERROR_BYTES] = "not enough memory";
    if (sw_config_check_batch_bytes(served->config, &server->config, reason, sizeof(reason)) != 0) {
        return refuse(error, error_bytes, reason);
    }
    sw_config_table(&first, &table);
    table.direct = false; /* only the first table can be read directly */
    sw_table_info(server->table, &info);
    table.backend = info.backend; /* `auto` was decided at the start */
    table.sequencer = &server->sequencer;
    table.shared = server->device;
    served->account = calloc(1, sizeof(*served->account));
    if (served->account == NULL ||
        sw_served_open_account(server, &first, served->account, reason, sizeof(reason)) != 0) {
        return refuse(error, error_bytes, reason);
    }
    table.growth = &served->account->growth;
    const uint64_t limit = table.max_capacity_slots;
    /* TABLE ALTER lowered it. Older files also have slots of cuckoo tables, which do not grow. */
    if (served->config->engine != SW_ENGINE_CUCKOO && served->config->slots_most > limit) {
        table.max_capacity_slots = served->config->slots_most;
        table.growth->slots_max = limit > table.capacity_slots ? limit : table.capacity_slots;
    }
    if (table.seed == 0 && getrandom(&table.seed, sizeof(table.seed), 0) < 0) {
        return refuse(error, error_bytes, "no random seed: give the option seed");
    }
    if (sw_table_create(&table, &served->table, reason, sizeof(reason)) != SW_OK ||
        sw_served_count_table(served->config, served->account, served->table, reason,
                              sizeof(reason)) != 0) {
        return refuse(error, error_bytes, reason);
    }
    sw_table_info(served->table, &info);
    if (served->config->default_ttl != 0 && (info.operations >> SW_EXPIRE & 1) == 0) {
        return refuse(error, error_bytes,
                      "keys do not expire with these options: leave default-ttl out");
    }
    if (served->config->default_ttl != 0) {
        sw_table_will_expire(served->table);
    }
    if (server->saver != NULL && sw_image_bytes(served->table) == 0) {
        return refuse(error, error_bytes,
                      "a table of this engine in GPU memory cannot be saved: choose another "
                      "engine, or start the server without data-dir");
    }
    if (server->wal != NULL && info.engine == SW_ENGINE_CACHE) {
        return refuse(error, error_bytes,
                      "a cache has no log: choose another engine, or start the server with "
                      "appendonly no");
    }
    if (info.engine == SW_ENGINE_CACHE && replicates(server)) {
        return refuse(error, error_bytes,
                      "a cache may evict any entry, so it has no replicas: choose another engine, "
                      "or a server that has had no replica since its start");
    }
    if (server->wal != NULL && !sw_wal_takes(server->wal, sw_wal_longest(served->table))) {
        return refuse(error, error_bytes,
                      "its longest record does not fit into a segment of the log: raise "
                      "log-segment-bytes, or lower frame-ops-max, round-ops-max or value-bytes");
    }
    served->gate = sw_gate_create(served->config->watched_keys_max);
    return served->gate == NULL ? refuse(error, error_bytes, "not enough memory") : 0;
}

/* Opens a seat on every loop. */
static int open_seats(struct sw_server *server, struct sw_served *served)
{
    served->loops = calloc(server->loop_count, sizeof(*served->loops));
    for (uint32_t i = 0; i < server->loop_count && served->loops != NULL; i++) {
        struct sw_seat *seat = aligned_alloc(64, (sizeof(struct sw_seat) + 63) / 64 * 64);
        served->loops[i].seat = seat;
        if (seat == NULL || sw_loop_open_seat(&server->loops[i], seat, served) != 0) {
            close_seats(served, seat == NULL ? i : i + 1);
            return -1;
        }
        served->loops[i].resp = &seat->resp;
        served->loops[i].frames = &seat->frames;
    }
    return served->loops == NULL ? -1 : 0;
}

static int open_table(void *argument, const struct sw_config *config, struct sw_served *served,
                      char *error, size_t error_bytes)
{
    struct sw_server *server = argument;
    struct sw_config *own = malloc(sizeof(*own));
    if (own == NULL) {
        return refuse(error, error_bytes, "not enough memory");
    }
    *own = *config;
    served->config = own;
    if (create_table(server, served, error, error_bytes) != 0) {
        free_table(served);
        return -1;
    }
    if (open_seats(server, served) != 0) {
        free_table(served);
        return refuse(error, error_bytes, "not enough memory");
    }
    return 0;
}

/* --- statistics ------------------------------------------------------------------------------- */

struct sum {
    const struct sw_server *server;
    struct sw_table_info *info;
    struct sw_table_stats *stats;
};

/* Adds the counters, which never fall, of one table to others. */
static void add_counters(struct sw_table_stats *sum, const struct sw_table_stats *stats)
{
    uint64_t *counters = (uint64_t *)(void *)&sum->counters;
    const uint64_t *more = (const uint64_t *)(const void *)&stats->counters;
    for (size_t i = 0; i < sizeof(stats->counters) / sizeof(uint64_t); i++) {
        counters[i] += more[i];
    }
    sum->expired += stats->expired;
    sum->changes += stats->changes;
    sum->batches += stats->batches;
    sum->writes += stats->writes;
    sum->write_launches += stats->write_launches;
    sum->grown += stats->grown;
    sum->resized += stats->resized;
    sum->resize_failed += stats->resize_failed;
    sum->hole_passes += stats->hole_passes;
}

/* Adds a table to the statistics, which have those of the table that the server started with. */
static void add(void *context, const struct sw_place *place, const struct sw_served *served)
{
    const struct sum *sum = context;
    struct sw_table_info info;
    struct sw_table_stats stats;
    (void)place;
    if (served == NULL) {
        add_counters(sum->stats, &sum->server->retired);
        return;
    }
    if (served->table == sum->server->table) {
        return;
    }
    sw_table_info(served->table, &info);
    sw_table_stats(served->table, &stats);
    add_counters(sum->stats, &stats);
    sum->info->capacity_slots += info.capacity_slots;
    sum->info->occupied_max += info.occupied_max;
    sum->info->bytes_reserved += info.bytes_reserved;
    sum->info->bytes_unused += info.bytes_unused;
    sum->stats->occupied += stats.occupied;
    sum->stats->expires += stats.expires;
    sum->stats->holes_max += stats.holes_max;
}

static void retire(void *argument, const struct sw_served *served)
{
    struct sw_server *server = argument;
    struct sw_table_stats stats;
    if (served->table != server->table) { /* which is counted until the end */
        sw_table_stats(served->table, &stats);
        add_counters(&server->retired, &stats);
    }
}

void sw_served_add_stats(struct sw_server *server, struct sw_server_stats *snapshot)
{
    struct sum sum = {server, &snapshot->info, &snapshot->stats};
    snapshot->info.bytes_reserved += sw_device_bytes(server->device);
    if (server->tables != NULL) {
        sw_tables_each(server->tables, add, &sum);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static void wake(void *argument)
{
    struct sw_server *server = argument;
    sw_loops_wake(server->loops, __atomic_load_n(&server->loops_running, __ATOMIC_ACQUIRE));
}

static void rename_table(void *argument, const char *name, const char *to)
{
    const struct sw_server *server = argument;
    if (sw_users_rename_table(server->access.users, name, to) != 0) {
        sw_log(SW_LOG_WARNING, "no memory to %s name %s of a table %s users: use ACL SETUSER",
               to == NULL ? "remove the old" : "add the new", to == NULL ? name : to,
               to == NULL ? "from the rules of" : "to the rules of");
    }
}

/* A start compares the shape of place 0 with the command line, and so does a replica with its own.
 */
static const char *keeps_shape(void *argument)
{
    const struct sw_server *server = argument;
    return server->saver != NULL || replicates(server)
               ? "ERR the default table keeps its shape in a server with data-dir or replicas: use "
                 "SWAP .. FORCE for two other tables"
               : NULL;
}

/* Returns why the server has one table, or NULL. */
static const char *why_one(const struct sw_server *server)
{
    const struct sw_config *config = &server->config;
    if (sw_config_in_cluster(config)) {
        return "ERR a node of a cluster has one table: start a server of its own for the others";
    }
    if (config->ha[0] != '\0' && server->saver != NULL && server->wal == NULL) {
        return "ERR several tables of a member of a shard need a log: start it with appendonly "
               "yes, "
               "or without data-dir";
    }
    return NULL;
}

static bool is_free(struct sw_server *server, uint32_t number)
{
    const bool is = sw_tables_at(sw_tables_hold(server->tables), number) == NULL;
    sw_tables_release(server->tables);
    return is;
}

static bool exists(struct sw_server *server, const char *name)
{
    const struct sw_places *catalog = &sw_tables_hold(server->tables)->catalog;
    const bool does = sw_places_named(catalog, name, strlen(name)) != NULL;
    sw_tables_release(server->tables);
    return does;
}

/* Creates a table at the start, and adds it to *created; or checks that the table of this name has
 * this shape and this number. `number` 0: the catalog chooses it. */
static int create_at_start(struct sw_server *server, const char *name, uint32_t number,
                           const struct sw_config *config, int *created,
                           char error[SW_TABLES_ERROR_BYTES])
{
    struct sw_change *change = calloc(1, sizeof(*change));
    if (change == NULL) {
        snprintf(error, SW_TABLES_ERROR_BYTES, "ERR not enough memory");
        return -1;
    }
    *created += !exists(server, name);
    change->kind = SW_CHANGE_CREATE;
    change->is_of_start = change->is_lenient = change->needs_shape = true;
    change->has_number = number != 0;
    change->number = number;
    change->config = *config;
    snprintf(change->name, sizeof(change->name), "%s", name);
    const int status = sw_tables_change(server->tables, change, error, SW_TABLES_ERROR_BYTES);
    free(change);
    return status;
}

/* Creates the tables of the sections [table NAME]. */
static int create_sections(struct sw_server *server, int *created)
{
    char error[SW_TABLES_ERROR_BYTES] = "";
    for (uint32_t i = 0; i < server->sections.count; i++) {
        const struct sw_table_section *section = &server->sections.at[i];
        if (create_at_start(server, section->name, section->number, &section->options.config,
                            created, error) != 0) {
            sw_log(SW_LOG_ERROR, "%s:%u: cannot create the table %s: %s",
                   server->config.origin.path, section->line, section->name, error + 4);
            return -1;
        }
    }
    return 0;
}

/* Creates those of the tables db1, db2, .. of the option databases whose places are free. */
static int create_databases(struct sw_server *server, int *created)
{
    struct sw_table_options *options = malloc(sizeof(*options));
    char error[SW_TABLES_ERROR_BYTES] = "ERR not enough memory", name[SW_PLACE_NAME_BYTES];
    int status = options == NULL ? -1 : 0;
    for (uint32_t i = 1; i < server->config.databases && status == 0; i++) {
        if (is_free(server, i)) {
            sw_table_options_begin(options, &server->config, false);
            snprintf(name, sizeof(name), "db%u", i);
            status = create_at_start(server, name, i, &options->config, created, error);
        }
    }
    if (status != 0) {
        sw_log(SW_LOG_ERROR, "cannot create the tables of databases %u: %s; lower databases",
               server->config.databases, error + 4);
    }
    free(options);
    return status;
}

/* Creates the tables of the configuration that do not exist, unless the server is a replica.
 * Returns their number, or -1 with a sentence logged. */
static int create_configured(struct sw_server *server)
{
    const bool is_replica =
        sw_repl_is_replica(&server->repl->state) || server->config.replicaof[0] != '\0';
    char error[SW_TABLES_ERROR_BYTES] = "";
    int created = 0;
    if (sw_table_sections_read(&server->config, &server->sections, error, sizeof(error)) != 0) {
        sw_log(SW_LOG_ERROR, "%s", error);
        return -1;
    }
    if (server->config.ha[0] != '\0' && server->sections.count > 0) {
        sw_log(SW_LOG_ERROR,
               "%s:%u: a member of a shard has the tables of the shard: remove the sections [table "
               "NAME], and send TABLE CREATE to the primary",
               server->config.origin.path, server->sections.at[0].line);
        return -1;
    }
    if (is_replica) {
        if (server->sections.count > 0) {
            sw_log(SW_LOG_NOTICE,
                   "this server is a replica: it has the tables of its primary, and ignores the "
                   "sections [table NAME]");
        }
        return 0;
    }
    return create_sections(server, &created) != 0 || create_databases(server, &created) != 0
               ? -1
               : created;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Writes a catalog of the tables that the start has created, without a log. */
static int commit_created(struct sw_server *server)
{
    char reason[SW_TABLES_ERROR_BYTES - 64], error[SW_TABLES_ERROR_BYTES];
    if (sw_saver_save_replayed(server->saver, reason, sizeof(reason)) != 0) {
        sw_log(SW_LOG_ERROR, "the tables cannot be saved: %s", reason);
        return -1;
    }
    const struct sw_tables_view *view = sw_tables_hold(server->tables);
    uint64_t sequence = 0;
    const int status = sw_served_commit(server, view, view, &sequence, error, sizeof(error));
    sw_tables_release(server->tables);
    if (status != 0) {
        sw_log(SW_LOG_ERROR, "%s", error + 4);
    }
    return status;
}

int sw_served_loaded(struct sw_server *server)
{
    if (sw_served_end_load(server) != 0) {
        return -1;
    }
    const int created = create_configured(server);
    /* with a log, each of them is a record */
    return created > 0 && server->wal == NULL ? commit_created(server) : created < 0 ? -1 : 0;
}

int sw_served_create(struct sw_server *server)
{
    const bool saves = server->saver != NULL;
    const struct sw_tables_owner owner = {.server = server,
                                          .open = open_table,
                                          .close = close_table,
                                          .retire = retire,
                                          .reopen = sw_served_reopen,
                                          .prepare = saves ? sw_served_prepare : NULL,
                                          .admit = sw_served_admit,
                                          .commit = sw_served_commit,
                                          .logs = server->wal != NULL,
                                          .settle = sw_served_settle,
                                          .save = saves ? sw_served_save : NULL,
                                          .wake = wake,
                                          .rename = rename_table,
                                          .keeps_shape = keeps_shape,
                                          .alter = sw_served_alter,
                                          .one_table = why_one(server)};
    struct sw_served first = {.table = server->table,
                              .gate = server->gate,
                              .account = &server->account,
                              .config = &server->config};
    first.loops = server->first_loops = calloc(server->loop_count, sizeof(*server->first_loops));
    if (first.loops != NULL) {
        server->tables = sw_tables_create(server->config.tables_max, &first, &owner);
    }
    if (server->tables == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for %u tables: lower tables-max",
               server->config.tables_max);
        return -1;
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        first.loops[i].seat = &server->loops[i].first;
        first.loops[i].resp = &server->loops[i].first.resp;
        first.loops[i].frames = &server->loops[i].first.frames;
    }
    sw_repl_set_tables(server->repl, server->tables, &server->sequencer);
    __atomic_store_n(&server->ledger.loads, saves, __ATOMIC_RELAXED);
    if (saves) {
        sw_saver_set_tables(server->saver, server->tables); /* the others: sw_served_loaded */
    } else if (create_configured(server) < 0) {
        return -1;
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        sw_tables_join(server->tables, &server->loops[i].net.tables, i);
    }
    return 0;
}
