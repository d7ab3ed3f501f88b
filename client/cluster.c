/* SPDX-License-Identifier: MIT
 *
 * cluster.c - the topology of a handle of a cluster, and its connections: loads the topology, and
 * makes the connections.
 */
#include "client/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "client/control_request.h"
#include "client/error.h"
#include "client/open.h"
#include "client/sherwood-cluster.h"
#include "client/transport_tls.h"
#include "proto/map.h"

/* Bytes of a topology in one reply: the size of the figures of a STATS. Every server accepts
 * replies of this size. */
#define PAGE_BYTES (SW_FIGURES_MAX * sizeof(struct sw_figure))
#define SECURE_PREFIX "tls://"
#define TRIES_MAX 8

/* --- asking for a topology -------------------------------------------------------------------- */

/* Receives the bytes of a topology, page by page; each page except the last is full. Returns how
 * many there are, or a negative status. Begins again if the topology changes between two pages. */
static int64_t receive(struct sw_client_connection *connection, uint8_t *bytes)
{
    struct sw_request header = {.operation = SW_OPERATION_TOPOLOGY, .count = PAGE_BYTES};
    uint64_t epoch = 0;
    size_t size = 0;
    int tries = 1;
    do {
        struct sw_reply reply = {0};
        header.cursor = size;
        int status = sw_client_control_request(connection, &header, bytes + size, NULL, &reply);
        if (status != SHERWOOD_OK) {
            return status;
        }
        if (size > 0 && reply.map_epoch != epoch) {
            if (++tries > TRIES_MAX) {
                return sw_client_fail(
                    connection->client, SHERWOOD_E_SHARD,
                    "%s: the topology changed %d times while the client received it: try again",
                    connection->address, TRIES_MAX);
            }
            size = 0;
            header.cursor = 1; /* not the end */
            continue;
        }
        epoch = reply.map_epoch;
        size += reply.count;
        header.cursor = reply.cursor;
        if (reply.count == 0 || size > SW_MAP_BYTES_MAX ||
            (reply.cursor != 0 && (reply.cursor != size || reply.count != PAGE_BYTES))) {
            return sw_client_break(connection, SHERWOOD_E_PROTOCOL,
                                   "%s: the parts of the topology that the server sent do not fit "
                                   "together: connect again",
                                   connection->address);
        }
    } while (header.cursor != 0);
    return (int64_t)size;
}

/* Requests the topology of a server. Returns NULL, a status and a sentence in the handle on
 * failure. */
static struct sw_topology *request_topology(struct sw_client_connection *connection, int *status)
{
    struct sherwood *client = connection->client;
    const struct sw_topology *held = client->cluster->topology;
    struct sw_topology *topology = NULL;
    const char *wrong = NULL;
    uint8_t *bytes = malloc(SW_MAP_BYTES_MAX + PAGE_BYTES);
    if (bytes == NULL) {
        *status = sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for a topology");
        return NULL;
    }
    int64_t size = receive(connection, bytes);
    *status = size < 0 ? (int)size : SHERWOOD_OK;
    if (size >= 0) {
        topology = sw_map_decode(bytes, (size_t)size, &wrong);
    }
    if (size >= 0 && topology == NULL) {
        *status = sw_client_break(connection, SHERWOOD_E_PROTOCOL,
                                  "%s: cannot use the topology of the server: %s",
                                  connection->address, wrong);
    } else if (topology != NULL && topology->shard_count > SHERWOOD_STRIPES_MAX) {
        *status = sw_client_fail(client, SHERWOOD_E_REQUEST,
                                 "the cluster has %u shards, but a handle has at most %d "
                                 "connections: connect to single nodes",
                                 topology->shard_count, SHERWOOD_STRIPES_MAX);
        sw_map_free(topology);
        topology = NULL;
    } else if (topology != NULL && held != NULL && strcmp(topology->cluster, held->cluster) != 0) {
        *status = sw_client_fail(client, SHERWOOD_E_REQUEST,
                                 "%s is a node of the cluster \"%s\", not of this handle's cluster "
                                 "\"%s\": check the addresses",
                                 connection->address, topology->cluster, held->cluster);
        sw_map_free(topology);
        topology = NULL;
    }
    if (topology == NULL) {
        snprintf(client->cluster->trouble, sizeof(client->cluster->trouble), "%s", client->error);
    }
    free(bytes);
    return topology;
}

