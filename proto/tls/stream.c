/* SPDX-License-Identifier: MIT
 *
 * stream.c - reading, writing and ending a TLS stream.
 */
#include "proto/tls/stream.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/tls/bio.h"

/* Bytes of a record beside its plain bytes: head, nonce, tag, and the type in TLS 1.3. */
#define RECORD_EXTRA 64
/* Room for a batch, and for OpenSSL's own records (alerts, key updates). */
#define OUT_BYTES \
    (SW_TLS_BATCH_BYTES + SW_TLS_BATCH_BYTES / SW_TLS_RECORD_BYTES * RECORD_EXTRA + 4096)
/* A part of at least this many bytes is encrypted in place; smaller parts share records. */
#define DIRECT_BYTES 4096
/* Most bytes that wait for the socket: a batch, and alerts and answers to key updates that a peer
 * provokes and does not read. */
#define REST_BYTES_MAX (2 * OUT_BYTES)

int sw_tls_scratch_init(struct sw_tls_scratch *scratch)
{
    *scratch = (struct sw_tls_scratch){.out_room = OUT_BYTES};
    scratch->out = malloc(OUT_BYTES);
    scratch->gathered = malloc(SW_TLS_RECORD_BYTES);
    return scratch->out != NULL && scratch->gathered != NULL ? 0 : -1;
}

void sw_tls_scratch_fini(struct sw_tls_scratch *scratch)
{
    free(scratch->out);
    free(scratch->gathered);
    *scratch = (struct sw_tls_scratch){0};
}

int sw_tls_stream_open(struct sw_tls_stream *stream, SSL_CTX *context, int fd, bool is_server,
                       struct sw_tls_scratch *scratch)
{
    *stream = (struct sw_tls_stream){.scratch = scratch, .fd = fd, .input_end = 1};
    stream->ssl = SSL_new(context);
    BIO *bio = stream->ssl == NULL ? NULL : sw_tls_bio_new(stream);
    if (bio == NULL) {
        ERR_clear_error();
        SSL_free(stream->ssl);
        stream->ssl = NULL;
        return -1;
    }
    SSL_set_bio(stream->ssl, bio, bio);
    if (is_server) {
        SSL_set_accept_state(stream->ssl);
    } else {
        SSL_set_connect_state(stream->ssl);
    }
    return 0;
}

void sw_tls_stream_move(struct sw_tls_stream *to, struct sw_tls_stream *from, int fd,
                        struct sw_tls_scratch *scratch)
{
    *to = *from;
    to->fd = fd;
    to->scratch = scratch;
    BIO_set_data(SSL_get_rbio(to->ssl), to);
    *from = (struct sw_tls_stream){.input_end = SW_TLS_FAILED};
}

void sw_tls_stream_close(struct sw_tls_stream *stream)
{
    SSL_free(stream->ssl);
    free(stream->rest);
    *stream = (struct sw_tls_stream){.input_end = SW_TLS_FAILED};
}

/* --- trouble ---------------------------------------------------------------------------------- */

/* Writes why OpenSSL or the socket failed, and empties OpenSSL's list of errors. What a peer said
 * before its end is worth more than that it has ended. */
static void explain(struct sw_tls_stream *stream)
{
    char *text = stream->scratch->trouble;
    size_t room = sizeof(stream->scratch->trouble);
    unsigned long code = ERR_peek_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    long verified = SSL_get_verify_result(stream->ssl);
    if (code != 0 && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED &&
        verified != X509_V_OK) {
        snprintf(text, room, "the peer's certificate was refused: %s",
                 X509_verify_cert_error_string(verified));
    } else if (code != 0 && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET) {
        snprintf(text, room, "the peer refused the handshake or the certificate: %s",
                 reason != NULL ? reason : "?");
    } else if (stream->error != 0) {
        snprintf(text, room, "%s", strerror(stream->error));
    } else if (stream->socket_ended) {
        snprintf(text, room, "the peer closed the connection");
    } else {
        snprintf(text, room, "%s", reason != NULL ? reason : "unknown error of the TLS library");
    }
    ERR_clear_error();
}

static int report_failure(struct sw_tls_stream *stream)
{
    explain(stream);
    return SW_TLS_FAILED;
}

static int report_failure_as(struct sw_tls_stream *stream, const char *text)
{
    snprintf(stream->scratch->trouble, sizeof(stream->scratch->trouble), "%s", text);
    return SW_TLS_FAILED;
}

/* --- records that leave ----------------------------------------------------------------------- */

/* Sends bytes. Returns how many the socket took, or -1 with stream->error set. */
static int64_t send_bytes(struct sw_tls_stream *stream, const uint8_t *bytes, size_t size)
{
    for (;;) {
        ssize_t sent = send(stream->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            return sent;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        }
        if (errno != EINTR) {
            stream->error = errno;
            return -1;
        }
    }
}

