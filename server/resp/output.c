/* SPDX-License-Identifier: MIT
 *
 * output.c - sending RESP replies: directly if the socket takes them, otherwise from two buffers,
 * one of which is written while the other is filled.
 */
#include "server/resp/output.h"

#include <assert.h>

#include "server/net/conn.h"
#include "server/resp/resp.h"

/* A buffer larger than this is freed when it has been sent. */
#define KEEP_BYTES 4096

void sw_resp_output_init(struct sw_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        sw_text_init(&sw_resp_of(conn)->output.unsent[i], conn->net->config->output_bytes_max);
    }
}

void sw_resp_output_fini(struct sw_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        sw_text_fini(&sw_resp_of(conn)->output.unsent[i]);
    }
}

/* Starts to write the buffer that was filled, unless it is empty or the other is being written. */
static void start_writing(struct sw_conn *conn)
{
    struct sw_resp_output *output = &sw_resp_of(conn)->output;
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
        sw_text_init(sent, conn->net->config->output_bytes_max);
    }
    if (status != 0) {
        sw_conn_abort(conn);
        return;
    }
    if (conn->state != SW_CONN_CLOSED) {
        start_writing(conn);
        sw_conn_output_changed(conn);
    }
}

/* Appends bytes that the socket did not take to a buffer. */
static void keep(struct sw_conn *conn, const void *bytes, size_t size)
{
    struct sw_resp_output *output = &sw_resp_of(conn)->output;
    struct sw_text *text = &output->unsent[output->filling];
    sw_text_append(text, bytes, size);
    conn->unsent_bytes = text->size;
    if (text->failed || sw_conn_unsent_bytes(conn) > conn->net->config->output_bytes_max) {
        SW_COUNT(conn->net->counters, output_limit_closes, 1);
        sw_conn_abort(conn);
        return;
    }
    start_writing(conn);
    sw_conn_output_changed(conn);
}

void sw_resp_send(struct sw_conn *conn, const void *bytes, size_t size)
{
    size_t sent = 0;
    if (size == 0 || conn->state >= SW_CONN_LINGERING) {
        return;
    }
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
        keep(conn, (const char *)bytes + sent, size - sent);
    }
}
