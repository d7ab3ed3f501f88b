/* SPDX-License-Identifier: MIT
 *
 * secure.c - sockets, plain or by TLS (see secure.h).
 */
#include "bench/load/secure.h"

#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/dial.h"
#include "bench/load/worker.h"

struct sherwood_options sw_load_tls_options(const struct sw_load_options *options)
{
    return (struct sherwood_options){.size = sizeof(struct sherwood_options),
                                     .tls_ca = options->cacert,
                                     .tls_cert = options->cert,
                                     .tls_key = options->key,
                                     .tls_server_name = options->sni,
                                     .tls_insecure = options->insecure};
}

int sw_load_secure_init(struct sw_load_secure *secure, const struct sw_load_options *options,
                        char *error)
{
    *secure = (struct sw_load_secure){.options = sw_load_tls_options(options),
                                      .is_on = sw_client_is_secure(options->address)};
    if (!secure->is_on) {
        return SW_LOAD_OK;
    }
    secure->is_on = sw_client_secure_begin(&secure->dialer, &secure->options, error,
                                           SW_LOAD_ERROR_BYTES) == SHERWOOD_OK;
    return secure->is_on ? SW_LOAD_OK : SW_LOAD_E_PEER;
}

void sw_load_secure_fini(struct sw_load_secure *secure)
{
    if (secure->is_on) {
        sw_client_secure_end(&secure->dialer);
    }
    secure->is_on = false;
}

int sw_load_link_open(struct sw_load_link *link, const struct sw_load_secure *secure,
                      const char *address, char *error)
{
    int status = 0;
    *link = (struct sw_load_link){.fd = -1};
    if (!secure->is_on) {
        link->fd = sw_load_dial(address, SW_LOAD_CONNECT_MS, error, SW_LOAD_ERROR_BYTES);
        return link->fd < 0 ? SW_LOAD_E_PEER : SW_LOAD_OK;
    }
    link->transport = secure->dialer.open(&secure->dialer, address, &secure->options,
                                          SW_LOAD_CONNECT_MS, &status, error, SW_LOAD_ERROR_BYTES);
    if (link->transport == NULL) {
        return SW_LOAD_E_PEER;
    }
    link->transport->traffic = &link->traffic;
    link->fd = link->transport->fd;
    return SW_LOAD_OK;
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
    struct iovec part = {(void *)(uintptr_t)bytes, size}; /* it is only read */
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
