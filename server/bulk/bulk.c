/* SPDX-License-Identifier: MIT
 *
 * bulk.c - the functions of the protocol, and the loop's side. begin_frame.c reads the head of a
 * frame.
 */
#include "server/bulk/bulk.h"

#include <assert.h>

#include "server/bulk/admit.h"
#include "server/bulk/begin_frame.h"
#include "server/bulk/frame_table.h"
#include "server/bulk/output.h"
#include "server/bulk/reply.h"
#include "server/bulk/request.h"
#include "server/bulk/ring_frames.h"
#include "server/bulk/shared_memory.h"
#include "server/limits.h"
#include "server/tables/change_run.h"

static bool claims(uint8_t first)
{
    return first == SW_FRAME_MAGIC;
}

static void open_conn(struct sw_conn *conn, void *loop_state)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    state->bulk = loop_state;
    state->conn = conn;
    state->view = conn->net->tables.number;
    sw_list_init(&state->ready);
    sw_list_init(&state->unsent.frames);
}

static size_t feed_frames(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    size_t at = 0;
    while (at < size && state->receiving == NULL) {
        if (state->discard_bytes > 0) {
            size_t rest = size - at;
            size_t drop = rest < state->discard_bytes ? rest : (size_t)state->discard_bytes;
            state->discard_bytes -= drop;
            at += drop;
            continue;
        }
        size_t consumed = sw_bulk_begin_frame(conn, bytes + at, size - at);
        at += consumed;
        if (consumed == 0 || conn->state > SW_CONN_DRAINING || conn->stall != SW_STALL_NONE) {
            break;
        }
        (void)sw_iteration_add(&conn->net->iteration, SW_COST_FRAME);
        if (at < size && state->receiving == NULL &&
            sw_iteration_must_yield(&conn->net->iteration, &conn->share)) {
            SW_COUNT(conn->net->counters, turn_pauses, !conn->retried);
            sw_conn_stall(conn, SW_STALL_YIELDED);
            break;
        }
    }
    return at;
}

static uv_buf_t body_room(struct sw_conn *conn)
{
    struct sw_bulk_frame *frame = sw_bulk_of(conn)->receiving;
    uint64_t rest = frame->body_bytes - frame->received;
    uint64_t most = conn->net->iteration.bytes;
    return uv_buf_init((char *)frame->memory + frame->received,
                       (unsigned)(rest < most ? rest : most));
}

/* Starts a frame whose body is complete, unless CLIENT PAUSE holds it back by now. */
static void start_or_hold(struct sw_conn *conn, struct sw_bulk_frame *frame)
{
    if (sw_bulk_is_held_back(conn, &frame->request)) {
        sw_bulk_of(conn)->held = frame;
        SW_COUNT(conn->net->counters, client_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_PAUSED);
    } else {
        sw_bulk_start(frame);
    }
}

static void resumed(struct sw_conn *conn)
{
    struct sw_bulk_frame *held = sw_bulk_of(conn)->held;
    if (held != NULL) {
        sw_bulk_of(conn)->held = NULL;
        start_or_hold(conn, held);
    }
    if (conn->state == SW_CONN_OPEN && conn->stall == SW_STALL_NONE) {
        sw_bulk_resumed(conn);
    }
}

static void body_received(struct sw_conn *conn, size_t bytes)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    struct sw_bulk_frame *frame = state->receiving;
    frame->received += bytes;
    assert(frame->received <= frame->body_bytes);
    if (frame->received == frame->body_bytes) {
        state->receiving = NULL;
        conn->receives_body = false;
        start_or_hold(conn, frame);
    }
}

