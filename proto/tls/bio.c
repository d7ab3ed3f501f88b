/* SPDX-License-Identifier: MIT
 *
 * bio.c - a BIO between OpenSSL and a socket, whose output is collected.
 */
#include "proto/tls/bio.h"

#include <errno.h>
#include <openssl/bio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The most that one call of OpenSSL may make of output: a long chain of certificates. */
#define OUT_BYTES_MAX (1U << 20)

static int read_socket(BIO *bio, char *bytes, size_t size, size_t *got)
{
    struct sw_tls_stream *stream = BIO_get_data(bio);
    ssize_t count;
    BIO_clear_retry_flags(bio);
    *got = 0;
    do {
        count = recv(stream->fd, bytes, size, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    if (count > 0) {
        *got = (size_t)count;
        return 1;
    }
    if (count == 0) {
        stream->socket_ended = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        BIO_set_retry_read(bio);
    } else {
        stream->error = errno;
    }
    return 0;
}

static int write_scratch(BIO *bio, const char *bytes, size_t size, size_t *taken)
{
    struct sw_tls_stream *stream = BIO_get_data(bio);
    struct sw_tls_scratch *scratch = stream->scratch;
    BIO_clear_retry_flags(bio);
    *taken = 0;
    if (scratch->out_used + size > scratch->out_room) {
        size_t room = scratch->out_used + size;
        uint8_t *grown = room > OUT_BYTES_MAX ? NULL : realloc(scratch->out, room);
        if (grown == NULL) {
            return 0;
        }
        scratch->out = grown;
        scratch->out_room = room;
    }
    memcpy(scratch->out + scratch->out_used, bytes, size);
    scratch->out_used += size;
    *taken = size;
    return 1;
}

static long control(BIO *bio, int command, long number, void *pointer)
{
    const struct sw_tls_stream *stream = BIO_get_data(bio);
    (void)number, (void)pointer;
    switch (command) {
    case BIO_CTRL_EOF:
        return stream->socket_ended;
    case BIO_CTRL_FLUSH: /* the caller of OpenSSL sends the scratch memory */
        return 1;
    default:
        return 0;
    }
}

static BIO_METHOD *method;

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sherwood socket");
    if (method != NULL) {
        BIO_meth_set_read_ex(method, read_socket);
        BIO_meth_set_write_ex(method, write_scratch);
        BIO_meth_set_ctrl(method, control);
    }
}

BIO *sw_tls_bio_new(struct sw_tls_stream *stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    BIO *bio = method == NULL ? NULL : BIO_new(method);
    if (bio != NULL) {
        BIO_set_data(bio, stream);
        BIO_set_init(bio, 1);
    }
    return bio;
}
