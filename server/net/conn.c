/* SPDX-License-Identifier: MIT
 *
 * conn.c - the states of a connection. conn_open.c opens it, conn_read.c receives its input, and
 * conn_timeouts.c checks its deadlines. The protocol sends its replies.
 */
#include "server/net/conn.h"

#include "server/config/live.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>

#include "server/limits.h"

static void set_state(struct sw_conn *conn, enum sw_conn_state state)
{
    assert(state > conn->state); /* states only go forward */
    conn->state = state;
}

void sw_conn_free_if_done(struct sw_conn *conn)
{
    if (conn->transport_closed && conn->in_flight == 0) {
        assert(conn->state == SW_CONN_CLOSED && conn->data_in_flight == 0);
        if (conn->protocol != NULL) {
            conn->protocol->close(conn);
        }
        sw_clients_leave(conn->net->clients, &conn->shown);
        sw_input_free(&conn->input, conn->net->budget);
        free(conn);
    }
}

void sw_conn_update_reading(struct sw_conn *conn)
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
        sw_transport_read_start(&conn->transport);
    } else {
        sw_transport_read_stop(&conn->transport);
    }
}

void sw_conn_settle(struct sw_conn *conn)
{
    if (conn->state != SW_CONN_DRAINING || conn->in_flight > 0 || conn->stall != SW_STALL_NONE ||
        conn->retried || sw_conn_unsent_bytes(conn) > 0) {
        return;
    }
    if (conn->ended || conn->is_socket_kept) {
        sw_conn_abort(conn);
        return;
    }
    set_state(conn, SW_CONN_LINGERING);
    conn->times.linger_since = sw_net_now_ms(conn->net);
    sw_transport_shutdown(&conn->transport);
    sw_conn_update_reading(conn);
}

void sw_conn_set_protocol(struct sw_conn *conn, const struct sw_net_protocol *entry)
{
    if (conn->protocol == NULL) {
        conn->protocol = entry->protocol;
        conn->protocol->open(conn, entry->loop_state);
    }
}

void sw_conn_end_stall(struct sw_conn *conn)
{
    struct sw_net *net = conn->net;
    assert(conn->stall != SW_STALL_NONE);
    sw_list_remove(&conn->stalled);
    __atomic_store_n(&net->stalled_count, net->stalled_count - 1, __ATOMIC_RELAXED);
    net->arena_waiters -= conn->stall == SW_STALL_ARENA;
    net->held_waiters -= conn->stall == SW_STALL_HELD;
    net->memory_waiters -= conn->stall == SW_STALL_BATCH_MEMORY;
    net->iteration.waiting -= conn->stall == SW_STALL_YIELDED;
    net->paused_count -= conn->stall == SW_STALL_PAUSED;
    conn->stall = SW_STALL_NONE;
}

/* Discards an incomplete request and stalled input. */
static void drop_input(struct sw_conn *conn)
{
    if (conn->stall != SW_STALL_NONE) {
        sw_conn_end_stall(conn);
    }
    if (conn->protocol != NULL) {
        conn->protocol->drop_input(conn);
    }
    conn->input.start = conn->input.end;
    conn->input.need = 0;
    conn->times.request_since = 0;
}

void sw_conn_abort(struct sw_conn *conn)
{
    if (conn->state == SW_CONN_CLOSED) {
        return;
    }
    set_state(conn, SW_CONN_CLOSED);
    conn->reading = false;
    drop_input(conn);
    if (conn->protocol != NULL) {
        conn->protocol->drop_output(conn);
    }
    assert(conn->stall == SW_STALL_NONE && !conn->receives_body);
    sw_transport_close(&conn->transport);
}

void sw_conn_drain(struct sw_conn *conn, bool keep_input)
{
    if (conn->state == SW_CONN_OPEN) {
        set_state(conn, SW_CONN_DRAINING);
        sw_conn_update_reading(conn);
    }
    if (conn->state == SW_CONN_DRAINING) {
        if (!keep_input || conn->stall == SW_STALL_NONE) {
            drop_input(conn);
        }
        sw_conn_settle(conn);
    }
}

