/* SPDX-License-Identifier: MIT
 *
 * output.c - sends RESP replies. If the socket does not take them directly, it sends from one
 * buffer while the next replies fill another.
 *
 * Replies that wait for the write-ahead log are in two more buffers, each with the write that it
 * waits for. held[0] is sent before held[1]. Later replies go to held[1], so that held[0] is
 * released however fast other replies arrive.
 */
#include "server/resp/output.h"

#include <assert.h>

#include "server/config/live.h"
#include "server/net/conn.h"
#include "server/resp/resp.h"

/* A buffer larger than this is freed when it has been sent. */
#define KEEP_BYTES 4096

void sw_resp_output_init(struct sw_resp_conn *state)
{
    for (int i = 0; i < 2; i++) {
        sw_text_init(&state->output.unsent[i], SW_LIVE(state->conn->net->config->output_bytes_max));
        sw_text_init(&state->output.held[i].text,
                     SW_LIVE(state->conn->net->config->output_bytes_max));
    }
    sw_list_init(&state->output.gated);
}

void sw_resp_output_fini(struct sw_resp_conn *state)
{
    for (int i = 0; i < 2; i++) {
        sw_text_fini(&state->output.unsent[i]);
        sw_text_fini(&state->output.held[i].text);
    }
    sw_list_remove(&state->output.gated);
}

/* Starts to write the buffer that was filled, unless it is empty or the other is being written. */
static void start_writing(struct sw_resp_conn *state)
{
    struct sw_conn *conn = state->conn;
    struct sw_resp_output *output = &state->output;
    struct sw_text *text = &output->unsent[output->filling];
    if (conn->transport.writing || text->size == 0) {
        return;
    }
    uv_buf_t buffer = uv_buf_init(text->data, (unsigned)text->size);
    output->filling = !output->filling;
    assert(output->unsent[output->filling].size == 0);
    conn->unsent_bytes = 0; /* the transport counts them from now on */
    if (sw_transport_write(&conn->transport, &buffer, 1) != 0) {
        sw_conn_abort(conn);
    }
}

void sw_resp_written(struct sw_conn *conn, int status)
{
    struct sw_resp_output *output = &sw_resp_of(conn)->output;
    struct sw_text *sent = &output->unsent[!output->filling];
    assert(!conn->transport.writing);
    SW_COUNT(conn->net->counters, net_output_bytes, status == 0 ? sent->size : 0);
    sw_text_reset(sent);
    if (sent->capacity > KEEP_BYTES) {
        sw_text_fini(sent);
        sw_text_init(sent, SW_LIVE(conn->net->config->output_bytes_max));
    }
    if (status != 0) {
        sw_conn_abort(conn);
        return;
    }
    if (conn->state != SW_CONN_CLOSED) {
        start_writing(sw_resp_of(conn));
        sw_conn_output_changed(conn);
    }
}

/* Appends bytes that the socket did not take to a buffer. */
static void buffer_unsent(struct sw_resp_conn *state, const void *bytes, size_t size)
{
    struct sw_conn *conn = state->conn;
    struct sw_resp_output *output = &state->output;
    struct sw_text *text = &output->unsent[output->filling];
    sw_text_append(text, bytes, size);
    conn->unsent_bytes = text->size;
    if (text->failed || sw_conn_unsent_bytes(conn) > SW_LIVE(conn->net->config->output_bytes_max)) {
        SW_COUNT(conn->net->counters, output_limit_closes, 1);
        sw_conn_abort(conn);
        return;
    }
    start_writing(state);
    sw_conn_output_changed(conn);
}

static void send_now(struct sw_resp_conn *state, const void *bytes, size_t size)
{
    struct sw_conn *conn = state->conn;
    size_t sent = 0;
    if (sw_conn_unsent_bytes(conn) == 0) {
        uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)size);
        int count = sw_transport_try_write(&conn->transport, &buffer, 1);
        if (count < 0 && count != UV_EAGAIN) {
            sw_conn_abort(conn);
            return;
        }
        sent = count > 0 ? (size_t)count : 0;
        SW_COUNT(conn->net->counters, net_output_bytes, sent);
    }
    if (sent < size) {
        buffer_unsent(state, (const char *)bytes + sent, size - sent);
    }
}

