/* SPDX-License-Identifier: MIT
 *
 * repl.c - creates, starts and stops the parts of replication.
 */
#include "server/repl/repl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/live.h"
#include "server/log/clock.h"
#include "server/observe/log.h"
#include "server/repl/login.h"
#include "server/repl/terms.h"
#include "table/configuration.h"
#include "table/exported_table.h"
#include "table/sequencer.h"
#include "table/table.h"

static void on_acknowledged(void *context)
{
    struct sw_repl *repl = context;
    repl->owner.wake(repl->owner.server);
}

static void on_promoted(void *context)
{
    on_acknowledged(context);
}

static bool is_quiet(void *context, uint64_t fence)
{
    struct sw_repl *repl = context;
    return repl->owner.is_quiet(repl->owner.server, fence);
}

static void on_history_changed(void *context)
{
    sw_senders_cut(((struct sw_repl *)context)->senders);
}

/* Returns why this table cannot have replicas; NULL: it can. */
static const char *lack_of(const struct sw_config *config)
{
    if (config->engine == SW_ENGINE_CACHE) {
        return "the engine is cache: a cache may evict any entry, so it has no replicas";
    }
    return NULL;
}

struct sw_repl *sw_repl_create(const struct sw_config *config, struct sw_table *table,
                               const struct sw_repl_owner *owner)
{
    struct sw_repl *repl = calloc(1, sizeof(*repl));
    if (repl == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for replication");
        return NULL;
    }
    repl->owner = *owner;
    repl->config = config;
    repl->table = table;
    repl->lacks = lack_of(config);
    sw_repl_state_init(&repl->state);
    sw_role_init(&repl->role, config, owner->saver);
    snprintf(repl->replicaof, sizeof(repl->replicaof), "%s", config->replicaof);
    repl->backlog = sw_backlog_create(config->repl_backlog_bytes);
    const struct sw_senders_parts senders = {.config = config,
                                             .table = table,
                                             .backlog = repl->backlog,
                                             .state = &repl->state,
                                             .wake = on_acknowledged,
                                             .context = repl};
    const struct sw_replica_parts replica = {.config = config,
                                             .table = table,
                                             .backlog = repl->backlog,
                                             .state = &repl->state,
                                             .saver = owner->saver,
                                             .wal = owner->wal,
                                             .role = &repl->role,
                                             .is_quiet = is_quiet,
                                             .history_changed = on_history_changed,
                                             .promoted = on_promoted,
                                             .context = repl};
    repl->senders = repl->backlog == NULL ? NULL : sw_senders_create(&senders);
    repl->replica = repl->senders == NULL ? NULL : sw_replica_create(&replica);
    if (repl->replica == NULL) {
        sw_log(SW_LOG_ERROR, "no memory, or no descriptor, for replication");
        sw_repl_destroy(repl);
        return NULL;
    }
    return repl;
}

void sw_repl_set_tables(struct sw_repl *repl, struct sw_tables *tables,
                        struct sw_sequencer *sequencer)
{
    repl->sequencer = sequencer;
    sw_backlog_set_sequencer(repl->backlog, sequencer);
    sw_senders_set_tables(repl->senders, tables, sequencer);
    sw_replica_set_tables(repl->replica, tables, sequencer);
}

uint64_t sw_repl_last(const struct sw_repl *repl)
{
    return sw_sequencer_last(repl->sequencer);
}

int sw_repl_start(struct sw_repl *repl, struct sw_cluster *cluster)
{
    char reason[SW_REPL_REASON_BYTES] = "", primary[SW_ROLE_PRIMARY_BYTES];
    const bool has_terms = repl->state.terms != NULL;
    if (sw_role_at_start(&repl->role, has_terms, primary, reason) != 0) {
        sw_log(SW_LOG_ERROR, "%s", reason);
        return -1;
    }
    if (primary[0] != '\0' &&
        (sw_repl_why_not(repl) != NULL ||
         sw_replica_follow(repl->replica, primary, reason, sizeof(reason)) != 0)) {
        sw_log(SW_LOG_ERROR, "replicaof: %s", reason[0] == '\0' ? sw_repl_why_not(repl) : reason);
        return -1;
    }
    sw_repl_take_role(repl, cluster);
    if (sw_replica_start(repl->replica) != 0) {
        sw_log(SW_LOG_ERROR,
               "cannot start the replication thread: not enough memory for its stack");
        return -1;
    }
    return 0;
}

