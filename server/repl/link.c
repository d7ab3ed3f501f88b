/* SPDX-License-Identifier: MIT
 *
 * link.c - a socket that does not block, and waiting for it.
 */
#include "server/repl/link.h"

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

#define LOOK_MS 100 /* how often is_over is called */

static int link_to_failed(struct sw_link_to *link, const char *what)
{
    snprintf(link->reason, sizeof(link->reason), "%s", what);
    return -1;
}

/* Waits for an event of the socket. */
static int wait_for(struct sw_link_to *link, short events)
{
    struct pollfd fds[2] = {{.fd = link->wire.fd, .events = events},
                            {.fd = link->wake_fd, .events = POLLIN}};
    int ready = 0;
    for (uint64_t left = link->timeout_ms; ready == 0 && left > 0;) {
        const uint64_t some = link->is_over != NULL && left > LOOK_MS ? LOOK_MS : left;
        ready = poll(fds, 2, (int)some);
        left -= some;
        if (link->is_over != NULL && link->is_over(link->context)) {
            return link_to_failed(link, "the snapshot that repairs the log comes first");
        }
    }
    if (ready > 0 && fds[1].revents != 0) {
        return link_to_failed(link, "REPLICAOF, or the stop of the server, ended this connection");
    }
    if (ready == 0) {
        return link_to_failed(link, "no byte arrived within repl-timeout");
    }
    return ready < 0 && errno != EINTR ? link_to_failed(link, strerror(errno)) : 0;
}

static int try_address(struct sw_link_to *link, const struct sockaddr *address, socklen_t size)
{
    int error = 0, on = 1;
    socklen_t room = sizeof(error);
    link->wire.fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->wire.fd < 0) {
        return link_to_failed(link, strerror(errno));
    }
    if (address->sa_family != AF_UNIX) {
        setsockopt(link->wire.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(link->wire.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    }
    if (connect(link->wire.fd, address, size) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            if (wait_for(link, POLLOUT) != 0) {
                return -1;
            }
            error = 0;
            getsockopt(link->wire.fd, SOL_SOCKET, SO_ERROR, &error, &room);
        }
    }
    return error == 0 ? 0 : link_to_failed(link, strerror(error));
}

static int dial_unix(struct sw_link_to *link, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        return link_to_failed(link, "the path of the socket is longer than 107 bytes");
    }
    memcpy(address.sun_path, path, strlen(path));
    return try_address(link, (const struct sockaddr *)&address, sizeof(address));
}

int sw_link_dial(struct sw_link_to *link, const char *host, uint16_t port)
{
    struct addrinfo *found = NULL;
    char digits[8];
    if (port == 0) {
        return dial_unix(link, host);
    }
    snprintf(digits, sizeof(digits), "%u", port);
    const char *wrong =
        sw_lookup(link->lookups, host, digits, link->wake_fd, link->timeout_ms, &found);
    if (wrong != NULL) {
        return link_to_failed(link, wrong);
    }
    int status = -1;
    for (const struct addrinfo *next = found; next != NULL && status != 0; next = next->ai_next) {
        sw_link_close(link);
        status = try_address(link, next->ai_addr, next->ai_addrlen);
    }
    freeaddrinfo(found);
    return status;
}

void sw_link_close(struct sw_link_to *link)
{
    sw_wire_close(&link->wire);
}

static int shake_hands(struct sw_link_to *link, struct sw_wire_tls *tls)
{
    int result;
    while ((result = sw_tls_handshake(&tls->stream)) == SW_TLS_AGAIN) {
        bool sends = sw_tls_is_sending(&tls->stream);
        if (wait_for(link, (short)(POLLIN | (sends ? POLLOUT : 0))) != 0) {
            return -1;
        }
    }
    if (result != 1) {
        snprintf(link->reason, sizeof(link->reason),
                 "the TLS handshake with the primary failed: %s", tls->scratch.trouble);
        return -1;
    }
    return 0;
}

int sw_link_secure(struct sw_link_to *link, SSL_CTX *context, const char *name)
{
    struct sw_wire_tls *tls = sw_wire_tls_new();
    if (tls == NULL ||
        sw_tls_stream_open(&tls->stream, context, link->wire.fd, false, &tls->scratch) != 0 ||
        sw_tls_expect(tls->stream.ssl, name) != 0) {
        sw_wire_tls_free(tls);
        return link_to_failed(link, "no memory for a connection by TLS");
    }
    link->wire.tls = tls;
    return shake_hands(link, tls);
}

int64_t sw_link_receive(struct sw_link_to *link, void *out, size_t least, size_t room)
{
    size_t got = 0;
    while (got < least) {
        ssize_t n = sw_wire_receive(&link->wire, (uint8_t *)out + got, room - got);
        if (n == 0) {
            return link_to_failed(link, "the primary has closed the connection");
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return link_to_failed(link, sw_wire_trouble(&link->wire, errno));
        }
        if (n < 0 && wait_for(link, POLLIN) != 0) {
            return -1;
        }
        got += n > 0 ? (size_t)n : 0;
    }
    return (int64_t)got;
}

int sw_link_send(struct sw_link_to *link, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        struct iovec piece = {(uint8_t *)(uintptr_t)bytes + sent, size - sent};
        ssize_t n = sw_wire_send(&link->wire, &piece, 1);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return link_to_failed(link, sw_wire_trouble(&link->wire, errno));
        }
        if (n < 0 && wait_for(link, POLLOUT) != 0) {
            return -1;
        }
        sent += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int sw_link_line(struct sw_link_to *link, char *line, size_t room)
{
    for (size_t size = 0; size + 1 < room; size++) {
        if (sw_link_receive(link, line + size, 1, 1) < 0) {
            return -1;
        }
        if (line[size] == '\n') {
            line[size > 0 && line[size - 1] == '\r' ? size - 1 : size] = '\0';
            return 0;
        }
    }
    return link_to_failed(link, "the primary's reply is too long");
}
