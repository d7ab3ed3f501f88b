/* SPDX-License-Identifier: MIT
 *
 * cluster.h - the topology that holds on this node, and how another one takes its place.
 *
 * A topology comes from a file, at the start and at SIGHUP, by CLUSTER SETTOPOLOGY, or from etcd
 * (shared.h). One of a
 * higher epoch is taken: its state is on storage first, then it is published as a view. Every loop
 * has a seat, and goes on to the newest view (sw_cluster_follow) when it has no request that it
 * judged by an older one and has not submitted. So a loop reads its view without a lock, and a
 * request is judged by one view, which is the loop's at its submission. Once the batches that
 * a loop had submitted before have taken effect it says so (sw_cluster_settle). When all have
 * (sw_cluster_is_settled) no request will be admitted by an older topology, and of those that were
 * none is left.
 *
 * Threads: sw_cluster_follow, sw_cluster_settle and the view of a seat belong to its loop; the rest
 * is for any thread.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_CLUSTER_H
#define SHERWOOD_SERVER_CLUSTER_CLUSTER_H

#include "server/cluster/state_file.h"
#include "server/cluster/view.h"
#include "server/config/config.h"

struct sw_cluster;

/* The place of a loop. All zero where there is no cluster: then `view` is NULL, and that is all
 * that a request has to look at. */
struct sw_cluster_seat {
    const struct sw_cluster_view *view; /* requests are judged by it; NULL: no cluster mode */
    struct sw_cluster *cluster;
    uint64_t number;              /* atomic: of a view: nothing that an older one judged is left */
    struct sw_cluster_seat *next; /* of the cluster's seats */
};

/* What the cluster asks of the server; the functions are for any thread. */
struct sw_cluster_owner {
    void *server;
    bool (*holds_keys)(void *server); /* may the table hold any? */
    void (*wake)(void *server);       /* every loop is to take a turn */
    void (*roles)(void *server);      /* a topology was taken: who is whose replica? */
    void (*moved)(void *server);      /* .. and moves of slots may go on otherwise */
    const char *shard; /* whose member this node is (--ha), which elects its primary; "": none */
};

/* Figures for INFO, /metrics and /readyz. */
struct sw_cluster_facts {
    bool is_enabled;
    bool has_topology;
    bool is_in_topology;
    bool is_replica;
    bool is_up;
    uint64_t epoch;
    uint64_t slots_owned;
    uint64_t reload_failures;
    char primary_ip[SW_TOPOLOGY_IP_MAX + 1]; /* of a replica's shard */
    uint16_t primary_port;
};

/* Where the state is kept; empty: nowhere. */
#define SW_CLUSTER_PATH_BYTES (SW_CONFIG_DIR_MAX + SW_CONFIG_FILE_MAX)
void sw_cluster_state_path(const struct sw_config *config, char path[SW_CLUSTER_PATH_BYTES]);

/* Reads the state, then the file. `config` is borrowed. Returns 0, or -1 with a sentence logged. */
int sw_cluster_create(const struct sw_config *config, const struct sw_cluster_owner *owner,
                      struct sw_cluster **out);
/* The data directory is another one by now: writes the state there, if that is where it is kept.
 * Returns 0; or -1 with a sentence in `error`. Threads: any that has no lock of the cluster. */
int sw_cluster_move_state(struct sw_cluster *cluster, char *error, size_t error_bytes);
/* All loops have ended. NULL is allowed. */
void sw_cluster_destroy(struct sw_cluster *cluster);

/* Gives a loop its seat, before its thread begins; sw_cluster_leave when its thread ends. */
void sw_cluster_sit(struct sw_cluster *cluster, struct sw_cluster_seat *seat);
void sw_cluster_leave(struct sw_cluster_seat *seat);

/* Is there a newer view? */
bool sw_cluster_is_behind(const struct sw_cluster_seat *seat);
/* Goes on to the newest view. To be called when no request that was judged by the seat's view waits
 * to be submitted. */
void sw_cluster_follow(struct sw_cluster_seat *seat);
/* Lets others know that nothing that was judged by an older view is left. To be called when no
 * batch is in flight that may have been. */
void sw_cluster_settle(struct sw_cluster_seat *seat);

/* Reads the file of --cluster-config again, if there is one. Returns 0, or -1; both are logged. */
int sw_cluster_reload(struct sw_cluster *cluster);

/* Takes a topology, if its epoch is higher than that which holds, and if `only_if` is not NULL, if
 * the latter is *only_if. Returns the number of its view, or 0 with a sentence in `error` and
 * nothing changed. */
uint64_t sw_cluster_take(struct sw_cluster *cluster, const char *text, size_t size,
                         const uint64_t *only_if, char error[SW_CLUSTER_ERROR_BYTES]);

/* Have all loops gone on to this view or a newer one? */
bool sw_cluster_is_settled(struct sw_cluster *cluster, uint64_t number);

/* May the table hold keys of slots that this node does not own? */
bool sw_cluster_may_have_foreign(const struct sw_cluster_seat *seat);
/* The loop has passed over all keys, beginning when all loops had settled on view `number`, and
 * found none: since nobody writes such keys, none is there while that view holds. */
void sw_cluster_found_none_foreign(struct sw_cluster_seat *seat, uint64_t number);

/* `cluster` may be NULL. */
void sw_cluster_show(struct sw_cluster *cluster, struct sw_cluster_facts *facts);

#endif