/* --- replies that wait for the log ------------------------------------------------------------ */

static void hold_reply(struct sw_resp_conn *state, const void *bytes, size_t size,
                       uint64_t sequence)
{
    struct sw_conn *conn = state->conn;
    struct sw_resp *resp = state->resp;
    struct sw_resp_output *output = &state->output;
    bool first = output->held[0].text.size == 0 ||
                 (output->held[1].text.size == 0 && sequence <= output->held[0].sequence);
    struct sw_resp_held *held = &output->held[first ? 0 : 1];
    held->sequence = held->sequence < sequence ? sequence : held->sequence;
    sw_text_append(&held->text, bytes, size);
    conn->held_bytes = output->held[0].text.size + output->held[1].text.size;
    if (held->text.failed ||
        sw_conn_unsent_bytes(conn) > SW_LIVE(conn->net->config->output_bytes_max)) {
        SW_COUNT(conn->net->counters, output_limit_closes, 1);
        sw_conn_abort(conn);
        return;
    }
    if (!sw_list_is_linked(&output->gated)) {
        sw_batches_activate(resp->first->batches);
        sw_list_push(&resp->first->gated, &output->gated); /* which no DROP closes */
    }
    sw_conn_output_changed(conn);
}

void sw_resp_send_after(struct sw_resp_conn *state, const void *bytes, size_t size,
                        uint64_t sequence)
{
    const struct sw_wal *wal = state->resp->batches->wal;
    if (size == 0 || state->conn->state >= SW_CONN_LINGERING) {
        return;
    }
    if (state->conn->held_bytes > 0 ||
        (wal != NULL && sequence > 0 && sequence > sw_wal_answerable(wal))) {
        hold_reply(state, bytes, size, sequence);
    } else {
        send_now(state, bytes, size);
    }
}

void sw_resp_send(struct sw_resp_conn *state, const void *bytes, size_t size)
{
    sw_resp_send_after(state, bytes, size, 0);
}

/* Removes and returns the first held buffer. The caller owns its memory. */
static struct sw_text take_held(struct sw_resp_conn *state)
{
    struct sw_conn *conn = state->conn;
    struct sw_resp_output *output = &state->output;
    struct sw_text text = output->held[0].text;
    output->held[0] = output->held[1];
    output->held[1].sequence = 0;
    sw_text_init(&output->held[1].text, SW_LIVE(conn->net->config->output_bytes_max));
    conn->held_bytes = output->held[0].text.size;
    if (conn->held_bytes == 0) {
        sw_list_remove(&output->gated);
    }
    return text;
}

static bool open_gate(struct sw_resp_conn *state, uint64_t answerable, bool abandons)
{
    struct sw_conn *conn = state->conn;
    const struct sw_resp_output *output = &state->output;
    bool opened = false;
    while (conn->held_bytes > 0 && conn->state < SW_CONN_LINGERING &&
           output->held[0].sequence <= answerable) {
        struct sw_text text = take_held(state);
        send_now(state, text.data, text.size);
        sw_text_fini(&text);
        opened = true;
    }
    if (conn->held_bytes > 0 && abandons && conn->state < SW_CONN_LINGERING) {
        sw_conn_abort(conn);
    }
    if (opened) {
        sw_conn_output_changed(conn);
    }
    return opened;
}

bool sw_resp_open_gates(struct sw_resp *resp, bool leaves)
{
    bool opened = false;
    if (sw_list_is_empty(&resp->gated)) {
        return false;
    }
    bool abandons = leaves || sw_wal_is_hopeless(resp->batches->wal);
    uint64_t answerable = leaves ? 0 : sw_wal_answerable(resp->batches->wal);
    SW_LIST_EACH(&resp->gated, link)
    {
        struct sw_resp_conn *state = SW_CONTAINER(link, struct sw_resp_conn, output.gated);
        opened |= open_gate(state, answerable, abandons);
    }
    return opened;
}
