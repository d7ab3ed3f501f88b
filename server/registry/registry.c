/* SPDX-License-Identifier: MIT
 *
 * registry.c - the thread of a topology in etcd, and the functions that other threads call.
 */
#include "server/registry/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/cluster/moving.h"
#include "server/cluster/shared.h"
#include "server/ha/shard.h"
#include "server/observe/log.h"
#include "server/registry/registry_parts.h"

#define TICK_MS 50
#define REQUEST_MS 900
/* Number of waits of 10 ms for a first topology, at the start. */
#define FIRST_LOOKS 100

/* --- queued writes
 * -----------------------------------------------------------------------------------
 */

/* Queues the write, takes it over and returns its number. Returns 0 if too many writes wait; the
 * caller then keeps it. */
static uint64_t push(struct sw_registry *registry, struct sw_registry_queued *queued)
{
    uint64_t number = 0;
    pthread_mutex_lock(&registry->lock);
    if (registry->queue_count < SW_REGISTRY_QUEUE_MAX) {
        struct sw_registry_queued **end = &registry->queue;
        while (*end != NULL) {
            end = &(*end)->next;
        }
        number = queued->number = ++registry->last_number;
        registry->queue_count++;
        *end = queued;
    }
    pthread_mutex_unlock(&registry->lock);
    return number;
}

uint64_t sw_registry_submit(struct sw_registry *registry, const char *text, size_t size,
                            const uint64_t *only_if, char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_registry_queued *queued = calloc(1, sizeof(*queued));
    char *copy = malloc(size + 1);
    if (queued == NULL || copy == NULL) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "not enough memory for it");
        free(queued);
        free(copy);
        return 0;
    }
    memcpy(copy, text, size);
    *queued = (struct sw_registry_queued){.until_ns = sw_registry_now() + SW_REGISTRY_QUEUED_NS,
                                          .has_epoch = only_if != NULL,
                                          .only_if = only_if == NULL ? 0 : *only_if,
                                          .text = copy,
                                          .size = size};
    uint64_t number = push(registry, queued);
    if (number == 0) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "too many topologies wait for etcd: try again");
        free(copy);
        free(queued);
    }
    uv_async_send(&registry->wake);
    return number;
}

enum sw_registry_outcome sw_registry_outcome(struct sw_registry *registry, uint64_t number,
                                             uint64_t *view, char error[SW_CLUSTER_ERROR_BYTES])
{
    enum sw_registry_outcome outcome = SW_REGISTRY_UNDER_WAY;
    pthread_mutex_lock(&registry->lock);
    const struct sw_registry_done *done = &registry->done[number % SW_REGISTRY_OUTCOMES_MAX];
    if (done->number == number) {
        outcome = done->view != 0 ? SW_REGISTRY_WRITTEN : SW_REGISTRY_REFUSED;
        *view = done->view;
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s", done->error);
    } else if (done->number > number) {
        outcome = SW_REGISTRY_REFUSED;
        snprintf(error, SW_CLUSTER_ERROR_BYTES,
                 "the outcome is not known any more: see CLUSTER TOPOLOGY");
    }
    pthread_mutex_unlock(&registry->lock);
    return outcome;
}

void sw_registry_status(struct sw_registry *registry, struct sw_registry_status *facts)
{
    memset(facts, 0, sizeof(*facts));
    if (registry == NULL) {
        return;
    }
    const uint64_t now = sw_registry_now();
    pthread_mutex_lock(&registry->lock);
    *facts = registry->facts;
    facts->is_on = true;
    facts->silent_ms = registry->answered_ns == 0 ? 0 : (now - registry->answered_ns) / 1000000U;
    pthread_mutex_unlock(&registry->lock);
}

/* --- the thread --------------------------------------------------------------------------------
 */

static void tick(struct sw_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    bool stopping = registry->stopping;
    pthread_mutex_unlock(&registry->lock);
    if (stopping) {
        uv_stop(&registry->uv);
        return;
    }
    const uint64_t now = sw_registry_now();
    sw_registry_tick_read(registry, now);
    sw_registry_tick_write(registry, now);
}

static void on_tick(uv_timer_t *timer)
{
    tick(timer->data);
}

static void on_wake(uv_async_t *wake)
{
    tick(wake->data);
}

