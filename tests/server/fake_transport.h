/* SPDX-License-Identifier: MIT
 *
 * fake_transport.h - a connection without a socket: a test is its peer, and its clock.
 *
 * A fake is one implementation of sw_transport_functions. It captures what the connection writes,
 * takes as much of it as the test says, and calls back only when the test asks for it. It outlives
 * its connection; the fixture of the test frees it. Bytes given to sw_transport_write are not
 * copied before they leave, as with a socket: a connection that changes or frees them early shows.
 * One thread.
 */
#ifndef SHERWOOD_TESTS_SERVER_FAKE_TRANSPORT_H
#define SHERWOOD_TESTS_SERVER_FAKE_TRANSPORT_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/net/conn.h"

enum { FAKE_PIECES_MAX = 128 };

struct fake {
    struct sw_conn *conn;           /* NULL: it has been freed, or soon will be */
    struct sw_transport *transport; /* NULL after `closed` */

    /* What the test decides. */
    size_t takes;    /* bytes that one try_write takes; SIZE_MAX: all */
    int try_error;   /* what try_write returns instead; 0: none */
    int write_error; /* what write returns instead; 0: none */

    /* Calls of the connection so far. */
    bool reading;
    unsigned tries;  /* calls of try_write */
    unsigned writes; /* calls of write */
    unsigned shutdowns;
    unsigned closes;
    unsigned blocked; /* times that there was no room for what came */
    char *out;        /* bytes that have left */
    size_t out_bytes;
    size_t out_capacity;

    /* Given to write, not gone yet. */
    uv_buf_t pieces[FAKE_PIECES_MAX];
    unsigned piece_count;
    uint64_t queued;

    struct fake *opened_next; /* NULL: it was opened last */
};

static struct fake *fakes_opened; /* of this test, in order */

static inline struct fake *fake_of(const struct sw_transport *transport)
{
    return transport->uv.handle.data;
}

static inline void fake_capture(struct fake *fake, const void *bytes, size_t size)
{
    if (fake->out_bytes + size > fake->out_capacity) {
        fake->out_capacity = (fake->out_bytes + size) * 2;
        fake->out = realloc(fake->out, fake->out_capacity);
        cr_assert_not_null(fake->out);
    }
    memcpy(fake->out + fake->out_bytes, bytes, size);
    fake->out_bytes += size;
}

static inline void fake_read_start(struct sw_transport *transport)
{
    cr_assert_not(fake_of(transport)->reading, "it reads already");
    fake_of(transport)->reading = true;
}

static inline void fake_read_stop(struct sw_transport *transport)
{
    cr_assert(fake_of(transport)->reading, "it does not read");
    fake_of(transport)->reading = false;
}

static inline int fake_try_write(struct sw_transport *transport, const uv_buf_t *pieces,
                                 unsigned count)
{
    struct fake *fake = fake_of(transport);
    size_t left = fake->takes;
    int sent = 0;
    cr_assert(fake->closes == 0 && fake->shutdowns == 0, "written after the end");
    fake->tries++;
    if (fake->try_error != 0) {
        return fake->try_error;
    }
    if (left == 0 || fake->queued > 0) {
        return UV_EAGAIN;
    }
    for (unsigned i = 0; i < count && left > 0; i++) {
        size_t size = pieces[i].len < left ? pieces[i].len : left;
        fake_capture(fake, pieces[i].base, size);
        sent += (int)size;
        left -= size;
    }
    return sent;
}

static inline int fake_write(struct sw_transport *transport, const uv_buf_t *pieces, unsigned count)
{
    struct fake *fake = fake_of(transport);
    cr_assert(fake->closes == 0 && fake->shutdowns == 0, "written after the end");
    cr_assert(!transport->writing && fake->queued == 0, "one write at a time");
    cr_assert_leq(count, FAKE_PIECES_MAX);
    fake->writes++;
    if (fake->write_error != 0) {
        return fake->write_error;
    }
    memcpy(fake->pieces, pieces, count * sizeof(*pieces));
    fake->piece_count = count;
    for (unsigned i = 0; i < count; i++) {
        fake->queued += pieces[i].len;
    }
    return 0;
}

static inline uint64_t fake_queued_bytes(const struct sw_transport *transport)
{
    return fake_of(transport)->queued;
}

static inline void fake_shutdown(struct sw_transport *transport)
{
    struct fake *fake = fake_of(transport);
    cr_assert(!transport->writing && fake->closes == 0, "shut down with bytes to send");
    fake->shutdowns++;
}

static inline void fake_close(struct sw_transport *transport)
{
    cr_assert_eq(fake_of(transport)->closes, 0, "closed twice");
    fake_of(transport)->reading = false;
    fake_of(transport)->closes++;
}

static const struct sw_transport_functions fake_functions = {
    .read_start = fake_read_start,
    .read_stop = fake_read_stop,
    .try_write = fake_try_write,
    .write = fake_write,
    .queued_bytes = fake_queued_bytes,
    .shutdown = fake_shutdown,
    .close = fake_close,
};