int sw_repl_loaded(struct sw_repl *repl)
{
    char reason[SW_REPL_REASON_BYTES] = "";
    if (sw_replica_loaded(repl->replica, reason) != 0) {
        sw_log(SW_LOG_ERROR, "%s", reason);
        return -1;
    }
    const struct sw_repl_terms *terms = repl->state.terms;
    if (terms != NULL) {
        const struct sw_terms *began = &repl->state.history.terms; /* no other thread runs yet */
        terms->loaded(terms->context, sw_terms_of(began, sw_repl_last(repl)),
                      sw_terms_newest(began));
    }
    return 0;
}

void sw_repl_log_moved(struct sw_repl *repl)
{
    sw_replica_log_moved(repl->replica);
}

void sw_repl_stop(struct sw_repl *repl)
{
    if (repl != NULL) {
        sw_replica_stop(repl->replica);
        sw_senders_stop(repl->senders);
    }
}

void sw_repl_destroy(struct sw_repl *repl)
{
    if (repl != NULL) {
        if (repl->replica != NULL) {
            sw_repl_stop(repl);
        }
        sw_replica_destroy(repl->replica);
        sw_senders_destroy(repl->senders);
        sw_backlog_destroy(repl->backlog);
        sw_role_fini(&repl->role);
        sw_repl_state_fini(&repl->state);
        free(repl);
    }
}

const char *sw_repl_why_not(const struct sw_repl *repl)
{
    return repl->lacks != NULL              ? repl->lacks
           : !sw_role_is_free(repl->config) ? "REPLICAOF not allowed in cluster mode."
           : repl->state.terms != NULL ? "this server is a member of a shard (--ha), whose primary "
                                         "is elected: see HA SWITCH"
                                       : NULL;
}

int sw_repl_follow(struct sw_repl *repl, const char *primary, char reason[SW_REPL_REASON_BYTES])
{
    char host[SW_REPL_ADDRESS_BYTES];
    uint16_t port;
    const char *why_not = sw_repl_why_not(repl);
    if (why_not != NULL) {
        snprintf(reason, SW_REPL_REASON_BYTES, "%s", why_not);
        return -1;
    }
    /* the file and the thread get concurrent orders in the same sequence */
    pthread_mutex_lock(&repl->role.lock);
    int status = 0;
    /* sw_replica_follow reports a wrong address */
    if (sw_login_parse(primary, host, &port) == 0) {
        status = sw_role_keep(&repl->role, primary, reason);
    }
    if (status == 0) {
        status = sw_replica_follow(repl->replica, primary, reason, SW_REPL_REASON_BYTES);
    }
    pthread_mutex_unlock(&repl->role.lock);
    if (status == 0) {
        sw_table_end_exports(repl->table); /* a replica that loads has a part of the entries */
    }
    return status;
}

void sw_repl_replicaof(struct sw_repl *repl, char text[SW_ROLE_PRIMARY_BYTES])
{
    struct sw_repl_state *state = &repl->state;
    char host[SW_REPL_ADDRESS_BYTES];
    uint16_t port = 0;
    const bool is_said = sw_login_parse(repl->replicaof, host, &port) == 0;
    text[0] = '\0';
    pthread_mutex_lock(&state->lock);
    if (sw_repl_is_replica(state) && state->host[0] != '\0') {
        if (is_said && port == state->port && strcmp(host, state->host) == 0) {
            snprintf(text, SW_ROLE_PRIMARY_BYTES, "%s", repl->replicaof);
        } else if (state->port == 0) {
            snprintf(text, SW_ROLE_PRIMARY_BYTES, "unix:%s", state->host);
        } else {
            snprintf(text, SW_ROLE_PRIMARY_BYTES, "%s %u", state->host, state->port);
        }
    }
    pthread_mutex_unlock(&state->lock);
}

