/* SPDX-License-Identifier: MIT
 *
 * conn.c - the life of a connection: states and reading. Output is in output.c and bulk_output.c,
 * timeouts are in conn_timeouts.c.
 */
#include "server/net/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/frame.h"
#include "server/bulk/bulk.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/net/output.h"
#include "server/observe/log.h"
#include "server/resp/resp.h"

static void set_state(struct sw_conn *conn, enum sw_conn_state state)
{
    assert(state > conn->state); /* states only go forward */
    conn->state = state;
}

static void free_input(struct sw_conn *conn)
{
    free(conn->input.bytes);
    conn->input = (struct sw_conn_input){0};
}

static void free_if_done(struct sw_conn *conn)
{
    if (conn->handle_closed && conn->in_flight == 0) {
        free_input(conn);
        sw_output_fini(conn);
        free(conn);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Makes room for `bytes` more at the end of the input. */
static bool grow_input(struct sw_conn *conn, size_t bytes)
{
    struct sw_conn_input *input = &conn->input;
    size_t held = input->end - input->start;
    if (input->start > 0) {
        memmove(input->bytes, input->bytes + input->start, held);
        input->start = 0;
        input->end = held;
    }
    if (input->capacity - held >= bytes) {
        return true;
    }
    size_t capacity = input->capacity * 2 > held + bytes ? input->capacity * 2 : held + bytes;
    uint8_t *grown = realloc(input->bytes, capacity);
    if (grown == NULL) {
        return false;
    }
    input->bytes = grown;
    input->capacity = capacity;
    return true;
}

/* Has the connection received its share of this turn? */
static bool has_had_its_turn(struct sw_conn *conn)
{
    if (conn->turn != conn->loop->turns) {
        conn->turn = conn->loop->turns;
        conn->turn_bytes = 0;
        conn->loop->bulk_active += conn->protocol == SW_PROTOCOL_BULK;
    }
    return conn->turn_bytes >= conn->loop->turn_bytes;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct sw_conn *conn = handle->data;
    struct sw_loop *loop = conn->loop;
    struct sw_conn_input *input = &conn->input;
    size_t bytes = conn->large_frames ? SW_BULK_READ_BYTES : SW_READ_BYTES;
    (void)suggested;
    if (has_had_its_turn(conn)) {
        *buffer = uv_buf_init(NULL, 0); /* ends libuv's reading; on_read knows */
    } else if (conn->state != SW_CONN_OPEN ||
               (conn->receiving == NULL && input->end == input->start)) {
        *buffer = uv_buf_init((char *)loop->read_buffer, (unsigned)bytes);
    } else if (conn->receiving != NULL) {
        *buffer = sw_bulk_buffer(conn);
    } else {
        /* The rest of a request that has begun: about what it is known to need. */
        size_t held = input->end - input->start;
        size_t missing = input->need > held ? input->need - held : 1;
        bytes = missing < SW_INPUT_STEP_BYTES ? SW_INPUT_STEP_BYTES
                : missing < SW_READ_BYTES     ? missing
                                              : SW_READ_BYTES;
        if (!grow_input(conn, bytes)) {
            *buffer = uv_buf_init(NULL, 0); /* reported to on_read as UV_ENOBUFS */
            return;
        }
        *buffer = uv_buf_init((char *)input->bytes + input->end, (unsigned)bytes);
    }
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer);

/* Reads exactly when there is use for what comes. */
static void update_reading(struct sw_conn *conn)
{
    bool want =
        !conn->ended &&
        ((conn->state == SW_CONN_OPEN && conn->stall == SW_STALL_NONE && !conn->output_paused) ||
         conn->state == SW_CONN_LINGERING);
    if (conn->state == SW_CONN_CLOSED || want == conn->reading) {
        return;
    }
    conn->reading = want;
    if (want) {
        uv_read_start(&conn->uv.stream, on_alloc, on_read);
    } else {
        uv_read_stop(&conn->uv.stream);
    }
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status; /* a failure shows on the reading side too */
}

/* DRAINING and nothing left to answer or send, nor to come of a retry: say goodbye. */
static void settle(struct sw_conn *conn)
{
    if (conn->state != SW_CONN_DRAINING || conn->in_flight > 0 || conn->stall != SW_STALL_NONE ||
        conn->retried || sw_conn_unsent_bytes(conn) > 0) {
        return;
    }
    if (conn->ended) {
        sw_conn_abort(conn);
        return;
    }
    set_state(conn, SW_CONN_LINGERING);
    conn->linger_since_ms = sw_loop_now_ms(conn->loop);
    uv_shutdown(&conn->shutdown, &conn->uv.stream, on_shutdown);
    update_reading(conn);
}

/* What is left of the input will not be looked at again. */
static bool is_done_with_input(const struct sw_conn *conn)
{
    return conn->state > SW_CONN_DRAINING ||
           (conn->state == SW_CONN_DRAINING && conn->stall == SW_STALL_NONE);
}

/* Gives bytes to the protocol; returns how many it consumed. */
static size_t feed(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    if (conn->protocol == SW_PROTOCOL_UNKNOWN) {
        conn->protocol = bytes[0] == SW_FRAME_MAGIC ? SW_PROTOCOL_BULK : SW_PROTOCOL_RESP;
    }
    if (size < conn->input.need) {
        return 0;
    }
    if (conn->output_paused) {
        sw_conn_stall(conn, SW_STALL_OUTPUT);
        return 0;
    }
    conn->input.need = 0;
    return conn->protocol == SW_PROTOCOL_BULK ? sw_bulk_feed(conn, bytes, size)
                                              : sw_resp_feed(conn, bytes, size);
}

/* After feeding: notes since when an unfinished request has been arriving. Time the connection is
 * stalled is ours, not the peer's. */
static void note_request(struct sw_conn *conn, size_t consumed, size_t rest)
{
    bool unfinished = (rest > 0 || conn->receiving != NULL) && conn->stall == SW_STALL_NONE;
    if (!unfinished) {
        conn->request_since_ms = 0;
    } else if (conn->request_since_ms == 0 || consumed > 0) {
        conn->request_since_ms = sw_loop_now_ms(conn->loop);
    }
}

/* Feeds what the input holds. */
static void feed_input(struct sw_conn *conn)
{
    struct sw_conn_input *input = &conn->input;
    size_t size = input->end - input->start;
    size_t consumed = size > 0 ? feed(conn, input->bytes + input->start, size) : 0;
    if (is_done_with_input(conn)) {
        consumed = size;
        input->start = input->end;
    } else {
        input->start += consumed;
    }
    note_request(conn, consumed, size - consumed);
    if (input->start == input->end) {
        free_input(conn);
    }
}

/* Feeds what was read into the loop's buffer, and keeps what is not consumed. */
static void feed_shared(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    size_t consumed = feed(conn, bytes, size);
    size_t rest = size - consumed;
    if (is_done_with_input(conn)) {
        rest = 0;
    }
    note_request(conn, consumed, rest);
    if (rest == 0) {
        return;
    }
    if (!grow_input(conn, rest)) {
        sw_conn_abort(conn);
        return;
    }
    memcpy(conn->input.bytes + conn->input.end, bytes + consumed, rest);
    conn->input.end += rest;
}

static void on_end(struct sw_conn *conn, ssize_t error)
{
    conn->ended = true;
    if (error != UV_EOF || conn->state == SW_CONN_LINGERING) {
        sw_conn_abort(conn);
    } else if (conn->state == SW_CONN_OPEN) {
        sw_conn_drain(conn, true);
    } else {
        update_reading(conn);
    }
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct sw_conn *conn = stream->data;
    struct sw_loop *loop = conn->loop;
    if (count == UV_ENOBUFS && conn->turn_bytes >= conn->loop->turn_bytes) {
        return;
    }
    if (count < 0) {
        on_end(conn, count);
        return;
    }
    if (count == 0) {
        return;
    }
    conn->turn_bytes += (uint64_t)count;
    SW_COUNT(&loop->counters, net_input_bytes, count);
    conn->input_at_ms = sw_loop_now_ms(loop);
    if (conn->state != SW_CONN_OPEN) {
        return; /* dropped */
    }
    if (conn->receiving != NULL) {
        sw_bulk_received(conn, (size_t)count);
        note_request(conn, 0, 0);
    } else if ((const uint8_t *)buffer->base == loop->read_buffer) {
        feed_shared(conn, loop->read_buffer, (size_t)count);
    } else {
        conn->input.end += (size_t)count;
        feed_input(conn);
    }
    update_reading(conn);
    settle(conn);
}

/* --- states ----------------------------------------------------------------------------------- */

static void describe_peer(struct sw_conn *conn, int fd, bool is_unix)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);
    char *out = conn->session.address;
    size_t room = sizeof(conn->session.address);
    char host[INET6_ADDRSTRLEN] = "?";
    if (is_unix) {
        snprintf(out, room, "unix:0");
    } else if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0) {
        snprintf(out, room, "?:0");
    } else if (peer.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&peer;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        snprintf(out, room, "%s:%u", host, ntohs(v4->sin_port));
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&peer;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        snprintf(out, room, "[%s]:%u", host, ntohs(v6->sin6_port));
    }
}

