/* SPDX-License-Identifier: MIT
 *
 * registry.h - the topology of a cluster in etcd, where all nodes read it: cluster-config etcd://..
 *
 * One thread watches the key, and takes what lies there; while it cannot watch, it reads once a
 * second. It writes what an operator asks for (CLUSTER SETTOPOLOGY), and, where this node was
 * elected primary of its shard (--ha), that it is: each by a transaction that compares the revision
 * of what it replaces, the latter also that of the shard's term. Without etcd the node goes on with
 * the topology that it has.
 *
 * Threads: any, but for create, start, stop and destroy.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_REGISTRY_H
#define SHERWOOD_SERVER_REGISTRY_REGISTRY_H

#include "server/cluster/cluster.h"
#include "server/ha/ha.h"
#include "server/registry/facts.h"

struct sw_registry;

struct sw_registry_owner {
    void *server;
    void (*wake)(void *server); /* an order is over: loops may wait for it */
};

/* What is wrong with the options about a topology in etcd, which `config` has; NULL: nothing. */
const char *sw_registry_wrong(const struct sw_config *config);

/* Returns 0 and NULL in *out where the topology is not in etcd; -1 with a sentence logged. Borrows
 * everything; `ha` may be NULL. */
int sw_registry_create(const struct sw_config *config, struct sw_cluster *cluster, struct sw_ha *ha,
                       const struct sw_registry_owner *owner, struct sw_registry **out);
/* NULL is allowed in these. A node that knows of no topology waits for one, for a second at most:
 * clients that ask it for the map should not be told that there is none. */
int sw_registry_start(struct sw_registry *registry);
void sw_registry_stop(struct sw_registry *registry);
void sw_registry_destroy(struct sw_registry *registry);

/* Has the topology written to etcd, if its epoch there is *only_if (NULL: that which this node has
 * read last). Returns the number of the order; or 0 with a sentence. */
uint64_t sw_registry_order(struct sw_registry *registry, const char *text, size_t size,
                           const uint64_t *only_if, char error[SW_CLUSTER_ERROR_BYTES]);
/* What became of it. */
enum sw_registry_outcome {
    SW_REGISTRY_UNDER_WAY,
    SW_REGISTRY_WRITTEN, /* and taken, here, as the view of this number */
    SW_REGISTRY_REFUSED  /* for the reason that is given */
};
enum sw_registry_outcome sw_registry_outcome(struct sw_registry *registry, uint64_t order,
                                             uint64_t *view, char error[SW_CLUSTER_ERROR_BYTES]);

void sw_registry_facts(struct sw_registry *registry, struct sw_registry_facts *facts);

#endif
