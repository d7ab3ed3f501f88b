/* SPDX-License-Identifier: MIT
 *
 * cluster.c - takes topologies, and keeps the handles of the loops.
 */
#include "server/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/random_id.h"
#include "server/cluster/cluster_parts.h"
#include "server/cluster/fault.h"
#include "server/cluster/migration_state.h"
#include "server/cluster/topology_change.h"
#include "server/observe/log.h"

/* --- handles of the loops --------------------------------------------------------------------- */

bool sw_cluster_is_behind(const struct sw_cluster_handle *handle)
{
    return __atomic_load_n(&handle->cluster->newest, __ATOMIC_ACQUIRE) != handle->view;
}

void sw_cluster_follow(struct sw_cluster_handle *handle)
{
    const struct sw_cluster_view *newest =
        __atomic_load_n(&handle->cluster->newest, __ATOMIC_ACQUIRE);
    handle->view = newest;
}

void sw_cluster_settle(struct sw_cluster_handle *handle)
{
    if (handle->view->number != handle->number) {
        __atomic_store_n(&handle->number, handle->view->number, __ATOMIC_RELEASE);
        handle->cluster->owner.wake(handle->cluster->owner.server); /* waiting loops check again */
    }
}

void sw_cluster_join(struct sw_cluster *cluster, struct sw_cluster_handle *handle)
{
    pthread_mutex_lock(&cluster->lock);
    handle->cluster = cluster;
    handle->view = cluster->newest;
    handle->number = cluster->newest->number;
    handle->next = cluster->handles;
    cluster->handles = handle;
    pthread_mutex_unlock(&cluster->lock);
}

void sw_cluster_leave(struct sw_cluster_handle *handle)
{
    if (handle->cluster != NULL) {
        __atomic_store_n(&handle->number, UINT64_MAX, __ATOMIC_RELEASE);
        handle->cluster->owner.wake(handle->cluster->owner.server);
    }
}

/* Returns the number of the oldest view that a loop uses. Call it with the lock held. */
static uint64_t oldest_in_use(const struct sw_cluster *cluster)
{
    uint64_t oldest = cluster->newest->number;
    for (const struct sw_cluster_handle *handle = cluster->handles; handle != NULL;
         handle = handle->next) {
        uint64_t number = __atomic_load_n(&handle->number, __ATOMIC_ACQUIRE);
        oldest = number < oldest ? number : oldest;
    }
    return oldest;
}

bool sw_cluster_is_settled(struct sw_cluster *cluster, uint64_t number)
{
    pthread_mutex_lock(&cluster->lock);
    bool is_settled = oldest_in_use(cluster) >= number;
    pthread_mutex_unlock(&cluster->lock);
    return is_settled;
}

static void publish(struct sw_cluster *cluster, struct sw_cluster_view *view,
                    const struct sw_cluster_move *move)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->move = *move;
    view->number = cluster->newest == NULL ? 1 : cluster->newest->number + 1;
    view->next = cluster->newest;
    __atomic_store_n(&cluster->newest, view, __ATOMIC_RELEASE);
    uint64_t oldest = oldest_in_use(cluster);
    while (view->next != NULL && view->next->number >= oldest) {
        view = view->next;
    }
    struct sw_cluster_view *unused = view->next;
    view->next = NULL;
    pthread_mutex_unlock(&cluster->lock);
    while (unused != NULL) {
        struct sw_cluster_view *next = unused->next;
        sw_cluster_view_destroy(unused);
        unused = next;
    }
}

/* --- taking a topology
 * ----------------------------------------------------------------------------- */

