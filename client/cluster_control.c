/* SPDX-License-Identifier: MIT
 *
 * cluster_control.c - requests without keys at a cluster: to every shard, or to one after another;
 * and reloading its topology.
 */
#include <string.h>

#include "client/cluster.h"
#include "client/control_request.h"
#include "client/error.h"
#include "client/sherwood-cluster.h"

#define CHANGES_MAX 16

int sw_client_one_node(struct sherwood *client, const char *call)
{
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    return client->cluster == NULL
               ? SHERWOOD_OK
               : sw_client_fail(client, SHERWOOD_E_INVALID,
                                "%s: not available on a handle of a cluster: connect to one node",
                                call);
}

/* Returns the connection to a shard; connects again if it was lost. Returns NULL and a status if it
 * cannot, or if the handle has loaded another topology: then the status is SHERWOOD_OK. All earlier
 * requests have been sent. */
static struct sw_client_connection *reach(struct sherwood *client, uint32_t shard, int *status)
{
    struct sw_client_connection *connection = sw_client_cluster_connection(client, shard);
    if (connection == NULL) {
        const uint64_t epoch = client->cluster->topology->epoch;
        sw_client_cluster_settle(client, true);
        *status = sw_client_cluster_load(client, NULL);
        if (*status != SHERWOOD_OK || client->cluster->topology->epoch != epoch) {
            return NULL;
        }
        connection = sw_client_cluster_connection(client, shard);
    }
    if (connection == NULL) {
        *status = sw_client_fail(client, SHERWOOD_E_CONNECTION, "%s", client->cluster->trouble);
    }
    return connection;
}

/* Reports that the topology has changed CHANGES_MAX times. A request to every shard begins again
 * with each new topology. */
static int changes_too_often(struct sherwood *client)
{
    return sw_client_fail(client, SHERWOOD_E_SHARD,
                          "the topology changed %d times during the call: try again", CHANGES_MAX);
}

static struct sw_request header_of(const struct sherwood *client, uint32_t operation)
{
    return (struct sw_request){.operation = operation,
                               .key_bytes = client->table->server.key_bytes,
                               .value_bytes = client->table->server.value_bytes};
}

int sw_client_cluster_all(struct sherwood *client, uint32_t operation)
{
    const struct sw_request header = header_of(client, operation);
    int status = SHERWOOD_OK, changes = 0;
    sw_client_cluster_settle(client, false);
    for (uint32_t s = 0; s < client->cluster->topology->shard_count && status == SHERWOOD_OK;) {
        struct sw_client_connection *connection = reach(client, s, &status);
        if (connection != NULL) {
            status = sw_client_control_request(connection, &header, NULL, NULL, NULL);
            s++;
        } else if (status == SHERWOOD_OK) { /* the handle has another topology: begins again */
            status = ++changes > CHANGES_MAX ? changes_too_often(client) : SHERWOOD_OK;
            s = 0;
        }
    }
    return status;
}

static int scan_ended(struct sherwood *client)
{
    return sw_client_fail(
        client, SHERWOOD_E_SHARD,
        "scan: the topology has changed since the scan began: begin again with 0");
}

/* Reports a lost scan. A cursor is valid on the connection that returned it: the server of another
 * connection may have restarted, and its table may have another order. */
static int scan_lost(struct sherwood *client, const struct sw_client_connection *connection)
{
    return sw_client_fail(client, SHERWOOD_E_CONNECTION,
                          "scan: the connection to %s was lost during the scan: begin again with 0",
                          connection->address);
}

