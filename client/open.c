/* SPDX-License-Identifier: MIT
 *
 * open.c - makes handles without connections, opens connections, exchanges HELLO, and checks the
 * facts of the server.
 */
#include "client/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cluster.h"
#include "client/error.h"
#include "client/receive.h"
#include "client/send.h"
#include "client/step.h"
#include "client/transport_tls.h"
#include "proto/value_type.h"

/* --- a connection ----------------------------------------------------------------------------- */

void sw_client_connection_close(struct sw_client_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    if (connection->transport != NULL) {
        connection->transport->calls->close(connection->transport);
    }
    sw_client_ring_close(&connection->ring);
    free(connection);
}

/* Copies the login of the options. Returns false if it is too long. */
static bool take_login(const struct sherwood_options *options, struct sw_frame_login *login)
{
    *login =
        (struct sw_frame_login){.is_there = options->user != NULL || options->password != NULL};
    size_t user = options->user != NULL ? strlen(options->user) : 0;
    size_t password = options->password != NULL ? strlen(options->password) : 0;
    if (user >= sizeof(login->user) || password > sizeof(login->password)) {
        return false;
    }
    memcpy(login->user, options->user != NULL ? options->user : "", user);
    memcpy(login->password, options->password != NULL ? options->password : "", password);
    login->password_bytes = (uint32_t)password;
    return true;
}

/* Waits for the greeting. One limit applies to the whole greeting, so a peer that sends single
 * bytes slowly cannot block a program that connects. */
static int await_greeting(struct sw_client_connection *connection, struct sw_client_call *call)
{
    struct sherwood *client = connection->client;
    const uint64_t begin = client->clock;
    const uint64_t limit = (uint64_t)client->request_timeout_ms;
    sw_client_send(connection);
    while (call->flights > 0) {
        const uint64_t passed = client->clock - begin;
        if (passed >= limit) {
            sw_client_break(connection, SHERWOOD_E_TIMEOUT,
                            "%s: connected, but the greeting was not complete within %d ms: check "
                            "that a Sherwood server listens there, and that it is not overloaded",
                            connection->address, client->request_timeout_ms);
            break;
        }
        sw_client_step(client, (int)(limit - passed));
    }
    return call->status;
}

/* Sends HELLO, with the login if there is one, and waits for the reply, which has the facts of the
 * server. */
static int greet(struct sw_client_connection *connection, const struct sherwood_options *options,
                 struct sw_reply *greeting)
{
    struct sw_client_call call = {.flights = 1, .reply = greeting};
    struct sw_frame_login login;
    uint8_t long_head[SW_FRAME_HEAD_BYTES_MAX];
    if (!take_login(options, &login)) {
        return sw_client_fail(connection->client, SHERWOOD_E_INVALID,
                              "connect: the user has more than %d bytes, or the password more than "
                              "%d: use shorter ones",
                              SW_FRAME_USER_BYTES - 1, SW_FRAME_PASSWORD_BYTES);
    }
    const struct sw_client_frame frame = {.header = {.operation = SW_OPERATION_HELLO},
                                          .done = sw_client_call_done,
                                          .owner = &call,
                                          .login = login.is_there ? &login : NULL,
                                          .long_head = long_head};
    if (sw_client_queue(connection, &frame) == NULL) {
        return sw_client_fail(connection->client, SHERWOOD_E_INVALID,
                              "connect: the greeting cannot be encoded");
    }
    int status = await_greeting(connection, &call);
    explicit_bzero(&login, sizeof(login));
    explicit_bzero(long_head, sizeof(long_head));
    return status;
}

/* Connects and exchanges HELLO. On failure it returns NULL, a code in *status and a sentence in
 * `text`. */
static struct sw_client_connection *
connection_open(struct sherwood *client, const struct sw_client_connector *connector,
                const char *address, const struct sherwood_options *options,
                struct sw_reply *greeting, int *status, char *text, size_t text_bytes)
{
    int connect_ms = options->connect_timeout_ms <= 0 ? SW_CLIENT_CONNECT_TIMEOUT_MS
                                                      : options->connect_timeout_ms;
    struct sw_client_connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof(*connection));
        *status = SHERWOOD_E_NOMEM;
        return NULL;
    }
    connection->client = client;
    connection->number = ++client->connections_made;
    connection->low_water = 1;
    sw_client_clean(address, strlen(address), connection->address, sizeof(connection->address));
    connection->transport =
        connector->open(connector, address, options, connect_ms, status, text, text_bytes);
    if (connection->transport == NULL) {
        sw_client_connection_close(connection);
        return NULL;
    }
    connection->transport->traffic = &client->traffic;
    client->connections[client->connections_count++] = connection;
    int request_ms = client->request_timeout_ms;
    client->request_timeout_ms = connect_ms;
    *status = greet(connection, options, greeting);
    client->request_timeout_ms = request_ms;
    if (*status == SHERWOOD_OK) {
        return connection;
    }
    snprintf(text, text_bytes, "%s", client->error);
    client->connections_count--;
    sw_client_connection_close(connection);
    return NULL;
}

