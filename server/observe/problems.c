/* SPDX-License-Identifier: MIT
 *
 * problems.c - one function for each condition of deploy/prometheus/sherwood.rules.yml.
 */
#include "server/observe/problems.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/plural.h"
#include "server/observe/table_rows.h"

#define MINUTE_MS 60000U
#define RESTARTED_SECONDS 600

struct facts {
    const struct sw_server_stats *now;
    const struct sw_history *history;
    uint64_t now_ms;
};

static uint64_t increase(const struct facts *facts, enum sw_history_counter counter, uint64_t value,
                         uint64_t minutes)
{
    return sw_history_increase(facts->history, counter, value, facts->now_ms, minutes * MINUTE_MS);
}

/* Each function writes its sentences and returns true if its condition holds. */
#define SAY(...) (snprintf(text, room, __VA_ARGS__) > 0)

static bool growth_failed(const struct facts *facts, char *text, size_t room)
{
    uint64_t failed =
        increase(facts, SW_HISTORY_resize_failures, facts->now->stats.resize_failed, 10);
    return failed > 0 &&
           SAY("The table could not grow or be resized, %" PRIu64 " time%s in the last 10 minutes. "
               "There is no memory for the old and the new slots at once, or too many keys would "
               "meet the probe cap. Nothing was lost; writes of new keys are refused once the "
               "table "
               "is at its maximum load.",
               failed, sw_plural_s(failed));
}

static bool writes_refused(const struct facts *facts, char *text, size_t room)
{
    uint64_t refused = increase(facts, SW_HISTORY_refused, facts->now->stats.counters.refused, 5);
    return refused > 0 &&
           SAY("%" PRIu64 " operation%s refused in the last 5 minutes. Clients get out-of-memory "
               "errors, because the table is at its maximum load and at its maximum capacity, "
               "could not grow, or has no free id.",
               refused, sw_plural(refused, " was", "s were"));
}

static bool log_stopped(const struct facts *facts, char *text, size_t room)
{
    const struct sw_wal_stats *log = &facts->now->log;
    char why[128] = "";
    if (log->error != 0) {
        snprintf(why, sizeof(why), " (%s)", strerror(log->error));
    }
    switch (log->state) {
    case SW_WAL_FULL:
        return SAY(
            "The log cannot be written, and writes are refused: data-dir has no room for its next "
            "segment%s. Reads are served. The server accepts writes again when there is room.",
            why);
    case SW_WAL_BROKEN:
        return SAY("The log cannot be written, and writes are refused: a write or a sync has "
                   "failed%s. The journal says which. The server accepts writes again after a "
                   "snapshot, which it retries; BGREWRITEAOF retries at once.",
                   why);
    default:
        return false;
    }
}

static bool snapshot_failed(const struct facts *facts, char *text, size_t room)
{
    const struct sw_persistence *persistence = &facts->now->persistence;
    return persistence->last_failed &&
           SAY("The last snapshot could not be written, and the journal says why. %s%s",
               facts->now->log.has_begun
                   ? "Writes are in the log, which grows until a snapshot succeeds."
                   : "Writes since the last good snapshot would be lost with the process.",
               persistence->refuses_writes ? " Writes are refused until a snapshot succeeds." : "");
}

static bool not_ready(const struct facts *facts, char *text, size_t room)
{
    if (facts->now->persistence.loading) {
        return SAY("The server loads its data, %u %% so far, and serves no requests yet.",
                   sw_persistence_percent(&facts->now->persistence));
    }
    return !facts->now->ready && SAY("The server is not ready: it is starting or shutting down.");
}

/* Ignores a connection that was just lost: the replica reconnects by itself. */
static bool replica_behind(const struct facts *facts, char *text, size_t room)
{
    const struct sw_repl_status *repl = &facts->now->replication;
    return repl->is_replica && repl->lag_ms > 30000 &&
           SAY("This replica has not had every write of its primary for %" PRIu64
               " s, and %s. Reads may show old values; the journal has the cause.",
               repl->lag_ms / 1000,
               repl->link == SW_LINK_CONNECTED ? "follows too slowly" : "is not connected to it");
}

