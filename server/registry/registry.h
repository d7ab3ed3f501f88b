/* SPDX-License-Identifier: MIT
 *
 * registry.h - the topology of a cluster in etcd, where all nodes read it: cluster-config etcd://..
 *
 * One thread watches the key and takes each new topology. While it cannot watch, it reads the key
 * once a second. The thread writes a topology in two cases: an operator orders it (CLUSTER
 * SETTOPOLOGY), or this node was elected primary of its shard (--ha). A write is a transaction that
 * compares the revision of the old topology; after an election also the revision of the shard's
 * term. Without etcd the node keeps its topology.
 *
 * Threads: any. Create, start, stop and destroy are the exceptions: only the owner calls them.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_REGISTRY_H
#define SHERWOOD_SERVER_REGISTRY_REGISTRY_H

#include "server/cluster/cluster.h"
#include "server/ha/ha.h"
#include "server/registry/registry_status.h"

struct sw_registry;

struct sw_registry_owner {
    void *server;
    void (*wake)(void *server); /* a queued write has an outcome: loops may wait for it */
};

/* Checks the options of a topology in etcd. Returns NULL, or an error text. */
const char *sw_registry_wrong(const struct sw_config *config);

/* Sets *out to NULL and returns 0 if the topology is not in etcd. Logs an error and returns -1 if
 * it fails. Borrows all arguments. `ha` may be NULL. */
int sw_registry_create(const struct sw_config *config, struct sw_cluster *cluster, struct sw_ha *ha,
                       const struct sw_registry_owner *owner, struct sw_registry **out);
/* These three accept NULL. sw_registry_start waits at most a second for a first topology, so that
 * clients do not see an empty slot map. */
int sw_registry_start(struct sw_registry *registry);
void sw_registry_stop(struct sw_registry *registry);
void sw_registry_destroy(struct sw_registry *registry);

/* Queues a write of the topology to etcd. It succeeds only if the epoch in etcd is *only_if (NULL:
 * the epoch that this node has read last). Returns the number of the write; or 0 and an error. */
uint64_t sw_registry_submit(struct sw_registry *registry, const char *text, size_t size,
                            const uint64_t *only_if, char error[SW_CLUSTER_ERROR_BYTES]);
/* The outcome of a queued write. */
enum sw_registry_outcome {
    SW_REGISTRY_UNDER_WAY,
    SW_REGISTRY_WRITTEN, /* and taken on this node, as the view *view */
    SW_REGISTRY_REFUSED  /* `error` has the reason */
};
enum sw_registry_outcome sw_registry_outcome(struct sw_registry *registry, uint64_t number,
                                             uint64_t *view, char error[SW_CLUSTER_ERROR_BYTES]);

void sw_registry_status(struct sw_registry *registry, struct sw_registry_status *facts);

#endif