static void warn_of_announced(const struct sw_cluster *cluster, const struct sw_cluster_view *view)
{
    const struct sw_config *config = cluster->config;
    const struct sw_topology_node *me = sw_cluster_me(view);
    if (me == NULL) {
        sw_log(SW_LOG_WARNING,
               "cluster: node %s is not in the topology of epoch %" PRIu64
               ": it serves no key; set --cluster-node-id to an id of the topology, or send a "
               "topology that has this node",
               view->id, view->topology->epoch);
        return;
    }
    if (!sw_cluster_is_of_its_shard(view)) {
        sw_log(SW_LOG_WARNING,
               "cluster: the topology has this node in the shard \"%s\", and --ha in \"%s\": it "
               "serves no key",
               view->topology->shards[me->shard].name, view->choices.shard);
    }
    bool is_told =
        (config->cluster_announce_ip[0] == '\0' ||
         strcmp(config->cluster_announce_ip, me->ip) == 0) &&
        (config->cluster_announce_hostname[0] == '\0' ||
         strcmp(config->cluster_announce_hostname, me->hostname) == 0) &&
        (config->cluster_announce_port == 0 || config->cluster_announce_port == me->port);
    if (!is_told) {
        sw_log(SW_LOG_WARNING,
               "cluster: the topology has this node at %s:%u (%s), and cluster-announce-ip, "
               "-hostname or -port differ: clients get the address in the topology",
               me->ip, me->port, me->hostname[0] != '\0' ? me->hostname : "no host name");
    }
}

/* Sets the slots for ASK replies. NULL: keeps those of the previous view. */
static void set_asks(struct sw_cluster_view *view, const struct sw_slot_set *asks,
                     const struct sw_cluster_view *before)
{
    struct timespec now;
    if (asks == NULL && before != NULL) {
        view->asks = before->asks;
        view->asks_until_ns = before->asks_until_ns;
    } else if (asks != NULL) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        view->asks = *asks;
        view->asks_until_ns =
            (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec + SW_CLUSTER_ASK_NS;
    }
}

static void log_epoch(const struct sw_cluster *cluster, const struct sw_cluster_view *view,
                      uint64_t before)
{
    if (view->topology != NULL && view->topology->epoch != before) {
        sw_log(SW_LOG_NOTICE,
               "cluster: epoch %" PRIu64 " is in effect: this node serves %u of %u slots",
               view->topology->epoch,
               view->shard == SW_CLUSTER_NO_SHARD ? 0
                                                  : view->topology->shards[view->shard].slot_count,
               view->topology->slot_count);
        warn_of_announced(cluster, view);
    }
}

/* Returns the fault point of the step that was just written; "": none. */
static const char *step_of(enum sw_cluster_role before, enum sw_cluster_role after)
{
    if (before != SW_CLUSTER_HANDED && after == SW_CLUSTER_HANDED) {
        return "move.source.handed";
    }
    return before == SW_CLUSTER_TAKES && after != SW_CLUSTER_TAKES    ? "move.target.decided"
           : before == SW_CLUSTER_HANDED && after == SW_CLUSTER_RESTS ? "move.source.resolved"
                                                                      : "";
}

uint64_t sw_cluster_install(struct sw_cluster *cluster, struct sw_topology *topology,
                            const struct sw_cluster_move *move, bool may_have_foreign,
                            const struct sw_slot_set *asks, char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_cluster_state state = {
        .may_have_foreign = may_have_foreign, .move = *move, .topology = topology};
    struct sw_cluster_view *view = sw_cluster_view_create(topology, cluster->id, &cluster->choices);
    const struct sw_cluster_view *now = cluster->newest;
    uint64_t before = now == NULL || now->topology == NULL ? 0 : now->topology->epoch;
    if (view == NULL) {
        sw_topology_free(topology);
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "not enough memory for it");
        return 0;
    }
    memcpy(state.id, cluster->id, sizeof(state.id));
    view->takes = move->role == SW_CLUSTER_TAKES;
    view->is_target = view->takes || move->role == SW_CLUSTER_DECIDES;
    view->may_have_foreign =
        may_have_foreign || view->takes || sw_slot_set_count(&move->leaving) > 0;
    if (move->role == SW_CLUSTER_HANDED || move->role == SW_CLUSTER_DECIDES) {
        sw_cluster_view_freeze(view, &move->slots);
    }
    set_asks(view, asks, now);
    int written = cluster->state_path[0] == '\0'
                      ? 0
                      : sw_cluster_state_write(cluster->state_path, &state, error);
    cluster->is_unsure = written == -2 || (written == -1 && cluster->is_unsure);
    if (written != 0) {
        sw_cluster_view_destroy(view);
        return 0;
    }
    sw_fault_at(cluster->config, step_of(cluster->move.role, move->role));
    cluster->may_have_foreign = may_have_foreign;
    publish(cluster, view, move);
    log_epoch(cluster, view, before);
    return view->number;
}

