/* SPDX-License-Identifier: MIT
 *
 * metrics_cluster.c - metrics of a cluster node: its topology, the topology in etcd, and moves of
 * slots.
 */
#include "server/observe/metrics_page.h"

static void put_moves(struct page *page, const struct sw_move_status *facts)
{
    gauge(page, "sherwood_cluster_moving",
          "1 while slots move to this node or from it, or their keys are being removed.",
          facts->phase != SW_MOVE_RESTS);
    counter(page, "sherwood_cluster_moves_taken", "Completed moves of slots to this node.",
            facts->taken);
    counter(page, "sherwood_cluster_moves_handed_over", "Completed moves of slots from this node.",
            facts->handed_over);
    counter(page, "sherwood_cluster_move_keys_taken",
            "Keys received with slots, in snapshots and in later writes.", facts->keys_taken);
    counter(page, "sherwood_cluster_move_keys_handed_over", "Keys that left with slots.",
            facts->keys_handed_over);
    counter(page, "sherwood_cluster_move_failures",
            "Attempts to move slots that failed; the target begins another one.", facts->failures);
    gauge_ratio(page, "sherwood_cluster_move_freeze_seconds",
                "Time for which no node served the slots in the last move from this node.",
                (double)facts->freeze_us / 1e6);
}

static void put_cluster(struct page *page, const struct sw_cluster_status *facts)
{
    gauge(page, "sherwood_cluster_enabled", "1 if this is a node of a cluster.", facts->is_enabled);
    gauge(page, "sherwood_cluster_in_topology",
          "1 if the topology has this node; else the node serves no key.", facts->is_in_topology);
    gauge(page, "sherwood_cluster_epoch", "Epoch of the current topology; 0: none.", facts->epoch);
    gauge(page, "sherwood_cluster_slots_owned", "Slots that this node serves.", facts->slots_owned);
    counter(page, "sherwood_cluster_reload_failures",
            "Topologies refused: at SIGHUP, by CLUSTER SETTOPOLOGY, or from etcd.",
            facts->reload_failures);
}

static void put_registry(struct page *page, const struct sw_registry_status *facts)
{
    gauge(page, "sherwood_registry_enabled", "1 if the topology of the cluster is in etcd.",
          facts->is_on);
    gauge(page, "sherwood_registry_watching",
          "1 while a watch reports new topologies; else the node reads etcd once a second.",
          facts->is_watching);
    gauge(page, "sherwood_registry_epoch",
          "Epoch of the topology in etcd, as etcd last reported; 0: no topology, or no report yet.",
          facts->epoch);
    gauge(page, "sherwood_registry_refused",
          "1 if this node refuses the topology in etcd, and keeps the one before.",
          facts->refused[0] != '\0');
    gauge_ratio(page, "sherwood_registry_etcd_silent_seconds", "Time since etcd last answered.",
                (double)facts->silent_ms / 1e3);
    counter(page, "sherwood_registry_watch_restarts", "Watches of the topology that ended.",
            facts->watch_restarts);
    counter(page, "sherwood_registry_etcd_failures",
            "Requests about the topology that etcd did not answer.", facts->failures);
    counter(page, "sherwood_registry_writes", "Topologies that this node has written to etcd.",
            facts->writes);
    counter(page, "sherwood_registry_conflicts",
            "Topologies not written, because etcd had a newer one.", facts->conflicts);
    counter(page, "sherwood_registry_claims",
            "Topologies written because this node was elected primary.", facts->claims);
}

void sw_metrics_put_cluster(struct page *page, const struct sw_server_stats *snapshot)
{
    put_cluster(page, &snapshot->cluster);
    put_registry(page, &snapshot->registry);
    put_moves(page, &snapshot->move);
}
