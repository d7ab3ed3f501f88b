/* SPDX-License-Identifier: MIT
 *
 * connect.c - the life of a handle: connecting its stripes, checking the facts of the server,
 * closing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/cluster.h"
#include "client/endpoints.h"
#include "client/error.h"
#include "client/follow.h"
#include "client/region.h"
#include "client/secure.h"

static bool is_width(uint32_t bytes)
{
    return bytes == 4 || bytes == 8;
}

static bool is_value_width(const struct sw_server_info *info)
{
    if (info->value_format == SW_FRAME_VALUES_INTEGER) {
        return is_width(info->value_bytes);
    }
    return info->value_bytes % 4 == 0 && info->value_bytes >= 4 &&
           info->value_bytes <= SW_CLIENT_VALUE_BYTES_MAX;
}

/* Returns NULL, or a phrase for what this client cannot work with. */
static const char *check_info(const struct sw_server_info *info)
{
    if (!sw_frame_values_is_known(info->value_format)) {
        return "values are of a kind that this client does not know";
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

static void take_info(struct sherwood *client, const struct sw_server_info *info, uint32_t stripes)
{
    struct sherwood_server *server = &client->server;
    sw_client_clean(info->version, sizeof(info->version), server->version, sizeof(server->version));
    sw_client_clean(info->backend, sizeof(info->backend), server->backend, sizeof(server->backend));
    sw_client_clean(info->backend_reason, sizeof(info->backend_reason), server->backend_reason,
                    sizeof(server->backend_reason));
    server->key_bytes = info->key_bytes;
    server->value_bytes = info->value_bytes;
    server->frame_ops_max = info->frame_ops_max;
    client->flights_max = info->requests_in_flight_max < SW_CLIENT_FLIGHTS_MAX
                              ? info->requests_in_flight_max
                              : SW_CLIENT_FLIGHTS_MAX;
    server->requests_in_flight_max = client->flights_max * stripes;
    sw_client_clean(info->engine, sizeof(info->engine), server->engine, sizeof(server->engine));
    sw_client_clean(info->policy, sizeof(info->policy), server->policy, sizeof(server->policy));
    server->frame_bytes_max = info->frame_bytes_max;
    server->resp_keys = info->resp_keys;
    client->incarnation = info->incarnation;
    server->value_format = (enum sherwood_values)info->value_format;
    server->capacity_slots = info->capacity_slots;
    server->occupied_max = info->occupied_max;
    server->value_type =
        info->value_type <= SHERWOOD_BF16 ? (enum sherwood_type)info->value_type : SHERWOOD_BYTES;
    server->dimension = info->dimension;
    server->takes_times = info->takes_times;
}

/* Checks the facts of a further node of a cluster, and takes the smaller limits while those of the
 * handle are not fixed. Returns NULL or a phrase for what is wrong. */
static const char *check_node(struct sherwood *client, const struct sw_server_info *info)
{
    struct sherwood_server *server = &client->server;
    if (info->key_bytes != server->key_bytes || info->value_bytes != server->value_bytes ||
        info->value_format != (uint32_t)server->value_format) {
        return "widths are not those of the other nodes";
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

/* Checks the reply to HELLO; that of a further stripe must be the same as that of the first.
 * Returns NULL or a phrase for what is wrong. */
static const char *check_greeting(struct sherwood *client, const struct sw_reply *greeting)
{
    const struct sherwood_server *server = &client->server;
    const struct sw_server_info *info = &greeting->info;
    if (!greeting->has_info) {
        return "greeting says nothing of it";
    }
    if (client->cluster != NULL && !info->is_cluster) {
        return "greeting says that it is not in cluster mode (--cluster-config)";
    }
    const char *wrong = check_info(info);
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
        return "widths or limits are not the same on every connection";
    }
    return NULL;
}

struct sw_client_stripe *sw_client_open_stripe(struct sherwood *client,
                                               const struct sw_client_dialer *dialer,
                                               const char *address,
                                               const struct sherwood_options *options, int *status,
                                               char *text, size_t text_bytes)
{
    struct sw_reply greeting = {0};
    struct sw_client_stripe *stripe = sw_client_stripe_open(client, dialer, address, options,
                                                            &greeting, status, text, text_bytes);
    if (stripe == NULL) {
        return NULL;
    }
    const char *wrong = check_greeting(client, &greeting);
    if (wrong != NULL) {
        snprintf(text, text_bytes, "%s: this client cannot work with the server: its %s",
                 stripe->address, wrong);
        *status = SHERWOOD_E_PROTOCOL;
        client->stripes_count--;
        sw_client_stripe_close(stripe);
        return NULL;
    }
    if (client->server.key_bytes == 0) {
        take_info(client, &greeting.info, options->stripes == 0 ? 1 : options->stripes);
    }
    stripe->map_epoch = greeting.info.map_epoch;
    stripe->incarnation = greeting.info.incarnation;
    return stripe;
}

/* Copies the options of a program that may have been compiled with an older or a newer version.
 * Returns NULL or a phrase for what is wrong with them. */
static const char *take_options(const struct sherwood_options *given, struct sherwood_options *out)
{
    *out = (struct sherwood_options){0};
    if (given == NULL) {
        return NULL;
    }
    if (given->size < sizeof(given->size) || given->size > SW_CLIENT_STRUCT_BYTES_MAX) {
        return "the options have no size: begin with SHERWOOD_OPTIONS_INIT";
    }
    if (!sw_client_is_zero(given, sizeof(*out), given->size)) {
        return "the options ask for what this version of libsherwood does not have";
    }
    memcpy(out, given, given->size < sizeof(*out) ? given->size : sizeof(*out));
    return NULL;
}

/* Where there is no core to spare, looking for an answer delays it. */
static int default_spin_us(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) > 2 ? SW_CLIENT_SPIN_US : 0;
}

int sw_client_make(const char *address, const struct sherwood_options *options,
                   struct sherwood_options *taken, struct sherwood **out, char *text,
                   size_t text_bytes)
{
    const char *wrong = take_options(options, taken);
    if (wrong != NULL) {
        snprintf(text, text_bytes, "connect: %s", wrong);
        return SHERWOOD_E_INVALID;
    }
    if (sw_client_wants_secure(taken) && !sw_client_is_secure(address)) {
        snprintf(text, text_bytes,
                 "connect: options of TLS need an address that begins with tls://");
        return SHERWOOD_E_INVALID;
    }
    if (taken->stripes > SHERWOOD_STRIPES_MAX ||
        taken->send_buffer_bytes > SHERWOOD_SOCKET_BUFFER_MAX ||
        taken->receive_buffer_bytes > SHERWOOD_SOCKET_BUFFER_MAX) {
        snprintf(text, text_bytes,
                 "connect: a handle has at most %d stripes, a socket buffer at most %u bytes",
                 SHERWOOD_STRIPES_MAX, SHERWOOD_SOCKET_BUFFER_MAX);
        return SHERWOOD_E_INVALID;
    }
    struct sherwood *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof(*client));
        return SHERWOOD_E_NOMEM;
    }
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

/* Writes the sentence of a failure to the caller's text, as there is no handle then. */
static int open_client(const struct sw_client_dialer *dialer, const char *address,
                       const struct sherwood_options *options, struct sherwood **out, char *text,
                       size_t text_bytes)
{
    struct sherwood_options taken;
    struct sherwood *client = NULL;
    int status = sw_client_make(address, options, &taken, &client, text, text_bytes);
    uint32_t stripes = taken.stripes == 0 ? 1 : taken.stripes;
    for (uint32_t i = 0; i < stripes && status == SHERWOOD_OK; i++) {
        (void)sw_client_open_stripe(client, dialer, address, &taken, &status, text, text_bytes);
    }
    if (status != SHERWOOD_OK) {
        sherwood_close(client);
        return status;
    }
    client->traffic = (struct sherwood_traffic){0};
    *out = client;
    return SHERWOOD_OK;
}

int sw_client_connect(const struct sw_client_dialer *dialer, const char *address,
                      const struct sherwood_options *options, struct sherwood **out, char *text,
                      size_t text_bytes)
{
    char unread[SW_CLIENT_ERROR_BYTES];
    if (text == NULL || text_bytes == 0) {
        text = unread;
        text_bytes = sizeof(unread);
    }
    text[0] = '\0';
    if (out == NULL || address == NULL) {
        snprintf(text, text_bytes, "connect: no %s given", address == NULL ? "address" : "handle");
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    return open_client(dialer, address, options, out, text, text_bytes);
}

/* Connects by TLS. Options that open_client is about to refuse are not looked at. */
static int connect_secure(const char *address, const struct sherwood_options *options,
                          struct sherwood **out, char *text, size_t text_bytes)
{
    struct sherwood_options taken;
    struct sw_client_dialer dialer;
    char unread[SW_CLIENT_ERROR_BYTES];
    if (text == NULL || text_bytes == 0) {
        text = unread;
        text_bytes = sizeof(unread);
    }
    if (take_options(options, &taken) != NULL) {
        taken = (struct sherwood_options){0};
    }
    int rc = sw_client_secure_begin(&dialer, &taken, text, text_bytes);
    if (rc == SHERWOOD_OK) {
        rc = sw_client_connect(&dialer, address, options, out, text, text_bytes);
        sw_client_secure_end(&dialer);
    }
    return rc;
}

static int connect_list(const char *list, const struct sherwood_options *options,
                        struct sherwood **out, char *text, size_t text_bytes)
{
    char unread[SW_CLIENT_ERROR_BYTES];
    if (text == NULL || text_bytes == 0) {
        text = unread;
        text_bytes = sizeof(unread);
    }
    text[0] = '\0';
    *out = NULL;
    return sw_client_connect_list(list, options, out, text, text_bytes);
}

int sherwood_connect_text(const char *address, const struct sherwood_options *options,
                          struct sherwood **out, char *text, size_t text_bytes)
{
    if (out != NULL && address != NULL && sw_client_is_list(address)) {
        return connect_list(address, options, out, text, text_bytes);
    }
    if (out != NULL && address != NULL && sw_client_is_secure(address)) {
        *out = NULL;
        return connect_secure(address, options, out, text, text_bytes);
    }
    return sw_client_connect(&sw_client_plain_dialer, address, options, out, text, text_bytes);
}

int sherwood_connect(const char *address, const struct sherwood_options *options,
                     struct sherwood **out)
{
    return sherwood_connect_text(address, options, out, NULL, 0);
}

void sherwood_close(struct sherwood *client)
{
    if (client == NULL) {
        return;
    }
    for (uint32_t i = 0; i < client->stripes_count; i++) {
        sw_client_stripe_close(client->stripes[i]);
    }
    sw_client_regions_close(client);
    if (client->epoll >= 0) {
        close(client->epoll);
    }
    sw_client_cluster_free(client->cluster);
    if (client->endpoints != NULL) {
        sw_client_endpoints_fini(client->endpoints);
        free(client->endpoints);
    }
    free(client);
}

const struct sherwood_server *sherwood_server(const struct sherwood *client)
{
    return client == NULL ? NULL : &client->server;
}

uint32_t sherwood_stripes(const struct sherwood *client)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; client != NULL && i < client->stripes_count; i++) {
        alive += client->stripes[i]->broken == 0;
    }
    return alive;
}

void sherwood_traffic(const struct sherwood *client, struct sherwood_traffic *traffic, size_t size)
{
    if (traffic == NULL) {
        return;
    }
    memset(traffic, 0, size);
    if (client != NULL) {
        size_t known = sizeof(client->traffic);
        memcpy(traffic, &client->traffic, size < known ? size : known);
    }
}

int sherwood_descriptor(struct sherwood *client)
{
    if (client == NULL) {
        return -1;
    }
    if (client->epoll >= 0) {
        return client->epoll;
    }
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) {
        return -1;
    }
    for (uint32_t i = 0; i < client->stripes_count; i++) {
        const struct sw_client_transport *transport = client->stripes[i]->transport;
        struct epoll_event event = {.events = (uint32_t)transport->read_events};
        if (client->stripes[i]->broken == 0 &&
            epoll_ctl(epoll, EPOLL_CTL_ADD, transport->fd, &event) != 0) {
            close(epoll);
            return -1;
        }
    }
    client->epoll = epoll;
    for (uint32_t i = 0; i < client->stripes_count; i++) {
        client->stripes[i]->watches_write = false;
        if (client->stripes[i]->broken == 0) {
            sw_client_stripe_watch(client->stripes[i]);
        }
    }
    return epoll;
}
