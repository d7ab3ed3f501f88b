/* SPDX-License-Identifier: MIT
 *
 * info_repl.c - the section Replication of INFO, with the fields of redis.
 */
#include <inttypes.h>
#include <string.h>

#include "server/resp/session.h"

static void info_repl_put(struct sw_text *text, const char *name, uint64_t value)
{
    sw_text_printf(text, "%s:%" PRIu64 "\r\n", name, value);
}

static void put_replica(const struct sw_repl_status *facts, struct sw_text *text)
{
    sw_text_printf(text, "role:slave\r\nmaster_host:%s\r\n", facts->host);
    info_repl_put(text, "master_port", facts->port);
    sw_text_printf(text, "master_link_status:%s\r\n",
                   facts->link == SW_LINK_CONNECTED ? "up" : "down");
    info_repl_put(text, "master_last_io_seconds_ago", facts->silent_ms / 1000);
    info_repl_put(text, "master_sync_in_progress", facts->link == SW_LINK_SYNC);
    info_repl_put(text, "slave_read_repl_offset", facts->position);
    info_repl_put(text, "slave_repl_offset", facts->position);
    if (facts->link == SW_LINK_SYNC) {
        info_repl_put(text, "master_sync_read_bytes", facts->synced_bytes);
    }
    if (facts->link != SW_LINK_CONNECTED) {
        info_repl_put(text, "master_link_down_since_seconds", facts->down_ms / 1000);
    }
    info_repl_put(text, "slave_priority", 100);
    info_repl_put(text, "slave_read_only", 1);
    info_repl_put(text, "replica_announced", 1);
    info_repl_put(text, "sherwood_lag_writes", facts->lag_writes);
    info_repl_put(text, "sherwood_lag_ms", facts->lag_ms);
    info_repl_put(text, "sherwood_resyncs", facts->resyncs);
    info_repl_put(text, "sherwood_resumes", facts->resumed);
}

static void put_replicas(const struct sw_senders_stats *senders, struct sw_text *text)
{
    info_repl_put(text, "connected_slaves", senders->replicas);
    for (unsigned i = 0; i < senders->replicas; i++) {
        const struct sw_sender_status *replica = &senders->shown[i];
        const char *split = strrchr(replica->address, ':');
        sw_text_printf(text,
                       "slave%u:ip=%.*s,port=%s,state=%s,offset=%" PRIu64 ",lag=%" PRIu64 "\r\n", i,
                       (int)(split - replica->address), replica->address, split + 1,
                       replica->is_online ? "online" : "send_bulk", replica->acknowledged,
                       replica->silent_ms / 1000);
    }
}

void sw_info_shard(const struct sw_ha_status *facts, struct sw_text *text)
{
    sw_text_printf(text,
                   "ha_shard:%s\r\nha_member:%s\r\nha_role:%s\r\nha_primary:%s\r\n"
                   "ha_in_sync_members:%s\r\n",
                   facts->shard, facts->self,
                   facts->is_stuck     ? "stuck"
                   : facts->is_primary ? "primary"
                                       : "replica",
                   facts->primary, facts->in_sync_names);
    info_repl_put(text, "ha_term", facts->term);
    info_repl_put(text, "ha_in_sync", facts->in_sync);
    info_repl_put(text, "ha_members", facts->members);
    info_repl_put(text, "ha_quorum", facts->quorum);
    info_repl_put(text, "ha_lease_ms", facts->lease_ms);
    info_repl_put(text, "ha_etcd_silent_ms", facts->silent_ms);
    info_repl_put(text, "ha_elections", facts->elections);
    info_repl_put(text, "ha_losses", facts->losses);
    info_repl_put(text, "ha_discards", facts->discards);
    info_repl_put(text, "ha_etcd_failures", facts->etcd_failures);
}

void sw_info_replication(const struct sw_server_stats *snapshot, struct sw_text *text)
{
    const struct sw_repl_status *facts = &snapshot->replication;
    const struct sw_repl_history *history = &facts->history;
    const struct sw_backlog_stats *backlog = &facts->backlog;
    const struct sw_cluster_status *cluster = &snapshot->cluster;
    if (facts->is_replica) {
        put_replica(facts, text);
    } else if (cluster->is_replica) { /* of an engine that has none: there is no link */
        sw_text_printf(text,
                       "role:slave\r\nmaster_host:%s\r\nmaster_port:%u\r\n"
                       "master_link_status:down\r\n",
                       cluster->primary_ip, cluster->primary_port);
    } else {
        sw_text_printf(text, "role:master\r\n");
    }
    put_replicas(&facts->senders, text);
    sw_text_printf(text,
                   "master_failover_state:no-failover\r\nmaster_replid:%s\r\n"
                   "master_replid2:%s\r\n",
                   history->id, history->before);
    info_repl_put(text, "master_repl_offset", facts->position);
    sw_text_printf(text, "second_repl_offset:%" PRId64 "\r\n",
                   history->before[0] == '\0' || strspn(history->before, "0") == 40
                       ? -1
                       : (int64_t)history->before_through + 1);
    if (snapshot->shard.is_on) {
        sw_info_shard(&snapshot->shard, text);
    }
    info_repl_put(text, "repl_backlog_active", backlog->is_on);
    info_repl_put(text, "repl_backlog_size", backlog->bytes_max);
    info_repl_put(text, "repl_backlog_first_byte_offset", backlog->first);
    info_repl_put(text, "repl_backlog_histlen", backlog->bytes);
}
