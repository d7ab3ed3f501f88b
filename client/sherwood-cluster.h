/* SPDX-License-Identifier: MIT
 *
 * sherwood-cluster.h - handles of libsherwood for a cluster of Sherwood servers.
 *
 *     const char *addresses[] = {"10.0.0.1:7379", "10.0.0.2:7379"};
 *     if (sherwood_connect_cluster(addresses, 2, NULL, &client) != SHERWOOD_OK) ...
 *     sherwood_get(client, keys, count, values, found);
 *
 * A server in cluster mode has the keys of its own slots alone; which slots are whose is the
 * topology, and every server has all of it. Such a handle loads the topology, has a connection to
 * the primary of each shard, and splits the keys of each call among them. All shards work at the
 * same time; answers come back in the order of the keys. When a server refuses keys that are no
 * longer its own, the handle waits for the answers that are outstanding, loads the topology anew,
 * and sends what was refused, in the order in which it was submitted. After 16 refusals the call
 * ends with SHERWOOD_E_SHARD, and nothing of what was refused was done.
 *
 * The calls of sherwood.h take such a handle, with these differences:
 *
 * - All or nothing holds for a node: where one refuses its part of a frame, or its connection is
 *   lost, the parts of the others took effect all the same. The operations on one key keep their
 *   order.
 * - An array is copied into the buffers of the handle, which grow as needed and are kept until
 *   sherwood_close; so calls may allocate (SHERWOOD_E_NOMEM). SHERWOOD_CONSTANT changes nothing.
 * - While a topology is loaded, or a node is connected again, a call that waits may take longer
 *   than its limit. sherwood_submit never blocks.
 * - A slot without an owner ends a call with SHERWOOD_E_SHARD. A call that blocks loads the
 * topology before that; sherwood_submit does not, so that sherwood_cluster_reload has to.
 * - A topology of a cluster of another name is not taken.
 * - sherwood_ping and sherwood_clear go to every shard; sherwood_stats gives sums over the shards,
 *   whatever the figure; sherwood_server the facts of the first node, with the smallest limits.
 * - sherwood_scan goes through the shards one after another. A handle has one scan at a time. The
 *   scan ends with SHERWOOD_E_SHARD if the topology changes meanwhile, and with
 *   SHERWOOD_E_CONNECTION if the connection to the shard at hand is lost: begin again with cursor
 * 0.
 * - A connection that was lost is made again when a call has keys for it. sherwood_stripes tells
 * how many there are now. options.stripes must be 0 or 1, and the login of the options is kept.
 * - sherwood_wait_replicas (sherwood-replicas.h) asks the node of every shard that this handle has
 * written to. A slot that has moved since is as safe as its move has made it: what came is at the
 * replicas that its new shard had then.
 * - These belong to one node, and end with SHERWOOD_E_INVALID: regions, sherwood_resize,
 *   sherwood_epoch, sherwood_wait_durable, sherwood_digest, ranges of scores, and struct
 * sherwood_cache.
 */
#ifndef SHERWOOD_CLUSTER_H
#define SHERWOOD_CLUSTER_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Connects to a cluster of which one of the addresses is a node, and to the primary of each shard.
 * All addresses begin with "tls://", or none does; so do those of the nodes then, and their
 * certificates are verified for their host names. At least one primary can be reached, or this
 * fails; of a handle that has others, calls with their keys do. A cluster has at most
 * SHERWOOD_STRIPES_MAX shards. */
int sherwood_connect_cluster(const char *const *addresses, size_t count,
                             const struct sherwood_options *options, struct sherwood **out);
/* Does the same. On failure it also writes a sentence to `text`, which may be NULL. */
int sherwood_connect_cluster_text(const char *const *addresses, size_t count,
                                  const struct sherwood_options *options, struct sherwood **out,
                                  char *text, size_t text_bytes);

/* The epoch of the topology that the handle has; 0: it is not of a cluster. */
uint64_t sherwood_cluster_epoch(const struct sherwood *client);

/* Waits for the requests in flight, and loads the topology again. */
int sherwood_cluster_reload(struct sherwood *client);

/* What a handle knows of a shard, and has done there since it connected to its primary. */
struct sherwood_shard {
    size_t size; /* sizeof(struct sherwood_shard) */
    char id[48];
    char name[64];
    char address[128]; /* of the primary */
    uint32_t slots;    /* of 16,384 */
    uint32_t is_connected;
    uint64_t keys, frames; /* sent, also those that were refused */
    uint64_t refusals;     /* frames with keys of others */
};
#define SHERWOOD_SHARD_INIT                   \
    {                                         \
        .size = sizeof(struct sherwood_shard) \
    }
/* Returns false if there is no shard number i, or the handle is not of a cluster. */
bool sherwood_cluster_shard(const struct sherwood *client, uint32_t i,
                            struct sherwood_shard *shard);

/* The hash slot of a key, 0 to 16,383: CRC16 of its decimal text, as Redis Cluster has it; where
 * the servers have resp-keys raw, it is that of the bytes, which this is not. */
uint32_t sherwood_cluster_slot(uint64_t key);
/* The shard of a slot, or UINT32_MAX if none has it. */
uint32_t sherwood_cluster_owner(const struct sherwood *client, uint32_t slot);

#ifdef __cplusplus
}
#endif

#endif
