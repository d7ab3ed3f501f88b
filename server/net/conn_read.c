/* SPDX-License-Identifier: MIT
 *
 * conn_read.c - receives input and passes it to the protocol.
 */
#include <assert.h>
#include <string.h>

#include "server/limits.h"
#include "server/net/conn_login.h"

/* --- memory of the input ---------------------------------------------------------------------- */

/* Returns the loop's open connection with the largest input buffer, or NULL if no buffer is larger
 * than `bytes`. */
static struct sw_conn *largest_input(struct sw_net *net, size_t bytes)
{
    struct sw_conn *largest = NULL;
    SW_LIST_EACH(&net->conns, link)
    {
        struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        if (conn->input.capacity > bytes && conn->state == SW_CONN_OPEN) {
            bytes = conn->input.capacity;
            largest = conn;
        }
    }
    return largest;
}

static void close_for_memory(struct sw_conn *conn)
{
    SW_COUNT(conn->net->counters, input_memory_closes, 1);
    if (!sw_conn_refuse(conn, SW_REFUSAL_INPUT_MEMORY)) {
        sw_conn_abort(conn);
    }
}

/* Makes room for `bytes` more bytes at the end of the input. If the budget is used up, closes
 * connections of this loop that hold more, the largest first. Returns false if that is not enough,
 * or if there is no memory: then the caller must close the connection. */