int sw_client_cluster_scan(struct sherwood *client, uint64_t *cursor, void *keys, void *values,
                           uint32_t capacity, uint32_t *count)
{
    struct sw_client_cluster *cluster = client->cluster;
    int status = SHERWOOD_OK;
    if (cursor == NULL || count == NULL || capacity == 0) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "scan: cursor or count is NULL, or capacity is 0: pass both, and "
                              "room for at least one entry");
    }
    sw_client_cluster_settle(client, false);
    *count = 0;
    if (*cursor == 0) {
        cluster->scan_shard = 0;
        cluster->scan_cursor = 0;
        cluster->scan_epoch = cluster->topology->epoch;
    } else if (*cursor != cluster->scan_token) {
        return sw_client_fail(
            client, SHERWOOD_E_INVALID,
            "scan: cursor %llu does not belong to the scan of this handle: begin again with 0",
            (unsigned long long)*cursor);
    }
    if (cluster->scan_epoch != cluster->topology->epoch) {
        return scan_ended(client);
    }
    struct sw_client_connection *connection = reach(client, cluster->scan_shard, &status);
    if (connection == NULL) {
        return status == SHERWOOD_OK ? scan_ended(client) : status;
    }
    if (cluster->scan_cursor != 0 && cluster->scan_connection != connection->number) {
        return scan_lost(client, connection);
    }
    struct sw_request header = header_of(client, SW_OPERATION_SCAN);
    struct sw_reply reply = {0};
    header.count = capacity < client->table->server.frame_ops_max
                       ? capacity
                       : client->table->server.frame_ops_max;
    header.want_values = true;
    header.cursor = cluster->scan_cursor;
    header.map_epoch = cluster->scan_epoch;
    status = sw_client_control_request(connection, &header, keys, values, &reply);
    if (status != SHERWOOD_OK) {
        return status;
    }
    *count = reply.count;
    cluster->scan_cursor = reply.cursor;
    cluster->scan_connection = connection->number;
    cluster->scan_shard += reply.cursor == 0;
    *cursor = cluster->scan_shard == cluster->topology->shard_count ? 0 : ++cluster->scan_token;
    return SHERWOOD_OK;
}

/* Adds the figures of a shard to those of the same name. */
static void add_figures(struct sherwood *client, const struct sw_figure *figures, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < client->figures_count &&
               memcmp(client->figures[at].name, figures[i].name, SW_FIGURE_NAME_BYTES) != 0) {
            at++;
        }
        if (at == SW_FIGURES_MAX) {
            continue;
        }
        if (at == client->figures_count) {
            client->figures[client->figures_count++] = figures[i];
        } else {
            client->figures[at].value += figures[i].value;
        }
    }
}

int sw_client_cluster_stats(struct sherwood *client)
{
    struct sw_figure figures[SW_FIGURES_MAX];
    struct sw_request header = header_of(client, SW_OPERATION_STATS);
    int status = SHERWOOD_OK, changes = 0;
    header.count = SW_FIGURES_MAX;
    sw_client_cluster_settle(client, false);
    client->figures_count = 0;
    for (uint32_t s = 0; s < client->cluster->topology->shard_count && status == SHERWOOD_OK;) {
        struct sw_reply reply = {0};
        struct sw_client_connection *connection = reach(client, s, &status);
        if (connection == NULL) { /* without an error: the handle has another topology, so the call
                                     begins again */
            client->figures_count = 0;
            s = 0;
            status = status == SHERWOOD_OK && ++changes > CHANGES_MAX ? changes_too_often(client)
                                                                      : status;
            continue;
        }
        status = sw_client_control_request(connection, &header, figures, NULL, &reply);
        if (status == SHERWOOD_OK) {
            add_figures(client, figures, reply.count);
        }
        s++;
    }
    client->figures_count = status == SHERWOOD_OK ? client->figures_count : 0;
    return status;
}

int sherwood_cluster_reload(struct sherwood *client)
{
    client = sw_client_enter(client);
    if (client == NULL || client->cluster == NULL) {
        return client == NULL ? SHERWOOD_E_INVALID
                              : sw_client_fail(client, SHERWOOD_E_INVALID,
                                               "cluster_reload: this handle is of one server: "
                                               "connect with sherwood_connect_cluster");
    }
    sw_client_cluster_settle(client, true);
    return sw_client_cluster_load(client, NULL);
}