/* Keeps records that the socket has not taken, behind those that are kept already. */
static int keep_unsent(struct sw_tls_stream *stream, const uint8_t *bytes, size_t size)
{
    size_t held = stream->rest_end - stream->rest_begin;
    if (held + size > REST_BYTES_MAX) {
        return report_failure_as(stream, "the peer does not read the replies that it requested");
    }
    if (stream->rest_end + size > stream->rest_room) {
        uint8_t *grown = malloc(held + size);
        if (grown == NULL) {
            return report_failure_as(stream, "not enough memory");
        }
        if (held > 0) {
            memcpy(grown, stream->rest + stream->rest_begin, held);
        }
        free(stream->rest);
        stream->rest = grown;
        stream->rest_begin = 0;
        stream->rest_end = held;
        stream->rest_room = held + size;
    }
    memcpy(stream->rest + stream->rest_end, bytes, size);
    stream->rest_end += size;
    return 1;
}

int sw_tls_flush(struct sw_tls_stream *stream)
{
    while (sw_tls_is_sending(stream)) {
        int64_t sent = send_bytes(stream, stream->rest + stream->rest_begin,
                                  stream->rest_end - stream->rest_begin);
        if (sent < 0) {
            return report_failure(stream);
        }
        if (sent == 0) {
            return SW_TLS_AGAIN;
        }
        stream->rest_begin += (size_t)sent;
    }
    free(stream->rest);
    stream->rest = NULL;
    stream->rest_begin = stream->rest_end = stream->rest_room = 0;
    return 1;
}

/* Sends what OpenSSL has put into the scratch memory, and keeps what does not leave. Returns 1 if
 * all has left, SW_TLS_AGAIN or SW_TLS_FAILED. */
static int send_out(struct sw_tls_stream *stream)
{
    struct sw_tls_scratch *scratch = stream->scratch;
    size_t size = scratch->out_used;
    scratch->out_used = 0;
    int64_t sent = 0;
    if (size == 0) {
        return sw_tls_is_sending(stream) ? SW_TLS_AGAIN : 1;
    }
    if (!sw_tls_is_sending(stream)) {
        sent = send_bytes(stream, scratch->out, size);
        if (sent < 0) {
            return report_failure(stream);
        }
    }
    if ((size_t)sent == size) {
        return 1;
    }
    return keep_unsent(stream, scratch->out + sent, size - (size_t)sent) == 1 ? SW_TLS_AGAIN
                                                                              : SW_TLS_FAILED;
}

/* --- handshake, reading, ending --------------------------------------------------------------- */

int sw_tls_handshake(struct sw_tls_stream *stream)
{
    if (sw_tls_is_sending(stream) && sw_tls_flush(stream) == SW_TLS_FAILED) {
        return SW_TLS_FAILED;
    }
    int result = SSL_do_handshake(stream->ssl);
    int why = result == 1 ? SSL_ERROR_NONE : SSL_get_error(stream->ssl, result);
    if (result != 1 && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
        explain(stream);
        char kept[SW_TLS_TROUBLE_BYTES];
        memcpy(kept, stream->scratch->trouble, sizeof(kept));
        (void)send_out(stream); /* an alert that tells the peer why */
        return report_failure_as(stream, kept);
    }
    if (send_out(stream) == SW_TLS_FAILED) {
        return SW_TLS_FAILED;
    }
    stream->buffered = result == 1 && SSL_has_pending(stream->ssl);
    return result == 1 ? 1 : SW_TLS_AGAIN;
}

/* Sets why the input has ended, and the result of the next reads. */
static void note_end(struct sw_tls_stream *stream, int why)
{
    if (why == SSL_ERROR_ZERO_RETURN) {
        stream->peer_ended = true;
        stream->input_end = SW_TLS_END;
    } else if (stream->socket_ended && stream->error == 0) {
        report_failure_as(stream, "the connection ended without close_notify");
        ERR_clear_error();
        stream->input_end = SW_TLS_CUT;
    } else {
        stream->input_end = report_failure(stream);
    }
}

/* Sends the records that OpenSSL makes while it reads: alerts, and answers to key updates. A
 * failure to send them does not end the input, because the input has the better reason. */
static void send_aside(struct sw_tls_stream *stream)
{
    char trouble[SW_TLS_TROUBLE_BYTES];
    int error = stream->error;
    memcpy(trouble, stream->scratch->trouble, sizeof(trouble));
    if (send_out(stream) != SW_TLS_FAILED) {
        return;
    }
    if (stream->error == error && stream->input_end == 1) {
        stream->input_end = SW_TLS_FAILED; /* too much of it, or no memory */
        return;
    }
    stream->error = error;
    memcpy(stream->scratch->trouble, trouble, sizeof(trouble));
}