static bool grow_input(struct sw_conn *conn, size_t bytes)
{
    struct sw_net *net = conn->net;
    size_t wanted = sw_input_held(&conn->input) + bytes;
    enum sw_input_result result = sw_input_grow(&conn->input, net->budget, bytes);
    while (result == SW_INPUT_OVER_BUDGET) {
        struct sw_conn *largest = largest_input(net, wanted);
        if (largest == NULL || largest == conn) {
            break;
        }
        close_for_memory(largest);
        sw_input_free(&largest->input, net->budget);
        result = sw_input_grow(&conn->input, net->budget, bytes);
    }
    return result == SW_INPUT_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns room in the input buffer for about the bytes that the incomplete request still needs. The
 * buffer grows with the bytes that have been received. So a client that only announces a large
 * request takes no memory. */
static uv_buf_t room_for_rest(struct sw_conn *conn)
{
    struct sw_input *input = &conn->input;
    size_t held = sw_input_held(input);
    size_t bytes = input->need > held ? input->need - held : 1;
    bytes = bytes < SW_INPUT_STEP_BYTES ? SW_INPUT_STEP_BYTES : bytes;
    if (!grow_input(conn, SW_INPUT_STEP_BYTES)) {
        return uv_buf_init(NULL, 0);
    }
    bytes = least(least(bytes, input->capacity - input->end), SW_READ_BYTES);
    return uv_buf_init((char *)input->bytes + input->end, (unsigned)bytes);
}

/* Returns how many bytes to read at once. The more connections share the iteration, the less each
 * one reads: the loop may have no time for their requests, and waiting input takes memory. */
static size_t share_bytes(const struct sw_conn *conn)
{
    const size_t bytes = SW_READ_BYTES / sw_iteration_sharers(&conn->net->iteration);
    return bytes > SW_READ_BYTES_MIN ? bytes : SW_READ_BYTES_MIN;
}

uv_buf_t sw_conn_room(struct sw_transport *transport)
{
    struct sw_conn *conn = SW_CONTAINER(transport, struct sw_conn, transport);
    if (!sw_iteration_may_read(&conn->net->iteration, &conn->share)) {
        conn->is_left_out = true;
        return uv_buf_init(NULL, 0);
    }
    if (conn->state == SW_CONN_OPEN && conn->receives_body) {
        return conn->protocol->body_room(conn);
    }
    if (conn->state == SW_CONN_OPEN && sw_input_held(&conn->input) > 0) {
        return room_for_rest(conn);
    }
    size_t most = conn->lacks_login ? SW_LOGIN_REQUEST_BYTES_MAX : conn->read_bytes;
    return uv_buf_init((char *)conn->net->read_buffer, (unsigned)least(most, share_bytes(conn)));
}

/* Will the protocol never receive the rest of the input? */
static bool is_done_with_input(const struct sw_conn *conn)
{
    return conn->state > SW_CONN_DRAINING ||
           (conn->state == SW_CONN_DRAINING && conn->stall == SW_STALL_NONE);
}

/* Returns the protocol of a connection with this first byte. The last protocol accepts every byte.
 */
static const struct sw_net_protocol *protocol_of(const struct sw_net *net, uint8_t first)
{
    const struct sw_net_protocol *entry = net->protocols;
    while (entry < &net->protocols[SW_PROTOCOLS - 1] && !entry->protocol->claims(first)) {
        entry++;
    }
    return entry;
}

/* Passes bytes to the protocol. Returns how many bytes the protocol consumed. */
static size_t pass_to_protocol(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    if (conn->protocol == NULL) {
        sw_conn_set_protocol(conn, protocol_of(conn->net, bytes[0]));
    }
    if (conn->refusal != SW_REFUSAL_NONE) {
        sw_conn_refuse(conn, conn->refusal);
        return size;
    }
    if (size < conn->input.need) {
        return 0;
    }
    if (conn->output_paused) {
        sw_conn_stall(conn, SW_STALL_OUTPUT);
        return 0;
    }
    if (sw_conn_login_waits(conn)) {
        sw_conn_stall(conn, SW_STALL_LOGIN);
        return 0;
    }
    if (conn->net->iteration.is_spent) { /* others have used up the time of the phase */
        sw_conn_stall(conn, SW_STALL_YIELDED);
        return 0;
    }
    conn->input.need = 0;
    size_t consumed = conn->protocol->feed(conn, bytes, size);
    assert(consumed <= size);
    return consumed;
}

/* To be called after feeding: notes when the incomplete request began to arrive, for
 * request-timeout. The time of a stall does not count, because the peer cannot end it. */
static void note_request(struct sw_conn *conn, size_t consumed, size_t rest)
{
    bool unfinished = (rest > 0 || conn->receives_body) && conn->stall == SW_STALL_NONE;
    if (!unfinished) {
        conn->times.request_since = 0;
    } else if (conn->times.request_since == 0 || consumed > 0) {
        conn->times.request_since = sw_net_now_ms(conn->net);
    }
}

/* Feeds the bytes of the input buffer. */
static void feed_input(struct sw_conn *conn)
{
    struct sw_input *input = &conn->input;
    size_t size = sw_input_held(input);
    size_t consumed = size > 0 ? pass_to_protocol(conn, input->bytes + input->start, size) : 0;
    if (is_done_with_input(conn)) {
        consumed = size;
        input->start = input->end;
    } else {
        input->start += consumed;
    }
    note_request(conn, consumed, size - consumed);
    if (input->start == input->end) {
        sw_input_free(input, conn->net->budget);
    }
}

/* Feeds bytes from the loop's shared buffer. Copies those that the protocol did not consume to the
 * connection's input. */
static void feed_shared(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    size_t consumed = pass_to_protocol(conn, bytes, size);
    size_t rest = size - consumed;
    if (is_done_with_input(conn)) {
        rest = 0;
    }
    note_request(conn, consumed, rest);
    if (rest == 0) {
        return;
    }
    if (!grow_input(conn, rest)) {
        close_for_memory(conn);
        return;
    }
    memcpy(conn->input.bytes + conn->input.end, bytes + consumed, rest);
    conn->input.end += rest;
}

static void on_end(struct sw_conn *conn, ssize_t error)
{
    conn->ended = true;
    if (error != UV_EOF || conn->state == SW_CONN_LINGERING) {
        sw_conn_abort(conn);
    } else if (conn->state == SW_CONN_OPEN) {
        sw_conn_drain(conn, true);
        if (sw_input_held(&conn->input) == 0) { /* of a request that will not be complete */
            sw_input_free(&conn->input, conn->net->budget);
        }
    } else {
        sw_conn_update_reading(conn);
    }
}

void sw_conn_received(struct sw_transport *transport, ssize_t count, uint8_t *bytes)
{
    struct sw_conn *conn = SW_CONTAINER(transport, struct sw_conn, transport);
    struct sw_net *net = conn->net;
    assert(conn->reading && conn->state != SW_CONN_CLOSED);
    if (count == UV_ENOBUFS) { /* sw_conn_room returned no memory */
        if (!conn->is_left_out) {
            close_for_memory(conn);
        }
        conn->is_left_out = false;
        return;
    }
    if (count < 0) {
        (void)sw_iteration_add(&net->iteration, SW_COST_CLOSE);
        on_end(conn, count);
        return;
    }
    conn->share.bytes += (uint64_t)count;
    (void)sw_iteration_add(&net->iteration, SW_COST_READ + (uint32_t)count / SW_COST_BYTES);
    SW_COUNT(net->counters, net_input_bytes, count);
    conn->times.input_at = sw_net_now_ms(net);
    if (conn->state != SW_CONN_OPEN) {
        return; /* a connection that drains or lingers discards its input */
    }
    if (conn->receives_body) {
        conn->protocol->body_received(conn, (size_t)count);
        note_request(conn, 0, 0);
    } else if (bytes == net->read_buffer) {
        feed_shared(conn, bytes, (size_t)count);
    } else {
        conn->input.end += (size_t)count;
        feed_input(conn);
    }
    sw_conn_update_reading(conn);
    sw_conn_settle(conn);
}

void sw_conn_resume(struct sw_conn *conn)
{
    struct sw_iteration *iteration = &conn->net->iteration;
    sw_iteration_enter(iteration, &conn->share);
    (void)sw_iteration_add(iteration, SW_COST_RETRY);
    sw_conn_end_stall(conn);
    conn->retried = true;
    feed_input(conn);
    if (conn->state == SW_CONN_OPEN && conn->protocol != NULL && conn->protocol->resumed != NULL) {
        conn->protocol->resumed(conn);
    }
    conn->retried = false;
    if (conn->state != SW_CONN_CLOSED) {
        sw_conn_update_reading(conn);
        sw_conn_settle(conn);
    }
}
