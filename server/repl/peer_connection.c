/* SPDX-License-Identifier: MIT
 *
 * peer_connection.c - a non-blocking socket, with waits that another thread can end.
 */
#include "server/repl/peer_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/tls/context.h"

#define POLL_MS 100 /* how often is_over is called */

static int connection_failed(struct sw_peer_connection *connection, const char *what)
{
    snprintf(connection->reason, sizeof(connection->reason), "%s", what);
    return -1;
}

/* Waits for an event of the socket. Returns 0; or -1 and an error if wake_fd, is_over or the
 * timeout ended the wait. */
static int wait_for(struct sw_peer_connection *connection, short events)
{
    struct pollfd fds[2] = {{.fd = connection->socket.fd, .events = events},
                            {.fd = connection->wake_fd, .events = POLLIN}};
    int ready = 0;
    for (uint64_t left = connection->timeout_ms; ready == 0 && left > 0;) {
        const uint64_t some = connection->is_over != NULL && left > POLL_MS ? POLL_MS : left;
        ready = poll(fds, 2, (int)some);
        left -= some;
        if (connection->is_over != NULL && connection->is_over(connection->context)) {
            return connection_failed(connection, "the snapshot that repairs the log comes first");
        }
    }
    if (ready > 0 && fds[1].revents != 0) {
        return connection_failed(connection,
                                 "REPLICAOF, or the stop of the server, ended this connection");
    }
    if (ready == 0) {
        return connection_failed(connection, "no byte arrived within repl-timeout");
    }
    return ready < 0 && errno != EINTR ? connection_failed(connection, strerror(errno)) : 0;
}

static int try_address(struct sw_peer_connection *connection, const struct sockaddr *address,
                       socklen_t size)
{
    int error = 0, on = 1;
    socklen_t room = sizeof(error);
    connection->socket.fd =
        socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection->socket.fd < 0) {
        return connection_failed(connection, strerror(errno));
    }
    if (address->sa_family != AF_UNIX) {
        setsockopt(connection->socket.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(connection->socket.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    }
    if (connect(connection->socket.fd, address, size) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            if (wait_for(connection, POLLOUT) != 0) {
                return -1;
            }
            error = 0;
            getsockopt(connection->socket.fd, SOL_SOCKET, SO_ERROR, &error, &room);
        }
    }
    return error == 0 ? 0 : connection_failed(connection, strerror(error));
}

static int connect_unix(struct sw_peer_connection *connection, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        return connection_failed(connection, "the path of the socket is longer than 107 bytes");
    }
    memcpy(address.sun_path, path, strlen(path));
    return try_address(connection, (const struct sockaddr *)&address, sizeof(address));
}

static int connect_tcp(struct sw_peer_connection *connection, const char *host, uint16_t port)
{
    struct addrinfo *found = NULL;
    char digits[8];
    snprintf(digits, sizeof(digits), "%u", port);
    const char *wrong = sw_lookup(connection->lookups, host, digits, connection->wake_fd,
                                  connection->timeout_ms, &found);
    if (wrong != NULL) {
        return connection_failed(connection, wrong);
    }
    int status = -1;
    for (const struct addrinfo *next = found; next != NULL && status != 0; next = next->ai_next) {
        sw_peer_connection_close(connection);
        status = try_address(connection, next->ai_addr, next->ai_addrlen);
    }
    freeaddrinfo(found);
    return status;
}

int sw_peer_connection_open(struct sw_peer_connection *connection, const char *host, uint16_t port)
{
    char why[SW_REPL_REASON_BYTES];
    if ((port == 0 ? connect_unix(connection, host) : connect_tcp(connection, host, port)) == 0) {
        return 0;
    }
    memcpy(why, connection->reason, sizeof(why));
    int size =
        port == 0 ? snprintf(connection->reason, sizeof(why), "cannot connect to unix:%.100s", host)
                  : snprintf(connection->reason, sizeof(why), "cannot connect to %.100s port %u",
                             host, port);
    snprintf(connection->reason + size, sizeof(why) - (size_t)size, ": %.180s", why);
    return -1;
}

void sw_peer_connection_close(struct sw_peer_connection *connection)
{
    sw_peer_socket_close(&connection->socket);
}

static int shake_hands(struct sw_peer_connection *connection, struct sw_peer_tls *tls)
{
    int result;
    while ((result = sw_tls_handshake(&tls->stream)) == SW_TLS_AGAIN) {
        bool sends = sw_tls_is_sending(&tls->stream);
        if (wait_for(connection, (short)(POLLIN | (sends ? POLLOUT : 0))) != 0) {
            return -1;
        }
    }
    if (result != 1) {
        snprintf(connection->reason, sizeof(connection->reason),
                 "the TLS handshake with the primary failed: %s: check that the port is its "
                 "--tls-port, and the root certificates (--tls-ca)",
                 tls->scratch.trouble);
        return -1;
    }
    return 0;
}

int sw_peer_connection_secure(struct sw_peer_connection *connection, SSL_CTX *context,
                              const char *name)
{
    struct sw_peer_tls *tls = sw_peer_tls_new();
    if (tls == NULL ||
        sw_tls_stream_open(&tls->stream, context, connection->socket.fd, false, &tls->scratch) !=
            0 ||
        sw_tls_expect(tls->stream.ssl, name) != 0) {
        sw_peer_tls_free(tls);
        return connection_failed(connection, "no memory for a connection by TLS");
    }
    connection->socket.tls = tls;
    return shake_hands(connection, tls);
}

int64_t sw_peer_connection_receive(struct sw_peer_connection *connection, void *out, size_t least,
                                   size_t room)
{
    size_t got = 0;
    while (got < least) {
        ssize_t n = sw_peer_socket_receive(&connection->socket, (uint8_t *)out + got, room - got);
        if (n == 0) {
            return connection_failed(connection, "the primary has closed the connection");
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return connection_failed(connection,
                                     sw_peer_socket_trouble(&connection->socket, errno));
        }
        if (n < 0 && wait_for(connection, POLLIN) != 0) {
            return -1;
        }
        got += n > 0 ? (size_t)n : 0;
    }
    return (int64_t)got;
}

int sw_peer_connection_send(struct sw_peer_connection *connection, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        struct iovec piece = {(uint8_t *)(uintptr_t)bytes + sent, size - sent};
        ssize_t n = sw_peer_socket_send(&connection->socket, &piece, 1);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return connection_failed(connection,
                                     sw_peer_socket_trouble(&connection->socket, errno));
        }
        if (n < 0 && wait_for(connection, POLLOUT) != 0) {
            return -1;
        }
        sent += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int sw_peer_connection_read_line(struct sw_peer_connection *connection, char *line, size_t room)
{
    for (size_t size = 0; size + 1 < room; size++) {
        if (sw_peer_connection_receive(connection, line + size, 1, 1) < 0) {
            return -1;
        }
        if (line[size] == '\n') {
            line[size > 0 && line[size - 1] == '\r' ? size - 1 : size] = '\0';
            return 0;
        }
    }
    return connection_failed(connection, "the primary's reply is too long");
}