/* Returns the slots that this node's shard may lose, because it has stopped serving them, or does
 * not serve them yet; NULL: none. */
static const struct sw_slot_set *given_away(const struct sw_cluster *cluster,
                                            const struct sw_topology *after)
{
    const struct sw_topology_node *me = sw_cluster_me(cluster->newest);
    int place = sw_topology_find_node(after, cluster->id);
    bool steps_down =
        me != NULL && me->is_primary && (place < 0 || !after->nodes[place].is_primary);
    return cluster->move.role == SW_CLUSTER_HANDED ||
                   (cluster->move.role == SW_CLUSTER_DECIDES && steps_down)
               ? &cluster->move.slots
               : NULL;
}

/* Takes over the topology and installs it. A node without a topology will refuse requests of older
 * ones, which may have given it slots that it does not have. The node may also lose slots to
 * another shard. The caller holds `change`. */
static uint64_t install_topology(struct sw_cluster *cluster, struct sw_topology *topology,
                                 bool is_decided, char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_cluster_view *now = cluster->newest;
    if (now->topology != NULL && sw_topology_equal(now->topology, topology)) {
        sw_topology_free(topology);
        return now->number;
    }
    bool holds_keys = cluster->owner.holds_keys(cluster->owner.server);
    const struct sw_slot_set *given = given_away(cluster, topology);
    struct sw_cluster_move move = cluster->move;
    if (!sw_cluster_move_continue(now, topology, &move, error) ||
        !sw_cluster_may_follow(now, topology, holds_keys, given, is_decided, error)) {
        sw_topology_free(topology);
        return 0;
    }
    bool leaves = holds_keys;
    if (now->topology == NULL) {
        sw_cluster_lose_until(topology, cluster->id, topology->epoch - 1);
    } else {
        sw_cluster_copy_losses(now->topology, topology);
        /* Keys may come until all loops have followed. */
        leaves = sw_cluster_lost_here(now, topology) > 0;
        /* requests made with the old topology will be refused */
        if (leaves || now->shard == SW_CLUSTER_NO_SHARD) {
            sw_cluster_lose_until(topology, cluster->id, now->topology->epoch);
        }
        leaves |= sw_cluster_shard_loses(now, topology, given); /* a replica also has these keys */
    }
    return sw_cluster_install(cluster, topology, &move, cluster->may_have_foreign || leaves, NULL,
                              error);
}

uint64_t sw_cluster_take_parsed(struct sw_cluster *cluster, struct sw_topology *topology,
                                bool is_decided, char error[SW_CLUSTER_ERROR_BYTES])
{
    uint64_t number = install_topology(cluster, topology, is_decided, error);
    if (number != 0) {
        cluster->owner.roles(cluster->owner.server);
    }
    return number;
}

uint64_t sw_cluster_take(struct sw_cluster *cluster, const char *text, size_t size,
                         const uint64_t *only_if, char error[SW_CLUSTER_ERROR_BYTES])
{
    uint64_t number = 0;
    struct sw_topology *topology = sw_topology_parse(text, size, error);
    if (topology != NULL) {
        pthread_mutex_lock(&cluster->change);
        const struct sw_topology *before = cluster->newest->topology;
        uint64_t epoch = before == NULL ? 0 : before->epoch;
        if (only_if != NULL && *only_if != epoch) {
            snprintf(error, SW_CLUSTER_ERROR_BYTES, "the epoch is %" PRIu64, epoch);
            sw_topology_free(topology);
        } else {
            number = sw_cluster_take_parsed(cluster, topology, false, error);
        }
        pthread_mutex_unlock(&cluster->change);
    }
    if (number == 0) {
        __atomic_fetch_add(&cluster->reload_failures, 1, __ATOMIC_RELAXED);
    } else {
        cluster->owner.wake(cluster->owner.server);
        cluster->owner.moved(cluster->owner.server);
    }
    return number;
}

