/* SPDX-License-Identifier: MIT
 *
 * toy_protocol.h - connections that speak a protocol of lines, so that a test of net/ says in the
 * bytes themselves what the protocol does with them.
 *
 *     r        a request: in flight until the test calls sw_conn_request_done
 *     =N       a request of N bytes, this line included; it is in flight likewise
 *     bN       a body of N bytes follows, received straight into toy.body
 *     sN       the connection stalls for reason N while toy.has is false; then it is a request
 *     a, d     abort; drain
 *
 * One thread; the clock is the test's.
 */
#ifndef SHERWOOD_TESTS_SERVER_TOY_PROTOCOL_H
#define SHERWOOD_TESTS_SERVER_TOY_PROTOCOL_H

#include <stdio.h>

#include "server/config/options.h"
#include "server/limits.h"
#include "server/observe/log.h"
#include "tests/server/fake_transport.h"

enum { TOY_BODY_MAX = 1 << 20, TOY_LOG_BYTES = 1 << 16, TOY_UNSENT_MIN = 4 };
enum { TOY_REQUEST_MS = 30000, TOY_WRITE_MS = 60000 }; /* timeouts; idle connections have none */

struct toy {
    uv_loop_t uv;
    struct sw_config config;
    struct sw_loop_counters counters;
    struct sw_input_budget budget;
    struct sw_net net;

    /* What the test decides. */
    bool has;            /* what a stalled connection waits for */
    bool cannot_refuse;  /* there is no room for an error */
    bool aborts_body;    /* body_received aborts */
    bool aborts_written; /* written aborts */

    /* What the protocol was asked for. */
    char log[TOY_LOG_BYTES]; /* first bytes of requests: "r", "=", "b", .. */
    size_t logged;
    unsigned feeds;
    unsigned opened;
    unsigned refusals;
    enum sw_refusal refusal; /* the last one */
    unsigned dropped_inputs, dropped_outputs;
    unsigned closed;
    unsigned written;
    int written_status;
    uint8_t body[TOY_BODY_MAX];
};

struct toy_state {
    struct toy *toy;
    size_t body_bytes, body_received;
};

static inline struct toy_state *toy_state_of(const struct sw_conn *conn)
{
    return (struct toy_state *)(void *)(uintptr_t)conn->protocol_state;
}

static inline struct toy *toy_of(const struct sw_conn *conn)
{
    return toy_state_of(conn)->toy;
}

static inline void toy_request(struct sw_conn *conn, char what)
{
    struct toy *toy = toy_of(conn);
    cr_assert_lt(toy->logged + 1, TOY_LOG_BYTES);
    toy->log[toy->logged++] = what;
    toy->log[toy->logged] = '\0';
    sw_conn_accept(conn, false);
}

/* Carries out a whole line. Returns the bytes consumed: 0 if more are needed or it stalled. */
static inline size_t toy_line(struct sw_conn *conn, const char *line, size_t line_bytes,
                              size_t size)
{
    size_t number = line_bytes > 2 ? strtoul(line + 1, NULL, 10) : 0;
    switch (line[0]) {
    case 'a':
        sw_conn_abort(conn);
        return line_bytes;
    case 'd':
        sw_conn_drain(conn, false);
        return line_bytes;
    case 's':
        if (!toy_of(conn)->has) {
            sw_conn_stall(conn, (enum sw_stall)number);
            return 0;
        }
        break;
    case '=':
        if (size < number) {
            conn->input.need = number;
            return 0;
        }
        line_bytes = number;
        break;
    case 'b':
        *toy_state_of(conn) = (struct toy_state){toy_of(conn), number, 0};
        conn->receives_body = true;
        return line_bytes;
    default:
        break;
    }
    toy_request(conn, line[0]);
    return line_bytes;
}

static inline void toy_body_received(struct sw_conn *conn, size_t bytes)
{
    struct toy_state *state = toy_state_of(conn);
    if (state->toy->aborts_body) {
        sw_conn_abort(conn);
        return;
    }
    state->body_received += bytes;
    cr_assert_leq(state->body_received, state->body_bytes);
    if (state->body_received == state->body_bytes) {
        conn->receives_body = false;
        toy_request(conn, 'b');
    }
}