/* The kernel takes what it may of a size; 0 leaves it its own. */
static void size_buffer(int fd, int which, uint64_t bytes)
{
    int size = (int)bytes;
    if (bytes > 0) {
        setsockopt(fd, SOL_SOCKET, which, &size, sizeof(size));
    }
}

static int open_handle(struct sw_conn *conn, int fd, bool is_unix)
{
    uv_loop_t *uv = &conn->loop->uv;
    const struct sw_config *config = conn->loop->config;
    if (is_unix) {
        size_buffer(fd, SO_SNDBUF, config->unix_buffer_bytes);
        uv_pipe_init(uv, &conn->uv.pipe, 0);
        return uv_pipe_open(&conn->uv.pipe, fd);
    }
    size_buffer(fd, SO_SNDBUF, config->tcp_buffer_bytes);
    size_buffer(fd, SO_RCVBUF, config->tcp_buffer_bytes);
    uv_tcp_init(uv, &conn->uv.tcp);
    int error = uv_tcp_open(&conn->uv.tcp, fd);
    if (error == 0) {
        uv_tcp_nodelay(&conn->uv.tcp, 1);
        uv_tcp_keepalive(&conn->uv.tcp, 1, 60);
    }
    return error;
}

void sw_conn_open(struct sw_loop *loop, int fd, bool is_unix)
{
    struct sw_conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for a connection: it was closed");
        close(fd);
        SW_COUNT(&loop->counters, connections_accepted, 1);
        SW_COUNT(&loop->counters, connections_closed, 1); /* or it would count as open for ever */
        return;
    }
    conn->loop = loop;
    sw_session_init(&conn->session, loop->next_session_id);
    loop->next_session_id += loop->session_id_step;
    sw_output_init(conn);
    describe_peer(conn, fd, is_unix);
    conn->input_at_ms = conn->output_at_ms = sw_loop_now_ms(loop);
    conn->session.connected_at_ms = conn->input_at_ms;

    conn->next = loop->conns;
    if (loop->conns != NULL) {
        loop->conns->previous = conn;
    }
    loop->conns = conn;
    __atomic_store_n(&loop->connections, loop->connections + 1, __ATOMIC_RELAXED);
    SW_COUNT(&loop->counters, connections_accepted, 1);

    int error = open_handle(conn, fd, is_unix);
    conn->uv.handle.data = conn;
    if (error != 0) {
        sw_log(SW_LOG_WARNING, "a connection could not be taken: %s", uv_strerror(error));
        close(fd);
        sw_conn_abort(conn);
        return;
    }
    update_reading(conn);
}