static bool replication_errors(const struct facts *facts, char *text, size_t room)
{
    const struct sw_repl_status *repl = &facts->now->replication;
    uint64_t errors =
        increase(facts, SW_HISTORY_replication_errors, repl->errors + repl->senders.errors, 10);
    return errors > 0 &&
           SAY("%" PRIu64 " connection%s of replication ended in the last 10 minutes because of "
               "malformed bytes or a write that did not fit. Each begins again, with a "
               "snapshot if necessary; the journal says why.",
               errors, sw_plural_s(errors));
}

static bool not_in_topology(const struct facts *facts, char *text, size_t room)
{
    const struct sw_cluster_status *cluster = &facts->now->cluster;
    return cluster->is_enabled && !cluster->is_in_topology &&
           SAY("This node of a cluster is not in the topology%s: it serves no key. Send a topology "
               "by CLUSTER SETTOPOLOGY, or change cluster-config and reload.",
               cluster->has_topology ? "" : ", because it has none");
}

static bool topology_refused(const struct facts *facts, char *text, size_t room)
{
    uint64_t refused =
        increase(facts, SW_HISTORY_topologies_refused, facts->now->cluster.reload_failures, 10);
    return refused > 0 && SAY("%" PRIu64 " topolog%s refused in the last 10 minutes. The one "
                              "before stays in effect; the journal says why.",
                              refused, sw_plural(refused, "y was", "ies were"));
}

static bool registry_silent(const struct facts *facts, char *text, size_t room)
{
    const struct sw_registry_status *registry = &facts->now->registry;
    return registry->is_on && registry->silent_ms > 15000 &&
           SAY("etcd has not reported the topology for %" PRIu64
               " s: %s. This node keeps its topology.",
               registry->silent_ms / 1000,
               registry->trouble[0] != '\0' ? registry->trouble : "no reply");
}

static bool registry_refused(const struct facts *facts, char *text, size_t room)
{
    const struct sw_registry_status *registry = &facts->now->registry;
    return registry->refused[0] != '\0' &&
           SAY("This node refuses the topology in etcd, and keeps the one before: %s.",
               registry->refused);
}

static bool rows_nearly_used(const struct facts *facts, char *text, size_t room)
{
    const double most = (double)facts->now->info.rows_max;
    const double keys = (double)facts->now->stats.occupied;
    return most > 0 && keys > 0.9 * most &&
           SAY("%.0f %% of the limit of rows is in use. At 100 %% writes of new keys are refused. "
               "Restart with a larger rows-max.",
               100 * keys / most);
}

static bool paused(const struct facts *facts, char *text, size_t room)
{
    const uint64_t left_ms = facts->now->pause_left_ms;
    return left_ms > 0 &&
           SAY("CLIENT PAUSE delays %s for another %" PRIu64 " s. CLIENT UNPAUSE ends it.",
               facts->now->pauses_all ? "requests" : "writes", (left_ms + 999) / 1000);
}

/* Leaves out a primary that was just elected: its members may not have connected yet. */
static bool shard_alone(const struct facts *facts, char *text, size_t room)
{
    const struct sw_ha_status *shard = &facts->now->shard;
    return shard->is_primary && shard->members > 1 && shard->in_sync == 0 &&
           shard->lonely_ms > 30000 &&
           SAY("This primary has no member in sync: WAIT counts no member, and no member can take "
               "over. The journal says why the others left.");
}

static bool shard_leaderless(const struct facts *facts, char *text, size_t room)
{
    const struct sw_ha_status *shard = &facts->now->shard;
    if (!shard->is_on || (!shard->is_stuck && shard->silent_ms <= 15000)) {
        return false;
    }
    return shard->is_stuck
               ? SAY("etcd holds an older term of the shard than this member has seen: it was "
                     "restored from a backup, and this member does not take part in elections.")
               : SAY("etcd has not answered this member for %" PRIu64
                     " s: %s. No member can be elected.",
                     shard->silent_ms / 1000, shard->trouble);
}