/* --- the facts of the server ------------------------------------------------------------------ */

static bool is_width(uint32_t bytes)
{
    return bytes == 4 || bytes == 8;
}

static bool is_value_width(const struct sw_server_info *info)
{
    if (info->value_format == SW_FRAME_VALUES_INTEGER) {
        return is_width(info->value_bytes);
    }
    if (info->value_type == SW_TYPE_NONE) {
        return info->value_bytes == 0;
    }
    return info->value_bytes % 4 == 0 && info->value_bytes >= 4 &&
           info->value_bytes <= SW_CLIENT_VALUE_BYTES_MAX;
}

const char *sw_client_check_facts(const struct sw_server_info *info)
{
    if (!sw_frame_values_is_known(info->value_format)) {
        return "values have a format that this client does not know: update libsherwood";
    }
    if (!is_width(info->key_bytes)) {
        return "key width is neither 4 nor 8 bytes";
    }
    if (!is_value_width(info)) {
        return info->value_format == SW_FRAME_VALUES_INTEGER
                   ? "value width is neither 4 nor 8 bytes"
                   : "value width is not a multiple of 4 from 4 to 4096 bytes";
    }
    if (info->frame_ops_max < SW_CLIENT_SPLIT_KEYS || info->frame_ops_max > SW_FRAME_OPS_MAX) {
        return "frame limit is outside 64 to 16777216 keys";
    }
    return info->requests_in_flight_max == 0 ? "limit of requests in flight is 0" : NULL;
}

void sw_client_read_facts(const struct sw_server_info *info, struct sherwood_server *server)
{
    sw_client_clean(info->version, sizeof(info->version), server->version, sizeof(server->version));
    sw_client_clean(info->backend, sizeof(info->backend), server->backend, sizeof(server->backend));
    sw_client_clean(info->backend_reason, sizeof(info->backend_reason), server->backend_reason,
                    sizeof(server->backend_reason));
    server->key_bytes = info->key_bytes;
    server->value_bytes = info->value_bytes;
    server->frame_ops_max = info->frame_ops_max;
    sw_client_clean(info->engine, sizeof(info->engine), server->engine, sizeof(server->engine));
    sw_client_clean(info->policy, sizeof(info->policy), server->policy, sizeof(server->policy));
    server->frame_bytes_max = info->frame_bytes_max;
    server->resp_keys = info->resp_keys;
    server->value_format = (enum sherwood_values)info->value_format;
    server->capacity_slots = info->capacity_slots;
    server->occupied_max = info->occupied_max;
    server->value_type =
        info->value_type < SW_TYPE_COUNT ? (enum sherwood_type)info->value_type : SHERWOOD_BYTES;
    server->dimension = info->dimension;
    server->takes_times = info->takes_times;
    server->run = info->run;
}

static void take_info(struct sherwood *client, const struct sw_server_info *info,
                      uint32_t connections)
{
    struct sherwood_server *server = &client->own.server;
    sw_client_read_facts(info, server);
    client->flights_max = info->requests_in_flight_max < SW_CLIENT_FLIGHTS_MAX
                              ? info->requests_in_flight_max
                              : SW_CLIENT_FLIGHTS_MAX;
    server->requests_in_flight_max = client->flights_max * connections;
    client->incarnation = info->incarnation;
    sw_client_expect_bodies(client, server);
}

/* Checks the facts of another node of a cluster. Takes the smaller limits, unless the limits of the
 * handle are fixed. Returns NULL or a phrase for what is wrong. */
static const char *check_node(struct sherwood *client, const struct sw_server_info *info)
{
    struct sherwood_server *server = &client->own.server;
    if (info->key_bytes != server->key_bytes || info->value_bytes != server->value_bytes ||
        info->value_format != (uint32_t)server->value_format) {
        return "widths differ from those of the other nodes";
    }
    bool is_smaller = info->frame_ops_max < server->frame_ops_max ||
                      info->frame_bytes_max < server->frame_bytes_max ||
                      info->requests_in_flight_max < client->flights_max;
    if (is_smaller && client->cluster->is_open) {
        return "limits are smaller than those of the other nodes";
    }
    if (is_smaller) {
#define LOWER(to, from) (to) = (from) < (to) ? (from) : (to)
        LOWER(server->frame_ops_max, info->frame_ops_max);
        LOWER(server->frame_bytes_max, info->frame_bytes_max);
        LOWER(client->flights_max, info->requests_in_flight_max);
        LOWER(server->requests_in_flight_max, client->flights_max);
    }
    return NULL;
}

/* Checks the reply to HELLO. The replies to all connections of a handle must agree. Returns NULL or
 * a phrase for what is wrong. */
