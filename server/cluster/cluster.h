/* SPDX-License-Identifier: MIT
 *
 * cluster.h - the current topology of this node, and its replacement by a newer one.
 *
 * A topology comes from a file (at the start and at SIGHUP), from CLUSTER SETTOPOLOGY, or from etcd
 * (shared.h). The node takes a topology of a higher epoch: it writes its state to storage, then
 * publishes the topology as a view.
 *
 * Every loop has a handle with its current view. The loop goes on to the newest view
 * (sw_cluster_follow) when every request that it checked against the old view is submitted. So a
 * loop reads its view without a lock, and a request is checked against the view that the loop has
 * when it submits the request. When the batches that were submitted under older views have taken
 * effect, the loop reports that (sw_cluster_settle). When all loops have reported it
 * (sw_cluster_is_settled), no request will be admitted by an older topology, and none that was
 * admitted by one is in flight.
 *
 * Threads: any. sw_cluster_follow, sw_cluster_settle and the view of a handle are the exceptions:
 * they belong to the handle's loop.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_CLUSTER_H
#define SHERWOOD_SERVER_CLUSTER_CLUSTER_H

#include "server/cluster/state_file.h"
#include "server/cluster/view.h"
#include "server/config/config.h"

struct sw_cluster;

/* A loop's handle of the cluster. All zero without a cluster: `view` is then NULL, and requests
 * read nothing else. */
struct sw_cluster_handle {
    const struct sw_cluster_view *view; /* requests are checked against it; NULL: no cluster mode */
    struct sw_cluster *cluster;
    uint64_t number;                /* atomic: no request of an older view than this is in flight */
    struct sw_cluster_handle *next; /* of the cluster's handles */
};

/* Callbacks of the cluster into the server. Any thread may call them. */
struct sw_cluster_owner {
    void *server;
    bool (*holds_keys)(void *server); /* returns true if the table may have keys */
    void (*wake)(void *server);       /* every loop must run an iteration */
    void (*roles)(void *server);      /* a topology was taken: replication takes the node's role */
    void (*moved)(void *server);      /* a topology was taken: a move of slots may change */
    const char *shard; /* the shard with an elected primary that this node is in (--ha); "": none */
};

/* Status for INFO, /metrics and /readyz. */
struct sw_cluster_status {
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

/* Writes the path of the state file; empty: the state is not stored. */
#define SW_CLUSTER_PATH_BYTES (SW_CONFIG_DIR_MAX + SW_CONFIG_FILE_MAX)
void sw_cluster_state_path(const struct sw_config *config, char path[SW_CLUSTER_PATH_BYTES]);

/* Reads the state, then the file. Borrows `config`. Returns 0; or logs an error and returns -1. */
int sw_cluster_create(const struct sw_config *config, const struct sw_cluster_owner *owner,
                      struct sw_cluster **out);
/* Writes the state to a new data directory, if the state is stored in the data directory. Returns
 * 0; or -1 and an error in `error`. Threads: any that holds no lock of the cluster. */
int sw_cluster_move_state(struct sw_cluster *cluster, char *error, size_t error_bytes);
/* Call it when all loops have ended. NULL is allowed. */
void sw_cluster_destroy(struct sw_cluster *cluster);

/* Registers the handle of a loop, before its thread begins. Call sw_cluster_leave when it ends. */
void sw_cluster_join(struct sw_cluster *cluster, struct sw_cluster_handle *handle);
void sw_cluster_leave(struct sw_cluster_handle *handle);

/* Returns true if there is a newer view. */
bool sw_cluster_is_behind(const struct sw_cluster_handle *handle);
/* Goes on to the newest view. Call it when every request that was checked against the handle's view
 * is submitted. */
void sw_cluster_follow(struct sw_cluster_handle *handle);
/* Reports that no request of an older view is in flight. Call it when all batches that were
 * submitted under older views have completed. */
void sw_cluster_settle(struct sw_cluster_handle *handle);

/* Reads the file of --cluster-config again, if there is one. Returns 0, or -1; both are logged. */
int sw_cluster_reload(struct sw_cluster *cluster);

/* Takes a topology if its epoch is higher than the current one, and the current one is *only_if
 * (NULL: any). Returns the number of its view; or changes nothing and returns 0 with an error in
 * `error`. */
uint64_t sw_cluster_take(struct sw_cluster *cluster, const char *text, size_t size,
                         const uint64_t *only_if, char error[SW_CLUSTER_ERROR_BYTES]);

/* Returns true if all loops have settled on this view or a newer one. */
bool sw_cluster_is_settled(struct sw_cluster *cluster, uint64_t number);

/* Returns true if the table may have keys of slots that this node does not own. */
bool sw_cluster_may_have_foreign(const struct sw_cluster_handle *handle);
/* Notes that a scan of all keys found no key of another node's slot. The scan began after all loops
 * had settled on view `number`. Under that view no such key is written, so none will appear. */
void sw_cluster_found_none_foreign(struct sw_cluster_handle *handle, uint64_t number);

/* `cluster` may be NULL. */
void sw_cluster_show(struct sw_cluster *cluster, struct sw_cluster_status *facts);

#endif