/* Takes the bytes of the body that have arrived. Returns their number. */
static inline size_t toy_begin_body(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    struct toy_state *state = toy_state_of(conn);
    size_t here = size < state->body_bytes ? size : state->body_bytes;
    memcpy(state->toy->body, bytes, here);
    toy_body_received(conn, here);
    return here;
}

static inline size_t toy_feed(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    toy_of(conn)->feeds++;
    while (at < size && !conn->receives_body && conn->stall == SW_STALL_NONE) {
        const uint8_t *end = memchr(bytes + at, '\n', size - at);
        if (end == NULL) {
            break;
        }
        size_t consumed =
            toy_line(conn, (const char *)bytes + at, (size_t)(end + 1 - bytes) - at, size - at);
        at += consumed;
        if (consumed == 0 || conn->state > SW_CONN_DRAINING) {
            break;
        }
        if (conn->receives_body && at < size) {
            at += toy_begin_body(conn, bytes + at, size - at);
        }
    }
    return at;
}

static inline void toy_open(struct sw_conn *conn, void *side)
{
    toy_state_of(conn)->toy = side;
    toy_of(conn)->opened++;
}

static inline uv_buf_t toy_body_room(struct sw_conn *conn)
{
    struct toy_state *state = toy_state_of(conn);
    return uv_buf_init((char *)state->toy->body + state->body_received,
                       (unsigned)(state->body_bytes - state->body_received));
}

static inline bool toy_refuse(struct sw_conn *conn, enum sw_refusal why)
{
    struct toy *toy = toy_of(conn);
    toy->refusals += !toy->cannot_refuse;
    toy->refusal = why;
    return !toy->cannot_refuse;
}

static inline void toy_written(struct sw_conn *conn, int status)
{
    struct toy *toy = toy_of(conn);
    toy->written++;
    toy->written_status = status;
    if (toy->aborts_written || status != 0) {
        sw_conn_abort(conn);
    } else if (conn->state != SW_CONN_CLOSED) {
        sw_conn_output_changed(conn);
    }
}

static inline void toy_drop_input(struct sw_conn *conn)
{
    toy_of(conn)->dropped_inputs++;
    conn->receives_body = false;
}

static inline void toy_drop_output(struct sw_conn *conn)
{
    toy_of(conn)->dropped_outputs++;
    conn->unsent_bytes = 0;
    conn->unsent_replies = 0;
}

static inline void toy_close(struct sw_conn *conn)
{
    toy_of(conn)->closed++;
}

static inline void toy_check(const struct sw_conn *conn)
{
    cr_assert_not_null(toy_of(conn));
}

static inline bool toy_claims_hash(uint8_t first)
{
    return first == '#';
}

static inline bool toy_claims_all(uint8_t first)
{
    (void)first;
    return true;
}

#define TOY_FUNCTIONS                                                                     \
    .state_bytes = sizeof(struct toy_state), .open = toy_open, .feed = toy_feed,          \
    .body_room = toy_body_room, .body_received = toy_body_received, .refuse = toy_refuse, \
    .written = toy_written, .drop_input = toy_drop_input, .drop_output = toy_drop_output, \
    .close = toy_close, .check = toy_check

/* The protocol of a client that begins with '#'; pauses by replies, as frames do. */
static const struct sw_protocol toy_hash = {
    .name = "hash", .claims = toy_claims_hash, .unsent_replies_min = TOY_UNSENT_MIN, TOY_FUNCTIONS};
static const struct sw_protocol toy_lines = {
    .name = "lines", .claims = toy_claims_all, TOY_FUNCTIONS};

/* The time in which an iteration's budget would be spent does not pass. */
static inline uint64_t toy_clock(void)
{
    return 1;
}

