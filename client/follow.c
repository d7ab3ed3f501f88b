/* SPDX-License-Identifier: MIT
 *
 * follow.c - finding the primary among several addresses.
 */
#include "client/follow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "client/control_request.h"
#include "client/endpoints.h"
#include "client/error.h"
#include "client/open.h"
#include "client/send.h"
#include "client/sherwood-replicas.h"
#include "client/step.h"
#include "client/table.h"

/* The most servers that one round tries: the addresses, and the primaries that replicas name. */
#define TRIED_MAX (2 * SW_CLIENT_ENDPOINTS_MAX)
/* The pause between two rounds while the members elect a primary. */
#define REST_MS 100
/* Each address gets an equal share of the time to connect, but at least this one. */
#define SHARE_MS_MIN 250

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- the role of a server --------------------------------------------------------------------- */

enum role { PRIMARY, REPLICA, LOADING, UNREACHABLE };

/* Sends a WAIT for no replica: a primary replies at once, and a replica refuses it and names its
 * primary. A server that loads its data does not say what it will be. A server that refuses it for
 * another reason counts as a primary. */
static enum role ask_role(struct sw_client_connection *connection, int timeout_ms)
{
    struct sherwood *client = connection->client;
    const struct sw_request header = {.operation = SW_OPERATION_WAIT,
                                      .key_bytes = client->own.server.key_bytes,
                                      .value_bytes = client->own.server.value_bytes};
    const int request_ms = client->request_timeout_ms;
    struct sw_reply reply = {0};
    client->primary[0] = '\0';
    client->is_at_replica = false;
    client->request_timeout_ms = timeout_ms;
    int status = sw_client_control_request(connection, &header, NULL, NULL, &reply);
    client->request_timeout_ms = request_ms;
    if (connection->broken == 0 && reply.status == SW_REPLY_LOADING) {
        sw_client_fail(client, status, "%s: the server is loading its data: try again",
                       connection->address);
        return LOADING;
    }
    return connection->broken != 0                               ? UNREACHABLE
           : status == SHERWOOD_E_SHARD && client->is_at_replica ? REPLICA
                                                                 : PRIMARY;
}

/* --- connecting ------------------------------------------------------------------------------- */

/* The state of a search for the primary. */
struct search {
    struct sherwood *client;
    struct sherwood_options options;                /* options of each attempt */
    char tried[TRIED_MAX][SW_CLIENT_ADDRESS_BYTES]; /* servers that this round has tried */
    uint32_t tried_count;
    char other[SW_CLIENT_ADDRESS_BYTES]; /* the first replica that replied, or else the first server
                                            that loads its data; "": none */
    bool other_loads;
    char *text; /* why the last attempt failed */
    size_t text_bytes;
    int status;
};

/* Closes the last connection in the handle's list. Forgets the server's facts if no call has used
 * them. */
static void drop(struct sherwood *client)
{
    sw_client_connection_close(client->connections[--client->connections_count]);
    client->broken = 0;
    if (!client->is_fixed) {
        client->own.server = (struct sherwood_server){0};
        client->flights_max = 1;
    }
}

static bool open_at(struct search *search, const char *address)
{
    struct sherwood *client = search->client;
    bool done =
        sw_client_open_connection(client, &client->endpoints->connector, address, &search->options,
                                  &search->status, search->text, search->text_bytes) != NULL;
    client->broken = 0; /* set by the failed attempt, because the handle has no other connection */
    return done;
}

/* Records that this round tries a server. Returns false if it has tried the server before, or if
 * the address is empty. */
static bool is_new(struct search *search, const char *address)
{
    for (uint32_t i = 0; i < search->tried_count; i++) {
        if (strcmp(search->tried[i], address) == 0) {
            return false;
        }
    }
    if (address[0] == '\0' || search->tried_count == TRIED_MAX) {
        return false;
    }
    snprintf(search->tried[search->tried_count++], SW_CLIENT_ADDRESS_BYTES, "%s", address);
    return true;
}

/* Connects to an address. If its server is a replica, connects to the primary that the replica
 * names, and so on. Returns true with a connection to a primary. */
static bool try_address(struct search *search, const char *first)
{
    struct sherwood *client = search->client;
    char address[SW_CLIENT_ADDRESS_BYTES];
    snprintf(address, sizeof(address), "%s", first);
    while (is_new(search, address) && open_at(search, address)) {
        enum role role = ask_role(client->connections[0], search->options.connect_timeout_ms);
        if (role == PRIMARY) {
            return true;
        }
        if ((role == REPLICA && search->other_loads) ||
            (role != UNREACHABLE && search->other[0] == '\0')) {
            memcpy(search->other, address, sizeof(address));
            search->other_loads = role == LOADING;
        }
        snprintf(search->text, search->text_bytes, "%s", client->error);
        search->status = SHERWOOD_E_CONNECTION;
        drop(client);
        snprintf(address, sizeof(address), "%s", role == REPLICA ? client->primary : "");
    }
    return false;
}

/* Searches for the primary, first at `hint`, then at all addresses, in rounds until the time to
 * connect is over. The handle must have no connection. Returns true with a connection to the
 * primary. */
