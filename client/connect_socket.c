/* SPDX-License-Identifier: MIT
 *
 * connect_socket.c - connects a non-blocking socket to an address.
 */
#include "client/connect_socket.h"

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

#include "client/sherwood.h"
#include "proto/decimal.h"

#define HOST_BYTES 256
#define PORT_BYTES 16
#define PORT_MAX 65535

/* Waits for the end of a connect() that is in progress. Returns 0 or an errno. */
static int await_connect(int fd, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int n;
    do {
        n = poll(&ready, 1, timeout_ms);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno;
    }
    if (n == 0) {
        return ETIMEDOUT;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/* Connects a new socket. Returns 0 and the socket in *out, or an errno. */
static int connect_to(const struct sockaddr *address, socklen_t size, int timeout_ms, int *out)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    int error = connect(fd, address, size) == 0 ? 0 : errno;
    if (error == EINPROGRESS || error == EINTR) {
        error = await_connect(fd, timeout_ms);
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    if (address->sa_family != AF_UNIX) {
        int on = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    *out = fd;
    return 0;
}

static int unreachable(const char *address, int error, char *text, size_t text_bytes)
{
    if (error == ECONNREFUSED || error == ENOENT) {
        snprintf(text, text_bytes,
                 "cannot connect to %s: %s: start sherwoodd there, or name another address",
                 address, strerror(error));
        return SHERWOOD_E_CONNECTION;
    }
    if (error == EAGAIN) {
        snprintf(text, text_bytes, "%s: the server's queue of new connections is full: try again",
                 address);
        return SHERWOOD_E_CONNECTION;
    }
    snprintf(text, text_bytes, "cannot connect to %s: %s", address, strerror(error));
    return error == ETIMEDOUT ? SHERWOOD_E_TIMEOUT : SHERWOOD_E_CONNECTION;
}

static int connect_unix(const char *address, const char *path, int timeout_ms, int *fd, char *text,
                        size_t text_bytes)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof(name.sun_path)) {
        snprintf(text, text_bytes, "%s: the path of a socket must have 1 to %zu bytes, not %zu",
                 address, sizeof(name.sun_path) - 1, size);
        return SHERWOOD_E_ADDRESS;
    }
    memcpy(name.sun_path, path, size + 1);
    int error = connect_to((struct sockaddr *)&name, sizeof(name), timeout_ms, fd);
    return error == 0 ? SHERWOOD_OK : unreachable(address, error, text, text_bytes);
}

/* Splits "host:port" or "[v6]:port" into its two parts. Returns false if it is neither: also if it
 * is a URL, as redis://host. */
static bool split(const char *address, char *host, char *port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon == address || colon[1] == '\0' || colon[1] == '/' ||
        strlen(colon + 1) >= PORT_BYTES) {
        return false;
    }
    const char *begin = address;
    const char *end = colon;
    if (*begin == '[') {
        if (end[-1] != ']') {
            return false;
        }
        begin++;
        end--;
    } else if (memchr(begin, ':', (size_t)(end - begin)) != NULL) {
        return false;
    }
    size_t size = (size_t)(end - begin);
    if (size == 0 || size >= HOST_BYTES) {
        return false;
    }
    memcpy(host, begin, size);
    host[size] = '\0';
    strcpy(port, colon + 1);
    return true;
}

static int connect_tcp(const char *address, int timeout_ms, int *fd, char *text, size_t text_bytes)
{
    char host[HOST_BYTES];
    char port[PORT_BYTES];
    const char *comma = strrchr(address, ','); /* of a list whose next address has no colon */
    if (comma != NULL || !split(address, host, port)) {
        snprintf(text, text_bytes,
                 "\"%s\" is not an address: write host:port, [v6 address]:port or unix:/path; "
                 "for TLS tls://host:port",
                 comma == NULL ? address : comma + 1);
        return SHERWOOD_E_ADDRESS;
    }
    uint64_t number = 0;
    if (!sw_decimal_parse((const uint8_t *)port, strlen(port), PORT_MAX, &number) || number == 0) {
        snprintf(text, text_bytes, "%s: a port is a number from 1 to %d, not \"%s\"", address,
                 PORT_MAX, port);
        return SHERWOOD_E_ADDRESS;
    }
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed != 0) {
        snprintf(text, text_bytes, "%s: %s: check the host name", address,
                 failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
        return failed == EAI_MEMORY ? SHERWOOD_E_NOMEM : SHERWOOD_E_ADDRESS;
    }
    int error = EADDRNOTAVAIL;
    for (const struct addrinfo *a = found; a != NULL && error != 0; a = a->ai_next) {
        error = connect_to(a->ai_addr, a->ai_addrlen, timeout_ms, fd);
    }
    freeaddrinfo(found);
    return error == 0 ? SHERWOOD_OK : unreachable(address, error, text, text_bytes);
}

int sw_client_connect_socket(const char *address, int timeout_ms, int *fd, char *text,
                             size_t text_bytes)
{
    static const char unix_prefix[] = "unix:";
    size_t prefix = sizeof(unix_prefix) - 1;
    return strncmp(address, unix_prefix, prefix) == 0
               ? connect_unix(address, address + prefix, timeout_ms, fd, text, text_bytes)
               : connect_tcp(address, timeout_ms, fd, text, text_bytes);
}

static void set_buffer(int fd, int name, int force, uint32_t bytes)
{
    int size = (int)bytes;
    if (bytes != 0 && setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, name, &size, sizeof(size));
    }
}

void sw_client_size_buffers(int fd, uint32_t send_bytes, uint32_t receive_bytes)
{
    set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, send_bytes);
    set_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, receive_bytes);
}