/* --- connections ------------------------------------------------------------------------------ */

/* Formats the address of a node: by TLS with its host name, if it has one. */
static void address_of(const struct sw_client_cluster *cluster, const struct sw_topology_node *node,
                       char out[SW_CLIENT_ADDRESS_BYTES])
{
    const char *host =
        cluster->endpoints.is_secure && node->hostname[0] != '\0' ? node->hostname : node->ip;
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(out, SW_CLIENT_ADDRESS_BYTES, "%s%s%.90s%s:%u",
             cluster->endpoints.is_secure ? SECURE_PREFIX : "", is_v6 ? "[" : "", host,
             is_v6 ? "]" : "", node->port);
}

static struct sw_client_connection *connection_of(const struct sherwood *client,
                                                  const char *address)
{
    for (uint32_t i = 0; i < client->connections_count; i++) {
        if (client->connections[i]->broken == 0 &&
            strcmp(client->connections[i]->address, address) == 0) {
            return client->connections[i];
        }
    }
    return NULL;
}

/* Connects to a server. On failure it returns NULL, a status, and a sentence in `trouble`. */
static struct sw_client_connection *connect_to(struct sherwood *client, const char *address,
                                               int *status)
{
    struct sw_client_cluster *cluster = client->cluster;
    if (client->connections_count == SHERWOOD_STRIPES_MAX) {
        snprintf(cluster->trouble, sizeof(cluster->trouble),
                 "cannot connect to %s: the handle has %d connections, the limit", address,
                 SHERWOOD_STRIPES_MAX);
        *status = SHERWOOD_E_CONNECTION;
        return NULL;
    }
    return sw_client_open_connection(client, &cluster->endpoints.connector, address,
                                     &cluster->endpoints.options, status, cluster->trouble,
                                     sizeof(cluster->trouble));
}

/* Takes the connections that have ended from their shards. */
static void forget_broken(struct sw_client_cluster *cluster)
{
    for (uint32_t s = 0; s < SHERWOOD_STRIPES_MAX; s++) {
        if (cluster->connections[s] != NULL && cluster->connections[s]->broken != 0) {
            cluster->connections[s] = NULL;
        }
    }
}

/* Closes the connections that belong to no shard. */
static void close_others(struct sherwood *client)
{
    const struct sw_client_cluster *cluster = client->cluster;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < client->connections_count; i++) {
        struct sw_client_connection *connection = client->connections[i];
        bool is_used = false;
        for (uint32_t s = 0; s < SHERWOOD_STRIPES_MAX; s++) {
            is_used |= cluster->connections[s] == connection;
        }
        if (is_used) {
            client->connections[kept++] = connection;
        } else {
            client->lost_writes |= connection->has_written;
            sw_client_connection_close(connection);
        }
    }
    client->connections_count = kept;
    client->next = 0;
}

/* Gives each shard its connection. Keeps the existing connections to its primaries, closes the
 * others, then makes the missing ones. Returns the number of shards with a connection. */
static uint32_t arrange(struct sherwood *client)
{
    struct sw_client_cluster *cluster = client->cluster;
    const struct sw_topology *topology = cluster->topology;
    char address[SW_CLIENT_ADDRESS_BYTES];
    uint32_t there = 0;
    int status = SHERWOOD_OK;
    memset(cluster->connections, 0, sizeof(cluster->connections));
    for (uint32_t s = 0; s < topology->shard_count; s++) {
        address_of(cluster, &topology->nodes[topology->shards[s].primary], address);
        cluster->connections[s] = connection_of(client, address);
    }
    close_others(client);
    for (uint32_t s = 0; s < topology->shard_count; s++) {
        if (cluster->connections[s] == NULL) {
            address_of(cluster, &topology->nodes[topology->shards[s].primary], address);
            cluster->connections[s] = connect_to(client, address, &status);
            struct epoll_event event = {0};
            if (cluster->connections[s] != NULL && client->epoll >= 0) {
                const struct sw_client_transport *transport = cluster->connections[s]->transport;
                event.events = (uint32_t)transport->read_events;
                (void)epoll_ctl(client->epoll, EPOLL_CTL_ADD, transport->fd, &event);
            }
        }
        there += cluster->connections[s] != NULL;
    }
    return there;
}

