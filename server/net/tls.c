/* SPDX-License-Identifier: MIT
 *
 * tls.c - the transport for TLS.
 *
 * The socket is polled for reading until an event finds that the connection does not read: a
 * connection that stalls and goes on at once costs no system call. No event of the socket announces
 * input that OpenSSL holds when reading stops. Such a transport waits in the loop's list `ready`.
 */
#include "server/net/tls.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/tls/context.h"
#include "server/net/tls_parts.h"

static struct sw_transport *transport_of(uv_handle_t *handle)
{
    return SW_CONTAINER(handle, struct sw_transport, uv.handle);
}

/* --- the loop's share ------------------------------------------------------------------------- */

int sw_tls_loop_init(struct sw_tls_loop *loop, bool is_on)
{
    memset(loop, 0, sizeof(*loop));
    sw_list_init(&loop->ready);
    sw_list_init(&loop->handshakes);
    return is_on ? sw_tls_scratch_init(&loop->scratch) : 0;
}

void sw_tls_loop_fini(struct sw_tls_loop *loop)
{
    sw_tls_scratch_fini(&loop->scratch);
}

/* --- events ----------------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

/* Polls the socket for these events. */
static void watch(struct sw_tls *tls, int events)
{
    if (events == tls->events || sw_tls_is_closing(tls)) {
        return;
    }
    tls->events = events;
    if (events == 0) {
        uv_poll_stop(&tls->transport->uv.poll);
    } else {
        uv_poll_start(&tls->transport->uv.poll, events, on_poll);
    }
}

/* Polls for what is needed: always for writing while there is something to send, and for reading at
 * least if the connection wants to read. */
void sw_tls_watch_needed(struct sw_tls *tls, bool drop_reading)
{
    if (sw_list_is_linked(&tls->ready) && tls->transport->opening) {
        watch(tls, 0); /* its handshake goes on without an event */
        return;
    }
    bool read = tls->error == 0 && (tls->reading || tls->transport->opening);
    bool write = tls->error == 0 && (sw_tls_is_sending(&tls->stream) ||
                                     (tls->transport->writing && !tls->transport->opening));
    int kept = drop_reading || tls->error != 0 ? 0 : tls->events & UV_READABLE;
    watch(tls, (read ? UV_READABLE : kept) | (write ? UV_WRITABLE : 0));
}

static void make_ready(struct sw_tls *tls)
{
    if (!sw_list_is_linked(&tls->ready)) {
        sw_list_push(&tls->loop->ready, &tls->ready);
    }
}

void sw_tls_report(struct sw_tls *tls, enum sw_transport_news news, const char *text)
{
    if (tls->transport->events->news != NULL) {
        tls->transport->events->news(tls->transport, news, text);
    }
}

/* Reports a failed handshake or a broken TLS stream. A socket error after the handshake is not
 * reported: unencrypted transports do not report it either. */
static void report_failure(struct sw_tls *tls, const char *text)
{
    if (tls->transport->opening) {
        sw_tls_report(tls, SW_NEWS_HANDSHAKE_FAILED, text);
    } else if (tls->stream.error == 0 && tls->error != UV_ECONNRESET) {
        sw_tls_report(tls, SW_NEWS_BROKEN, text);
    }
    tls->transport->opening = false;
}

static void finish_write(struct sw_tls *tls, int status)
{
    sw_tls_queue_empty(&tls->queue);
    tls->transport->writing = false;
    tls->transport->events->written(tls->transport, status);
}

/* Ends the transport. Reports the error to the connection, to a pending write and to a pending
 * read. */
void sw_tls_fail(struct sw_tls *tls, int error, const char *text)
{
    if (tls->error != 0) {
        return;
    }
    tls->error = error;
    report_failure(tls, text);
    if (tls->transport->writing) {
        finish_write(tls, error);
    }
    if (tls->reading && !sw_tls_is_closing(tls)) {
        make_ready(tls); /* later, because the caller may be in the middle of a write */
    }
    sw_tls_watch_needed(tls, true);
}