static bool refuse_bulk_conn(struct sw_conn *conn, enum sw_refusal why)
{
    static const struct {
        enum sw_reply_status status;
        const char *message;
    } replies[] = {
        [SW_REFUSAL_TIMED_OUT] = {SW_REPLY_TIMED_OUT, "the request did not arrive in time"},
        [SW_REFUSAL_TOO_MANY_CONNECTIONS] = {SW_REPLY_TOO_MANY_CONNECTIONS,
                                             "connections-max is reached"},
        [SW_REFUSAL_INPUT_MEMORY] =
            {SW_REPLY_OUT_OF_MEMORY,
             "the memory for incomplete requests is used up (input-bytes-max)"},
        [SW_REFUSAL_PROTECTED] = {SW_REPLY_NO_AUTH,
                                  "protected-mode is yes and the user default has no password, so "
                                  "the server refuses clients of other machines: set a password "
                                  "(--requirepass-file, --acl-file), or --protected-mode no"},
        [SW_REFUSAL_BEFORE_LOGIN] = {SW_REPLY_TOO_MANY_CONNECTIONS,
                                     "connections-before-login-max is reached"},
        [SW_REFUSAL_LOGIN_TIMED_OUT] = {SW_REPLY_NO_AUTH,
                                        "the client did not log in within login-timeout-ms"},
    };
    return sw_bulk_refuse(conn, 0, replies[why].status, replies[why].message);
}

static void drop_input(struct sw_conn *conn)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    if (state->receiving != NULL) {
        sw_bulk_frame_put(state->receiving);
        state->receiving = NULL;
        conn->receives_body = false;
    }
    if (state->held != NULL) {
        sw_bulk_frame_put(state->held);
        state->held = NULL;
    }
}

static void close_conn(struct sw_conn *conn)
{
    assert(sw_list_is_empty(&sw_bulk_of(conn)->unsent.frames));
    assert(!sw_list_is_linked(&sw_bulk_of(conn)->ready));
    sw_bulk_shared_close(conn);
    sw_change_run_free(sw_bulk_of(conn)->change);
}

static void check(const struct sw_conn *conn)
{
    const struct sw_bulk_conn *state =
        (const struct sw_bulk_conn *)(const void *)conn->protocol_state;
    assert(state->bulk != NULL && state->conn == conn);
    assert((state->receiving != NULL) == conn->receives_body);
    assert(state->held == NULL || conn->stall == SW_STALL_PAUSED);
    assert(sw_list_check(&state->unsent.frames) == conn->unsent_replies);
    assert(!conn->transport.writing || !sw_list_is_linked(&state->ready));
    (void)state;
}

const struct sw_protocol sw_bulk_protocol = {
    .name = "bulk frames",
    .state_bytes = sizeof(struct sw_bulk_conn),
    .claims = claims,
    .unsent_replies_min = SW_UNSENT_FRAMES_MIN,
    .open = open_conn,
    .feed = feed_frames,
    .resumed = resumed,
    .body_room = body_room,
    .body_received = body_received,
    .refuse = refuse_bulk_conn,
    .written = sw_bulk_written,
    .drop_input = drop_input,
    .drop_output = sw_bulk_drop_unsent,
    .close = close_conn,
    .check = check,
};

/* --- the loop's side -------------------------------------------------------------------------- */

void sw_bulk_init(struct sw_bulk *bulk, struct sw_net *net, struct sw_bulk_table *first,
                  const struct sw_bulk_owner *owner)
{
    memset(bulk, 0, sizeof(*bulk));
    bulk->net = net;
    bulk->first = first->batches;
    sw_bulk_begin_tables(bulk, first);
    bulk->owner = *owner;
    sw_bulk_rights_init(&bulk->rights, net->users);
    sw_list_init(&bulk->waits);
    sw_list_init(&bulk->copying);
    sw_list_init(&bulk->rings);
    sw_list_init(&bulk->ready);
    sw_bulk_pool_init(&bulk->pool);
}

void sw_bulk_close_writers(struct sw_bulk *bulk)
{
    SW_LIST_EACH(&bulk->net->conns, link)
    {
        struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        if (conn->protocol == &sw_bulk_protocol && sw_bulk_of(conn)->last_write.sequence > 0) {
            sw_conn_drain(conn, false);
        }
    }
}

void sw_bulk_fini(struct sw_bulk *bulk)
{
    if (bulk->net != NULL) {
        sw_bulk_pool_fini(&bulk->pool);
    }
}

void sw_bulk_check(const struct sw_bulk *bulk)
{
    assert(sw_list_check(&bulk->pool.spare) == bulk->pool.spare_count);
    assert(bulk->pool.spare_least <= bulk->pool.spare_count);
    sw_list_check(&bulk->ready);
}
