/* SPDX-License-Identifier: MIT
 *
 * replicas.c - WAIT on every connection that has written, and DIGEST.
 */
#include "client/sherwood-replicas.h"

#include "client/cluster.h"
#include "client/control_request.h"
#include "client/error.h"
#include "client/send.h"
#include "client/step.h"

/* Sends WAIT at the same time on each connection that has written, or on all connections if no
 * connection has. Returns a status, and the smallest reply in *least. */
static int ask_all(struct sherwood *client, uint32_t replicas, uint32_t wait_ms, uint32_t *least)
{
    struct sw_client_call call = {.least = UINT32_MAX};
    const struct sw_client_frame frame = {.header = {.operation = SW_OPERATION_WAIT,
                                                     .count = replicas,
                                                     .key_bytes = client->own.server.key_bytes,
                                                     .value_bytes = client->own.server.value_bytes,
                                                     .timeout_ms = wait_ms},
                                          .done = sw_client_call_done,
                                          .owner = &call};
    bool has_written = false;
    uint32_t sent = 0;
    for (uint32_t i = 0; i < client->connections_count; i++) {
        has_written |= client->connections[i]->broken == 0 && client->connections[i]->has_written;
    }
    for (uint32_t i = 0; i < client->connections_count; i++) {
        struct sw_client_connection *connection = client->connections[i];
        if (connection->broken != 0 || (has_written && !connection->has_written)) {
            continue;
        }
        if (sw_client_queue(connection, &frame) ==
            NULL) { /* cannot happen: nothing else is in flight */
            call.status = sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded");
            break;
        }
        call.flights++;
        sent++;
    }
    if (sent == 0 && call.status == SHERWOOD_OK) {
        return sw_client_fail(client, SHERWOOD_E_CONNECTION,
                              "wait_replicas: the handle has no open connection: connect again");
    }
    int status = sw_client_finish_call(client, &call);
    *least = call.least == UINT32_MAX ? 0 : call.least;
    return status;
}

/* Waits for the replies to all requests submitted before. */
static void settle(struct sherwood *client)
{
    if (client->cluster != NULL) {
        sw_client_cluster_settle(client, true);
    }
    sw_client_send_all(client);
    while (client->in_flight > 0) {
        sw_client_step(client, -1);
    }
}

static int lost(struct sherwood *client)
{
    client->lost_writes = false;
    return sw_client_fail(
        client, SHERWOOD_E_CONNECTION,
        "wait_replicas: a connection with writes was lost since the last call: it is unknown "
        "whether replicas have them; read the keys, or write them again");
}

int sherwood_wait_replicas(struct sherwood *client, uint32_t replicas, int timeout_ms,
                           uint32_t *reached)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (reached == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "wait_replicas: the pointer to the number of replicas is NULL");
    }
    *reached = 0;
    settle(client);
    for (;;) {
        uint32_t least = 0;
        const int wait = sw_client_wait_once_ms(client, timeout_ms);
        int status = client->broken != 0   ? client->broken
                     : client->lost_writes ? lost(client)
                                           : ask_all(client, replicas, (uint32_t)wait, &least);
        if (status != SHERWOOD_OK) {
            return status;
        }
        if (least >= replicas || timeout_ms == 0) {
            *reached = least;
            return SHERWOOD_OK;
        }
        timeout_ms -= timeout_ms < 0 ? 0 : wait;
    }
}

int sherwood_digest(struct sherwood *client, struct sherwood_digest *digest)
{
    client = sw_client_enter(client);
    struct sw_reply reply = {0};
    int one = sw_client_one_node(client, "digest");
    if (one != SHERWOOD_OK) {
        return one;
    }
    if (digest == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "digest: the pointer to the struct is NULL");
    }
    const struct sw_request header = {.operation = SW_OPERATION_DIGEST,
                                      .table = client->table->number,
                                      .key_bytes = client->table->server.key_bytes,
                                      .value_bytes = client->table->server.value_bytes};
    settle(client);
    struct sw_client_connection *connection = sw_client_connection_pick(client);
    int status = connection == NULL
                     ? client->broken
                     : sw_client_control_request(connection, &header, NULL, NULL, &reply);
    if (status == SHERWOOD_OK) {
        *digest = (struct sherwood_digest){reply.digest.sequence,
                                           reply.digest.entries,
                                           {reply.digest.sums[0], reply.digest.sums[1]}};
    }
    return status;
}