static inline struct toy *toy_create(void)
{
    struct toy *toy = calloc(1, sizeof(*toy));
    cr_assert_not_null(toy);
    sw_log_init(SW_LOG_ERROR);
    sw_config_init(&toy->config);
    sw_config_fit(&toy->config);
    toy->config.request_timeout_ms = TOY_REQUEST_MS;
    toy->config.write_timeout_ms = TOY_WRITE_MS;
    toy->config.idle_timeout_ms = 0;
    toy->budget.bytes_max = 1 << 20;
    cr_assert_eq(uv_loop_init(&toy->uv), 0);
    toy->uv.time = 1000;
    cr_assert_eq(sw_net_init(&toy->net, &toy->uv, &toy->config, &toy->counters, &toy->budget), 0);
    toy->net.iteration.clock_ns = toy_clock;
    sw_net_add_protocol(&toy->net, 0, &toy_hash, toy);
    sw_net_add_protocol(&toy->net, 1, &toy_lines, toy);
    return toy;
}

static inline struct fake *toy_peer(struct toy *toy)
{
    return fake_open(&toy->net, false);
}

static inline void toy_answer_all(struct fake *peer)
{
    while (peer->conn->in_flight > 0) {
        sw_conn_request_done(peer->conn, false);
    }
}

/* Answers and closes the connections of the test, and checks that everything was freed. */
static inline void toy_destroy(struct toy *toy)
{
    for (struct fake *peer = fakes_opened; peer != NULL; peer = peer->opened_next) {
        if (peer->conn != NULL) {
            toy_answer_all(peer);
        }
    }
    fake_fini_all();
    sw_net_check(&toy->net);
    cr_assert(sw_list_is_empty(&toy->net.conns));
    cr_assert_eq(toy->opened, toy->closed, "a protocol's state was not closed once");
    cr_assert_eq(sw_input_budget_used(&toy->budget), 0);
    cr_assert_eq(toy->net.connections, 0);
    cr_assert_eq(toy->net.stalled_count, 0);
    sw_net_fini(&toy->net);
    cr_assert_eq(uv_loop_close(&toy->uv), 0);
    free(toy);
}

/* A test between these two: its body has `toy`. */
#define NET_TEST(suite, name)                    \
    static void suite##_##name(struct toy *toy); \
    Test(suite, name)                            \
    {                                            \
        struct toy *toy = toy_create();          \
        suite##_##name(toy);                     \
        toy_destroy(toy);                        \
    }                                            \
    static void suite##_##name(struct toy *toy)

/* The same with a connection: its body has `toy` and `peer`. */
#define TOY_TEST(suite, name)                                           \
    static void suite##_##name(struct toy *toy, struct fake *peer);     \
    Test(suite, name)                                                   \
    {                                                                   \
        struct toy *toy = toy_create();                                 \
        suite##_##name(toy, toy_peer(toy));                             \
        toy_destroy(toy);                                               \
    }                                                                   \
    static void suite##_##name(__attribute__((unused)) struct toy *toy, \
                               __attribute__((unused)) struct fake *peer)

/* Time passes, and deadlines are looked at. */
static inline void toy_pass(struct toy *toy, uint64_t ms)
{
    toy->uv.time += ms;
    sw_net_sweep(&toy->net, false);
    sw_net_check(&toy->net);
}

/* An iteration of the loop: retries connections that wait. */
static inline void toy_iteration(struct toy *toy)
{
    sw_net_retry_stalled(&toy->net);
    sw_net_end_iteration(&toy->net);
    sw_iteration_begin_phase(&toy->net.iteration); /* what the peers send next is of the next one */
    sw_net_check(&toy->net);
}

/* The connection gets replies to send, and sends some. */
static inline void toy_queue(struct sw_conn *conn, uint64_t bytes)
{
    conn->unsent_bytes += bytes;
    conn->unsent_replies++;
    sw_conn_output_changed(conn);
}

static inline void toy_sent(struct sw_conn *conn, uint64_t bytes)
{
    conn->unsent_bytes -= bytes;
    conn->unsent_replies -= conn->unsent_replies > 0;
    sw_conn_output_changed(conn);
}

#endif
