/* SPDX-License-Identifier: MIT
 *
 * output.c - sending bulk replies from the arena memory that holds them.
 *
 * The replies of a connection are queued while the loop's iteration polls batches, and are sent
 * together at its end: one system call sends many small replies. If the socket does not take all of
 * them, the next bytes, at most an iteration's budget, are given to sw_transport_write.
 */
#include "server/bulk/output.h"

#include <assert.h>

#include "server/bulk/bulk.h"

/* Most pieces of memory in one system call. A reply has one to five. */
#define PIECES_MAX 96

/* Puts the connection on the ready list, if it has replies to send and is not writing. */
static void push_ready(struct sw_conn *conn)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    if (!sw_list_is_linked(&state->ready) && !conn->transport.writing && conn->unsent_replies > 0 &&
        conn->state < SW_CONN_CLOSED) {
        sw_list_push(&state->bulk->ready, &state->ready);
    }
}

static struct sw_bulk_frame *pop_unsent(struct sw_conn *conn)
{
    conn->unsent_replies--;
    return sw_bulk_frame_at(sw_list_pop(&sw_bulk_of(conn)->unsent.frames));
}

/* Fills `pieces` with the unsent bytes that are next, at most an iteration's budget. Returns the
 * number of pieces, and in *bytes the sum of their sizes. */
static unsigned collect(struct sw_conn *conn, uv_buf_t pieces[PIECES_MAX], uint64_t *bytes)
{
    const struct sw_bulk_unsent *unsent = &sw_bulk_of(conn)->unsent;
    const uint64_t most = conn->net->iteration.bytes;
    uint64_t skip = unsent->sent;
    unsigned count = 0;
    *bytes = 0;
    SW_LIST_EACH(&unsent->frames, link)
    {
        const struct sw_bulk_frame *frame = sw_bulk_frame_at(link);
        for (unsigned i = 0; i < frame->piece_count; i++) {
            uv_buf_t piece = frame->pieces[i];
            if (skip >= piece.len) {
                skip -= piece.len;
                continue;
            }
            piece.base += skip;
            piece.len -= skip;
            skip = 0;
            if (piece.len > most - *bytes) {
                piece.len = most - *bytes;
            }
            pieces[count++] = piece;
            *bytes += piece.len;
            if (count == PIECES_MAX || *bytes == most) {
                return count;
            }
        }
    }
    return count;
}

/* Notes that the next `bytes` bytes have been sent, and returns frames whose replies are complete
 * to the pool. */
static void advance(struct sw_conn *conn, uint64_t bytes)
{
    struct sw_bulk_unsent *unsent = &sw_bulk_of(conn)->unsent;
    unsent->sent += bytes;
    while (conn->unsent_replies > 0 &&
           unsent->sent >= sw_bulk_frame_at(unsent->frames.next)->reply_bytes) {
        struct sw_bulk_frame *frame = pop_unsent(conn);
        unsent->sent -= frame->reply_bytes;
        conn->net->retry |= conn->stall == SW_STALL_IN_FLIGHT;
        sw_bulk_frame_put(frame);
    }
    assert(conn->unsent_replies > 0 || unsent->sent == 0);
    conn->times.output_at = sw_net_now_ms(conn->net);
    SW_COUNT(conn->net->counters, net_output_bytes, bytes);
}

void sw_bulk_written(struct sw_conn *conn, int status)
{
    struct sw_bulk_unsent *unsent = &sw_bulk_of(conn)->unsent;
    uint64_t bytes = unsent->handed;
    unsent->handed = 0;
    if (conn->state == SW_CONN_CLOSED) {
        sw_bulk_drop_unsent(conn);
    } else if (status != 0) {
        sw_conn_abort(conn);
    } else {
        advance(conn, bytes);
        push_ready(conn);
        sw_conn_output_changed(conn);
    }
}

/* Call it when the socket is full: the transport sends the next bytes later. */
static void hand_over(struct sw_conn *conn)
{
    uv_buf_t pieces[PIECES_MAX];
    uint64_t bytes;
    unsigned count = collect(conn, pieces, &bytes);
    assert(sw_bulk_of(conn)->unsent.handed == 0 && bytes > 0);
    if (sw_transport_write(&conn->transport, pieces, count) != 0) {
        sw_conn_abort(conn);
        return;
    }
    sw_bulk_of(conn)->unsent.handed = bytes;
    conn->unsent_bytes -= bytes;
}

static void send_some(struct sw_conn *conn)
{
    uv_buf_t pieces[PIECES_MAX];
    uint64_t bytes;
    unsigned count = collect(conn, pieces, &bytes);
    assert(conn->unsent_replies > 0 && bytes > 0 && bytes <= conn->unsent_bytes);
    int sent = sw_transport_try_write(&conn->transport, pieces, count);
    if (sent < 0 && sent != UV_EAGAIN) {
        sw_conn_abort(conn);
        return;
    }
    if (sent > 0) {
        conn->unsent_bytes -= (uint64_t)sent;
        advance(conn, (uint64_t)sent);
    }
    if (sent < 0 || (uint64_t)sent < bytes) {
        hand_over(conn);
    }
    push_ready(conn);
    sw_conn_output_changed(conn);
}

bool sw_bulk_flush(struct sw_bulk *bulk)
{
    struct sw_list *last = bulk->ready.previous;
    for (struct sw_list *link = NULL; link != last && !sw_list_is_empty(&bulk->ready);) {
        link = sw_list_pop(&bulk->ready);
        send_some(SW_CONTAINER(link, struct sw_bulk_conn, ready)->conn);
    }
    return !sw_list_is_empty(&bulk->ready);
}

void sw_bulk_send(struct sw_conn *conn, struct sw_bulk_frame *frame)
{
    if (conn->state >= SW_CONN_LINGERING) {
        sw_bulk_frame_put(frame);
        return;
    }
    sw_list_push(&sw_bulk_of(conn)->unsent.frames, &frame->link);
    conn->unsent_replies++;
    conn->unsent_bytes += frame->reply_bytes;
    push_ready(conn);
    sw_conn_output_changed(conn);
}

void sw_bulk_drop_unsent(struct sw_conn *conn)
{
    sw_list_remove(&sw_bulk_of(conn)->ready);
    if (conn->transport.writing) {
        return; /* the transport still reads the memory; sw_bulk_written drops the frames */
    }
    while (conn->unsent_replies > 0) {
        sw_bulk_frame_put(pop_unsent(conn));
    }
    sw_bulk_of(conn)->unsent.sent = 0;
    conn->unsent_bytes = 0;
}
