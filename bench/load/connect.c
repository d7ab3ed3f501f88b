/* SPDX-License-Identifier: MIT
 *
 * connect.c - connects a socket (see connect.h).
 */
#include "bench/load/connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/decimal.h"

#define HOST_BYTES_MAX 256
#define PORT_MAX 65535

/* Connects a new socket; returns it, or -1 with errno set. */
static int connect_socket(const struct sockaddr *address, socklen_t size, int timeout_ms)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int error = 0;
    if (connect(fd, address, size) != 0) {
        error = errno;
    }
    if (error == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        socklen_t length = sizeof(error);
        int ready = poll(&wait, 1, timeout_ms);
        if (ready == 0) {
            error = ETIMEDOUT;
        } else if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
            error = errno;
        }
    }
    if (error) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int dial_unix(const char *path, int timeout_ms, char *text, size_t text_bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        snprintf(text, text_bytes, "%s: the path of a unix socket has at most %zu bytes", path,
                 sizeof(address.sun_path) - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = connect_socket((const struct sockaddr *)&address, sizeof(address), timeout_ms);
    if (fd < 0) {
        snprintf(text, text_bytes,
                 "cannot connect to unix:%s: %s: start the server there, or name another address",
                 path, strerror(errno));
    }
    return fd;
}

/* Splits "host:port" or "[v6]:port". Returns 0, or -1. */
static int split(const char *address, char *host, const char **port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || colon[1] == '\0') {
        return -1;
    }
    const char *first = address, *last = colon;
    if (*first == '[' && last[-1] == ']') {
        first++;
        last--;
    }
    size_t size = (size_t)(last - first);
    if (last <= first || size >= HOST_BYTES_MAX) {
        return -1;
    }
    memcpy(host, first, size);
    host[size] = '\0';
    *port = colon + 1;
    return 0;
}

int sw_load_connect(const char *address, int timeout_ms, char *text, size_t text_bytes)
{
    if (strncmp(address, "unix:", 5) == 0) {
        return dial_unix(address + 5, timeout_ms, text, text_bytes);
    }
    char host[HOST_BYTES_MAX];
    const char *port;
    if (split(address, host, &port)) {
        snprintf(text, text_bytes, "%s: not host:port, [v6]:port or unix:/path", address);
        return -1;
    }
    uint64_t number = 0;
    if (!sw_decimal_parse((const uint8_t *)port, strlen(port), PORT_MAX, &number) || number == 0) {
        snprintf(text, text_bytes, "%s: a port is a number from 1 to %d, not \"%s\"", address,
                 PORT_MAX, port);
        return -1;
    }
    struct addrinfo *list, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int status = getaddrinfo(host, port, &hints, &list);
    if (status) {
        snprintf(text, text_bytes, "%s: %s: check the host name", address, gai_strerror(status));
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
        fd = connect_socket(at->ai_addr, at->ai_addrlen, timeout_ms);
    }
    int error = errno;
    freeaddrinfo(list);
    if (fd < 0) {
        snprintf(text, text_bytes,
                 "cannot connect to %s: %s: start the server there, or name another address",
                 address, strerror(error));
        return -1;
    }
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}
