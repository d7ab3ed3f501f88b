/* SPDX-License-Identifier: MIT
 *
 * conn_open.c - opening a connection, and dispatching the events of its transport.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/config/live.h"
#include "server/limits.h"
#include "server/net/conn_login.h"
#include "server/observe/log.h"

/* Writes an address of a socket, the peer's or its own, as getpeername and getsockname fill it. */
static void describe(int fd, bool is_unix, bool is_peer, char *out, size_t room)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "?";
    if (is_unix) {
        snprintf(out, room, "unix:0");
    } else if ((is_peer ? getpeername(fd, (struct sockaddr *)&address, &size)
                        : getsockname(fd, (struct sockaddr *)&address, &size)) != 0) {
        snprintf(out, room, "?:0");
    } else if (address.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&address;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        snprintf(out, room, "%s:%u", host, ntohs(v4->sin_port));
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&address;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        snprintf(out, room, "[%s]:%u", host, ntohs(v6->sin6_port));
    }
}

/* Adds a connection to the client list. */
static void enter(struct sw_conn *conn, int fd, bool is_unix)
{
    struct sw_net *net = conn->net;
    struct sw_clients_entry *entry = &conn->shown;
    memcpy(entry->peer, conn->peer.address, sizeof(entry->peer));
    describe(fd, is_unix, false, entry->own, sizeof(entry->own));
    entry->kill_some = &net->kill_some;
    entry->wake = net->inbox.wake;
    sw_clients_publish(conn);
    if (net->clients != NULL && !conn->is_refused) {
        sw_clients_enter(net->clients, entry);
    }
}

/* Updates the gauge of connections and the counters by one connection, opened (1) or closed (-1).
 * Refused connections do not count as accepted. */
static void count_open(struct sw_net *net, bool is_refused, int change)
{
    if (is_refused) {
        net->refused += (uint32_t)change;
        return;
    }
    __atomic_store_n(&net->connections, net->connections + (uint64_t)(int64_t)change,
                     __ATOMIC_RELAXED);
    if (change > 0) {
        SW_COUNT(net->counters, connections_accepted, 1);
    } else {
        SW_COUNT(net->counters, connections_closed, 1);
    }
}

struct sw_conn *sw_conn_create(struct sw_net *net, bool is_refused)
{
    struct sw_conn *conn = calloc(1, sizeof(*conn) + net->state_bytes);
    assert(net->id_step > 0);
    if (conn == NULL) {
        return NULL;
    }
    conn->net = net;
    conn->is_refused = is_refused;
    conn->refusal = is_refused ? SW_REFUSAL_TOO_MANY_CONNECTIONS : SW_REFUSAL_NONE;
    conn->read_bytes = SW_READ_BYTES;
    conn->peer.id = net->next_id;
    net->next_id += net->id_step;
    conn->peer.open_at_ms = sw_net_now_ms(net);
    conn->times.input_at = conn->times.output_at = conn->peer.open_at_ms;
    sw_list_init(&conn->link);
    sw_list_init(&conn->stalled);
    sw_list_init(&conn->shown.link);
    conn->shown.id = conn->peer.id;
    conn->shown.open_at_ms = conn->peer.open_at_ms;
    conn->queued_commands = -1;
    sw_list_push(&net->conns, &conn->link);
    count_open(net, is_refused, 1);
    return conn;
}

void sw_conn_start(struct sw_conn *conn)
{
    assert(conn->state == SW_CONN_OPEN && conn->transport.functions != NULL);
    sw_conn_update_reading(conn);
}

static void on_written(struct sw_transport *transport, int status)
{
    struct sw_conn *conn = SW_CONTAINER(transport, struct sw_conn, transport);
    assert(conn->protocol != NULL && !transport->writing);
    conn->protocol->written(conn, status);
}

static void on_closed(struct sw_transport *transport)
{
    struct sw_conn *conn = SW_CONTAINER(transport, struct sw_conn, transport);
    assert(conn->state == SW_CONN_CLOSED && !conn->transport_closed);
    conn->transport_closed = true;
    sw_list_remove(&conn->link);
    count_open(conn->net, conn->is_refused, -1);
    sw_conn_login_end(conn);
    sw_conn_free_if_done(conn);
}