int64_t sw_tls_read(struct sw_tls_stream *stream, void *bytes, size_t size)
{
    size_t got = 0;
    stream->buffered = false;
    while (got < size && stream->input_end == 1) {
        size_t now = 0;
        if (SSL_read_ex(stream->ssl, (uint8_t *)bytes + got, size - got, &now) == 1) {
            got += now;
            continue;
        }
        int why = SSL_get_error(stream->ssl, 0);
        if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
            break;
        }
        note_end(stream, why);
    }
    if (stream->scratch->out_used > 0) {
        send_aside(stream);
    }
    if (got == size) {
        stream->buffered = stream->input_end != 1 || SSL_has_pending(stream->ssl);
    } else if (got > 0) {
        stream->buffered = stream->input_end != 1;
    }
    return got > 0 ? (int64_t)got : stream->input_end == 1 ? SW_TLS_AGAIN : stream->input_end;
}

int sw_tls_end(struct sw_tls_stream *stream)
{
    if (SSL_shutdown(stream->ssl) < 0) {
        ERR_clear_error();
    }
    return send_out(stream);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* A place in the parts of a write. */
struct place {
    const struct iovec *parts;
    size_t count;  /* of parts from here on */
    size_t offset; /* in the first of them */
};

static size_t left_here(const struct place *at)
{
    return at->count == 0 ? 0 : at->parts->iov_len - at->offset;
}

/* Moves behind `bytes` bytes, and empty parts there. Returns how many of them there were. */
static size_t skip(struct place *at, size_t bytes)
{
    size_t left = bytes;
    while (at->count > 0 && left >= left_here(at)) {
        left -= left_here(at);
        at->parts++;
        at->count--;
        at->offset = 0;
    }
    if (at->count > 0) {
        at->offset += left;
        left = 0;
    }
    return bytes - left;
}

/* The plain bytes of the next record, at most `most`: where they are, or gathered from several
 * small parts. Moves `at` behind them. */
static const void *next_record(struct sw_tls_scratch *scratch, struct place *at, size_t most,
                               size_t *bytes)
{
    const uint8_t *here = (const uint8_t *)at->parts->iov_base + at->offset;
    size_t size = left_here(at);
    if (size >= DIRECT_BYTES || at->count == 1) {
        *bytes = size < most ? size : most;
        skip(at, *bytes);
        return here;
    }
    *bytes = 0;
    while (at->count > 0 && *bytes < most && left_here(at) < DIRECT_BYTES) {
        size = left_here(at);
        size = size < most - *bytes ? size : most - *bytes;
        memcpy(scratch->gathered + *bytes, (const uint8_t *)at->parts->iov_base + at->offset, size);
        *bytes += size;
        skip(at, size);
    }
    return scratch->gathered;
}

/* Encrypts a batch of records into the scratch memory. Returns their plain bytes, or -1. */
static int64_t encrypt(struct sw_tls_stream *stream, struct place *at)
{
    size_t batch = 0;
    while (at->count > 0 && batch < SW_TLS_BATCH_BYTES &&
           stream->scratch->out_used + SW_TLS_RECORD_BYTES + RECORD_EXTRA <=
               stream->scratch->out_room) {
        size_t bytes = 0, taken = 0;
        const void *record = next_record(stream->scratch, at, SW_TLS_RECORD_BYTES, &bytes);
        if (SSL_write_ex(stream->ssl, record, bytes, &taken) != 1 || taken != bytes) {
            stream->scratch->out_used = 0;
            (void)report_failure(stream);
            return -1;
        }
        batch += bytes;
    }
    return (int64_t)batch;
}

int64_t sw_tls_write(struct sw_tls_stream *stream, const struct iovec *parts, size_t count)
{
    struct place at = {parts, count, 0};
    int64_t done = 0;
    int flushed = sw_tls_flush(stream);
    if (flushed != 1) {
        return flushed;
    }
    done = (int64_t)skip(&at, stream->owed);
    stream->owed -= (size_t)done;
    while (at.count > 0) {
        int64_t batch = encrypt(stream, &at);
        int sent = batch < 0 ? SW_TLS_FAILED : send_out(stream);
        if (sent == SW_TLS_FAILED) {
            return SW_TLS_FAILED;
        }
        if (sent == SW_TLS_AGAIN) {
            stream->owed = (size_t)batch;
            break;
        }
        done += batch;
    }
    return done > 0 ? done : stream->owed > 0 ? SW_TLS_AGAIN : 0;
}