static void fail_stream(struct sw_tls *tls)
{
    int error = tls->stream.error != 0 ? -tls->stream.error : UV_EPROTO;
    sw_tls_fail(tls, error, tls->loop->scratch.trouble);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Delivers that the input has ended. */
static void end_input(struct sw_tls *tls, int64_t result)
{
    struct sw_transport *transport = tls->transport;
    int error = UV_EOF;
    if (result == SW_TLS_CUT) {
        if (!tls->ending) { /* after its own end the server expects no more input */
            sw_tls_report(tls, SW_NEWS_CUT, tls->loop->scratch.trouble);
        }
    } else if (result != SW_TLS_END) {
        error = tls->stream.error != 0 ? -tls->stream.error : UV_EPROTO;
        if (tls->error == 0) {
            tls->error = error;
            report_failure(tls, tls->loop->scratch.trouble);
        }
        if (transport->writing) {
            finish_write(tls, error);
        }
    }
    if (tls->reading && !sw_tls_is_closing(tls)) {
        transport->events->received(transport, error, NULL);
    }
}

void sw_tls_read_some(struct sw_tls *tls)
{
    struct sw_transport *transport = tls->transport;
    while (tls->reading && tls->error == 0 && !sw_tls_is_closing(tls)) {
        uv_buf_t room = transport->events->room(transport);
        if (room.len == 0) {
            transport->events->received(transport, UV_ENOBUFS, NULL);
            break;
        }
        int64_t got = sw_tls_read(&tls->stream, room.base, room.len);
        if (got == SW_TLS_AGAIN) {
            break;
        }
        if (got <= 0) {
            end_input(tls, got);
            return;
        }
        transport->events->received(transport, (ssize_t)got, (uint8_t *)room.base);
        if ((size_t)got < room.len && !tls->stream.buffered) {
            break;
        }
    }
    if (tls->stream.buffered && tls->reading && !sw_tls_is_closing(tls)) {
        make_ready(tls);
    }
}

bool sw_tls_resume(struct sw_tls_loop *loop)
{
    struct sw_list now; /* those that become ready meanwhile wait for the next iteration */
    bool any = !sw_list_is_empty(&loop->ready);
    sw_list_init(&now);
    while (!sw_list_is_empty(&loop->ready)) {
        sw_list_push(&now, sw_list_pop(&loop->ready));
    }
    while (!sw_list_is_empty(&now)) {
        struct sw_tls *tls = SW_CONTAINER(sw_list_pop(&now), struct sw_tls, ready);
        if (!tls->reading || sw_tls_is_closing(tls)) {
            continue;
        }
        if (tls->error != 0) {
            tls->transport->events->received(tls->transport, tls->error, NULL);
        } else {
            sw_tls_read_some(tls);
            sw_tls_watch_needed(tls, false);
        }
    }
    return any;
}

static void read_start(struct sw_transport *transport)
{
    struct sw_tls *tls = transport->tls;
    assert(!sw_tls_is_closing(tls));
    tls->reading = true;
    if (tls->error != 0 || tls->stream.buffered) {
        make_ready(tls);
    }
    sw_tls_watch_needed(tls, false);
}

static void read_stop(struct sw_transport *transport)
{
    transport->tls->reading = false; /* the socket is polled until it has something */
}

/* --- writing ---------------------------------------------------------------------------------- */

static int try_write(struct sw_transport *transport, const uv_buf_t *pieces, unsigned count)
{
    struct sw_tls *tls = transport->tls;
    if (tls->error != 0) {
        return tls->error;
    }
    if (transport->writing || transport->opening) {
        return UV_EAGAIN;
    }
    /* On Unix a uv_buf_t is an iovec; libuv itself passes them to writev as iovecs. */
    int64_t sent = sw_tls_write(&tls->stream, (const struct iovec *)(const void *)pieces, count);
    if (sent == SW_TLS_FAILED) {
        fail_stream(tls);
        return tls->error;
    }
    sw_tls_watch_needed(tls, false);
    return sent == SW_TLS_AGAIN ? UV_EAGAIN : (int)sent;
}

static int write_all(struct sw_transport *transport, const uv_buf_t *pieces, unsigned count)
{
    struct sw_tls *tls = transport->tls;
    assert(!transport->writing);
    if (tls->error != 0) {
        return tls->error;
    }
    int error = sw_tls_queue_fill(&tls->queue, pieces, count);
    if (error != 0) {
        return error;
    }
    transport->writing = true; /* sw_transport_write also sets it, but after the poll below */
    sw_tls_watch_needed(tls, false);
    return 0;
}

static void on_writable(struct sw_tls *tls)
{
    if (!tls->transport->writing) { /* records that OpenSSL itself writes */
        int flushed = sw_tls_flush(&tls->stream);
        if (flushed == SW_TLS_FAILED) {
            fail_stream(tls);
        } else if (flushed == 1 && tls->ending) {
            shutdown(tls->fd, SHUT_WR);
        }
        return;
    }
    const struct sw_tls_queue *queue = &tls->queue;
    int64_t sent =
        sw_tls_write(&tls->stream, queue->parts + queue->first, queue->end - queue->first);
    if (sent == SW_TLS_FAILED) {
        fail_stream(tls);
    } else if (sent >= 0) {
        sw_tls_queue_advance(&tls->queue, (size_t)sent);
        if (queue->bytes == 0) {
            finish_write(tls, 0);
        }
    }
}

/* Returns the unsent bytes. The bytes of a sent record count as sent. The last byte of a batch
 * counts only when all records of the batch are sent. */
static uint64_t queued_bytes(const struct sw_transport *transport)
{
    const struct sw_tls *tls = transport->tls;
    uint64_t owed = tls->stream.owed;
    uint64_t gone = tls->stream.rest_begin;
    gone = owed == 0 ? 0 : gone < owed ? gone : owed - 1;
    return tls->queue.bytes > gone ? tls->queue.bytes - gone : tls->queue.bytes;
}

/* --- life ------------------------------------------------------------------------------------- */

/* The socket has failed, and libuv no longer polls it. The transport first reads the input that
 * arrived before: an alert may contain the cause. */
static void on_reset(struct sw_tls *tls)
{
    tls->events = 0;
    tls->is_reset = true;
    if (tls->transport->opening) {
        sw_tls_await_handshake(tls);
        return;
    }
    sw_tls_read_some(tls);
    if (!sw_tls_is_closing(tls)) {
        sw_tls_fail(tls, UV_ECONNRESET, strerror(ECONNRESET));
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct sw_tls *tls = transport_of((uv_handle_t *)poll)->tls;
    if (status < 0) {
        on_reset(tls);
        return;
    }
    if (tls->transport->opening) {
        sw_tls_await_handshake(tls);
        return;
    }
    if ((events & UV_WRITABLE) != 0) {
        on_writable(tls);
    }
    if ((events & UV_READABLE) != 0) {
        sw_tls_read_some(tls);
    }
    if (!sw_tls_is_closing(tls)) {
        sw_tls_watch_needed(tls, !tls->reading);
    }
}

static void shut_down(struct sw_transport *transport)
{
    struct sw_tls *tls = transport->tls;
    assert(!sw_tls_is_closing(tls));
    if (tls->error != 0) {
        return;
    }
    if (transport->opening) {
        shutdown(tls->fd, SHUT_RDWR); /* the handshake fails next */
        return;
    }
    tls->ending = true;
    int sent = sw_tls_end(&tls->stream);
    if (sent == SW_TLS_FAILED) {
        fail_stream(tls);
    } else if (sent == 1) {
        shutdown(tls->fd, SHUT_WR);
    }
    sw_tls_watch_needed(tls, false);
}

static void on_closed(uv_handle_t *handle)
{
    struct sw_transport *transport = transport_of(handle);
    struct sw_tls *tls = transport->tls;
    if (tls != NULL) {
        if (transport->writing) {
            finish_write(tls, UV_ECANCELED);
        }
        sw_tls_stream_close(&tls->stream);
        if (tls->fd >= 0) {
            close(tls->fd);
        }
        sw_tls_queue_free(&tls->queue);
        free(tls);
        transport->tls = NULL;
    }
    transport->events->closed(transport);
}

static void close_transport(struct sw_transport *transport)
{
    struct sw_tls *tls = transport->tls;
    assert(!uv_is_closing(&transport->uv.handle));
    if (tls != NULL) {
        /* Sends our end to a peer that has ended. If replies were lost, sends no end, so that the
         * peer sees the loss. */
        if (tls->stream.peer_ended && tls->error == 0 && !tls->ending && !transport->writing &&
            !transport->opening && !sw_tls_is_sending(&tls->stream)) {
            (void)sw_tls_end(&tls->stream);
        }
        sw_list_remove(&tls->ready);
        tls->reading = false;
    }
    uv_close(&transport->uv.handle, on_closed);
}

static const struct sw_transport_functions functions = {
    .read_start = read_start,
    .read_stop = read_stop,
    .try_write = try_write,
    .write = write_all,
    .queued_bytes = queued_bytes,
    .shutdown = shut_down,
    .close = close_transport,
};

int sw_tls_open(struct sw_transport *transport, uv_loop_t *uv, int fd, SSL_CTX *context,
                struct sw_socket_sizes sizes, struct sw_tls_loop *loop,
                const struct sw_transport_events *events)
{
    memset(transport, 0, sizeof(*transport));
    transport->functions = &functions;
    transport->events = events;
    int error = uv_poll_init(uv, &transport->uv.poll, fd);
    assert(error == 0); /* it fails only for files */
    struct sw_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL || sw_tls_stream_open(&tls->stream, context, fd, true, &loop->scratch) != 0) {
        free(tls);
        return UV_ENOMEM;
    }
    (void)error;
    sw_socket_tune_tcp(fd, sizes);
    tls->transport = transport;
    tls->loop = loop;
    tls->fd = fd;
    sw_list_init(&tls->ready);
    transport->tls = tls;
    transport->opening = true;
    sw_tls_watch_needed(tls, false);
    return 0;
}

void sw_tls_hand_over(struct sw_transport *transport, struct sw_tls_stream *to, int fd,
                      struct sw_tls_scratch *scratch)
{
    struct sw_tls *tls = transport->tls;
    sw_tls_stream_move(to, &tls->stream, fd, scratch);
    tls->error = UV_ECANCELED;
    sw_tls_watch_needed(tls, true);
}

void sw_tls_take_back(struct sw_transport *transport, struct sw_tls_stream *from)
{
    struct sw_tls *tls = transport->tls;
    sw_tls_stream_move(&tls->stream, from, tls->fd, &tls->loop->scratch);
    tls->error = 0;
    sw_tls_watch_needed(tls, false);
}

bool sw_tls_peer_name(const struct sw_transport *transport, char *name, size_t room)
{
    return transport->tls != NULL && sw_tls_peer_name_of(transport->tls->stream.ssl, name, room);
}