void sw_repl_take_role(struct sw_repl *repl, struct sw_cluster *cluster)
{
    char primary[SW_TOPOLOGY_IP_MAX + 8], reason[SW_REPL_REASON_BYTES] = "";
    struct sw_cluster_status facts;
    if (repl->state.terms != NULL) {
        return; /* the shard elects its primary */
    }
    sw_cluster_show(cluster, &facts);
    if (facts.is_replica && repl->lacks != NULL) {
        sw_log(SW_LOG_WARNING, "cluster: this node is a replica and has no data yet: %s",
               repl->lacks);
    } else if (facts.is_replica) {
        snprintf(primary, sizeof(primary), "%s %u", facts.primary_ip, facts.primary_port);
        if (sw_replica_follow(repl->replica, primary, reason, sizeof(reason)) != 0) {
            sw_log(SW_LOG_ERROR, "cluster: %s", reason);
        }
    } else if (facts.is_in_topology && sw_repl_is_replica(&repl->state)) {
        (void)sw_replica_promote(repl->replica, 0);
    }
}

int sw_repl_serve(struct sw_repl *repl, const struct sw_peer_socket *socket,
                  const struct sw_repl_peer *peer, const struct sw_repl_hello *hello, char *reason,
                  size_t reason_bytes)
{
    struct sw_repl_hello own;
    sw_login_hello(repl->table, repl->config, &own);
    if (repl->lacks != NULL) {
        snprintf(reason, reason_bytes, "%s", repl->lacks);
        return -1;
    }
    if (sw_repl_is_replica(&repl->state)) {
        snprintf(reason, reason_bytes, "this server is a replica: replicate its primary");
        return -1;
    }
    if (!sw_repl_hello_fits(hello, &own, reason, reason_bytes)) {
        return -1;
    }
    struct sw_repl_ack who = {0};
    const struct sw_repl_terms *terms = repl->state.terms;
    if (terms == NULL && hello->shard[0] != '\0') {
        snprintf(reason, reason_bytes, "this server is not a member of a shard (--ha)");
        return -1;
    }
    if (terms != NULL && !terms->serve(terms->context, hello, &who, reason, reason_bytes)) {
        return -1;
    }
    return sw_senders_add(repl->senders, socket, peer, hello, &who, reason, reason_bytes);
}

unsigned sw_repl_reached(struct sw_repl *repl, uint64_t sequence)
{
    struct sw_repl_ack acks[SW_SENDERS_SHOWN_MAX];
    const struct sw_repl_terms *terms = repl->state.terms;
    if (terms == NULL) {
        return sw_senders_reached(repl->senders, sequence);
    }
    unsigned count = sw_senders_acks(repl->senders, acks, SW_SENDERS_SHOWN_MAX);
    return terms->count(terms->context, acks, count, sequence);
}

static uint64_t ms_since(uint64_t now, uint64_t then)
{
    return then == 0 || then > now ? 0 : (now - then) / 1000000U;
}

void sw_repl_status(struct sw_repl *repl, struct sw_repl_status *facts)
{
    struct sw_repl_state *state = &repl->state;
    uint64_t now = sw_log_now_ns();
    memset(facts, 0, sizeof(*facts));
    facts->is_replica = sw_repl_is_replica(state);
    facts->lacks_data = sw_repl_lacks_data(state);
    facts->knows_no_primary = sw_repl_is_lost(state);
    facts->position = facts->is_replica ? sw_repl_applied(state) : sw_repl_last(repl);
    pthread_mutex_lock(&state->lock);
    facts->history = state->history;
    memcpy(facts->host, state->host, sizeof(facts->host));
    facts->port = state->port;
    facts->link = state->link;
    facts->primary_at = state->primary_at;
    facts->silent_ms = ms_since(now, state->heard_ns);
    facts->lag_ms = facts->is_replica ? ms_since(now, state->whole_ns) : 0;
    facts->down_ms = state->link == SW_LINK_CONNECTED ? 0 : ms_since(now, state->down_ns);
    facts->synced_bytes = state->synced_bytes;
    facts->resyncs = state->resyncs;
    facts->resumed = state->resumes;
    facts->errors = state->errors;
    pthread_mutex_unlock(&state->lock);
    facts->lag_writes = facts->is_replica && facts->primary_at > facts->position
                            ? facts->primary_at - facts->position
                            : 0;
    sw_backlog_stats(repl->backlog, &facts->backlog);
    sw_senders_stats(repl->senders, &facts->senders);
}
