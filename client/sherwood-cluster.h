/* SPDX-License-Identifier: MIT
 *
 * sherwood-cluster.h - handles of libsherwood for a cluster of Sherwood servers.
 *
 *     const char *addresses[] = {"10.0.0.1:7379", "10.0.0.2:7379"};
 *     if (sherwood_connect_cluster(addresses, 2, NULL, &client) != SHERWOOD_OK) ...
 *     sherwood_get(client, keys, count, values, found);
 *
 * A server in cluster mode has only the keys of its own slots. The topology assigns the slots to
 * the shards; every server has the whole topology. A handle of a cluster loads the topology,
 * connects to the primary of each shard, and splits the keys of each call among them. All shards
 * work at the same time; answers come back in the order of the keys. When a server refuses keys
 * that it no longer owns, the handle waits for the outstanding answers, loads the topology again,
 * and sends the refused parts again, in the order in which they were submitted. After 16 refusals
 * the call ends with SHERWOOD_E_SHARD, and the refused parts changed nothing.
 *
 * The calls of sherwood.h take such a handle, with these differences:
 *
 * - All or nothing holds for each node: if one node refuses its part of a frame, or its connection
 *   is lost, the parts of the other nodes take effect. The operations on one key keep their order.
 * - The handle copies arrays into its buffers, which grow as needed and stay until sherwood_close.
 *   So calls may allocate (SHERWOOD_E_NOMEM). SHERWOOD_CONSTANT has no effect.
 * - A call that waits may take longer than its limit if it loads a topology or connects to a node
 *   again. sherwood_submit never blocks.
 * - A slot without an owner ends a call with SHERWOOD_E_SHARD. A call that blocks loads the
 *   topology first. sherwood_submit does not: call sherwood_cluster_reload after such an error.
 * - The handle ignores a topology of a cluster of another name.
 * - sherwood_ping and sherwood_clear go to every shard. sherwood_stats returns the sum over the
 *   shards of each figure. sherwood_server returns the facts of the first node, with the smallest
 *   limits of all nodes.
 * - sherwood_scan goes through the shards one after another. A handle has one scan at a time. The
 *   scan ends with SHERWOOD_E_SHARD if the topology changes meanwhile, and with
 *   SHERWOOD_E_CONNECTION if the connection to the current shard is lost. Begin again with the
 *   cursor 0.
 * - The handle makes a lost connection again when a call has keys for its shard. sherwood_stripes
 *   returns the number of connections now. options.stripes must be 0 or 1. The handle keeps the
 *   login of the options.
 * - sherwood_wait_replicas (sherwood-replicas.h) sends WAIT to the primary of every shard that
 *   this handle has written to. If a slot has moved since, this does not wait for the replicas of
 *   its new shard: the move itself sent the entries to the replicas that the new shard had then.
 * - These calls need a handle of one node, and end with SHERWOOD_E_INVALID: regions,
 *   sherwood_resize, sherwood_epoch, sherwood_wait_durable, sherwood_digest, ranges of scores, and
 *   struct sherwood_cache.
 */
#ifndef SHERWOOD_CLUSTER_H
#define SHERWOOD_CLUSTER_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads the topology from a node at one of the addresses, and connects to the primary of each
 * shard. If one address begins with "tls://", all addresses must. Then all connections use TLS, and
 * the certificates of the nodes are verified for their host names. Fails if no primary can be
 * reached. If only some can be reached, calls with keys of the others fail. A cluster has at most
 * SHERWOOD_STRIPES_MAX shards. */
SHERWOOD_MUST_CHECK int sherwood_connect_cluster(const char *const *addresses, size_t count,
                                                 const struct sherwood_options *options,
                                                 struct sherwood **out);
/* Does the same. On failure it also writes a sentence to `text`, which may be NULL. */
SHERWOOD_MUST_CHECK int sherwood_connect_cluster_text(const char *const *addresses, size_t count,
                                                      const struct sherwood_options *options,
                                                      struct sherwood **out, char *text,
                                                      size_t text_bytes);

/* Returns the epoch of the handle's topology, or 0 if the handle is not of a cluster. */
uint64_t sherwood_cluster_epoch(const struct sherwood *client);

/* Waits for the requests in flight, and loads the topology again. */
SHERWOOD_MUST_CHECK int sherwood_cluster_reload(struct sherwood *client);

/* The facts of a shard, and the handle's counters since it connected to the shard's primary. */
struct sherwood_shard {
    size_t size; /* sizeof(struct sherwood_shard) */
    char id[48];
    char name[64];
    char address[128]; /* of the primary */
    uint32_t slots;    /* of 16,384 */
    uint32_t is_connected;
    uint64_t keys, frames; /* sent, also those that were refused */
    uint64_t refusals;     /* frames refused because the shard does not own all of their keys */
};
#define SHERWOOD_SHARD_INIT                   \
    {                                         \
        .size = sizeof(struct sherwood_shard) \
    }
/* Returns false if there is no shard number i, or the handle is not of a cluster. */
SHERWOOD_MUST_CHECK bool sherwood_cluster_shard(const struct sherwood *client, uint32_t i,
                                                struct sherwood_shard *shard);

/* Returns the hash slot of a key, 0 to 16,383: the CRC16 of its decimal text, as in Redis Cluster.
 * Servers with resp-keys raw compute the CRC16 of the key's bytes instead: do not use this function
 * for them. */
uint32_t sherwood_cluster_slot(uint64_t key);
/* Returns the shard that owns a slot, or UINT32_MAX if the slot has no owner. */
uint32_t sherwood_cluster_owner(const struct sherwood *client, uint32_t slot);

#ifdef __cplusplus
}
#endif

#endif
