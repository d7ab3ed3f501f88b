/* SPDX-License-Identifier: MIT
 *
 * conn_timeouts.c - the deadlines of a connection.
 *
 * `pressed`: other connections wait for arena memory. Then the server ends a connection whose frame
 * or reply does not move for SW_FRAME_STALL_MS, which frees its arena memory.
 */
#include <assert.h>

#include "server/config/live.h"
#include "server/limits.h"
#include "server/net/conn_login.h"
#include "server/observe/log.h"

/* Has the peer taken no byte of its unsent replies for longer than `limit_ms`? */
static bool output_is_stuck(const struct sw_conn *conn, uint64_t now_ms, uint64_t limit_ms)
{
    return conn->times.output_bytes > 0 && now_ms - conn->times.output_at > limit_ms;
}

static void note_output(struct sw_conn *conn, uint64_t now_ms)
{
    uint64_t unsent = sw_conn_unsent_bytes(conn) - conn->held_bytes; /* the peer may take these */
    if (unsent < conn->times.output_bytes || conn->times.output_bytes == 0) {
        conn->times.output_at = now_ms;
    }
    conn->times.output_bytes = unsent;
}

/* Has the peer stopped reading its replies for too long? */
static bool write_timed_out(const struct sw_conn *conn, uint64_t now_ms, bool pressed)
{
    uint64_t limit_ms = SW_LIVE(conn->net->config->write_timeout_ms);
    return (limit_ms > 0 && output_is_stuck(conn, now_ms, limit_ms)) ||
           (pressed && conn->unsent_replies > 0 &&
            output_is_stuck(conn, now_ms, SW_FRAME_STALL_MS));
}

/* Has the incomplete request taken too long to arrive? After a stall its last bytes may be old: the
 * server did not read the rest meanwhile. */
static bool request_timed_out(const struct sw_conn *conn, uint64_t now_ms, bool pressed)
{
    uint64_t limit_ms = SW_LIVE(conn->net->config->request_timeout_ms);
    uint64_t since_ms = conn->times.request_since;
    uint64_t moved_ms = since_ms > conn->times.input_at ? since_ms : conn->times.input_at;
    return (limit_ms > 0 && since_ms > 0 && now_ms - since_ms > limit_ms) ||
           (pressed && conn->receives_body && now_ms - moved_ms > SW_FRAME_STALL_MS);
}

static bool is_idle(const struct sw_conn *conn, uint64_t now_ms)
{
    uint64_t limit_ms = SW_LIVE(conn->net->config->idle_timeout_ms);
    return limit_ms > 0 && !conn->is_shown_commands && conn->in_flight == 0 &&
           conn->times.request_since == 0 && conn->stall == SW_STALL_NONE &&
           now_ms - conn->times.input_at > limit_ms;
}

/* Has the peer of a refused connection sent no first byte in time? The error then has the format of
 * the last protocol. */
static bool has_kept_silent(const struct sw_conn *conn, uint64_t now_ms)
{
    return conn->refusal != SW_REFUSAL_NONE && now_ms - conn->peer.open_at_ms > SW_REFUSED_MS;
}

/* Has the peer taken too long to complete its handshake? Nothing has been received before, so
 * input_at is the time when it connected. */
static bool handshake_timed_out(const struct sw_conn *conn, uint64_t now_ms)
{
    uint64_t limit_ms = SW_LIVE(conn->net->config->tls_handshake_timeout_ms);
    limit_ms = conn->is_refused && limit_ms > SW_REFUSED_MS ? SW_REFUSED_MS : limit_ms;
    return conn->transport.opening && now_ms - conn->times.input_at > limit_ms;
}

static void sweep_open(struct sw_conn *conn, uint64_t now_ms, bool pressed)
{
    struct sw_loop_counters *counters = conn->net->counters;
    if (has_kept_silent(conn, now_ms)) {
        sw_conn_refuse(conn, conn->refusal);
    } else if (sw_conn_login_timed_out(conn, now_ms)) {
        if (sw_conn_refuse(conn,
                           SW_REFUSAL_LOGIN_TIMED_OUT)) { /* else the next sweep tries again */
            SW_COUNT(counters, login_timeouts, 1);
        }
    } else if (request_timed_out(conn, now_ms, pressed)) {
        if (sw_conn_refuse(conn, SW_REFUSAL_TIMED_OUT)) { /* else the next sweep tries again */
            SW_COUNT(counters, request_timeouts, 1);
        }
    } else if (is_idle(conn, now_ms)) {
        SW_COUNT(counters, idle_timeouts, 1);
        sw_conn_drain(conn, false);
    }
}

void sw_conn_sweep(struct sw_conn *conn, uint64_t now_ms)
{
    bool pressed = conn->net->arena_waiters + conn->net->held_waiters > 0;
    assert(conn->times.request_since <= now_ms && conn->times.input_at <= now_ms);
    if (conn->state == SW_CONN_CLOSED) {
        return;
    }
    note_output(conn, now_ms);
    conn->net->tries_held |= conn->stall == SW_STALL_HELD;
    conn->net->retry |= conn->stall == SW_STALL_FROZEN || conn->stall == SW_STALL_HELD;
    conn->net->retry |= conn->stall == SW_STALL_LOGIN && !sw_conn_login_waits(conn);
    if (handshake_timed_out(conn, now_ms)) {
        SW_COUNT(conn->net->counters, tls_handshake_failures, 1);
        sw_log_limited(SW_LOG_TLS, SW_LOG_NOTICE,
                       "TLS handshake with %s failed: it took longer than tls-handshake-timeout-ms",
                       conn->peer.address);
        sw_conn_abort(conn);
    } else if (conn->state == SW_CONN_LINGERING) {
        if (now_ms - conn->times.linger_since > SW_LINGER_MS) {
            sw_conn_abort(conn);
        }
    } else if (write_timed_out(conn, now_ms, pressed)) {
        SW_COUNT(conn->net->counters, write_timeouts, 1);
        sw_conn_abort(conn);
    } else if (conn->state == SW_CONN_OPEN && !conn->output_paused) {
        /* The server does not read a paused connection, so the deadlines of its input do not apply.
         */
        sweep_open(conn, now_ms, pressed);
    }
}
