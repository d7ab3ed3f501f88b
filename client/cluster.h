/* SPDX-License-Identifier: MIT
 *
 * cluster.h - the state of a cluster handle beside its connections: the topology, and the requests
 * in flight.
 *
 * Each connection leads to the primary of a shard. Requests keep their order: the handle
 * sends a part only after the parts of earlier requests for the same shard. After a refusal it
 * sends nothing until all answers are in. Then it splits the refused and the unsent parts by the
 * new topology, and sends them in the order of the requests. A server with an older topology than
 * the handle may accept a part just after it has refused an earlier one. So a server gets one part
 * at a time until it has reported the handle's topology. Threads: the one that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_CLUSTER_H
#define SHERWOOD_CLIENT_CLUSTER_H

#include "client/endpoints.h"
#include "client/handle.h"
#include "client/shard_request.h"

struct sw_client_cluster {
    struct sw_topology *topology; /* owned; NULL: not loaded yet */
    struct sw_client_endpoints endpoints;
    bool is_open; /* the limits of the handle are fixed */
    struct sw_client_connection *connections[SHERWOOD_STRIPES_MAX]; /* of the shards; NULL: none */
    uint32_t places[SHERWOOD_STRIPES_MAX];

    struct sw_client_cluster_request *first, *last; /* in flight, in order */
    struct sw_client_cluster_request *idle; /* finished requests; their memory is used again */
    uint32_t requests;                      /* requests in flight */
    uint32_t waiting;                       /* parts that were not sent yet */
    uint32_t refused;                       /* refused parts */
    uint64_t newest;                        /* the largest epoch that came with a refusal */
    uint64_t random;
    char trouble[SW_CLIENT_ERROR_BYTES]; /* why the last attempt to reach a primary failed */

    uint64_t scan_token, scan_cursor, scan_epoch;
    uint32_t scan_shard;
    uint32_t scan_connection; /* the number of the connection that scan_cursor belongs to */
};

/* --- cluster.c: the topology and the connections ---------------------------------------------- */

/* Loads the topology, and connects to the primary of each shard. Prefers connected servers;
 * `refused`, which may be NULL, is the one that refused keys. No frame may be in flight. Returns a
 * status, with a sentence in the handle if no node sends a topology, or no primary can be reached.
 */
int sw_client_cluster_load(struct sherwood *client, struct sw_client_connection *refused);
/* Returns the connection to a shard, or NULL. */
struct sw_client_connection *sw_client_cluster_connection(const struct sherwood *client,
                                                          uint32_t shard);
/* Draws a number below `below`, which is at least 1. */
uint64_t sw_client_cluster_draw(struct sw_client_cluster *cluster, uint64_t below);
/* Makes a handle without connections a handle of a cluster, and connects it. On failure it returns
 * a code, with a sentence in `text`. */
int sw_client_cluster_open(struct sherwood *client, const char *const *addresses, size_t count,
                           const struct sherwood_options *taken, char *text, size_t text_bytes);
/* Frees everything. NULL is allowed. */
void sw_client_cluster_free(struct sw_client_cluster *cluster);

/* --- cluster_requests.c: requests under way --------------------------------------------------- */

/* Queues a request, and sends the parts that can be sent at once; never blocks. */
int sw_client_cluster_submit(struct sherwood *client, struct sherwood_request *request);
/* Does what sherwood_run does, with the details of an operation. */
int sw_client_cluster_run(struct sherwood *client, enum sherwood_operation operation,
                          const struct sw_client_details *details, const void *keys,
                          const void *values, size_t count, void *previous, uint64_t *found);
/* Loads the topology again if a server refused a part, sends the parts that can be sent, and then
 * waits as sw_client_step does. */
void sw_client_cluster_turn(struct sherwood *client, int limit_ms);
/* Runs turns until every part was sent; with `answered`, until every part was also answered. */
void sw_client_cluster_settle(struct sherwood *client, bool answered);

/* --- cluster_control.c: requests without keys ------------------------------------------------- */

int sw_client_cluster_all(struct sherwood *client, uint32_t operation);
int sw_client_cluster_scan(struct sherwood *client, uint64_t *cursor, void *keys, void *values,
                           uint32_t capacity, uint32_t *count);
/* Fills the figures of the handle with sums over the shards. */
int sw_client_cluster_stats(struct sherwood *client);
/* Returns SHERWOOD_OK, or SHERWOOD_E_INVALID for a handle of a cluster: the call needs one node. */
int sw_client_one_node(struct sherwood *client, const char *call);

#endif