int sw_cluster_reload(struct sw_cluster *cluster)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    size_t size = 0;
    const char *path = cluster->config->cluster_config;
    if (path[0] == '\0' || sw_config_shares_topology(cluster->config)) {
        return 0;
    }
    char *text = sw_cluster_read_file(path, &size, error);
    bool is_read = text != NULL;
    uint64_t number = is_read ? sw_cluster_take(cluster, text, size, NULL, error) : 0;
    free(text);
    if (number == 0) {
        __atomic_fetch_add(&cluster->reload_failures, !is_read, __ATOMIC_RELAXED);
        sw_log(SW_LOG_ERROR, "SIGHUP: the topology is unchanged, because of %s%s%s",
               is_read ? path : "", is_read ? ": " : "", error);
        return -1;
    }
    return 0;
}

/* --- life
 * ------------------------------------------------------------------------------------------ */

/* Takes the id of the options, else that of the state, else a new one. */
static bool choose_id(struct sw_cluster *cluster, const struct sw_cluster_state *state)
{
    const char *given = cluster->config->cluster_node_id;
    if (given[0] != '\0') {
        memcpy(cluster->id, given, sizeof(cluster->id));
    } else if (state->id[0] != '\0') {
        memcpy(cluster->id, state->id, sizeof(cluster->id));
    } else {
        sw_random_id(cluster->id);
    }
    if (state->id[0] != '\0' && strcmp(state->id, cluster->id) != 0) {
        sw_log(SW_LOG_ERROR, SW_CLUSTER_OTHER_NODE, cluster->state_path, state->id, cluster->id);
        return false;
    }
    return true;
}

/* Reads the state. Its topology stays until there is one of a higher epoch. */
static int open_state(struct sw_cluster *cluster)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    struct sw_cluster_state state = {.topology = NULL};
    if (cluster->state_path[0] != '\0' &&
        sw_cluster_state_read(cluster->state_path, &state, error) < 0) {
        sw_log(SW_LOG_ERROR, "cluster: %s", error);
        return -1;
    }
    bool is_moving = state.move.role != SW_CLUSTER_RESTS;
    if (is_moving && sw_config_shares_topology(cluster->config)) {
        sw_log(SW_LOG_ERROR,
               "cluster: %s: slots migrate to this node or from it: finish that with the topology "
               "in a file, then use etcd",
               cluster->state_path);
    }
    if ((is_moving && sw_config_shares_topology(cluster->config)) || !choose_id(cluster, &state)) {
        sw_topology_free(state.topology);
        return -1;
    }
    /* a snapshot that is loaded may be from before slots were handed over, or were lost */
    const bool is_older = state.topology != NULL && cluster->config->data_dir[0] != '\0' &&
                          cluster->config->appendonly == 0;
    if (sw_cluster_install(cluster, state.topology, &state.move, state.may_have_foreign || is_older,
                           NULL, error) == 0) {
        sw_log(SW_LOG_ERROR, "cluster: %s", error);
        return -1;
    }
    return 0;
}

/* Reads the topology file at the start. Ignores an older epoch than that of the state. */
static int open_file(struct sw_cluster *cluster)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    size_t size = 0;
    const char *path =
        sw_config_shares_topology(cluster->config) ? "" : cluster->config->cluster_config;
    char *text = path[0] == '\0' ? NULL : sw_cluster_read_file(path, &size, error);
    if (text == NULL) {
        if (path[0] != '\0') {
            sw_log(SW_LOG_ERROR, "cluster: %s", error);
        }
        return path[0] == '\0' ? 0 : -1;
    }
    struct sw_topology *topology = sw_topology_parse(text, size, error);
    free(text);
    const struct sw_topology *held = cluster->newest->topology;
    if (topology != NULL && held != NULL && topology->epoch < held->epoch) {
        sw_log(SW_LOG_WARNING,
               "cluster: %s has epoch %" PRIu64 ", and epoch %" PRIu64 " of %s is in effect", path,
               topology->epoch, held->epoch, cluster->state_path);
        sw_topology_free(topology);
        return 0;
    }
    struct sw_cluster_move move = cluster->move;
    if (topology != NULL && held != NULL && !sw_topology_equal(held, topology) &&
        !sw_cluster_move_continue(cluster->newest, topology, &move, error)) {
        sw_log(SW_LOG_WARNING, "cluster: the topology of %s is refused: %s", path, error);
        sw_topology_free(topology);
        return 0;
    }
    if (topology == NULL || install_topology(cluster, topology, false, error) == 0) {
        sw_log(SW_LOG_ERROR, "cluster: %s: %s", path, error);
        return -1;
    }
    return 0;
}

