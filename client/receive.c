/* SPDX-License-Identifier: MIT
 *
 * receive.c - replies from the socket: heads into a small buffer, bodies straight into the
 * caller's arrays.
 *
 * What was read ahead of a body is copied, at most SW_CLIENT_BUFFER_BYTES of it; the rest of a long
 * body goes where it belongs by readv.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "client/internal.h"

/* Reads before the sending side gets a look. */
#define RECEIVE_CALLS_MAX 16

static int connection_lost(struct sherwood *client, int error)
{
    const char *reason = error != 0 ? strerror(error) : "the server closed the connection";
    if (error == 0 && client->send_errno != 0) {
        reason = strerror(client->send_errno);
    }
    if (!client->received_any) {
        return sw_client_break(client, SHERWOOD_E_CONNECTION,
                               "%s: the connection ended before the server's greeting (%s): is it "
                               "a Sherwood server, and is it still starting or stopping?",
                               client->address, reason);
    }
    return sw_client_break(client, SHERWOOD_E_CONNECTION,
                           "%s: the connection was lost (%s), unanswered requests: %u: see the "
                           "server's log, then connect again",
                           client->address, reason, client->in_flight);
}

/* What answered does not speak frames. The first bytes tell a person what it is. */
static int not_frames(struct sherwood *client, int error)
{
    char seen[33];
    const char *bytes = (const char *)client->buffer + client->buffer_begin;
    sw_client_clean(bytes, client->buffer_end - client->buffer_begin, seen, sizeof seen);
    if (client->received_any) {
        return sw_client_break(client, SHERWOOD_E_PROTOCOL,
                               "%s: the server's answer is damaged: %s", client->address,
                               sw_frame_error_text(error));
    }
    return sw_client_break(client, SHERWOOD_E_PROTOCOL,
                           "%s: something answers there, but not a Sherwood server this client "
                           "understands (%s; it begins \"%s\"): is it the right port?",
                           client->address, sw_frame_error_text(error), seen);
}

/* The largest body any reply to this client can have. */
static uint64_t body_bytes_max(const struct sherwood *client)
{
    struct sw_reply largest = {.count = client->server.frame_ops_max,
                               .key_bytes = sizeof(uint64_t),
                               .value_bytes = sizeof(uint64_t),
                               .has_values = true};
    return largest.count == 0 ? 0 : sw_reply_layout(&largest, true).bytes;
}

/* Decodes a head at the start of the buffer. Sets *again if more bytes are needed. */
static int take_head(struct sherwood *client, bool *again)
{
    const uint8_t *bytes = client->buffer + client->buffer_begin;
    size_t size = client->buffer_end - client->buffer_begin;
    struct sw_frame_prefix prefix;
    *again = true;
    if (size == 0) {
        return SHERWOOD_OK;
    }
    int got = sw_frame_prefix_decode(bytes, size, body_bytes_max(client), &prefix);
    if (got < 0) {
        return not_frames(client, got);
    }
    if (got == 0 || size < sw_frame_head_bytes(prefix.header_bytes)) {
        return SHERWOOD_OK;
    }
    if (sw_reply_decode(bytes + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &client->reply) != 0) {
        return not_frames(client, SW_FRAME_E_HEADER);
    }
    *again = false;
    client->received_any = true;
    client->buffer_begin += (size_t)sw_frame_head_bytes(prefix.header_bytes);
    return sw_client_reply(client, prefix.body_bytes);
}

/* Moves past `bytes` of the body; finishes the flight at its end. */
static void advance(struct sherwood *client, size_t bytes)
{
    while (client->part < client->parts_count) {
        struct sw_client_part *part = &client->parts[client->part];
        size_t step = bytes < part->bytes ? bytes : part->bytes;
        part->data = part->data == NULL ? NULL : part->data + step;
        part->bytes -= step;
        bytes -= step;
        if (part->bytes > 0) {
            return;
        }
        client->part++;
    }
    struct sw_client_flight *flight = client->receiving;
    client->receiving = NULL;
    sw_client_flight_finish(client, flight, SHERWOOD_OK, &client->reply);
}

/* Copies what was read ahead into the body. */
static void take_body(struct sherwood *client)
{
    while (client->receiving != NULL && client->buffer_begin < client->buffer_end) {
        const struct sw_client_part *part = &client->parts[client->part];
        size_t size = client->buffer_end - client->buffer_begin;
        size = size < part->bytes ? size : part->bytes;
        if (part->data != NULL && size > 0) {
            memcpy(part->data, client->buffer + client->buffer_begin, size);
        }
        client->buffer_begin += size;
        advance(client, size);
    }
}

static int take_buffered(struct sherwood *client)
{
    for (;;) {
        if (client->receiving != NULL) {
            take_body(client);
            if (client->receiving != NULL) {
                return SHERWOOD_OK;
            }
        }
        bool again = false;
        int rc = take_head(client, &again);
        if (rc != SHERWOOD_OK || again) {
            return rc;
        }
    }
}

/* One readv: the rest of the body at hand, then ahead into the buffer. Returns the bytes, or -1;
 * *drained if the socket had less than there was room for. */
static ssize_t read_once(struct sherwood *client, bool *drained)
{
    struct iovec iov[SW_PARTS_MAX + 1];
    int n = 0;
    size_t body = 0;
    bool whole = true;
    memmove(client->buffer, client->buffer + client->buffer_begin,
            client->buffer_end - client->buffer_begin);
    client->buffer_end -= client->buffer_begin;
    client->buffer_begin = 0;
    for (uint32_t p = client->part; client->receiving != NULL && p < client->parts_count; ++p) {
        struct sw_client_part *part = &client->parts[p];
        size_t size = part->bytes;
        if (part->data == NULL && size > sizeof client->scratch) {
            size = sizeof client->scratch;
            whole = false;
        }
        iov[n++] = (struct iovec){part->data == NULL ? client->scratch : part->data, size};
        body += size;
        if (!whole) {
            break;
        }
    }
    size_t ahead = whole ? sizeof client->buffer - client->buffer_end : 0;
    if (whole) {
        iov[n++] = (struct iovec){client->buffer + client->buffer_end, ahead};
    }
    ssize_t got = readv(client->fd, iov, n);
    if (got <= 0) {
        return got;
    }
    *drained = (size_t)got < body + ahead;
    size_t to_body = (size_t)got < body ? (size_t)got : body;
    client->buffer_end += (size_t)got - to_body;
    if (client->receiving != NULL) {
        advance(client, to_body);
    }
    return got;
}

int sw_client_receive(struct sherwood *client)
{
    for (int i = 0; i < RECEIVE_CALLS_MAX; ++i) {
        bool drained = false;
        ssize_t got = read_once(client, &drained);
        if (got == 0) {
            return connection_lost(client, 0);
        }
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno == EAGAIN || errno == EWOULDBLOCK ? SHERWOOD_OK
                                                           : connection_lost(client, errno);
        }
        int rc = take_buffered(client);
        if (rc != SHERWOOD_OK || drained) {
            return rc;
        }
    }
    return SHERWOOD_OK;
}
