/* SPDX-License-Identifier: MIT
 *
 * server.c - starting, stopping and describing the daemon.
 */
#include "server/server_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "proto/random_id.h"
#include "server/access.h"
#include "server/cluster/cluster.h"
#include "server/describe.h"
#include "server/fd_limit.h"
#include "server/limits.h"
#include "server/log/saver.h"
#include "server/log/wal_of_table.h"
#include "server/loop.h"
#include "server/net/listener.h"
#include "server/observe/log.h"
#include "server/reload.h"
#include "server/selftest.h"
#include "server/served.h"
#include "server/warnings.h"
#include "table/expiring.h"
#include "table/table.h"

#define ASKERS_MAX (sizeof(((struct sw_server *)NULL)->asker_fds) / sizeof(int))

/* --- stop ------------------------------------------------------------------------------------- */

void sw_server_stop(struct sw_server *server)
{
    __atomic_store_n(&server->ready, false, __ATOMIC_RELEASE);
    (void)eventfd_write(server->stopped_fd, 1); /* a full counter is readable too */
}

int sw_server_stopped_fd(struct sw_server *server)
{
    return server->stopped_fd;
}

static void stop_from_loop(void *argument, bool save, int fd)
{
    struct sw_server *server = argument;
    if (fd >= 0) {
        const uint32_t at = __atomic_fetch_add(&server->asker_count, 1, __ATOMIC_RELAXED);
        if (at < ASKERS_MAX) {
            server->asker_fds[at] = fd;
        } else {
            close(fd);
        }
    }
    __atomic_store_n(&server->unsaved, !save, __ATOMIC_RELAXED);
    sw_server_stop(server);
}

static void on_cannot_load(void *argument)
{
    struct sw_server *server = argument;
    __atomic_store_n(&server->failed, true, __ATOMIC_RELEASE);
    sw_server_stop(server);
}

static void on_saver_moves(void *argument)
{
    (void)argument;
    sw_notify_extend();
}

static int on_loaded(void *argument)
{
    struct sw_server *server = argument;
    return sw_served_loaded(server) == 0 ? sw_repl_loaded(server->repl) : -1;
}

static void on_device_lost(void *argument)
{
    struct sw_server *server = argument;
    if (!__atomic_exchange_n(&server->failed, true, __ATOMIC_ACQ_REL)) {
        sw_log(SW_LOG_ERROR, "the device failed and its table is lost: stopping");
    }
    sw_server_stop(server);
}

/* Accepts no more connections, and answers the requests that were received. */
static void stop_loops(struct sw_server *server)
{
    sw_listener_stop(server->listener);
    sw_loops_stop(server->loops, server->loops_running);
}

static void free_server(struct sw_server *server)
{
    sw_http_stop(server->http);
    sw_ha_stop(server->ha); /* its thread calls the registry */
    sw_registry_destroy(server->registry);
    sw_listener_destroy(server->listener);
    sw_mover_destroy(server->mover);
    sw_repl_stop(server->repl); /* its threads use what is destroyed next */
    sw_ha_destroy(server->ha);
    sw_repl_destroy(server->repl); /* its threads wake loops */
    server->repl = NULL;           /* the accounts of tables ask for it until they are closed */
    for (uint32_t i = 0; i < server->loop_count; i++) {
        sw_tables_leave(&server->loops[i].net.tables);
    }
    sw_tracer_destroy(server->tracer); /* loops wake its thread */
    sw_tables_destroy(server->tables); /* with the seats that use the loops */
    for (uint32_t i = 0; i < server->loop_count; i++) {
        sw_loop_fini(&server->loops[i]);
    }
    free(server->first_loops);
    sw_table_sections_free(&server->sections);
    if (server->loops_running > 0) {
        sw_watch_check(&server->watch, UINT64_MAX);
    }
    sw_cluster_destroy(server->cluster);
    sw_gate_destroy(server->gate);
    sw_wal_destroy(server->wal);
    sw_saver_destroy(server->saver);
    free(server->loops);
    sw_gpu_destroy(server->gpu); /* it borrows from the table */
    sw_table_destroy(server->table);
    sw_account_close(&server->account);
    sw_ledger_fini(&server->ledger);
    sw_device_destroy(server->device);
    sw_clients_fini(&server->clients);
    sw_live_fini(&server->live);
    sw_tls_credentials_destroy(server->tls_credentials);
    sw_timings_fini(&server->timings);
    sw_access_close(&server->access);
    if (server->stopped_fd >= 0) {
        close(server->stopped_fd);
    }
    for (uint32_t i = 0; i < server->asker_count && i < ASKERS_MAX; i++) {
        close(server->asker_fds[i]); /* last: the client may start another server at once */
    }
    free(server);
}

