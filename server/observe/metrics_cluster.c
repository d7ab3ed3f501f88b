/* SPDX-License-Identifier: MIT
 *
 * metrics_cluster.c - the figures of a node of a cluster: its topology, where that is kept, and
 * slots that move.
 */
#include "server/observe/metrics_page.h"

static void put_moves(struct page *page, const struct sw_move_facts *facts)
{
    gauge(page, "sherwood_cluster_moving",
          "1 while slots are on their way to this node or from it, or their keys are removed.",
          facts->phase != SW_MOVE_RESTS);
    counter(page, "sherwood_cluster_moves_taken", "Moves by which slots came to this node.",
            facts->taken);
    counter(page, "sherwood_cluster_moves_handed_over", "Moves by which slots left this node.",
            facts->handed_over);
    counter(page, "sherwood_cluster_move_keys_taken",
            "Keys that came with slots: of snapshots, and of writes since then.",
            facts->keys_taken);
    counter(page, "sherwood_cluster_move_keys_handed_over", "Keys that left with slots.",
            facts->keys_handed_over);
    counter(page, "sherwood_cluster_move_failures",
            "Attempts to move slots that failed; the target begins another one.", facts->failures);
    gauge_ratio(page, "sherwood_cluster_move_freeze_seconds",
                "How long slots were served nowhere in the last move from this node.",
                (double)facts->freeze_us / 1e6);
}

static void put_cluster(struct page *page, const struct sw_cluster_facts *facts)
{
    gauge(page, "sherwood_cluster_enabled", "1 if this is a node of a cluster.", facts->is_enabled);
    gauge(page, "sherwood_cluster_in_topology",
          "1 if the topology has this node. If it has not, no key is served.",
          facts->is_in_topology);
    gauge(page, "sherwood_cluster_epoch", "The epoch of the topology that holds; 0: none.",
          facts->epoch);
    gauge(page, "sherwood_cluster_slots_owned", "Slots that this node serves.", facts->slots_owned);
    counter(page, "sherwood_cluster_reload_failures",
            "Topologies that were refused: by SIGHUP, by CLUSTER SETTOPOLOGY, or as etcd has them.",
            facts->reload_failures);
}

static void put_registry(struct page *page, const struct sw_registry_facts *facts)
{
    gauge(page, "sherwood_registry_enabled", "1 if the topology of the cluster is in etcd.",
          facts->is_on);
    gauge(page, "sherwood_registry_watching",
          "1 while etcd tells of a new topology at once; else it is read once a second.",
          facts->is_watching);
    gauge(page, "sherwood_registry_epoch",
          "The epoch of the topology in etcd, as it last told; 0: there is none, or it has not.",
          facts->epoch);
    gauge(page, "sherwood_registry_refused",
          "1 if what etcd holds is no topology that this node takes: the one before holds.",
          facts->refused[0] != '\0');
    gauge_ratio(page, "sherwood_registry_etcd_silent_seconds", "Time since etcd last answered.",
                (double)facts->silent_ms / 1e3);
    counter(page, "sherwood_registry_watch_restarts", "Watches of the topology that ended.",
            facts->watch_restarts);
    counter(page, "sherwood_registry_etcd_failures",
            "Requests about the topology without an answer.", facts->failures);
    counter(page, "sherwood_registry_writes", "Topologies that this node has put into etcd.",
            facts->writes);
    counter(page, "sherwood_registry_conflicts",
            "Topologies that it has not, since there was a newer one.", facts->conflicts);
    counter(page, "sherwood_registry_claims",
            "Topologies that it has put there to tell that it was elected.", facts->claims);
}

void sw_metrics_put_cluster(struct page *page, const struct sw_snapshot *snapshot)
{
    put_cluster(page, &snapshot->cluster);
    put_registry(page, &snapshot->registry);
    put_moves(page, &snapshot->move);
}