int sw_conn_keep_socket(struct sw_conn *conn)
{
    uv_os_fd_t fd = -1;
    int kept = -1;
    if (uv_fileno(&conn->transport.uv.handle, &fd) == 0) {
        kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    conn->is_socket_kept = kept >= 0;
    return kept;
}

bool sw_conn_refuse(struct sw_conn *conn, enum sw_refusal why)
{
    sw_conn_set_protocol(conn, &conn->net->protocols[SW_PROTOCOLS - 1]);
    if (!conn->protocol->refuse(conn, why)) {
        return false;
    }
    sw_conn_drain(conn, false);
    return true;
}

void sw_conn_requests_done(struct sw_conn *conn, uint32_t requests, uint32_t data)
{
    assert(conn->in_flight >= requests && conn->data_in_flight >= data);
    conn->in_flight -= requests;
    conn->data_in_flight -= data;
    if (conn->stall == SW_STALL_BARRIER || conn->stall == SW_STALL_IN_FLIGHT) {
        conn->net->retry = true;
    }
    sw_conn_settle(conn);
    sw_conn_free_if_done(conn);
}

void sw_conn_stall(struct sw_conn *conn, enum sw_stall reason)
{
    struct sw_net *net = conn->net;
    assert(conn->stall == SW_STALL_NONE && reason != SW_STALL_NONE);
    assert(conn->state <= SW_CONN_DRAINING);
    conn->stall = reason;
    sw_list_push(reason == SW_STALL_PAUSED ? &net->paused : &net->stalled, &conn->stalled);
    __atomic_store_n(&net->stalled_count, net->stalled_count + 1, __ATOMIC_RELAXED);
    net->arena_waiters += reason == SW_STALL_ARENA;
    net->held_waiters += reason == SW_STALL_HELD;
    net->memory_waiters += reason == SW_STALL_BATCH_MEMORY;
    net->iteration.waiting += reason == SW_STALL_YIELDED;
    net->paused_count += reason == SW_STALL_PAUSED;
    net->retry |= reason == SW_STALL_YIELDED;
    sw_conn_update_reading(conn);
}

uint64_t sw_conn_unsent_bytes(const struct sw_conn *conn)
{
    return conn->unsent_bytes + conn->held_bytes + sw_transport_queued_bytes(&conn->transport);
}

/* May the bytes of the unsent replies pause the connection? See unsent_replies_min. */
static bool has_many_unsent(const struct sw_conn *conn)
{
    uint32_t least = conn->protocol->unsent_replies_min;
    return least == 0 || conn->unsent_replies > least;
}

static bool has_few_unsent(const struct sw_conn *conn)
{
    uint32_t least = conn->protocol->unsent_replies_min;
    return least > 0 && conn->unsent_replies <= least / 2;
}

/* Returns the bytes of unsent replies that pause the connection's input. */
static uint64_t output_pause_of(const struct sw_conn *conn)
{
    uint64_t pause = SW_LIVE(conn->net->config->output_bytes_pause);
    return conn->lacks_login && pause > SW_LOGIN_OUTPUT_BYTES_PAUSE ? SW_LOGIN_OUTPUT_BYTES_PAUSE
                                                                    : pause;
}

void sw_conn_output_changed(struct sw_conn *conn)
{
    uint64_t unsent = sw_conn_unsent_bytes(conn);
    uint64_t pause = output_pause_of(conn);
    if (!conn->output_paused && unsent > pause && has_many_unsent(conn)) {
        conn->output_paused = true;
        SW_COUNT(conn->net->counters, output_pauses, 1);
    } else if (conn->output_paused && (unsent <= pause / 2 || has_few_unsent(conn))) {
        conn->output_paused = false;
        conn->times.input_at = sw_net_now_ms(conn->net);
        conn->times.request_since = conn->times.request_since > 0 ? conn->times.input_at : 0;
        conn->net->retry |= conn->stall == SW_STALL_OUTPUT;
    }
    sw_conn_update_reading(conn);
    sw_conn_settle(conn);
}

void sw_conn_check(const struct sw_conn *conn)
{
    assert(conn->net != NULL && conn->state <= SW_CONN_CLOSED);
    assert((conn->stall != SW_STALL_NONE) == sw_list_is_linked(&conn->stalled));
    assert(conn->data_in_flight <= conn->in_flight);
    assert(conn->transport_closed || sw_list_is_linked(&conn->link));
    assert(!conn->reading || conn->state == SW_CONN_OPEN || conn->state == SW_CONN_LINGERING);
    assert(!conn->reading || conn->state == SW_CONN_LINGERING || conn->stall == SW_STALL_NONE);
    assert(conn->state < SW_CONN_LINGERING || (conn->in_flight == 0 && conn->unsent_bytes == 0) ||
           conn->state == SW_CONN_CLOSED);
    assert(conn->state != SW_CONN_CLOSED || (!conn->receives_body && conn->stall == 0));
    sw_input_check(&conn->input);
    if (conn->protocol != NULL) {
        conn->protocol->check(conn);
    }
}
