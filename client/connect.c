/* SPDX-License-Identifier: MIT
 *
 * connect.c - the life of a handle: connecting to one server, to several addresses or to a cluster;
 * closing; the descriptor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/cluster.h"
#include "client/endpoints.h"
#include "client/follow.h"
#include "client/memory.h"
#include "client/open.h"
#include "client/sherwood-cluster.h"
#include "client/transport_tls.h"

/* Returns an opened handle to the caller, or closes it after a failure. */
static int finish(struct sherwood *client, int status, struct sherwood **out)
{
    if (status != SHERWOOD_OK) {
        sherwood_close(client);
        return status;
    }
    client->traffic = (struct sherwood_traffic){0};
    *out = client;
    return SHERWOOD_OK;
}

/* On failure writes the sentence to the caller's text, because no handle exists then. */
static int open_client(const struct sw_client_connector *connector, const char *address,
                       const struct sherwood_options *options, struct sherwood **out, char *text,
                       size_t text_bytes)
{
    struct sherwood_options taken;
    struct sherwood *client = NULL;
    int status = sw_client_make(address, options, &taken, &client, text, text_bytes);
    uint32_t connections = taken.stripes == 0 ? 1 : taken.stripes;
    for (uint32_t i = 0; i < connections && status == SHERWOOD_OK; i++) {
        (void)sw_client_open_connection(client, connector, address, &taken, &status, text,
                                        text_bytes);
    }
    return finish(client, status, out);
}

int sw_client_connect(const struct sw_client_connector *connector, const char *address,
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
        snprintf(text, text_bytes, "connect: the %s is NULL",
                 address == NULL ? "address" : "pointer to the handle");
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    return open_client(connector, address, options, out, text, text_bytes);
}

/* Connects by TLS. Leaves options that are wrong to open_client, which reports them. */
static int connect_secure(const char *address, const struct sherwood_options *options,
                          struct sherwood **out, char *text, size_t text_bytes)
{
    struct sherwood_options taken;
    struct sw_client_connector connector;
    char unread[SW_CLIENT_ERROR_BYTES];
    if (text == NULL || text_bytes == 0) {
        text = unread;
        text_bytes = sizeof(unread);
    }
    if (sw_client_take_options(options, &taken) != NULL) {
        taken = (struct sherwood_options){0};
    }
    int rc = sw_client_secure_begin(&connector, &taken, text, text_bytes);
    if (rc == SHERWOOD_OK) {
        rc = sw_client_connect(&connector, address, options, out, text, text_bytes);
        sw_client_secure_end(&connector);
    }
    return rc;
}

/* Connects to the primary among "address,address,..". */
static int connect_list(const char *list, const struct sherwood_options *options,
                        struct sherwood **out, char *text, size_t text_bytes)
{
    const char *addresses[SW_CLIENT_ENDPOINTS_MAX];
    char unread[SW_CLIENT_ERROR_BYTES];
    struct sherwood_options taken;
    struct sherwood *client = NULL;
    if (text == NULL || text_bytes == 0) {
        text = unread;
        text_bytes = sizeof(unread);
    }
    text[0] = '\0';
    *out = NULL;
    char *copy = strdup(list);
    size_t count =
        copy == NULL ? 0 : sw_client_endpoints_split(copy, addresses, SW_CLIENT_ENDPOINTS_MAX);
    int status = copy == NULL
                     ? SHERWOOD_E_NOMEM
                     : sw_client_make(addresses[0], options, &taken, &client, text, text_bytes);
    if (status == SHERWOOD_OK) {
        client->endpoints = calloc(1, sizeof(*client->endpoints));
        status = client->endpoints == NULL
                     ? SHERWOOD_E_NOMEM
                     : sw_client_endpoints_init(client->endpoints, addresses, count, &taken, text,
                                                text_bytes);
    }
    free(copy);
    if (status == SHERWOOD_OK) {
        status = sw_client_follow_open(client, text, text_bytes);
    }
    if (status == SHERWOOD_OK) {
        client->is_fixed = true;
    }
    return finish(client, status, out);
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
    return sw_client_connect(&sw_client_socket_connector, address, options, out, text, text_bytes);
}

int sherwood_connect(const char *address, const struct sherwood_options *options,
                     struct sherwood **out)
{
    return sherwood_connect_text(address, options, out, NULL, 0);
}

int sherwood_connect_cluster_text(const char *const *addresses, size_t count,
                                  const struct sherwood_options *options, struct sherwood **out,
                                  char *text, size_t text_bytes)
{
    char unread[SW_CLIENT_ERROR_BYTES];
    struct sherwood_options taken;
    struct sherwood *client = NULL;
    if (text == NULL || text_bytes == 0) {
        text = unread;
        text_bytes = sizeof(unread);
    }
    text[0] = '\0';
    if (out == NULL || addresses == NULL || count == 0 || addresses[0] == NULL) {
        snprintf(text, text_bytes, "connect: %s",
                 out == NULL ? "the pointer to the handle is NULL" : "no address given");
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    int status = sw_client_make(addresses[0], options, &taken, &client, text, text_bytes);
    if (status == SHERWOOD_OK) {
        status = sw_client_cluster_open(client, addresses, count, &taken, text, text_bytes);
    }
    return finish(client, status, out);
}

int sherwood_connect_cluster(const char *const *addresses, size_t count,
                             const struct sherwood_options *options, struct sherwood **out)
{
    return sherwood_connect_cluster_text(addresses, count, options, out, NULL, 0);
}

void sherwood_close(struct sherwood *client)
{
    if (client == NULL) {
        return;
    }
    if (client->root != client) { /* a table: the connections are those of the root */
        client->root->table = &client->root->own;
        free(client);
        return;
    }
    for (uint32_t i = 0; i < client->connections_count; i++) {
        sw_client_connection_close(client->connections[i]);
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
    return client == NULL ? NULL : &client->own.server;
}

void sherwood_traffic(const struct sherwood *client, struct sherwood_traffic *traffic, size_t size)
{
    if (traffic == NULL) {
        return;
    }
    memset(traffic, 0, size);
    if (client != NULL) {
        size_t known = sizeof(client->root->traffic);
        memcpy(traffic, &client->root->traffic, size < known ? size : known);
    }
}

int sherwood_descriptor(struct sherwood *client)
{
    client = sw_client_enter(client);
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
    for (uint32_t i = 0; i < client->connections_count; i++) {
        const struct sw_client_transport *transport = client->connections[i]->transport;
        struct epoll_event event = {.events = (uint32_t)transport->read_events};
        if (client->connections[i]->broken == 0 &&
            epoll_ctl(epoll, EPOLL_CTL_ADD, transport->fd, &event) != 0) {
            close(epoll);
            return -1;
        }
    }
    client->epoll = epoll;
    for (uint32_t i = 0; i < client->connections_count; i++) {
        client->connections[i]->watches_write = false;
        if (client->connections[i]->broken == 0) {
            sw_client_connection_watch(client->connections[i]);
        }
    }
    return epoll;
}
