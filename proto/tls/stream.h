/* SPDX-License-Identifier: MIT
 *
 * stream.h - one TLS connection over a socket that does not block: plain bytes on one side,
 * records of OpenSSL on the other. Server, client library and load generator use it.
 *
 * Nothing here waits, and SIGPIPE is never raised. OpenSSL decrypts records in its own buffer of
 * the stream and puts the bytes where the caller wants them; it encrypts from the caller's memory.
 * Records leave through the scratch memory that all streams of a thread share: several of them in
 * one system call. The stream keeps the bytes that the socket does not accept, at most a batch of
 * records (SW_TLS_BATCH_BYTES). It encrypts nothing more before they have left.
 *
 * A stream belongs to one thread. The bytes of read and write are plain bytes.
 */
#ifndef SHERWOOD_PROTO_TLS_STREAM_H
#define SHERWOOD_PROTO_TLS_STREAM_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Plain bytes of a full record, and of the records that leave in one system call. */
#define SW_TLS_RECORD_BYTES 16384
#define SW_TLS_BATCH_BYTES (4 * SW_TLS_RECORD_BYTES)

#define SW_TLS_TROUBLE_BYTES 200

/* Memory that the streams of one thread share; between two calls nothing in it is needed. */
struct sw_tls_scratch {
    uint8_t *out;                       /* records that are about to leave */
    size_t out_used;                    /* 0 between two calls */
    size_t out_room;                    /* size of `out` */
    uint8_t *gathered;                  /* SW_TLS_RECORD_BYTES: small parts that share a record */
    char trouble[SW_TLS_TROUBLE_BYTES]; /* why the last call failed: a phrase */
};

/* Returns 0, or -1 if there is no memory; sw_tls_scratch_fini may be called after either. */
int sw_tls_scratch_init(struct sw_tls_scratch *scratch);
void sw_tls_scratch_fini(struct sw_tls_scratch *scratch);

/* What functions return instead of a number of bytes. */
enum sw_tls_result {
    SW_TLS_END = 0,     /* read: the peer has ended its side, with close_notify */
    SW_TLS_AGAIN = -1,  /* the socket has, or takes, nothing now */
    SW_TLS_CUT = -2,    /* read: the socket ended without close_notify; something may be missing */
    SW_TLS_FAILED = -3, /* scratch->trouble says why; only sw_tls_stream_close is left */
};

struct sw_tls_stream {
    SSL *ssl;
    struct sw_tls_scratch *scratch; /* borrowed */
    int fd;                         /* borrowed */
    int error;                      /* errno of the socket; 0: none */
    bool socket_ended;              /* the socket has no more input */
    bool buffered;                  /* read has more to return, whatever the socket has */
    bool peer_ended;                /* the peer's close_notify has come */
    int input_end;                  /* what read returns from now on; 1: it goes on */

    uint8_t *rest; /* records that the socket has not taken; NULL: none */
    size_t rest_begin, rest_end, rest_room;
    size_t owed; /* plain bytes that are in `rest`, and that write has not reported as sent */
};

/* Makes a stream of a connected socket, which the caller keeps. `context` is not needed any more
 * afterwards. Returns 0, or -1 if there is no memory. */
int sw_tls_stream_open(struct sw_tls_stream *stream, SSL_CTX *context, int fd, bool is_server,
                       struct sw_tls_scratch *scratch);
/* The stream goes on at another place, by another descriptor of its socket and, it may be, another
 * thread's memory; `from` is a closed one then. */
void sw_tls_stream_move(struct sw_tls_stream *to, struct sw_tls_stream *from, int fd,
                        struct sw_tls_scratch *scratch);
/* Frees what the stream has. Sends nothing. */
void sw_tls_stream_close(struct sw_tls_stream *stream);

/* Goes on with the handshake. Returns 1 when it is complete, SW_TLS_AGAIN if it needs the socket
 * (to write as well, if sw_tls_is_sending), or SW_TLS_FAILED. */
int sw_tls_handshake(struct sw_tls_stream *stream);

/* Reads into `bytes`. Returns their number, which is less than `size` only if there is no more now,
 * or a sw_tls_result. */
int64_t sw_tls_read(struct sw_tls_stream *stream, void *bytes, size_t size);

/* Encrypts and sends the parts. Returns the number of bytes whose records the socket has taken, or
 * SW_TLS_AGAIN or SW_TLS_FAILED. The next write must begin with the first byte that was not
 * reported: some of them may be encrypted already, though their records have not left. */
int64_t sw_tls_write(struct sw_tls_stream *stream, const struct iovec *parts, size_t count);

/* Are there records that the socket has not taken? */
static inline bool sw_tls_is_sending(const struct sw_tls_stream *stream)
{
    return stream->rest_end > stream->rest_begin;
}
/* Sends them. Returns 1 if all have left, SW_TLS_AGAIN or SW_TLS_FAILED. */
int sw_tls_flush(struct sw_tls_stream *stream);

/* Sends close_notify: nothing is written afterwards. Returns what sw_tls_flush does. */
int sw_tls_end(struct sw_tls_stream *stream);

#endif