static const char *check_greeting(struct sherwood *client, const struct sw_reply *greeting)
{
    const struct sherwood_server *server = &client->own.server;
    const struct sw_server_info *info = &greeting->info;
    if (!greeting->has_info) {
        return "greeting does not describe the server";
    }
    if (client->cluster != NULL && !info->is_cluster) {
        return "greeting reports no cluster mode: start the server with --cluster-config, or "
               "connect to one node";
    }
    const char *wrong = sw_client_check_facts(info);
    if (wrong != NULL || server->key_bytes == 0) {
        return wrong;
    }
    if (client->cluster != NULL) {
        return check_node(client, info);
    }
    if (info->key_bytes != server->key_bytes || info->value_bytes != server->value_bytes ||
        info->value_format != (uint32_t)server->value_format ||
        info->frame_ops_max != server->frame_ops_max ||
        info->frame_bytes_max != server->frame_bytes_max ||
        info->requests_in_flight_max < client->flights_max) {
        return "widths or limits differ between connections";
    }
    return NULL;
}

struct sw_client_connection *sw_client_open_connection(struct sherwood *client,
                                                       const struct sw_client_connector *connector,
                                                       const char *address,
                                                       const struct sherwood_options *options,
                                                       int *status, char *text, size_t text_bytes)
{
    struct sw_reply greeting = {0};
    struct sw_client_connection *connection =
        connection_open(client, connector, address, options, &greeting, status, text, text_bytes);
    if (connection == NULL) {
        return NULL;
    }
    const char *wrong = check_greeting(client, &greeting);
    if (wrong != NULL) {
        snprintf(text, text_bytes, "%s: this client cannot work with the server: its %s",
                 connection->address, wrong);
        *status = SHERWOOD_E_PROTOCOL;
        client->connections_count--;
        sw_client_connection_close(connection);
        return NULL;
    }
    if (client->own.server.key_bytes == 0) {
        take_info(client, &greeting.info, options->stripes == 0 ? 1 : options->stripes);
    }
    connection->map_epoch = greeting.info.map_epoch;
    connection->incarnation = greeting.info.incarnation;
    return connection;
}

const char *sw_client_take_options(const struct sherwood_options *given,
                                   struct sherwood_options *out)
{
    *out = (struct sherwood_options){0};
    if (given == NULL) {
        return NULL;
    }
    if (given->size < sizeof(given->size) || given->size > SW_CLIENT_STRUCT_BYTES_MAX) {
        return "the field size of the options is not that of the struct: begin with "
               "SHERWOOD_OPTIONS_INIT";
    }
    if (!sw_client_is_zero(given, sizeof(*out), given->size)) {
        return "an option that this version of libsherwood does not have is set: update "
               "libsherwood, or begin with SHERWOOD_OPTIONS_INIT";
    }
    memcpy(out, given, given->size < sizeof(*out) ? given->size : sizeof(*out));
    return NULL;
}

/* Polling delays an answer if the server needs this core. */
static int default_spin_us(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) > 2 ? SW_CLIENT_SPIN_US : 0;
}

int sw_client_make(const char *address, const struct sherwood_options *options,
                   struct sherwood_options *taken, struct sherwood **out, char *text,
                   size_t text_bytes)
{
    const char *wrong = sw_client_take_options(options, taken);
    if (wrong != NULL) {
        snprintf(text, text_bytes, "connect: %s", wrong);
        return SHERWOOD_E_INVALID;
    }
    if (sw_client_wants_secure(taken) && !sw_client_is_secure(address)) {
        snprintf(text, text_bytes,
                 "connect: the options of TLS need an address that begins with tls://, not \"%s\"",
                 address);
        return SHERWOOD_E_INVALID;
    }
    if (taken->stripes > SHERWOOD_STRIPES_MAX ||
        taken->send_buffer_bytes > SHERWOOD_SOCKET_BUFFER_MAX ||
        taken->receive_buffer_bytes > SHERWOOD_SOCKET_BUFFER_MAX) {
        snprintf(text, text_bytes,
                 "connect: %u stripes, socket buffers of %u and %u bytes: use at most %d stripes "
                 "and %u bytes",
                 taken->stripes, taken->send_buffer_bytes, taken->receive_buffer_bytes,
                 SHERWOOD_STRIPES_MAX, SHERWOOD_SOCKET_BUFFER_MAX);
        return SHERWOOD_E_INVALID;
    }
    struct sherwood *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof(*client));
        return SHERWOOD_E_NOMEM;
    }
    client->root = client;
    client->table = &client->own;
    client->epoll = -1;
    client->spin_us = taken->spin_us > 0    ? taken->spin_us
                      : taken->spin_us == 0 ? default_spin_us()
                                            : 0;
    client->flights_max = 1;
    client->request_timeout_ms =
        taken->request_timeout_ms > 0 ? taken->request_timeout_ms : SW_CLIENT_REQUEST_TIMEOUT_MS;
    sw_client_clean(address, strlen(address), client->address, sizeof(client->address));
    *out = client;
    return SHERWOOD_OK;
}