/* --- the peer --------------------------------------------------------------------------------- */

/* Creates a connection of `net` that reads, and returns its other end. The fixture closes it. */
static inline struct fake *fake_open(struct sw_net *net, bool is_refused)
{
    struct fake **last = &fakes_opened;
    struct fake *fake = calloc(1, sizeof(*fake));
    cr_assert_not_null(fake);
    while (*last != NULL) {
        last = &(*last)->opened_next;
    }
    *last = fake;
    fake->takes = SIZE_MAX;
    fake->conn = sw_conn_create(net, is_refused);
    cr_assert_not_null(fake->conn);
    fake->transport = &fake->conn->transport;
    fake->transport->functions = &fake_functions;
    fake->transport->events = &sw_conn_events;
    fake->transport->uv.handle.data = fake;
    sw_conn_start(fake->conn);
    return fake;
}

/* The peer sends bytes. Returns how many the connection has read: fewer where it stopped reading,
 * or had no room in this iteration. */
static inline size_t fake_send(struct fake *fake, const void *bytes, size_t size)
{
    size_t sent = 0;
    while (sent < size && fake->reading) {
        const struct sw_transport_events *events = fake->transport->events;
        uv_buf_t room = events->room(fake->transport);
        size_t count = room.len < size - sent ? room.len : size - sent;
        if (room.len == 0) {
            fake->blocked++;
            events->received(fake->transport, UV_ENOBUFS, (uint8_t *)room.base);
            break;
        }
        memcpy(room.base, (const char *)bytes + sent, count);
        sent += count;
        events->received(fake->transport, (ssize_t)count, (uint8_t *)room.base);
    }
    return sent;
}

static inline size_t fake_say(struct fake *fake, const char *text)
{
    return fake_send(fake, text, strlen(text));
}

/* The peer's side ends: UV_EOF in an orderly way, or an error. It is seen only while it is read. */
static inline void fake_end(struct fake *fake, int error)
{
    if (fake->reading) {
        uv_buf_t room = fake->transport->events->room(fake->transport);
        fake->transport->events->received(fake->transport, error, (uint8_t *)room.base);
    }
}

/* The peer takes `size` bytes of the pending write. With the last of them, or with an error, it
 * calls `written`. */
static inline void fake_take(struct fake *fake, size_t size)
{
    for (unsigned i = 0; i < fake->piece_count && size > 0; i++) {
        size_t part = fake->pieces[i].len < size ? fake->pieces[i].len : size;
        fake_capture(fake, fake->pieces[i].base, part);
        fake->pieces[i].base += part;
        fake->pieces[i].len -= part;
        fake->queued -= part;
        size -= part;
    }
    if (fake->queued == 0 && fake->transport->writing && fake->closes == 0) {
        fake->piece_count = 0;
        fake->transport->writing = false;
        fake->transport->events->written(fake->transport, 0);
    }
}

static inline void fake_take_all(struct fake *fake)
{
    while (fake->queued > 0 && fake->closes == 0) {
        fake_take(fake, SIZE_MAX);
    }
}

/* The pending write fails. */
static inline void fake_lose(struct fake *fake, int error)
{
    fake->queued = 0;
    fake->piece_count = 0;
    fake->transport->writing = false;
    fake->transport->events->written(fake->transport, error);
}

/* Delivers `closed`, if the connection has closed its transport. Returns true if so. The connection
 * may be freed. */
static inline bool fake_deliver_closed(struct fake *fake)
{
    if (fake->transport == NULL || fake->closes == 0) {
        return false;
    }
    if (fake->transport->writing) {
        fake_lose(fake, UV_ECANCELED);
    }
    struct sw_transport *transport = fake->transport;
    fake->transport = NULL;
    fake->conn = NULL;
    transport->events->closed(transport);
    return true;
}

/* Ends a connection in whatever state it is. */
static inline void fake_fini(struct fake *fake)
{
    if (fake->transport != NULL) {
        sw_conn_abort(fake->conn);
        fake_deliver_closed(fake);
    }
    free(fake->out);
    fake->out = NULL;
}

/* Ends every connection that this test has opened. */
static inline void fake_fini_all(void)
{
    while (fakes_opened != NULL) {
        struct fake *fake = fakes_opened;
        fake_fini(fake);
        fakes_opened = fake->opened_next;
        free(fake);
    }
}

/* --- what has left ---------------------------------------------------------------------------- */

/* Everything that has left since the last call is this text. */
static inline void fake_expect(struct fake *fake, const char *text)
{
    const char *out = fake->out != NULL ? fake->out : "";
    cr_assert(fake->out_bytes == strlen(text) && memcmp(out, text, fake->out_bytes) == 0,
              "it sent '%.*s' instead of '%s'", (int)fake->out_bytes, out, text);
    fake->out_bytes = 0;
}

#endif