/* Returns the topology with the larger epoch, and frees the other one. */
static struct sw_topology *newer(struct sw_topology *one, struct sw_topology *other)
{
    bool first = other == NULL || (one != NULL && one->epoch >= other->epoch);
    sw_map_free(first ? other : one);
    return first ? one : other;
}

uint64_t sw_client_cluster_draw(struct sw_client_cluster *cluster, uint64_t below)
{
    cluster->random ^= cluster->random << 13;
    cluster->random ^= cluster->random >> 7;
    cluster->random ^= cluster->random << 17;
    return cluster->random % below;
}

/* Loads the topology from connected servers until one has the epoch `needed`: a random one first,
 * then `refused`, then the others. So a server that refuses many clients need not send all of them
 * the topology. */
static struct sw_topology *ask_connected(struct sherwood *client,
                                         struct sw_client_connection *refused, uint64_t needed,
                                         int *status)
{
    const uint32_t count = client->connections_count;
    struct sw_client_connection *any =
        count == 0 ? refused : client->connections[sw_client_cluster_draw(client->cluster, count)];
    struct sw_topology *best =
        any == NULL || any->broken != 0 ? NULL : request_topology(any, status);
    for (uint32_t i = 0; i <= count && (best == NULL || best->epoch < needed); i++) {
        struct sw_client_connection *connection = i == 0 ? refused : client->connections[i - 1];
        if (connection != NULL && connection->broken == 0 && connection != any &&
            (i == 0 || connection != refused)) {
            best = newer(best, request_topology(connection, status));
        }
    }
    return best;
}

static struct sw_topology *ask_address(struct sherwood *client, const char *address, int *status)
{
    struct sw_client_connection *connection =
        connection_of(client, address) != NULL ? NULL : connect_to(client, address, status);
    return connection == NULL ? NULL : request_topology(connection, status);
}

/* Loads the topology from a server without a connection: tries the addresses of the caller, then
 * the nodes of the last topology, until one sends it. */
static struct sw_topology *ask_others(struct sherwood *client, int *status)
{
    const struct sw_client_cluster *cluster = client->cluster;
    struct sw_topology *best = NULL;
    char address[SW_CLIENT_ADDRESS_BYTES];
    for (size_t i = 0; i < cluster->endpoints.count && best == NULL; i++) {
        best = ask_address(client, cluster->endpoints.addresses[i], status);
    }
    for (uint32_t n = 0;
         cluster->topology != NULL && n < cluster->topology->node_count && best == NULL; n++) {
        address_of(cluster, &cluster->topology->nodes[n], address);
        best = ask_address(client, address, status);
    }
    return best;
}

int sw_client_cluster_load(struct sherwood *client, struct sw_client_connection *refused)
{
    struct sw_client_cluster *cluster = client->cluster;
    const uint64_t had = cluster->topology == NULL ? 0 : cluster->topology->epoch;
    int status = SHERWOOD_E_CONNECTION;
    client->error[0] = '\0';
    cluster->trouble[0] = '\0';
    refused = refused != NULL && refused->broken == 0 ? refused : NULL;
    forget_broken(cluster);
    close_others(client); /* there is room for new connections */
    struct sw_topology *topology = ask_connected(client, refused, cluster->newest, &status);
    if (topology == NULL) {
        topology = ask_others(client, &status);
    }
    if (topology == NULL) {
        return sw_client_fail(client, status,
                              "cannot load the topology of the cluster from any node: %.400s",
                              cluster->trouble[0] != '\0' ? cluster->trouble : client->error);
    }
    if (topology->epoch >= had) { /* otherwise the server is behind: keep the old topology */
        sw_map_free(cluster->topology);
        cluster->topology = topology;
    } else {
        sw_map_free(topology);
    }
    if (arrange(client) == 0) {
        return sw_client_fail(client, SHERWOOD_E_CONNECTION,
                              "cannot connect to any primary of the cluster: %.400s",
                              cluster->trouble);
    }
    return SHERWOOD_OK;
}