void sw_cluster_state_path(const struct sw_config *config, char path[SW_CLUSTER_PATH_BYTES])
{
    path[0] = '\0';
    if (config->cluster_state[0] != '\0') {
        snprintf(path, SW_CLUSTER_PATH_BYTES, "%s", config->cluster_state);
    } else if (config->data_dir[0] != '\0') {
        snprintf(path, SW_CLUSTER_PATH_BYTES, "%s/cluster.json", config->data_dir);
    }
}

int sw_cluster_create(const struct sw_config *config, const struct sw_cluster_owner *owner,
                      struct sw_cluster **out)
{
    struct sw_cluster *cluster = calloc(1, sizeof(*cluster));
    if (cluster == NULL) {
        sw_log(SW_LOG_ERROR, "not enough memory for the cluster's topology");
        return -1;
    }
    cluster->config = config;
    cluster->owner = *owner;
    cluster->owner.shard = NULL; /* the choices have a copy */
    cluster->choices = (struct sw_cluster_choices){
        .by_hostname = config->cluster_preferred_endpoint_type == SW_CONFIG_ENDPOINT_HOSTNAME,
        .raw_bytes = config->resp_keys == SW_RESP_KEYS_RAW ? config->key_bits / 8 : 0,
        .needs_full_coverage = config->cluster_require_full_coverage != 0,
        .any_slots = config->cluster_multi_slot == SW_CONFIG_MULTI_SLOT_NODE};
    snprintf(cluster->choices.shard, sizeof(cluster->choices.shard), "%s", owner->shard);
    pthread_mutex_init(&cluster->change, NULL);
    pthread_mutex_init(&cluster->lock, NULL);
    sw_cluster_state_path(config, cluster->state_path);
    if (cluster->state_path[0] == '\0') {
        sw_log(
            SW_LOG_WARNING,
            "cluster: neither --cluster-state nor --data-dir is set: a restart loads the topology "
            "of --cluster-config again, and draws another id unless --cluster-node-id is set");
    }
    if (open_state(cluster) != 0 || open_file(cluster) != 0) {
        sw_cluster_destroy(cluster);
        return -1;
    }
    if (cluster->newest->topology == NULL && !sw_config_shares_topology(config)) {
        sw_log(SW_LOG_NOTICE,
               "cluster: node %s has no topology, so it serves no key: send one by sherwood-cli "
               "cluster set, or restart with --cluster-config",
               cluster->id);
    }
    *out = cluster;
    return 0;
}

void sw_cluster_destroy(struct sw_cluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    while (cluster->newest != NULL) {
        struct sw_cluster_view *next = cluster->newest->next;
        sw_cluster_view_destroy(cluster->newest);
        cluster->newest = next;
    }
    pthread_mutex_destroy(&cluster->change);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

/* --- keys of other nodes
 * --------------------------------------------------------------------------- */

bool sw_cluster_may_have_foreign(const struct sw_cluster_handle *handle)
{
    return handle->view != NULL && handle->view->may_have_foreign &&
           __atomic_load_n(&handle->cluster->clean_at, __ATOMIC_RELAXED) != handle->view->number;
}

void sw_cluster_found_none_foreign(struct sw_cluster_handle *handle, uint64_t number)
{
    if (handle->view->number == number && !handle->view->takes) {
        __atomic_store_n(&handle->cluster->clean_at, number, __ATOMIC_RELAXED);
    }
}
