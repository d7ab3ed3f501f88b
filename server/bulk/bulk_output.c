/* SPDX-License-Identifier: MIT
 *
 * bulk_output.c - sending bulk answers from where they lie.
 *
 * Answers of a connection queue up while a loop's turn completes batches, and leave together at its
 * end: one system call for many small ones. What the socket does not take is handed to libuv a
 * piece at a time, so that no turn sends more than its share.
 */
#include "server/net/output.h"

#include "server/bulk/frame_slot.h"
#include "server/limits.h"
#include "server/loop.h"

/* Pieces of memory in one system call; an answer is two or three. */
#define PIECES_MAX 96

/* --- the loop's list -------------------------------------------------------------------------- */

static void push_ready(struct sw_conn *conn)
{
    struct sw_loop *loop = conn->loop;
    if (conn->ready || conn->writing || conn->answers.first == NULL) {
        return;
    }
    conn->ready = true;
    conn->ready_next = NULL;
    conn->ready_previous = loop->ready_last;
    *(loop->ready_last != NULL ? &loop->ready_last->ready_next : &loop->ready_first) = conn;
    loop->ready_last = conn;
}

static void remove_ready(struct sw_conn *conn)
{
    struct sw_loop *loop = conn->loop;
    if (!conn->ready) {
        return;
    }
    conn->ready = false;
    *(conn->ready_previous != NULL ? &conn->ready_previous->ready_next : &loop->ready_first) =
        conn->ready_next;
    *(conn->ready_next != NULL ? &conn->ready_next->ready_previous : &loop->ready_last) =
        conn->ready_previous;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* What is to be sent next, at most a turn's share. Returns the number of pieces. */
static unsigned collect(const struct sw_conn *conn, uv_buf_t pieces[PIECES_MAX], uint64_t *bytes)
{
    const uint64_t most = conn->loop->turn_bytes;
    uint64_t skip = conn->answers.sent;
    unsigned count = 0;
    *bytes = 0;
    for (const struct sw_frame *frame = conn->answers.first; frame != NULL; frame = frame->next) {
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

/* `bytes` are gone: gives the frames back that have been sent. */
static void advance(struct sw_conn *conn, uint64_t bytes)
{
    struct sw_conn_answers *answers = &conn->answers;
    answers->sent += bytes;
    while (answers->first != NULL && answers->sent >= answers->first->answer_bytes) {
        struct sw_frame *frame = answers->first;
        answers->sent -= frame->answer_bytes;
        answers->first = frame->next;
        answers->count--;
        conn->loop->retry |= conn->stall == SW_STALL_IN_FLIGHT;
        sw_frame_put(frame);
    }
    if (answers->first == NULL) {
        answers->last = NULL;
    }
    conn->output_at_ms = sw_loop_now_ms(conn->loop);
    SW_COUNT(&conn->loop->counters, net_output_bytes, bytes);
}

static void on_written(uv_write_t *write, int status)
{
    struct sw_conn *conn = write->data;
    uint64_t bytes = conn->answers.handed;
    conn->writing = false;
    conn->answers.handed = 0;
    if (conn->state == SW_CONN_CLOSED) {
        sw_output_drop(conn);
    } else if (status != 0) {
        sw_conn_abort(conn);
    } else {
        advance(conn, bytes);
        push_ready(conn);
        sw_conn_output_changed(conn);
    }
}

/* The socket is full: libuv sends the next piece when it is not. */
static void hand_over(struct sw_conn *conn)
{
    uv_buf_t pieces[PIECES_MAX];
    uint64_t bytes;
    unsigned count = collect(conn, pieces, &bytes);
    conn->write.data = conn;
    conn->writing = true;
    if (uv_write(&conn->write, &conn->uv.stream, pieces, count, on_written) != 0) {
        conn->writing = false;
        sw_conn_abort(conn);
        return;
    }
    conn->answers.handed = bytes;
    conn->answers.bytes -= bytes;
}

static void send_some(struct sw_conn *conn)
{
    uv_buf_t pieces[PIECES_MAX];
    uint64_t bytes;
    unsigned count = collect(conn, pieces, &bytes);
    int sent = uv_try_write(&conn->uv.stream, pieces, count);
    if (sent < 0 && sent != UV_EAGAIN) {
        sw_conn_abort(conn);
        return;
    }
    if (sent > 0) {
        conn->answers.bytes -= (uint64_t)sent;
        advance(conn, (uint64_t)sent);
    }
    if (sent < 0 || (uint64_t)sent < bytes) {
        hand_over(conn);
    }
    push_ready(conn);
    sw_conn_output_changed(conn);
}

bool sw_output_flush(struct sw_loop *loop)
{
    struct sw_conn *last = loop->ready_last;
    for (struct sw_conn *conn = NULL; conn != last && loop->ready_first != NULL;) {
        conn = loop->ready_first;
        remove_ready(conn);
        send_some(conn);
    }
    return loop->ready_first != NULL;
}

void sw_output_append(struct sw_conn *conn, struct sw_frame *frame)
{
    struct sw_conn_answers *answers = &conn->answers;
    if (conn->state >= SW_CONN_LINGERING) {
        sw_frame_put(frame);
        return;
    }
    frame->next = NULL;
    *(answers->last != NULL ? &answers->last->next : &answers->first) = frame;
    answers->last = frame;
    answers->count++;
    answers->bytes += frame->answer_bytes;
    push_ready(conn);
    sw_conn_output_changed(conn);
}

void sw_output_drop(struct sw_conn *conn)
{
    remove_ready(conn);
    if (conn->writing) {
        return; /* dropped when libuv has given the piece back */
    }
    while (conn->answers.first != NULL) {
        struct sw_frame *frame = conn->answers.first;
        conn->answers.first = frame->next;
        sw_frame_put(frame);
    }
    conn->answers = (struct sw_conn_answers){0};
}