struct sw_client_connection *sw_client_cluster_connection(const struct sherwood *client,
                                                          uint32_t shard)
{
    struct sw_client_connection *connection = client->cluster->connections[shard];
    return connection != NULL && connection->broken == 0 ? connection : NULL;
}

/* --- the life of a handle --------------------------------------------------------------------- */

static void free_requests(struct sw_client_cluster_request *request)
{
    while (request != NULL) {
        struct sw_client_cluster_request *next = request->next;
        sw_client_cluster_request_free(request);
        request = next;
    }
}

void sw_client_cluster_free(struct sw_client_cluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    sw_client_endpoints_fini(&cluster->endpoints);
    free_requests(cluster->first);
    free_requests(cluster->idle);
    sw_map_free(cluster->topology);
    free(cluster);
}

int sw_client_cluster_open(struct sherwood *client, const char *const *addresses, size_t count,
                           const struct sherwood_options *taken, char *text, size_t text_bytes)
{
    struct timespec now;
    if (taken->stripes > 1) {
        snprintf(text, text_bytes,
                 "connect: a handle of a cluster has one connection to each node: stripes must be "
                 "0 or 1, not %u",
                 taken->stripes);
        return SHERWOOD_E_INVALID;
    }
    struct sw_client_cluster *cluster = client->cluster = calloc(1, sizeof(*cluster));
    if (cluster == NULL) {
        snprintf(text, text_bytes, "not enough memory for a handle of a cluster");
        return SHERWOOD_E_NOMEM;
    }
    int status =
        sw_client_endpoints_init(&cluster->endpoints, addresses, count, taken, text, text_bytes);
    if (status != SHERWOOD_OK) {
        return status;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    cluster->random =
        ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() << 16 ^ (uintptr_t)client) | 1;
    status = sw_client_cluster_load(client, NULL);
    cluster->is_open = true;
    if (status != SHERWOOD_OK) {
        snprintf(text, text_bytes, "%s", client->error);
    }
    return status;
}

/* --- what a handle knows ---------------------------------------------------------------------- */

uint64_t sherwood_cluster_epoch(const struct sherwood *client)
{
    client = client == NULL ? NULL : client->root;
    return client == NULL || client->cluster == NULL ? 0 : client->cluster->topology->epoch;
}

bool sherwood_cluster_shard(const struct sherwood *client, uint32_t i, struct sherwood_shard *shard)
{
    struct sherwood_shard out = {0};
    client = client == NULL ? NULL : client->root;
    if (client == NULL || client->cluster == NULL || i >= client->cluster->topology->shard_count ||
        shard == NULL) {
        return false;
    }
    const struct sw_client_cluster *cluster = client->cluster;
    const struct sw_topology_shard *in = &cluster->topology->shards[i];
    const struct sw_client_connection *connection = cluster->connections[i];
    out.size = shard->size;
    snprintf(out.id, sizeof(out.id), "%s", in->id);
    snprintf(out.name, sizeof(out.name), "%s", in->name);
    address_of(cluster, &cluster->topology->nodes[in->primary], out.address);
    out.slots = in->slot_count;
    if (connection != NULL) {
        out.is_connected = connection->broken == 0;
        out.keys = connection->keys;
        out.frames = connection->frames;
        out.refusals = connection->refusals;
    }
    memcpy(shard, &out, shard->size < sizeof(out) ? shard->size : sizeof(out));
    return true;
}

uint32_t sherwood_cluster_slot(uint64_t key)
{
    return sw_slot_of_u64(sw_slot_tables(), key);
}

uint32_t sherwood_cluster_owner(const struct sherwood *client, uint32_t slot)
{
    client = client == NULL ? NULL : client->root;
    uint16_t owner = client == NULL || client->cluster == NULL || slot >= SW_SLOTS
                         ? SW_TOPOLOGY_NOBODY
                         : client->cluster->topology->owner[slot];
    return owner == SW_TOPOLOGY_NOBODY ? UINT32_MAX : owner;
}
