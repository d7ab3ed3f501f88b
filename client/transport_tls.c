/* SPDX-License-Identifier: MIT
 *
 * transport_tls.c - the transport for TLS, over proto/tls/stream.h: encrypts directly from the
 * caller's arrays, and decrypts replies directly into them.
 */
#include "client/transport_tls.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/connect_socket.h"
#include "proto/tls/context.h"
#include "proto/tls/stream.h"

#define PREFIX "tls://"
#define HOST_BYTES 256

struct tls_transport {
    struct sw_client_transport base;
    struct sw_tls_scratch scratch;
    struct sw_tls_stream stream;
};

bool sw_client_is_secure(const char *address)
{
    return strncmp(address, PREFIX, sizeof(PREFIX) - 1) == 0;
}

bool sw_client_wants_secure(const struct sherwood_options *options)
{
    return options->tls_ca != NULL || options->tls_cert != NULL || options->tls_key != NULL ||
           options->tls_server_name != NULL || options->tls_insecure != 0;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Turns a result of the stream into an errno, and keeps the stream's sentence for the error of the
 * handle. */
static int64_t failed(struct tls_transport *tls_transport, int64_t result)
{
    if (result == SW_TLS_AGAIN) {
        errno = EAGAIN;
        return -1;
    }
    tls_transport->base.trouble = tls_transport->scratch.trouble;
    errno = tls_transport->stream.error != 0 ? tls_transport->stream.error : EPROTO;
    return -1;
}

static int64_t tls_read(struct sw_client_transport *transport, struct iovec *parts, int count)
{
    struct tls_transport *tls_transport = (struct tls_transport *)transport;
    int64_t got = 0;
    transport->traffic->reads++;
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len == 0) {
            continue;
        }
        int64_t now = sw_tls_read(&tls_transport->stream, parts[i].iov_base, parts[i].iov_len);
        if (now <= 0) {
            return got > 0 ? got : now == SW_TLS_END ? 0 : failed(tls_transport, now);
        }
        got += now;
        if ((size_t)now < parts[i].iov_len) {
            break;
        }
    }
    return got;
}

static int64_t tls_write(struct sw_client_transport *transport, struct iovec *parts, int count,
                         bool more)
{
    struct tls_transport *tls_transport = (struct tls_transport *)transport;
    (void)more; /* the stream sends each record at once */
    transport->traffic->writes++;
    int64_t sent = sw_tls_write(&tls_transport->stream, parts, (size_t)count);
    return sent < 0 ? failed(tls_transport, sent) : sent;
}

static bool tls_pending(const struct sw_client_transport *transport)
{
    return ((const struct tls_transport *)transport)->stream.buffered;
}

static void tls_close(struct sw_client_transport *transport)
{
    struct tls_transport *tls_transport = (struct tls_transport *)transport;
    if (tls_transport->base.trouble == NULL && !sw_tls_is_sending(&tls_transport->stream)) {
        (void)sw_tls_end(&tls_transport->stream);
    }
    sw_tls_stream_close(&tls_transport->stream);
    sw_tls_scratch_fini(&tls_transport->scratch);
    close(transport->fd);
    free(tls_transport);
}

/* --- open ------------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the name that the server's certificate must have: the one in the options, or the host. */
static void server_name(const char *host_port, const char *given, char name[HOST_BYTES])
{
    const char *end = strrchr(host_port, ':');
    const char *begin = host_port[0] == '[' ? host_port + 1 : host_port;
    if (given != NULL) {
        snprintf(name, HOST_BYTES, "%s", given);
        return;
    }
    size_t size = end == NULL ? strlen(begin) : (size_t)(end - begin);
    size -= size > 0 && begin[size - 1] == ']';
    snprintf(name, HOST_BYTES, "%.*s", (int)(size < HOST_BYTES ? size : HOST_BYTES - 1), begin);
}

