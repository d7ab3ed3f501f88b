/* SPDX-License-Identifier: MIT
 *
 * rmw.c - reads, computes values and writes while the gate is closed.
 */
#include "server/bulk/rmw.h"

#include <uv.h>

#include "server/bulk/admit.h"
#include "server/bulk/bulk.h"
#include "server/bulk/cluster.h"
#include "server/bulk/reply.h"
#include "server/bulk/request.h"
#include "server/limits.h"

void sw_bulk_rmw_init(struct sw_bulk_rmw *rmw, uint64_t seed)
{
    *rmw = (struct sw_bulk_rmw){.seed = seed};
    sw_list_init(&rmw->frames);
}

bool sw_bulk_rmw_is_busy(const struct sw_bulk *bulk)
{
    return bulk->rmw.current != NULL || !sw_list_is_empty(&bulk->rmw.frames);
}

static uint64_t view_number(const struct sw_bulk *bulk)
{
    const struct sw_cluster_view *view = sw_bulk_view(bulk);
    return view == NULL ? 0 : view->number;
}

bool sw_bulk_rmw_is_of_older_view(const struct sw_bulk *bulk)
{
    const struct sw_bulk_rmw *rmw = &bulk->rmw;
    return rmw->current != NULL && rmw->view_number != view_number(bulk);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Lets other clients write, and stalled connections continue. */
static void open_gate(struct sw_bulk *bulk)
{
    sw_gate_open(&bulk->batches->gate);
    bulk->rmw.current = NULL;
    bulk->rmw.state = SW_BULK_RMW_WAITS;
    bulk->net->retry = true;
}

/* Opens the gate. Replies once the write, or the writes that the read may show, survive a crash. */
static void finish(struct sw_bulk_frame *frame)
{
    struct sw_bulk *bulk = frame->bulk;
    sw_bulk_of(frame->conn)->has_rmw = false;
    frame->hits = bulk->rmw.values.hits;
    frame->flight.started_us = bulk->rmw.started_us;
    open_gate(bulk);
    sw_batches_hold(bulk->batches, &frame->flight, sw_bulk_reply_to_batch);
}

static void on_written(struct sw_flight *flight)
{
    finish(SW_CONTAINER(flight, struct sw_bulk_frame, flight));
}

/* --- reading, computing and writing ----------------------------------------------------------- */

static void start(struct sw_bulk_frame *frame, void (*done)(struct sw_flight *flight))
{
    frame->bulk->rmw.state = SW_BULK_RMW_FLIES;
    frame->flight.done = done;
    frame->flight.lends = true; /* its arrays stay until it is replied to */
    sw_flight_start(&frame->bulk->batches->rmw_flights, &frame->flight);
}

static void write_values(struct sw_bulk_frame *frame)
{
    const struct sw_rmw_values *values = &frame->bulk->rmw.values;
    if (values->write_count == 0) {
        finish(frame);
        return;
    }
    frame->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = SW_SET,
        .count = values->write_count,
        .keys = values->keys,
        .values = values->writes,
        .expires = values->gives_times ? values->expires : NULL,
    };
    start(frame, on_written);
}

static void make_values(struct sw_bulk_frame *frame)
{
    frame->bulk->rmw.state = SW_BULK_RMW_MAKES;
    if (sw_rmw_values_step(&frame->bulk->rmw.values, SW_RMW_ITERATION_BYTES)) {
        write_values(frame);
    }
}

static void on_looked(struct sw_flight *flight)
{
    struct sw_bulk_frame *frame = SW_CONTAINER(flight, struct sw_bulk_frame, flight);
    if (flight->batch.status == SW_OK) {
        make_values(frame);
    } else {
        finish(frame); /* the reply says so */
    }
}

static void submit_read(struct sw_bulk_frame *frame)
{
    struct sw_rmw_values *values = &frame->bulk->rmw.values;
    void *const *arrays = frame->arrays;
    sw_rmw_values_begin(values, &frame->bulk->batches->shape, &frame->request, arrays[SW_RING_KEYS],
                        arrays[SW_RING_OPERANDS], arrays[SW_RING_VALUES], arrays[SW_RING_FOUND],
                        frame->reply + frame->reply_layout.bytes, frame->bulk->rmw.seed);
    values->default_at = sw_batches_default_time(frame->bulk->batches);
    frame->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = SW_GET,
        .count = frame->request.count,
        .keys = values->keys,
        .previous = values->previous,
        .found = values->found,
        .expires_out = values->expires,
    };
    start(frame, on_looked);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Can the frame still be carried out? If not, the reply has been sent, and the frame is gone. */
static bool is_still_admitted(struct sw_bulk_frame *frame)
{
    struct sw_conn *conn = frame->conn;
    struct sw_reply reply = {.request_id = frame->request.request_id};
    bool closes = false;
    reply.status = sw_bulk_admit(conn, &frame->request, NULL, 0, frame->body_bytes, 0,
                                 reply.message, sizeof(reply.message), &closes);
    if (reply.status == SW_REPLY_OK) {
        return sw_bulk_may_write(frame);
    }
    if (closes) {
        sw_conn_drain(conn, false); /* its reply is sent all the same */
    }
    sw_bulk_reply(frame, &reply, NULL, 0);
    return false;
}

/* Begins the oldest frame. The gate is closed, and no write is inside. */
static void begin_rmw(struct sw_bulk *bulk)
{
    struct sw_bulk_rmw *rmw = &bulk->rmw;
    struct sw_bulk_frame *frame = sw_bulk_frame_at(sw_list_pop(&rmw->frames));
    rmw->view_number = view_number(bulk);
    rmw->started_us = uv_hrtime() / 1000;
    sw_bulk_of(frame->conn)->has_rmw = false;
    if (!is_still_admitted(frame)) {
        open_gate(bulk);
        return;
    }
    sw_bulk_of(frame->conn)->has_rmw = true;
    rmw->current = frame;
    submit_read(frame);
}

void sw_bulk_rmw_start(struct sw_bulk_frame *frame)
{
    sw_bulk_of(frame->conn)->has_rmw = true;
    sw_list_push(&frame->bulk->rmw.frames, &frame->link);
}

bool sw_bulk_rmw_poll(struct sw_bulk *bulk)
{
    struct sw_bulk_rmw *rmw = &bulk->rmw;
    struct sw_gate_side *side = &bulk->batches->gate;
    if (rmw->state == SW_BULK_RMW_MAKES) {
        make_values(rmw->current);
        return true;
    }
    if (rmw->state == SW_BULK_RMW_FLIES || sw_list_is_empty(&rmw->frames)) {
        return false;
    }
    if (rmw->state == SW_BULK_RMW_WAITS && sw_batches_admit(bulk->batches) != SW_ADMIT_LATER &&
        sw_gate_close(side)) {
        rmw->state = SW_BULK_RMW_HOLDS;
    }
    if (rmw->state != SW_BULK_RMW_HOLDS || !sw_gate_is_empty(side)) {
        return false;
    }
    begin_rmw(bulk);
    return true;
}
