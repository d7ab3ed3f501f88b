/* SPDX-License-Identifier: MIT
 *
 * output.c - sending RESP answers: at once if the socket takes them, otherwise from two buffers in
 * turn.
 */
#include "server/net/output.h"

#include "server/loop.h"

/* Buffers larger than this are given back when they have been sent. */
#define KEEP_BYTES 4096

void sw_output_init(struct sw_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        sw_text_init(&conn->unsent[i], conn->loop->config->output_bytes_max);
    }
}

void sw_output_fini(struct sw_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        sw_text_fini(&conn->unsent[i]);
    }
}

uint64_t sw_conn_unsent_bytes(const struct sw_conn *conn)
{
    return conn->unsent[conn->gathering].size + conn->answers.bytes +
           uv_stream_get_write_queue_size(&conn->uv.stream);
}

static void start_writing(struct sw_conn *conn);

static void on_written(uv_write_t *write, int status)
{
    struct sw_conn *conn = write->data;
    struct sw_text *sent = &conn->unsent[!conn->gathering];
    SW_COUNT(&conn->loop->counters, net_output_bytes, status == 0 ? sent->size : 0);
    sw_text_reset(sent);
    if (sent->capacity > KEEP_BYTES) {
        sw_text_fini(sent);
        sw_text_init(sent, conn->loop->config->output_bytes_max);
    }
    conn->writing = false;
    if (status != 0) {
        sw_conn_abort(conn);
        return;
    }
    if (conn->state != SW_CONN_CLOSED) {
        start_writing(conn);
        sw_conn_output_changed(conn);
    }
}

/* Writes the gathering buffer, if it holds anything and none is being written. */
static void start_writing(struct sw_conn *conn)
{
    struct sw_text *text = &conn->unsent[conn->gathering];
    if (conn->writing || text->size == 0) {
        return;
    }
    uv_buf_t buffer = uv_buf_init(text->data, (unsigned)text->size);
    conn->gathering = !conn->gathering;
    conn->writing = true;
    conn->write.data = conn;
    int error = uv_write(&conn->write, &conn->uv.stream, &buffer, 1, on_written);
    if (error != 0) {
        conn->writing = false;
        sw_conn_abort(conn);
    }
}

void sw_conn_send(struct sw_conn *conn, const void *bytes, size_t size)
{
    struct sw_loop *loop = conn->loop;
    size_t sent = 0;
    if (size == 0 || conn->state >= SW_CONN_LINGERING) {
        return;
    }
    if (sw_conn_unsent_bytes(conn) == 0) {
        uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)size);
        int count = uv_try_write(&conn->uv.stream, &buffer, 1);
        if (count < 0 && count != UV_EAGAIN) {
            sw_conn_abort(conn);
            return;
        }
        sent = count > 0 ? (size_t)count : 0;
        SW_COUNT(&loop->counters, net_output_bytes, sent);
    }
    if (sent == size) {
        return;
    }
    struct sw_text *text = &conn->unsent[conn->gathering];
    sw_text_append(text, (const char *)bytes + sent, size - sent);
    if (text->failed || sw_conn_unsent_bytes(conn) > loop->config->output_bytes_max) {
        SW_COUNT(&loop->counters, output_limit_closes, 1);
        sw_conn_abort(conn);
        return;
    }
    start_writing(conn);
    sw_conn_output_changed(conn);
}