static bool nearly_full(const struct facts *facts, char *text, size_t room)
{
    struct sw_table_rows rows;
    if (sw_table_rows_collect(facts->now, &rows) != 0) {
        return false;
    }
    const struct sw_table_row *fullest = sw_table_rows_fullest(&rows);
    const double full = fullest == NULL ? 0 : sw_table_row_full(fullest);
    const bool is =
        full > 0.9 && SAY("The table %s holds %.0f %% of its maximum number of keys. At 100 %% "
                          "writes of new keys are refused. It needs a larger max-capacity.",
                          fullest->name, full * 100);
    sw_table_rows_free(&rows);
    return is;
}

static bool stash_in_use(const struct facts *facts, char *text, size_t room)
{
    const uint64_t held = facts->now->stats.stash_occupied;
    const uint64_t slots = facts->now->info.stash_slots;
    return (double)held > 0.1 * (double)slots && slots > 0 &&
           SAY("%" PRIu64 " key%s the probe cap; the stash for such keys has %" PRIu64
               " slot%s. Nothing is lost, but look-ups are slower. Either max-probe is too small "
               "for the load, or an attacker knows the seed and chooses keys that collide.",
               held, sw_plural(held, " meets", "s meet"), slots, sw_plural_s(slots));
}

static bool many_connections(const struct facts *facts, char *text, size_t room)
{
    const uint64_t open = facts->now->counters.connected_clients;
    const uint64_t most = sw_config_connections(facts->now->config);
    return (double)open > 0.9 * (double)most &&
           SAY("%" PRIu64 " of the %" PRIu64 " connections allowed are open. At the limit new ones "
               "are refused (connections-max).",
               open, most);
}

static bool connections_rejected(const struct facts *facts, char *text, size_t room)
{
    uint64_t rejected =
        increase(facts, SW_HISTORY_rejected, facts->now->counters.connections_rejected, 5);
    return rejected > 0 &&
           SAY("%" PRIu64
               " connection%s refused in the last 5 minutes, because connections-max was "
               "reached.",
               rejected, sw_plural(rejected, " was", "s were"));
}

static bool protocol_errors(const struct facts *facts, char *text, size_t room)
{
    const struct sw_loop_counters *counters = &facts->now->counters;
    uint64_t errors = increase(facts, SW_HISTORY_protocol_errors,
                               counters->resp_protocol_errors + counters->frame_protocol_errors, 5);
    /* 0.1 a second over 5 minutes */
    return errors > 30 &&
           SAY("Clients sent %" PRIu64 " malformed requests in the last 5 minutes. Each such "
               "connection is closed. The journal names peers that speak HTTP or TLS to the "
               "plain port.",
               errors);
}

/* A tenth a second, or one. */
static bool tls_failures(const struct facts *facts, char *text, size_t room)
{
    const struct sw_loop_counters *counters = &facts->now->counters;
    uint64_t failures = increase(facts, SW_HISTORY_tls_failures,
                                 counters->tls_handshake_failures + counters->tls_failures, 5);
    return failures > 30 &&
           SAY("%" PRIu64
               " connections by TLS failed in the last 5 minutes: plain text, certificates that "
               "were not accepted, or broken networks. The journal names the peers.",
               failures);
}

static bool login_failures(const struct facts *facts, char *text, size_t room)
{
    uint64_t failures =
        increase(facts, SW_HISTORY_login_failures, facts->now->counters.login_failures, 5);
    return failures > 300 &&
           SAY("%" PRIu64 " logins failed in the last 5 minutes: an attacker guesses passwords, or "
               "a client has an old one. The journal and ACL LOG name the peers.",
               failures);
}

