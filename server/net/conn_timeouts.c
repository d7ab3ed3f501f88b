/* SPDX-License-Identifier: MIT
 *
 * conn_timeouts.c - timeouts of a connection.
 */
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/net/conn.h"

static void time_out_request(struct sw_conn *conn)
{
    SW_COUNT(&conn->loop->counters, request_timeouts, 1);
    if (conn->protocol == SW_PROTOCOL_BULK) {
        sw_bulk_refuse(conn, 0, SW_REPLY_TIMED_OUT, "the request did not arrive in time");
    } else {
        const char *error = "-ERR Protocol error: the request did not arrive in time\r\n";
        sw_conn_send(conn, error, strlen(error));
    }
    sw_conn_drain(conn, false);
}

/* True if the peer has taken nothing of its answers for `limit_ms`. */
static bool output_stands(struct sw_conn *conn, uint64_t now_ms, uint64_t limit_ms)
{
    return conn->output_bytes > 0 && now_ms - conn->output_at_ms > limit_ms;
}

static void note_output(struct sw_conn *conn, uint64_t now_ms)
{
    uint64_t unsent = sw_conn_unsent_bytes(conn);
    if (unsent < conn->output_bytes || conn->output_bytes == 0) {
        conn->output_at_ms = now_ms;
    }
    conn->output_bytes = unsent;
}

void sw_conn_sweep(struct sw_conn *conn, uint64_t now_ms)
{
    struct sw_loop *loop = conn->loop;
    const struct sw_config *config = loop->config;
    bool pressed = loop->arena_waiters > 0;
    if (conn->state == SW_CONN_CLOSED) {
        return;
    }
    note_output(conn, now_ms);
    if (conn->state == SW_CONN_LINGERING) {
        if (now_ms - conn->linger_since_ms > SW_LINGER_MS) {
            sw_conn_abort(conn);
        }
    } else if ((config->write_timeout_ms > 0 &&
                output_stands(conn, now_ms, config->write_timeout_ms)) ||
               (pressed && conn->protocol == SW_PROTOCOL_BULK &&
                output_stands(conn, now_ms, SW_FRAME_STALL_MS))) {
        SW_COUNT(&loop->counters, write_timeouts, 1);
        sw_conn_abort(conn);
    } else if (conn->state != SW_CONN_OPEN || conn->output_paused) {
        return; /* nothing is read: what has not arrived is not the peer's fault */
    } else if ((config->request_timeout_ms > 0 && conn->request_since_ms > 0 &&
                now_ms - conn->request_since_ms > config->request_timeout_ms) ||
               (pressed && conn->receiving != NULL &&
                now_ms - conn->input_at_ms > SW_FRAME_STALL_MS)) {
        time_out_request(conn);
    } else if (config->idle_timeout_ms > 0 && conn->in_flight == 0 && conn->request_since_ms == 0 &&
               conn->stall == SW_STALL_NONE &&
               now_ms - conn->input_at_ms > config->idle_timeout_ms) {
        SW_COUNT(&loop->counters, idle_timeouts, 1);
        sw_conn_drain(conn, false);
    }
}