/* Logs in the user whose name the client's certificate has. */
static void log_in_by_certificate(struct sw_conn *conn)
{
    char name[SW_USER_NAME_BYTES];
    if (conn->net->config->tls_user_from_cert == 0 || conn->refusal != SW_REFUSAL_NONE ||
        !sw_tls_peer_name(&conn->transport, name, sizeof(name))) {
        return;
    }
    if (!sw_conn_login_as(conn, name, strlen(name))) {
        sw_log_limited(
            SW_LOG_TLS, SW_LOG_NOTICE,
            "%s sent a certificate whose name is not a user: it starts as other clients do",
            conn->peer.address);
    }
}

static void on_news(struct sw_transport *transport, enum sw_transport_news news, const char *text)
{
    struct sw_conn *conn = SW_CONTAINER(transport, struct sw_conn, transport);
    struct sw_loop_counters *counters = conn->net->counters;
    switch (news) {
    case SW_NEWS_SECURED:
        SW_COUNT(counters, tls_handshakes, 1);
        log_in_by_certificate(conn);
        break;
    case SW_NEWS_HANDSHAKE_FAILED:
        SW_COUNT(counters, tls_handshake_failures, 1);
        sw_log_limited(SW_LOG_TLS, SW_LOG_NOTICE, "TLS handshake with %s failed: %s",
                       conn->peer.address, text);
        break;
    case SW_NEWS_CUT:
        SW_COUNT(counters, tls_cuts, 1);
        sw_log(SW_LOG_DEBUG, "TLS with %s: %s", conn->peer.address, text);
        break;
    case SW_NEWS_BROKEN:
        SW_COUNT(counters, tls_failures, 1);
        sw_log_limited(SW_LOG_TLS, SW_LOG_NOTICE, "TLS with %s failed: %s", conn->peer.address,
                       text);
        break;
    }
}

const struct sw_transport_events sw_conn_events = {sw_conn_room, sw_conn_received, on_written,
                                                   on_closed, on_news};

/* Opens the transport of an accepted socket. Returns 0 or a negative error of libuv. */
static int open_transport(struct sw_conn *conn, const struct sw_inbox_item *accepted)
{
    struct sw_net *net = conn->net;
    struct sw_socket_sizes sizes = {SW_LIVE(net->config->tcp_buffer_bytes),
                                    SW_LIVE(net->config->unix_buffer_bytes)};
    if (!accepted->is_tls) {
        return sw_transport_open(&conn->transport, net->uv, accepted->fd, accepted->is_unix, sizes,
                                 &sw_conn_events);
    }
    SSL_CTX *context = sw_tls_credentials_context(net->tls_credentials);
    int error = sw_tls_open(&conn->transport, net->uv, accepted->fd, context, sizes, &net->tls,
                            &sw_conn_events);
    SSL_CTX_free(context);
    return error;
}

void sw_conn_open(struct sw_net *net, struct sw_inbox_item accepted)
{
    const int fd = accepted.fd;
    const bool is_refused = accepted.is_refused;
    if (is_refused && net->refused >= SW_REFUSED_MAX) {
        close(fd);
        return;
    }
    struct sw_conn *conn = sw_conn_create(net, is_refused);
    if (conn == NULL) {
        sw_log_limited(SW_LOG_NO_MEMORY, SW_LOG_ERROR, "no memory for a connection: it was closed");
        close(fd);
        count_open(net, is_refused, 1); /* the listener has counted it, and expects it to close */
        count_open(net, is_refused, -1);
        return;
    }
    describe(fd, accepted.is_unix, true, conn->peer.address, sizeof(conn->peer.address));
    int error = open_transport(conn, &accepted);
    if (error != 0) {
        sw_log_limited(SW_LOG_ACCEPT, SW_LOG_WARNING, "a connection could not be opened: %s",
                       uv_strerror(error));
        close(fd);
        sw_conn_abort(conn);
        return;
    }
    sw_conn_login_begin(conn, fd, accepted.is_unix);
    if (net->turned_away > SW_REFUSED_MAX && conn->refusal != SW_REFUSAL_NONE) {
        sw_conn_abort(conn);
        return;
    }
    enter(conn, fd, accepted.is_unix);
    sw_conn_start(conn);
}