static bool search_primary(struct search *search, const char *hint)
{
    const struct sw_client_endpoints *endpoints = search->client->endpoints;
    const int limit_ms = endpoints->options.connect_timeout_ms > 0
                             ? endpoints->options.connect_timeout_ms
                             : SW_CLIENT_CONNECT_TIMEOUT_MS;
    const int64_t deadline = now_ms() + limit_ms;
    const int share_ms = limit_ms / (int)endpoints->count;
    search->options = endpoints->options;
    search->options.connect_timeout_ms = share_ms > SHARE_MS_MIN ? share_ms : SHARE_MS_MIN;
    do {
        search->tried_count = 0;
        if (try_address(search, hint)) {
            return true;
        }
        for (size_t i = 0; i < endpoints->count; i++) {
            if (try_address(search, endpoints->addresses[i])) {
                return true;
            }
        }
        const struct timespec rest = {.tv_nsec = REST_MS * 1000000L};
        (void)nanosleep(&rest, NULL);
    } while (now_ms() < deadline);
    return false;
}

/* Opens the other connections of a handle that has one. */
static bool open_others(struct search *search)
{
    struct sherwood *client = search->client;
    const uint32_t connections = client->endpoints->options.stripes;
    bool done = true;
    for (uint32_t i = 1; i < connections && done; i++) {
        done = open_at(search, client->connections[0]->address);
    }
    return done;
}

int sw_client_follow_open(struct sherwood *client, char *text, size_t text_bytes)
{
    struct search search = {.client = client, .text = text, .text_bytes = text_bytes};
    /* Without a primary, a replica still serves reads, and a server that loads will do so. */
    bool done =
        search_primary(&search, "") || (search.other[0] != '\0' && open_at(&search, search.other));
    return done && open_others(&search) ? SHERWOOD_OK : search.status;
}

/* --- following -------------------------------------------------------------------------------- */

const char *sherwood_primary(const struct sherwood *client)
{
    return client == NULL ? "" : client->root->primary;
}

/* Adds the new connections to the program's descriptor. */
static void watch(struct sherwood *client)
{
    for (uint32_t i = 0; client->epoll >= 0 && i < client->connections_count; i++) {
        const struct sw_client_transport *transport = client->connections[i]->transport;
        struct epoll_event event = {.events = (uint32_t)transport->read_events};
        (void)epoll_ctl(client->epoll, EPOLL_CTL_ADD, transport->fd, &event);
    }
}

/* Replaces the connections of the handle by connections to the primary. Nothing is in flight. */
static int move_to_primary(struct sherwood *client)
{
    struct sw_client_connection *old[SHERWOOD_STRIPES_MAX];
    const uint32_t count = client->connections_count;
    char hint[SW_CLIENT_ADDRESS_BYTES], text[SW_CLIENT_ERROR_BYTES] = "";
    struct search search = {.client = client, .text = text, .text_bytes = sizeof(text)};
    memcpy(hint, client->primary, sizeof(hint));
    /* an array of pointers: NOLINTNEXTLINE(bugprone-sizeof-expression) */
    memcpy(old, client->connections, count * sizeof(old[0]));
    client->connections_count = 0;
    client->next = 0;
    if (!search_primary(&search, hint) || !open_others(&search)) {
        while (client->connections_count > 0) {
            drop(client);
        }
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        memcpy(client->connections, old, count * sizeof(old[0]));
        client->connections_count = count;
        return sw_client_fail(client, SHERWOOD_E_SHARD,
                              "cannot find a primary among the addresses: %.400s", text);
    }
    for (uint32_t i = 0; i < count; i++) {
        client->lost_writes |= old[i]->has_written;
        sw_client_connection_close(old[i]);
    }
    watch(client);
    client->lost_durable |= client->last_write > 0;
    client->last_write = 0;
    client->incarnation = client->connections[0]->incarnation;
    client->has_cursors = false;
    client->is_at_replica = false;
    client->broken = 0;
    return SHERWOOD_OK;
}

/* Does what sherwood_follow does. */
static int follow(struct sherwood *client)
{
    if (client == NULL || client->broken != 0) {
        return client == NULL ? SHERWOOD_E_INVALID : client->broken;
    }
    if (client->endpoints == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "follow: the handle has one address: connect with those of all "
                              "members, \"address,address,..\"");
    }
    if (client->regions != NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "follow: the handle has regions, which belong to its server: destroy "
                              "them first");
    }
    sw_client_send_all(client);
    while (client->in_flight > 0) {
        sw_client_step(client, -1);
    }
    return client->broken != 0 ? client->broken : move_to_primary(client);
}

int sherwood_follow(struct sherwood *client)
{
    return follow(sw_client_enter(client));
}

int sw_client_follow_call(struct sherwood *client, const struct sw_client_call *call, int *follows,
                          size_t *from)
{
    const bool was_refused = call->refused_from != SW_CLIENT_NOT_REFUSED;
    /* Executing a frame twice would be wrong: give up if a frame after a refused one was executed.
     */
    if (!was_refused || call->has_failed || call->done_to > call->refused_from ||
        ++*follows > SW_CLIENT_FOLLOWS_MAX) {
        return call->status;
    }
    *from = (size_t)call->refused_from;
    if (call->status == SHERWOOD_E_TABLE) {
        return *follows > 1 ? call->status : sw_client_table_renew(client, call->status);
    }
    return call->status != SHERWOOD_E_SHARD || client->endpoints == NULL || client->regions != NULL
               ? call->status
               : follow(client);
}