static bool regions_refused(const struct facts *facts, char *text, size_t room)
{
    const struct sw_loop_counters *counters = &facts->now->counters;
    uint64_t refused = increase(facts, SW_HISTORY_region_refusals,
                                counters->region_refusals + counters->ring_errors, 5);
    return refused > 0 &&
           SAY("%" PRIu64 " region%s or ring%s refused in the last 5 minutes, because of a limit "
               "(regions-max, region-bytes-max, rings-max) or of their contents.",
               refused, sw_plural_s(refused), sw_plural(refused, " was", "s were"));
}

static bool restarted(const struct facts *facts, char *text, size_t room)
{
    const struct sw_persistence *persistence = &facts->now->persistence;
    char loaded[64] = "Its table began empty.";
    if (persistence->loaded_keys > 0) {
        snprintf(loaded, sizeof(loaded), "It loaded %" PRIu64 " key%s.", persistence->loaded_keys,
                 sw_plural_s(persistence->loaded_keys));
    }
    return facts->now->uptime_seconds < RESTARTED_SECONDS && !persistence->loading &&
           SAY("The server was started within the last ten minutes. %s If that was not intended, "
               "the journal says why it stopped.",
               loaded);
}

static const struct {
    const char *alert;
    const char *severity;
    bool (*holds)(const struct facts *facts, char *text, size_t room);
} conditions[] = {
    {"SherwoodNotDurable", "critical", log_stopped},
    {"SherwoodSnapshotFailed", "critical", snapshot_failed},
    {"SherwoodWritesRefused", "critical", writes_refused},
    {"SherwoodGrowthFailed", "critical", growth_failed},
    {"SherwoodNotInTopology", "critical", not_in_topology},
    {"SherwoodNotReady", "warning", not_ready},
    {"SherwoodReplicaBehind", "warning", replica_behind},
    {"SherwoodReplicationErrors", "warning", replication_errors},
    {"SherwoodTopologyRefused", "warning", topology_refused},
    {"SherwoodRegistrySilent", "warning", registry_silent},
    {"SherwoodRegistryRefused", "critical", registry_refused},
    {"SherwoodPaused", "warning", paused},
    {"SherwoodShardAlone", "warning", shard_alone},
    {"SherwoodShardLeaderless", "critical", shard_leaderless},
    {"SherwoodTableNearlyFull", "warning", nearly_full},
    {"SherwoodRowsNearlyUsed", "warning", rows_nearly_used},
    {"SherwoodStashInUse", "warning", stash_in_use},
    {"SherwoodTooManyConnections", "warning", many_connections},
    {"SherwoodConnectionsRejected", "warning", connections_rejected},
    {"SherwoodProtocolErrors", "warning", protocol_errors},
    {"SherwoodTlsFailures", "warning", tls_failures},
    {"SherwoodLoginFailures", "warning", login_failures},
    {"SherwoodRegionsRefused", "warning", regions_refused},
    /* The daemon does not know whether it ran before, so this is only a note; the alert is a
     * warning. */
    {"SherwoodRestarted", "note", restarted},
};
#define CONDITION_COUNT (sizeof(conditions) / sizeof(conditions[0]))
static_assert(CONDITION_COUNT <= SW_PROBLEMS_MAX, "room for all at once");

bool sw_problems_degraded(const struct sw_server_stats *snapshot, char text[SW_PROBLEM_BYTES])
{
    const struct facts facts = {.now = snapshot};
    return log_stopped(&facts, text, SW_PROBLEM_BYTES) ||
           (snapshot->persistence.refuses_writes &&
            snapshot_failed(&facts, text, SW_PROBLEM_BYTES));
}

unsigned sw_problems_find(const struct sw_server_stats *snapshot, const struct sw_history *history,
                          uint64_t now_ms, struct sw_problem problems[SW_PROBLEMS_MAX])
{
    const struct facts facts = {snapshot, history, now_ms};
    unsigned count = 0;
    for (size_t i = 0; i < CONDITION_COUNT; i++) {
        struct sw_problem *problem = &problems[count];
        problem->alert = conditions[i].alert;
        problem->severity = conditions[i].severity;
        count += conditions[i].holds(&facts, problem->text, sizeof(problem->text));
    }
    return count;
}