/* Waits for the end of the handshake. Returns SHERWOOD_OK, or a code and a sentence. */
static int shake_hands(struct tls_transport *tls_transport, const char *address, int timeout_ms,
                       char *text, size_t text_bytes)
{
    const int64_t end_ms = now_ms() + timeout_ms;
    int result;
    while ((result = sw_tls_handshake(&tls_transport->stream)) == SW_TLS_AGAIN) {
        bool sending = sw_tls_is_sending(&tls_transport->stream);
        struct pollfd ready = {.fd = tls_transport->base.fd,
                               .events = (short)(POLLIN | (sending ? POLLOUT : 0))};
        int64_t left_ms = end_ms - now_ms();
        int count = left_ms <= 0 ? 0 : poll(&ready, 1, (int)left_ms);
        if (count == 0) {
            snprintf(text, text_bytes,
                     "%s: the TLS handshake took longer than %d ms: check that the port speaks TLS",
                     address, timeout_ms);
            return SHERWOOD_E_TIMEOUT;
        }
    }
    if (result == 1) {
        return SHERWOOD_OK;
    }
    /* A peer that refuses a certificate sends an alert. A peer that closes the connection, or sends
     * something else, may not speak TLS. */
    bool is_other = tls_transport->stream.socket_ended || tls_transport->stream.error != 0 ||
                    strstr(tls_transport->scratch.trouble, "wrong version") != NULL;
    bool is_refused = strstr(tls_transport->scratch.trouble, "certificate was refused") != NULL;
    snprintf(text, text_bytes, "%s: the TLS handshake failed: %s%s", address,
             tls_transport->scratch.trouble,
             is_other     ? ": check that the port speaks TLS"
             : is_refused ? ": check the root certificates (--cacert, tls_ca) and the host name"
                          : "");
    return SHERWOOD_E_CONNECTION;
}

static int open_stream(struct tls_transport *tls_transport, SSL_CTX *context, const char *host_port,
                       const struct sherwood_options *options, char *text, size_t text_bytes)
{
    char name[HOST_BYTES];
    server_name(host_port, options->tls_server_name, name);
    if (sw_tls_scratch_init(&tls_transport->scratch) != 0 ||
        sw_tls_stream_open(&tls_transport->stream, context, tls_transport->base.fd, false,
                           &tls_transport->scratch) != 0 ||
        sw_tls_expect(tls_transport->stream.ssl, name) != 0) {
        snprintf(text, text_bytes, "not enough memory for a TLS connection");
        return SHERWOOD_E_NOMEM;
    }
    return SHERWOOD_OK;
}

static struct sw_client_transport *tls_open(const struct sw_client_connector *connector,
                                            const char *address,
                                            const struct sherwood_options *options, int timeout_ms,
                                            int *status, char *text, size_t text_bytes)
{
    static const struct sw_client_transport_calls calls = {
        .read = tls_read,
        .write = tls_write,
        .pending = tls_pending,
        .close = tls_close,
    };
    const char *host_port = address + sizeof(PREFIX) - 1;
    struct tls_transport *tls_transport = calloc(1, sizeof(*tls_transport));
    if (tls_transport == NULL) {
        snprintf(text, text_bytes, "not enough memory for a TLS connection");
        *status = SHERWOOD_E_NOMEM;
        return NULL;
    }
    tls_transport->base = (struct sw_client_transport){
        .calls = &calls, .fd = -1, .read_events = POLLIN, .write_events = POLLOUT};
    *status =
        sw_client_connect_socket(host_port, timeout_ms, &tls_transport->base.fd, text, text_bytes);
    if (*status != SHERWOOD_OK) {
        free(tls_transport);
        return NULL;
    }
    sw_client_size_buffers(tls_transport->base.fd, options->send_buffer_bytes,
                           options->receive_buffer_bytes);
    *status = open_stream(tls_transport, connector->user, host_port, options, text, text_bytes);
    if (*status == SHERWOOD_OK) {
        *status = shake_hands(tls_transport, address, timeout_ms, text, text_bytes);
    }
    if (*status != SHERWOOD_OK) {
        sw_tls_stream_close(&tls_transport->stream);
        sw_tls_scratch_fini(&tls_transport->scratch);
        close(tls_transport->base.fd);
        free(tls_transport);
        return NULL;
    }
    return &tls_transport->base;
}

int sw_client_secure_begin(struct sw_client_connector *connector,
                           const struct sherwood_options *options, char *text, size_t text_bytes)
{
    const struct sw_tls_settings settings = {
        .cert = options->tls_cert,
        .key = options->tls_key,
        .ca = options->tls_ca,
        .insecure = options->tls_insecure != 0,
    };
    char reason[SW_TLS_TROUBLE_BYTES * 2];
    *connector = (struct sw_client_connector){.open = tls_open};
    connector->user = sw_tls_client_context(&settings, reason, sizeof(reason));
    if (connector->user == NULL) {
        snprintf(text, text_bytes, "connect: %s", reason);
        return SHERWOOD_E_INVALID;
    }
    return SHERWOOD_OK;
}

void sw_client_secure_end(struct sw_client_connector *connector)
{
    SSL_CTX_free(connector->user);
    connector->user = NULL;
}
