/* SPDX-License-Identifier: MIT
 *
 * connect.c - a handle's life: dial, greet, close.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/dial.h"
#include "client/internal.h"

static bool is_width(uint32_t bytes)
{
    return bytes == 4 || bytes == 8;
}

/* NULL, or what this client cannot work with. */
static const char *check_info(const struct sw_server_info *info)
{
    if (!is_width(info->key_bytes) || !is_width(info->value_bytes)) {
        return "key or value width is neither 4 nor 8 bytes";
    }
    if (info->frame_ops_max < SW_CLIENT_SPLIT_KEYS || info->frame_ops_max > SW_FRAME_OPS_MAX) {
        return "frame limit is outside 64 to 16777216 keys";
    }
    return info->requests_in_flight_max == 0 ? "limit of requests in flight is 0" : NULL;
}

static void take_info(struct sherwood *client, const struct sw_server_info *info)
{
    struct sherwood_server *server = &client->server;
    sw_client_clean(info->version, sizeof info->version, server->version, sizeof server->version);
    sw_client_clean(info->backend, sizeof info->backend, server->backend, sizeof server->backend);
    sw_client_clean(info->backend_reason, sizeof info->backend_reason, server->backend_reason,
                    sizeof server->backend_reason);
    server->key_bytes = info->key_bytes;
    server->value_bytes = info->value_bytes;
    server->frame_ops_max = info->frame_ops_max;
    server->requests_in_flight_max = info->requests_in_flight_max < SW_CLIENT_FLIGHTS_MAX
                                         ? info->requests_in_flight_max
                                         : SW_CLIENT_FLIGHTS_MAX;
    server->capacity_slots = info->capacity_slots;
    server->occupied_max = info->occupied_max;
    client->flights_max = server->requests_in_flight_max;
}

/* The first exchange: what is the server? */
static int greet(struct sherwood *client, int timeout_ms)
{
    struct sw_reply reply = {0};
    int rc = sw_client_control(client, SW_OPERATION_HELLO, &reply, timeout_ms);
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    const char *wrong = reply.has_info ? check_info(&reply.info) : "greeting says nothing of it";
    if (wrong != NULL) {
        return sw_client_break(client, SHERWOOD_E_PROTOCOL,
                               "%s: this client cannot work with the server: its %s",
                               client->address, wrong);
    }
    take_info(client, &reply.info);
    return SHERWOOD_OK;
}

static int or_default(int chosen, int standard)
{
    return chosen > 0 ? chosen : standard;
}

/* The sentence goes straight to the caller's text. */
static int open_client(const char *address, const struct sherwood_options *options,
                       struct sherwood **out, char *text, size_t text_bytes)
{
    int connect_ms = SW_CLIENT_CONNECT_TIMEOUT_MS;
    int request_ms = SW_CLIENT_REQUEST_TIMEOUT_MS;
    if (options != NULL) {
        connect_ms = or_default(options->connect_timeout_ms, connect_ms);
        request_ms = or_default(options->request_timeout_ms, request_ms);
    }
    struct sherwood *client = calloc(1, sizeof *client);
    if (client == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof *client);
        return SHERWOOD_E_NOMEM;
    }
    client->fd = -1;
    client->flights_max = 1;
    client->request_timeout_ms = request_ms;
    sw_client_clean(address, strlen(address), client->address, sizeof client->address);
    int rc = sw_client_dial(address, connect_ms, &client->fd, text, text_bytes);
    if (rc == SHERWOOD_OK) {
        rc = greet(client, connect_ms);
        if (rc != SHERWOOD_OK) {
            snprintf(text, text_bytes, "%s", client->error);
        }
    }
    if (rc != SHERWOOD_OK) {
        sherwood_close(client);
        return rc;
    }
    *out = client;
    return SHERWOOD_OK;
}

int sherwood_connect_text(const char *address, const struct sherwood_options *options,
                          struct sherwood **out, char *text, size_t text_bytes)
{
    char unread[SW_CLIENT_ERROR_BYTES];
    if (text == NULL || text_bytes == 0) {
        text = unread;
        text_bytes = sizeof unread;
    }
    text[0] = '\0';
    if (out == NULL || address == NULL) {
        snprintf(text, text_bytes, "connect: no %s given", address == NULL ? "address" : "handle");
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    return open_client(address, options, out, text, text_bytes);
}

int sherwood_connect(const char *address, const struct sherwood_options *options,
                     struct sherwood **out)
{
    return sherwood_connect_text(address, options, out, NULL, 0);
}

void sherwood_close(struct sherwood *client)
{
    if (client != NULL) {
        if (client->fd >= 0) {
            close(client->fd);
        }
        free(client);
    }
}

const struct sherwood_server *sherwood_server(const struct sherwood *client)
{
    return client == NULL ? NULL : &client->server;
}
