/* SPDX-License-Identifier: MIT
 *
 * trace.c - fills spans in.
 */
#include "server/bulk/trace.h"

#include <string.h>
#include <uv.h>

#include "server/bulk/bulk.h"
#include "server/trace/tracer.h"

/* The span of a request so far. */
struct begun {
    const struct sw_trace *trace;
    const struct sw_request *request;
    uint64_t begin_ns;
};

static void copy_cut(char *out, size_t room, const char *text)
{
    const size_t size = strnlen(text, room - 1);
    memcpy(out, text, size);
    out[size] = '\0';
}

/* Writes the name of the place that the request is for; "" if there is none, or there are several.
 */
static void name_table(const struct sw_tables_view *view, const struct sw_request *request,
                       char name[SW_FRAME_TABLE_BYTES])
{
    const struct sw_place *place = view == NULL || request->has_segments
                                       ? NULL
                                       : sw_places_numbered(&view->catalog, request->table);
    copy_cut(name, SW_FRAME_TABLE_BYTES, place == NULL ? "" : place->name);
}

/* Adds a span that ends now. */
static void add_span(const struct sw_bulk *bulk, const struct sw_conn *conn,
                     const struct begun *begun, uint32_t status, const char *message)
{
    struct sw_span_queue *queue = bulk->owner.spans;
    struct sw_span *span = sw_span_queue_slot(queue);
    if (span == NULL) {
        SW_COUNT(conn->net->counters, spans_dropped, 1);
        return;
    }
    span->trace = *begun->trace;
    span->begin_ns = begun->begin_ns;
    span->end_ns = uv_hrtime();
    span->operation = begun->request->operation;
    span->count = begun->request->count;
    span->status = status;
    name_table(bulk->net->tables.view, begun->request, span->table);
    copy_cut(span->peer, sizeof(span->peer), conn->peer.address);
    copy_cut(span->own, sizeof(span->own), conn->shown.own);
    /* the message of WRONG_SHARD has a key of the client, and spans have none */
    copy_cut(span->message, sizeof(span->message), status == SW_REPLY_WRONG_SHARD ? "" : message);
    if (sw_span_queue_add(queue)) {
        sw_tracer_wake(bulk->owner.tracer);
    }
}

void sw_bulk_trace_begin(struct sw_bulk_frame *frame, const uint8_t *header, size_t size)
{
    frame->trace_begin_ns = uv_hrtime();
    frame->request.is_sampled = sw_frame_trace_decode(header, size, &frame->trace) == 0;
}

void sw_bulk_trace_end(const struct sw_bulk_frame *frame, const struct sw_reply *reply)
{
    const struct begun begun = {&frame->trace, &frame->request, frame->trace_begin_ns};
    add_span(frame->bulk, frame->conn, &begun, reply->status, reply->message);
}

void sw_bulk_trace_refused(struct sw_conn *conn, const struct sw_request *request,
                           const uint8_t *header, size_t size, enum sw_reply_status status,
                           const char *message)
{
    struct sw_trace trace;
    const struct begun begun = {&trace, request, uv_hrtime()};
    if (sw_frame_trace_decode(header, size, &trace) == 0) {
        add_span(sw_bulk_of(conn)->bulk, conn, &begun, status, message);
    }
}
