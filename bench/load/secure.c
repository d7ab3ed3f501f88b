/* SPDX-License-Identifier: MIT
 *
 * secure.c - sockets, plain or by TLS (see secure.h).
 */
#include "bench/load/secure.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/connect.h"
#include "bench/load/worker.h"
#include "client/error.h"

struct sherwood_options sw_load_tls_options(const struct sw_load_options *options)
{
    return (struct sherwood_options){.size = sizeof(struct sherwood_options),
                                     .tls_ca = options->cacert,
                                     .tls_cert = options->cert,
                                     .tls_key = options->key,
                                     .tls_server_name = options->sni,
                                     .tls_insecure = options->insecure,
                                     .user = options->user,
                                     .password = options->password};
}

int sw_load_secure_init(struct sw_load_secure *secure, const struct sw_load_options *options,
                        char *error)
{
    *secure = (struct sw_load_secure){.options = sw_load_tls_options(options),
                                      .is_on = sw_client_is_secure(options->address)};
    if (!secure->is_on) {
        return SW_LOAD_OK;
    }
    secure->is_on = sw_client_secure_begin(&secure->connector, &secure->options, error,
                                           SW_LOAD_ERROR_BYTES) == SHERWOOD_OK;
    return secure->is_on ? SW_LOAD_OK : SW_LOAD_E_PEER;
}

void sw_load_secure_fini(struct sw_load_secure *secure)
{
    if (secure->is_on) {
        sw_client_secure_end(&secure->connector);
    }
    secure->is_on = false;
}

int sw_load_link_open(struct sw_load_link *link, const struct sw_load_secure *secure,
                      const char *address, char *error)
{
    int status = 0;
    *link = (struct sw_load_link){.fd = -1};
    if (!secure->is_on) {
        link->fd = sw_load_connect(address, SW_LOAD_CONNECT_MS, error, SW_LOAD_ERROR_BYTES);
        return link->fd < 0 ? SW_LOAD_E_PEER : SW_LOAD_OK;
    }
    link->transport =
        secure->connector.open(&secure->connector, address, &secure->options, SW_LOAD_CONNECT_MS,
                               &status, error, SW_LOAD_ERROR_BYTES);
    if (link->transport == NULL) {
        return SW_LOAD_E_PEER;
    }
    link->transport->traffic = &link->traffic;
    link->fd = link->transport->fd;
    return SW_LOAD_OK;
}

/* Waits until the socket is ready. */
static bool await(const struct sw_load_link *link, short events)
{
    struct pollfd ready = {.fd = link->fd, .events = events};
    return sw_load_link_pending(link) || poll(&ready, 1, SW_LOAD_CONNECT_MS) > 0;
}

static bool send_all(struct sw_load_link *link, const char *bytes, size_t size)
{
    while (size > 0) {
        int64_t sent = sw_load_link_send(link, bytes, size);
        if (sent < 0 && (errno != EAGAIN || !await(link, POLLOUT))) {
            return false;
        }
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

int sw_load_link_login(struct sw_load_link *link, const struct sw_load_options *options,
                       char *error)
{
    const char *user = options->user != NULL ? options->user : "default";
    const char *password = options->password != NULL ? options->password : "";
    char command[1024], answer[256] = "";
    size_t have = 0;
    if (options->user == NULL && options->password == NULL) {
        return SW_LOAD_OK;
    }
    int size =
        snprintf(command, sizeof(command), "*3\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                 strlen(user), user, strlen(password), password);
    bool sent = size > 0 && (size_t)size < sizeof(command) && send_all(link, command, (size_t)size);
    explicit_bzero(command, sizeof(command));
    while (sent && strchr(answer, '\n') == NULL && have < sizeof(answer) - 1) {
        int64_t got = sw_load_link_receive(link, answer + have, sizeof(answer) - 1 - have);
        if (got == 0 || (got < 0 && (errno != EAGAIN || !await(link, POLLIN)))) {
            break;
        }
        have += got > 0 ? (size_t)got : 0;
    }
    if (strcmp(answer, "+OK\r\n") == 0) {
        return SW_LOAD_OK;
    }
    char said[sizeof(answer)];
    sw_client_clean(answer, strcspn(answer, "\r\n"), said, sizeof(said));
    snprintf(error, SW_LOAD_ERROR_BYTES, "the login was refused: %s",
             have > 0 ? said : "the server did not reply");
    return SW_LOAD_E_PEER;
}

void sw_load_link_close(struct sw_load_link *link)
{
    if (link->transport != NULL) {
        link->transport->calls->close(link->transport);
    } else if (link->fd >= 0) {
        close(link->fd);
    }
    *link = (struct sw_load_link){.fd = -1};
}

int64_t sw_load_link_send(struct sw_load_link *link, const void *bytes, size_t size)
{
    struct iovec part = {(void *)(uintptr_t)bytes, size}; /* the transport only reads it */
    if (link->transport != NULL) {
        return link->transport->calls->write(link->transport, &part, 1, false);
    }
    return send(link->fd, bytes, size, MSG_NOSIGNAL);
}

int64_t sw_load_link_receive(struct sw_load_link *link, void *bytes, size_t size)
{
    struct iovec part = {bytes, size};
    if (link->transport != NULL) {
        return link->transport->calls->read(link->transport, &part, 1);
    }
    return recv(link->fd, bytes, size, 0);
}

bool sw_load_link_pending(const struct sw_load_link *link)
{
    return link->transport != NULL && link->transport->calls->pending(link->transport);
}