/* Ends the log. Returns true if it has all writes. */
static bool end_log(struct sw_server *server)
{
    return server->wal == NULL || sw_wal_close(server->wal) == 0;
}

int sw_server_join(struct sw_server *server)
{
    uint64_t count = 0;
    while (read(server->stopped_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
    sw_ha_leave(server->ha);
    sw_registry_stop(server->registry);
    sw_ha_stop(server->ha);
    stop_loops(server);
    sw_mover_stop(server->mover);
    sw_repl_stop(server->repl);
    bool failed = __atomic_load_n(&server->failed, __ATOMIC_ACQUIRE);
    /* while a snapshot loads, the log may be about to begin, and the files have the whole table */
    bool loading = sw_server_is_loading(server);
    bool logged = server->wal != NULL && (loading || end_log(server));
    bool save = !failed && !logged && !__atomic_load_n(&server->unsaved, __ATOMIC_RELAXED);
    if (server->saver != NULL && sw_saver_stop(server->saver, save) != 0) {
        sw_log(SW_LOG_ERROR, "%s are lost",
               server->wal == NULL ? "writes since the last snapshot"
                                   : "writes that the log lacks");
        failed = true;
    }
    failed |= loading && !end_log(server);
    failed |= server->wal != NULL && !logged && !save;
    free_server(server);
    return failed ? 1 : 0;
}

bool sw_server_is_loading(const struct sw_server *server)
{
    return server->saver != NULL && sw_saver_is_loading(server->saver);
}

int sw_server_reload(struct sw_server *server)
{
    return sw_reload_all(&server->reload, &server->live);
}

bool sw_server_alive(struct sw_server *server)
{
    return sw_loops_are_alive(server->loops, server->loops_running);
}

/* --- start ------------------------------------------------------------------------------------ */

static int open_table(struct sw_server *server)
{
    const struct sw_config *config = &server->config;
    struct sw_table_config table;
    char reason[256] = "";
    sw_config_table(config, &table);
    if (sw_device_create(config->threads, &server->device) != SW_OK) {
        sw_log(SW_LOG_ERROR, "the table cannot be created: not enough memory");
        return -1;
    }
    table.sequencer = &server->sequencer;
    table.shared = server->device;
    if (sw_served_open_account(server, config, &server->account, reason, sizeof(reason)) != 0) {
        sw_log(SW_LOG_ERROR, "the table cannot be created: %s", reason);
        return -1;
    }
    table.growth = &server->account.growth;
    if (table.seed == 0 && getrandom(&table.seed, sizeof(table.seed), 0) < 0) {
        sw_log(SW_LOG_ERROR, "cannot draw a random seed for the table: set --seed");
        return -1;
    }
    if (sw_table_create(&table, &server->table, reason, sizeof(reason)) != SW_OK ||
        sw_served_count_table(config, &server->account, server->table, reason, sizeof(reason)) !=
            0) {
        sw_log(SW_LOG_ERROR, "the table cannot be created: %s", reason);
        return -1;
    }
    table.growth = NULL; /* the self-test has a table of its own */
    sw_warn_of_growth(config, server->table);
    struct sw_table_info info;
    sw_watch_init(&server->watch, server->table);
    sw_table_info(server->table, &info);
    if (config->default_ttl != 0 && (info.operations >> SW_EXPIRE & 1) == 0) {
        sw_log(SW_LOG_ERROR,
               "default-ttl: keys do not expire with the %s backend: choose "
               "--backend cpu, or leave default-ttl out",
               info.backend_name);
        return -1;
    }
    if (config->default_ttl != 0) {
        sw_table_will_expire(server->table);
    }
    return sw_selftest(&table) != 0 ? -1 : sw_gpu_watch(SW_NVML_LIBRARY, info.bus_id, &server->gpu);
}

/* The log has moved, or a replica has acknowledged. So loops may have replies to send, and a
 * replica may have writes to carry out. */
static void on_log_moved(void *argument)
{
    struct sw_server *server = argument;
    sw_repl_log_moved(server->repl);
    sw_loops_log_moved(server->loops, __atomic_load_n(&server->loops_running, __ATOMIC_ACQUIRE));
}

static bool loops_are_quiet(void *argument, uint64_t fence)
{
    const struct sw_server *server = argument;
    return sw_mover_is_quiet(server->mover) && !sw_tables_are_changing(server->tables) &&
           sw_loops_are_quiet(server->loops, server->loop_count, fence);
}

static void wake_loops(void *argument)
{
    struct sw_server *server = argument;
    sw_loops_wake(server->loops, __atomic_load_n(&server->loops_running, __ATOMIC_ACQUIRE));
}

static int create_replication(struct sw_server *server)
{
    const struct sw_repl_owner owner = {server,     loops_are_quiet, on_log_moved,
                                        wake_loops, server->saver,   server->wal};
    server->repl = sw_repl_create(&server->config, server->table, &owner);
    const struct sw_registry_owner waiting = {server, wake_loops};
    if (server->repl == NULL || sw_ha_create(&server->config, server->repl, &server->ha) != 0 ||
        sw_registry_create(&server->config, server->cluster, server->ha, &waiting,
                           &server->registry) != 0) {
        return -1;
    }
    return sw_mover_create(&(struct sw_mover_parts){&server->config, server->table, server->cluster,
                                                    server->repl, server->saver, server->wal},
                           &server->mover);
}

static void on_synced(void *argument, uint64_t us)
{
    sw_timings_event(&((struct sw_server *)argument)->timings, SW_LATENCY_FSYNC, us);
}

/* Creates the log. It begins when the snapshot is loaded. */
static int create_log(struct sw_server *server)
{
    return server->config.appendonly == 0
               ? 0
               : sw_wal_of_table(&server->config, server->table, on_log_moved, on_synced, server,
                                 &server->wal);
}

static void on_held(void *argument, uint64_t us)
{
    sw_timings_event(&((struct sw_server *)argument)->timings, SW_LATENCY_SNAPSHOT, us);
}

static int on_directory_moved(void *argument, char *reason, size_t reason_bytes)
{
    struct sw_cluster *cluster = ((struct sw_server *)argument)->cluster;
    return cluster == NULL ? 0 : sw_cluster_move_state(cluster, reason, reason_bytes);
}

static int open_saver(struct sw_server *server)
{
    const struct sw_saver_owner owner = {.server = server,
                                         .moves = on_saver_moves,
                                         .cannot_load = on_cannot_load,
                                         .loaded = on_loaded,
                                         .held = on_held,
                                         .moved = on_directory_moved,
                                         .wal = server->wal,
                                         .sequencer = &server->sequencer};
    return server->config.data_dir[0] == '\0'
               ? 0
               : sw_saver_create(&server->config, server->table, &owner, &server->saver);
}

static bool holds_keys(void *argument)
{
    struct sw_server *server = argument;
    struct sw_table_stats stats;
    sw_table_stats(server->table, &stats);
    return stats.occupied > 0 || sw_server_is_loading(server);
}

static void on_roles(void *argument)
{
    sw_repl_take_role(((struct sw_server *)argument)->repl,
                      ((struct sw_server *)argument)->cluster);
}

static void on_moved(void *argument)
{
    sw_mover_nudge(((struct sw_server *)argument)->mover);
}

static int join_cluster(struct sw_server *server)
{
    char shard[SW_HA_NAME_BYTES];
    sw_ha_shard(&server->config, shard);
    const struct sw_cluster_owner owner = {server,   holds_keys, wake_loops,
                                           on_roles, on_moved,   shard};
    return sw_config_in_cluster(&server->config)
               ? sw_cluster_create(&server->config, &owner, &server->cluster)
               : 0;
}

static int init_loops(struct sw_server *server)
{
    server->gate = sw_gate_create(server->config.watched_keys_max);
    uint32_t count = server->config.loops;
    const struct sw_loop_owner owner = {
        .server = server,
        .snapshot = sw_server_snapshot,
        .stop = stop_from_loop,
        .device_lost = on_device_lost,
        .input_budget = &server->input_budget,
        .region_budget = &server->region_budget,
        .clients = &server->clients,
        .saver = server->saver,
        .users = server->access.users,
        .unix_users = &server->access.unix_users,
        .wal = server->wal,
        .cluster = server->cluster,
        .repl = server->repl,
        .mover = server->mover,
        .ha = server->ha,
        .registry = server->registry,
        .live = &server->live,
        .tls_credentials = server->tls_credentials,
        .timings = &server->timings,
        .gate = server->gate,
        .tracer = server->tracer,
        .account = &server->account,
        .tables = &server->tables,
        .run = sw_random_id_number(server->run_id),
    };
    server->loops = aligned_alloc(64, (sizeof(*server->loops) * count + 63) / 64 * 64);
    if (server->loops == NULL || server->gate == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for %u I/O loops", count);
        return -1;
    }
    for (; server->loop_count < count; server->loop_count++) {
        struct sw_loop *loop = &server->loops[server->loop_count];
        if (sw_loop_init(loop, &server->config, server->table, &owner, server->loop_count, count) !=
            0) {
            return -1;
        }
    }
    server->loops[0].watch = &server->watch;
    return sw_served_create(server);
}

static int start_loops(struct sw_server *server)
{
    for (; server->loops_running < server->loop_count; server->loops_running++) {
        if (sw_loop_start(&server->loops[server->loops_running]) != 0) {
            sw_log(SW_LOG_ERROR, "cannot start an I/O thread: not enough memory for its stack");
            return -1;
        }
    }
    return 0;
}

static int create_listener(struct sw_server *server, const struct sw_activated *activated)
{
    struct sw_net *nets[SW_LOOPS_MAX];
    for (uint32_t i = 0; i < server->loop_count; i++) {
        nets[i] = &server->loops[i].net;
    }
    return sw_listener_create(&server->config, activated, nets, server->loop_count,
                              &server->listener);
}

/* Returns the port for connections of replicas and of members of a shard. */
static uint16_t peer_port(const struct sw_server *server)
{
    return server->config.tls_replication != 0 ? sw_listener_tls_port(server->listener)
                                               : server->port;
}

static int start_parts(struct sw_server *server, const struct sw_activated *activated)
{
    int http_fd = activated != NULL ? activated->http : -1;
    bool has_http = server->config.http_bind[0] != '\0' || http_fd >= 0;
    const int status = sw_access_open(&server->access, &server->config, server->has_activated);
    if (status != 0) {
        return status;
    }
    if (sw_access_open_tls(&server->config, activated, &server->tls_credentials) != 0) {
        return SW_START_CONFIG;
    }
    if (open_table(server) != 0 || create_log(server) != 0 || open_saver(server) != 0 ||
        join_cluster(server) != 0 || create_replication(server) != 0 ||
        sw_tracer_start(&server->config, server->run_id, &server->tracer) != 0 ||
        init_loops(server) != 0 || create_listener(server, activated) != 0) {
        return -1;
    }
    server->port = sw_listener_port(server->listener);
    if (start_loops(server) != 0 ||
        (has_http && sw_http_start(&server->config, http_fd, &server->access.http_token,
                                   server->tls_credentials, sw_server_snapshot, server,
                                   &server->http, &server->http_port) != 0)) {
        return -1;
    }
    bool runs =
        sw_repl_start(server->repl, server->cluster) == 0 && sw_mover_start(server->mover) == 0 &&
        sw_ha_start(server->ha, peer_port(server)) == 0 &&
        sw_registry_start(server->registry) == 0 && sw_listener_start(server->listener) == 0;
    return !runs ? -1 : server->saver == NULL ? 0 : sw_saver_start(server->saver);
}

int sw_server_start(const struct sw_config *config, const struct sw_activated *activated,
                    struct sw_server **out)
{
    struct sw_server *server = calloc(1, sizeof(*server));
    *out = NULL;
    if (server == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for the server");
        return -1;
    }
    server->config = *config;
    sw_clients_init(&server->clients);
    server->input_budget.bytes_max = config->input_bytes_max;
    sw_region_budget_init(&server->region_budget, config->region_bytes_max,
                          config->device_region_bytes_max, config->rings_max);
    sw_loops_choose(&server->config);
    server->has_activated = activated != NULL && activated->listener_count > 0;
    server->reload = (struct sw_reload){
        &server->config, &server->input_budget,    &server->tls_credentials, &server->access.users,
        &server->saver,  &server->timings.slowlog, &server->cluster,         &server->sections};
    sw_timings_init(&server->timings, &server->config);
    sw_live_init(&server->live, &server->config, server->has_activated, sw_reload_changed,
                 &server->reload);
    sw_ledger_init(&server->ledger, server->config.tables_memory_max,
                   server->config.tables_host_memory_max, sw_served_follows, server);
    server->started_ns = uv_hrtime();
    server->started_at = time(NULL);
    sw_random_id(server->run_id);
    server->stopped_fd = eventfd(0, EFD_CLOEXEC);
    int status = -1;
    if (server->stopped_fd < 0) {
        sw_log(SW_LOG_ERROR, "cannot open an eventfd: %s", strerror(errno));
    } else if (sw_fd_limit_fit(&server->config) != 0) {
        status = SW_START_CONFIG;
    } else {
        status = start_parts(server, activated);
    }
    if (status != 0) {
        stop_loops(server);
        free_server(server);
        return status;
    }
    __atomic_store_n(&server->ready, true, __ATOMIC_RELEASE);
    *out = server;
    return 0;
}