static void on_elected(void *context)
{
    uv_async_send(&((struct sw_registry *)context)->wake);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void run_registry(void *context)
{
    struct sw_registry *registry = context;
    uv_timer_start(&registry->tick, on_tick, 0, TICK_MS);
    uv_run(&registry->uv, UV_RUN_DEFAULT);
}

/* --- life --------------------------------------------------------------------------------------
 */

/* Parses the options. Returns NULL, or an error text. */
static const char *parse(struct sw_etcd_address *address, const struct sw_config *config)
{
    const char *rest = "";
    struct sw_ha_address shard;
    char reason[SW_HA_REASON_BYTES];
    const char *wrong = sw_etcd_address_parse(address, config->cluster_config, &rest);
    if (wrong != NULL || *rest != '\0') {
        return wrong != NULL ? wrong : "unexpected text after the prefix";
    }
    if (config->ha[0] != '\0' &&
        sw_ha_address_parse(&shard, config->ha, reason, sizeof(reason)) == 0 &&
        !sw_etcd_same_members(&shard.etcd, address)) {
        return "--ha names other members of etcd: name the same ones, because one transaction "
               "compares the shard's term and writes the topology";
    }
    return NULL;
}

const char *sw_registry_wrong(const struct sw_config *config)
{
    struct sw_etcd_address address;
    return parse(&address, config);
}

int sw_registry_create(const struct sw_config *config, struct sw_cluster *cluster, struct sw_ha *ha,
                       const struct sw_registry_owner *owner, struct sw_registry **out)
{
    *out = NULL;
    if (!sw_config_shares_topology(config)) {
        return 0;
    }
    struct sw_registry *registry = calloc(1, sizeof(*registry));
    const char *wrong = !sw_etcd_is_built() ? "this server was built without libcurl (Debian's "
                                              "libcurl4-openssl-dev), which etcd needs"
                        : registry == NULL  ? "no memory"
                                            : parse(&registry->address, config);
    if (wrong != NULL) {
        sw_log(SW_LOG_ERROR,
               "cluster-config: %s: write etcd://host:port,host:port/prefix, or "
               "etcds:// for TLS",
               wrong);
        free(registry);
        return -1;
    }
    registry->config = config;
    registry->cluster = cluster;
    registry->ha = ha;
    registry->owner = *owner;
    sw_registry_name_keys(&registry->key, &registry->address, sw_cluster_id(cluster));
    pthread_mutex_init(&registry->lock, NULL);
    uv_loop_init(&registry->uv);
    uv_timer_init(&registry->uv, &registry->tick);
    uv_async_init(&registry->uv, &registry->wake, on_wake);
    registry->tick.data = registry->wake.data = registry;
    registry->etcd = sw_etcd_create(&registry->uv, &registry->address, REQUEST_MS, config);
    sw_ha_on_elected(ha, on_elected, registry);
    *out = registry;
    if (registry->etcd == NULL) {
        sw_log(SW_LOG_ERROR, "cluster-config: not enough memory for requests to etcd");
        return -1;
    }
    return 0;
}

/* Returns true if the node has a topology, or knows why it has none. */
static bool has_looked(struct sw_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    bool has = registry->facts.epoch != 0 || registry->facts.refused[0] != '\0';
    pthread_mutex_unlock(&registry->lock);
    return has || sw_cluster_epoch(registry->cluster) != 0;
}

int sw_registry_start(struct sw_registry *registry)
{
    const struct timespec rest = {.tv_nsec = 10000000};
    if (registry == NULL) {
        return 0;
    }
    sw_registry_answered(registry); /* silent_ms counts from now */
    registry->started = uv_thread_create(&registry->thread, run_registry, registry) == 0;
    for (int i = 0; i < FIRST_LOOKS && registry->started && !has_looked(registry); i++) {
        nanosleep(&rest, NULL);
    }
    return registry->started ? 0 : -1;
}

void sw_registry_stop(struct sw_registry *registry)
{
    if (registry != NULL && registry->started) {
        pthread_mutex_lock(&registry->lock);
        registry->stopping = true;
        pthread_mutex_unlock(&registry->lock);
        uv_async_send(&registry->wake);
        uv_thread_join(&registry->thread);
        registry->started = false;
    }
}

void sw_registry_destroy(struct sw_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    sw_registry_stop(registry);
    sw_etcd_destroy(registry->etcd);
    sw_registry_drop_writes(registry);
    uv_walk(&registry->uv, close_handle, NULL);
    uv_run(&registry->uv, UV_RUN_DEFAULT);
    uv_loop_close(&registry->uv);
    pthread_mutex_destroy(&registry->lock);
    free(registry);
}