static void on_closed(uv_handle_t *handle)
{
    struct sw_conn *conn = handle->data;
    struct sw_loop *loop = conn->loop;
    conn->handle_closed = true;
    if (conn->previous != NULL) {
        conn->previous->next = conn->next;
    } else {
        loop->conns = conn->next;
    }
    if (conn->next != NULL) {
        conn->next->previous = conn->previous;
    }
    __atomic_store_n(&loop->connections, loop->connections - 1, __ATOMIC_RELAXED);
    SW_COUNT(&loop->counters, connections_closed, 1);
    free_if_done(conn);
}

/* Forgets a request that has only partly arrived, and input that waits. */
static void drop_input(struct sw_conn *conn)
{
    if (conn->stall != SW_STALL_NONE) {
        sw_loop_stalled_remove(conn->loop, conn);
        conn->stall = SW_STALL_NONE;
    }
    sw_bulk_drop(conn);
    conn->input.start = conn->input.end;
    conn->input.need = 0;
    conn->request_since_ms = 0;
}

void sw_conn_abort(struct sw_conn *conn)
{
    if (conn->state == SW_CONN_CLOSED) {
        return;
    }
    set_state(conn, SW_CONN_CLOSED);
    drop_input(conn);
    sw_output_drop(conn);
    uv_close(&conn->uv.handle, on_closed);
}

void sw_conn_drain(struct sw_conn *conn, bool keep_input)
{
    if (conn->state == SW_CONN_OPEN) {
        set_state(conn, SW_CONN_DRAINING);
        update_reading(conn);
    }
    if (conn->state == SW_CONN_DRAINING) {
        if (!keep_input || conn->stall == SW_STALL_NONE) {
            drop_input(conn);
        }
        settle(conn);
    }
}

void sw_conn_accept(struct sw_conn *conn, bool data)
{
    conn->in_flight++;
    conn->data_in_flight += data;
}

void sw_conn_answered(struct sw_conn *conn, bool data)
{
    conn->in_flight--;
    conn->data_in_flight -= data;
    if (conn->stall == SW_STALL_BARRIER || conn->stall == SW_STALL_IN_FLIGHT) {
        conn->loop->retry = true;
    }
    settle(conn);
    free_if_done(conn);
}

void sw_conn_stall(struct sw_conn *conn, enum sw_stall reason)
{
    conn->stall = reason;
    sw_loop_stalled_push(conn->loop, conn);
}

void sw_conn_resume(struct sw_conn *conn)
{
    conn->stall = SW_STALL_NONE;
    conn->retried = true;
    feed_input(conn);
    conn->retried = false;
    if (conn->state != SW_CONN_CLOSED) {
        update_reading(conn);
        settle(conn);
    }
}

void sw_conn_output_changed(struct sw_conn *conn)
{
    uint64_t unsent = sw_conn_unsent_bytes(conn);
    uint64_t pause = conn->loop->config->output_bytes_pause;
    bool is_bulk = conn->protocol == SW_PROTOCOL_BULK;
    if (!conn->output_paused && unsent > pause &&
        (!is_bulk || conn->answers.count > SW_UNSENT_FRAMES_MIN)) {
        conn->output_paused = true;
        SW_COUNT(&conn->loop->counters, output_pauses, 1);
    } else if (conn->output_paused &&
               (unsent <= pause / 2 ||
                (is_bulk && conn->answers.count <= SW_UNSENT_FRAMES_MIN / 2))) {
        conn->output_paused = false;
        conn->input_at_ms = sw_loop_now_ms(conn->loop);
        conn->request_since_ms = conn->request_since_ms > 0 ? conn->input_at_ms : 0;
        conn->loop->retry |= conn->stall == SW_STALL_OUTPUT;
    }
    update_reading(conn);
    settle(conn);
}
