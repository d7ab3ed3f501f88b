/* SPDX-License-Identifier: MIT
 *
 * test_resp_conn.c - the command loop of a RESP connection: in whatever pieces the bytes come, and
 * whatever a command has to wait for.
 */
#include "table/instance.h"
#include "table/robin_hood/cpu/cpu.h"
#include "tests/server/serve_fixture.h"

#define TIMED_OUT "-ERR Protocol error: the request did not arrive in time\r\n"

/* --- pieces ----------------------------------------------------------------------------------- */

static const char pipeline[] = "FLUSHALL\r\n"
                               "*3\r\n$3\r\nSET\r\n$1\r\n1\r\n$2\r\n10\r\n"
                               "PING\r\n"
                               "*2\r\n$4\r\nINCR\r\n$1\r\n1\r\n"
                               "*5\r\n$4\r\nMSET\r\n$1\r\n2\r\n$1\r\n7\r\n$1\r\n3\r\n$1\r\n8\r\n"
                               "DBSIZE\r\n"
                               "*2\r\n$4\r\nECHO\r\n$6\r\na\r\nb\r\n\r\n"
                               "MGET 1 2 3 4\r\n"
                               "*1\r\n$7\r\nnothing\r\n"
                               "GET\r\n"
                               "SET 1 x\r\n"
                               "\r\n"
                               "SCAN 0\r\n"
                               "*0\r\n"
                               "*2\r\n$3\r\nDEL\r\n$1\r\n1\r\n"
                               "GET 1\r\n";
static const char replies[] =
    "+OK\r\n+OK\r\n+PONG\r\n:11\r\n+OK\r\n:3\r\n$6\r\na\r\nb\r\n\r\n*4\r\n$2\r\n11\r\n$1\r\n7\r\n$"
    "1\r\n8\r\n$-1\r\n-ERR unknown command 'nothing', with args beginning with: \r\n-ERR wrong "
    "number of arguments for 'get' command\r\n-ERR value is not an unsigned integer or out of "
    "range; for strings start the server with --value-bytes N --value-type string\r\n";
static const char last_replies[] = ":1\r\n$-1\r\n";

/* The order of SCAN's keys is the table's. */
static void expect_pipeline(const struct fake *peer, const char *where, size_t at)
{
    size_t first = sizeof(replies) - 1, last = sizeof(last_replies) - 1;
    cr_assert_gt(peer->out_bytes, first + last, "%s %zu", where, at);
    cr_assert_eq(memcmp(peer->out, replies, first), 0, "%s %zu: %.*s", where, at,
                 (int)peer->out_bytes, peer->out);
    cr_assert_eq(memcmp(peer->out + peer->out_bytes - last, last_replies, last), 0, "%s %zu: %.*s",
                 where, at, (int)peer->out_bytes, peer->out);
}

/* Sends all bytes. The connection reads the rest of them in later iterations of the loop. */
static void send_all(struct serve *serve, struct fake *peer, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        sent += fake_send(peer, bytes + sent, size - sent);
        serve_check(serve);
        if (sent < size) {
            cr_assert(serve_iteration(serve), "it reads no more");
        }
    }
}

LOOP_TEST(resp_conn, replies_are_the_same_wherever_requests_are_cut)
{
    for (size_t cut = 0; cut < sizeof(pipeline); cut++) {
        for (int iterations = 0; iterations < 2; iterations++) {
            struct fake *peer = serve_open(serve);
            send_all(serve, peer, pipeline, cut);
            if (iterations) {
                serve_until_idle(serve);
            }
            send_all(serve, peer, pipeline + cut, sizeof(pipeline) - 1 - cut);
            serve_until_idle(serve);
            expect_pipeline(peer, iterations ? "cut with iterations at" : "cut at", cut);
            serve_close(serve, peer);
        }
    }
}

SERVE_TEST(resp_conn, replies_are_the_same_byte_by_byte)
{
    for (size_t i = 0; i < sizeof(pipeline) - 1; i++) {
        send_all(serve, peer, pipeline + i, 1);
        serve_iteration(serve);
    }
    serve_until_idle(serve);
    expect_pipeline(peer, "byte by byte", 0);
}

LOOP_TEST(resp_conn, replies_are_the_same_whatever_the_peer_takes)
{
    for (size_t takes = 0; takes < 300; takes++) {
        struct fake *peer = serve_open(serve);
        peer->takes = takes;
        send_all(serve, peer, pipeline, sizeof(pipeline) - 1);
        do {
            fake_take(peer, takes + 1);
        } while (serve_iteration(serve) || peer->queued > 0);
        expect_pipeline(peer, "taken at a time:", takes);
        serve_close(serve, peer);
    }
}

/* --- what commands wait for ------------------------------------------------------------------- */

/* The batch holds 1024 operations. */
SERVE_TEST(resp_conn, commands_beyond_a_full_batch_wait_for_the_next)
{
    enum { COUNT = 3000 };
    static char requests[COUNT * 16], wanted[COUNT * 16];
    size_t size = 0, wanted_size = 0;
    for (int i = 1; i <= COUNT; i++) {
        size += (size_t)sprintf(requests + size, "INCR 5\r\n");
        wanted_size += (size_t)sprintf(wanted + wanted_size, ":%d\r\n", i);
    }
    cr_assert_eq(fake_send(peer, requests, size), size);
    cr_assert_eq(peer->conn->stall, SW_STALL_BATCH_FULL);
    uint32_t operations = serve->loop->first.resp.filling->batch.operations;
    cr_assert(operations > 1000 && operations <= 1024, "%u", operations);
    cr_assert_eq(serve->loop->counters.round_pauses, 1);
    serve_until_idle(serve);
    fake_expect(peer, wanted);
    cr_assert_geq(serve->loop->counters.batches, 3);
}

/* Enough iterations for what does not wait: a loop with work for a held table is never idle. */
static void serve_some(struct serve *serve)
{
    for (int i = 0; i < 20; i++) {
        serve_iteration(serve);
    }
}

/* Beside a long read of the table, such as an image, its writes wait. The reads of other
 * connections pass them; a connection's own requests keep their order. */
LOOP_TEST(resp_conn, reads_pass_writes_that_wait_for_a_long_read)
{
    struct sw_phase_lock *lock = &((struct sw_cpu *)serve->table->memory)->lock;
    struct fake *writer = serve_open(serve), *reader = serve_open(serve), *both = serve_open(serve);
    struct fake *wrong = serve_open(serve);
    serve_ask(serve, writer, "SET 1 7\r\n", "+OK\r\n");
    sw_phase_lock_enter_read(lock);
    sw_phase_lock_lengthen_read(lock);
    fake_say(writer, "SET 1 8\r\n");
    fake_say(reader, "GET 1\r\n"); /* in the same iteration */
    fake_say(both, "GET 1\r\nSET 2 2\r\nGET 2\r\nPING\r\n");
    fake_say(wrong, "GET 1\r\n*x\r\n");
    serve_some(serve);
    fake_expect(reader, "$1\r\n7\r\n");
    fake_expect(both, "$1\r\n7\r\n");
    fake_say(writer, "GET 1\r\n");
    fake_say(reader, "GET 1\r\nMGET 1 2\r\nEXISTS 1\r\nPING\r\nGET 2\r\n");
    serve_some(serve);
    fake_expect(reader, "$1\r\n7\r\n*2\r\n$1\r\n7\r\n$-1\r\n:1\r\n+PONG\r\n$-1\r\n");
    fake_say(reader, "MULTI\r\nGET 1\r\nEXEC\r\n"); /* a transaction waits its turn */
    serve_some(serve);
    fake_expect(writer, "");
    sw_phase_lock_leave_long_read(lock);
    serve_until_idle(serve);
    fake_expect(writer, "+OK\r\n$1\r\n8\r\n");
    fake_expect(both, "+OK\r\n$1\r\n2\r\n+PONG\r\n");
    fake_expect(reader, "+OK\r\n+QUEUED\r\n*1\r\n$1\r\n8\r\n");
    fake_expect(wrong, "$1\r\n7\r\n-ERR Protocol error: invalid multibulk length\r\n");
}

/* Returns a connection whose write waits, because another loop has closed its gate. */
static struct fake *write_behind_gate(struct serve *serve, struct sw_gate_side *other)
{
    struct fake *writer = serve_open(serve);
    sw_gate_side_init(other, serve->gate);
    cr_assert(sw_gate_close(other));
    fake_say(writer, "SET 1 8\r\n");
    serve_some(serve);
    return writer;
}

/* The same if a batch was being filled when the long read began. */
LOOP_TEST_WITH(resp_conn, reads_pass_a_batch_that_is_being_filled, serve->gate = sw_gate_create(16))
{
    struct sw_phase_lock *lock = &((struct sw_cpu *)serve->table->memory)->lock;
    struct fake *early = serve_open(serve), *late = serve_open(serve);
    struct sw_gate_side other; /* of another loop */
    struct fake *writer = write_behind_gate(serve, &other);
    fake_say(early, "GET 1\r\n");
    serve_some(serve);
    sw_phase_lock_enter_read(lock);
    sw_phase_lock_lengthen_read(lock);
    fake_say(late, "GET 1\r\n");
    serve_some(serve);
    fake_expect(late, "$-1\r\n");
    sw_gate_open(&other);
    serve_some(serve);
    fake_expect(writer, "");
    sw_phase_lock_leave_long_read(lock);
    serve_until_idle(serve);
    fake_expect(writer, "+OK\r\n");
    fake_expect(early, "$1\r\n8\r\n");
    sw_gate_side_fini(&other);
}

/* The same if the batch was full, and the reader stalled. */
LOOP_TEST_WITH(resp_conn, readers_that_stalled_pass_once_a_long_read_begins,
               serve->gate = sw_gate_create(16))
{
    struct sw_phase_lock *lock = &((struct sw_cpu *)serve->table->memory)->lock;
    struct fake *many = serve_open(serve), *reader = serve_open(serve);
    struct sw_gate_side other; /* of another loop */
    struct fake *writer = write_behind_gate(serve, &other);
    for (int i = 0; i < 1025; i++) {
        fake_say(many, "GET 1\r\n");
    }
    fake_say(reader, "GET 1\r\n");
    serve_some(serve);
    cr_assert_eq(reader->conn->stall, SW_STALL_BATCH_FULL);
    sw_phase_lock_enter_read(lock);
    sw_phase_lock_lengthen_read(lock);
    serve_some(serve);
    fake_expect(reader, "$-1\r\n");
    sw_gate_open(&other);
    sw_phase_lock_leave_long_read(lock);
    serve_until_idle(serve);
    fake_expect(writer, "+OK\r\n");
    sw_gate_side_fini(&other);
}

/* A loop has memory for text replies that pass for each of its tables, so they keep little. */
LOOP_TEST(resp_conn, a_long_reply_that_passed_keeps_no_memory)
{
    static char echo[100 * 1024];
    struct sw_phase_lock *lock = &((struct sw_cpu *)serve->table->memory)->lock;
    struct fake *writer = serve_open(serve), *peer = serve_open(serve);
    int size = snprintf(echo, sizeof(echo), "*2\r\n$4\r\nECHO\r\n$%d\r\n", 100000);
    memset(echo + size, 'x', 100000);
    memcpy(echo + size + 100000, "\r\n", 3);
    sw_phase_lock_enter_read(lock);
    sw_phase_lock_lengthen_read(lock);
    fake_say(writer, "SET 1 7\r\n");
    serve_some(serve);
    fake_say(peer, echo);
    serve_some(serve);
    cr_assert_eq(peer->out_bytes, strlen(echo) - strlen("*2\r\n$4\r\nECHO\r\n"));
    cr_assert_leq(serve->loop->first.resp.aside->replies.text.capacity, 4096);
    sw_phase_lock_leave_long_read(lock);
    serve_until_idle(serve);
    fake_expect(writer, "+OK\r\n");
}

LOOP_TEST(resp_conn, a_command_of_many_keys_waits_for_a_batch_that_holds_them)
{
    static char mget[1024 * 8] = "MGET";
    struct fake *one = serve_open(serve);
    struct fake *many = serve_open(serve);
    for (int i = 0; i < 1000; i++) {
        sprintf(mget + strlen(mget), " %d", i);
    }
    strcat(mget, "\r\n");
    for (int i = 0; i < 100; i++) {
        fake_say(one, "GET 1\r\n");
    }
    fake_say(many, mget);
    cr_assert_eq(many->conn->stall, SW_STALL_BATCH_FULL);
    serve_until_idle(serve);
    cr_assert_eq(many->conn->stall, SW_STALL_NONE);
    cr_assert_eq(many->out_bytes, 7 + 1000 * 5, "*1000 and 1000 nulls");
}

/* What shows the table waits for what was asked for before it on the connection. */
SERVE_TEST(resp_conn, a_report_waits_for_what_came_before_it)
{
    fake_say(peer, "SET 1 1\r\nDBSIZE\r\nGET 1\r\n");
    cr_assert_eq(peer->conn->stall, SW_STALL_BARRIER);
    cr_assert_eq(peer->conn->in_flight, 1);
    serve_until_idle(serve);
    fake_expect(peer, "+OK\r\n:1\r\n$1\r\n1\r\n");
}

/* A command that takes the table for itself, and then everything goes on. */
SERVE_TEST(resp_conn, nothing_overtakes_a_control_command)
{
    fake_say(peer, "SET 1 1\r\nFLUSHALL\r\nGET 1\r\nSET 1 2\r\nGET 1\r\nFLUSHALL\r\n");
    fake_say(peer, "DBSIZE\r\n");
    serve_until_idle(serve);
    cr_assert_eq(fake_say(peer, "PING\r\n"), 6);
    serve_until_idle(serve);
    cr_assert_gt(peer->out_bytes, 0);
    fake_expect(peer, "+OK\r\n+OK\r\n$-1\r\n+OK\r\n$1\r\n2\r\n+OK\r\n+PONG\r\n");
}

SERVE_TEST(resp_conn, the_end_of_input_waits_for_commands_that_wait)
{
    fake_say(peer, "SET 1 1\r\nFLUSHALL\r\nSET 1 2\r\nDBSIZE\r\nGET 1\r\n");
    sw_conn_drain(peer->conn, true);
    serve_until_idle(serve);
    fake_expect(peer, "+OK\r\n+OK\r\n+OK\r\n:1\r\n$1\r\n2\r\n");
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

/* --- a share of the iteration
 * ---------------------------------------------------------------------- */

/* Sends COMMAND `count` times, in one piece. */
static void send_reports(struct fake *peer, size_t count)
{
    static char reports[9 * 1000];
    cr_assert_leq(count * 9, sizeof(reports));
    for (size_t i = 0; i < count; i++) {
        memcpy(reports + i * 9, "COMMAND\r\n", 9);
    }
    cr_assert_eq(fake_send(peer, reports, count * 9), count * 9);
}

LOOP_TEST(resp_conn, reports_have_their_share_of_an_iteration)
{
    struct fake *reporter = serve_open(serve);
    struct fake *other = serve_open(serve);
    send_reports(reporter, 1000);
    cr_assert_eq(reporter->conn->stall, SW_STALL_YIELDED);
    cr_assert_eq(serve->loop->counters.turn_pauses, 1);
    size_t text = serve->loop->first.resp.filling->text.size;
    cr_assert(text >= SW_ITERATION_TEXT_BYTES && text < 2 * SW_ITERATION_TEXT_BYTES, "%zu", text);
    fake_say(other, "GET 1\r\n");
    serve_iteration(serve);
    fake_expect(other, "$-1\r\n");
    cr_assert_lt(reporter->out_bytes, 4 * SW_ITERATION_TEXT_BYTES);
    size_t each = reporter->out_bytes;
    serve_until_idle(serve);
    cr_assert_gt(reporter->out_bytes, 10 * each, "it gets all of them in the end");
    cr_assert_eq(reporter->conn->stall, SW_STALL_NONE);
    cr_assert_eq(serve->loop->counters.commands[SW_COMMAND_COMMAND], 1000);
}

SERVE_TEST(resp_conn, errors_have_their_share_of_an_iteration_too)
{
    static char lines[3 * 20000 + 1];
    for (int i = 0; i < 20000; i++) {
        memcpy(lines + (size_t)i * 3, "x\r\n", 3);
    }
    fake_say(peer, lines);
    cr_assert_neq(peer->conn->stall, SW_STALL_NONE);
    serve_until_idle(serve);
    cr_assert_eq(serve->loop->counters.command_errors, 20000);
}

/* Sixty connections have no more of an iteration than four. */
static void share_reports(struct serve *serve, unsigned each)
{
    enum { COUNT = 60 };
    static struct fake *peers[COUNT];
    size_t before = 0, most = 0;
    for (int i = 0; i < COUNT; i++) {
        peers[i] = serve_open(serve);
        send_reports(peers[i], each);
    }
    bool moved = true;
    while (moved) {
        size_t out = 0;
        moved = serve_iteration(serve);
        for (int i = 0; i < COUNT; i++) {
            out += peers[i]->out_bytes;
        }
        most = out - before > most ? out - before : most;
        before = out;
    }
    cr_assert_eq(serve->loop->counters.commands[SW_COMMAND_COMMAND], COUNT * each);
    cr_assert_lt(most, 3 * SW_ITERATION_TEXT_BYTES_ALL, "%zu bytes in one iteration", most);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(peers[i]->out_bytes, peers[0]->out_bytes, "everybody gets the same");
    }
}

LOOP_TEST(resp_conn, all_reports_together_have_their_share)
{
    share_reports(serve, 20);
}

/* Replies that pass the batches of a held table count likewise. */
LOOP_TEST(resp_conn, reports_beside_a_held_table_have_the_same_share)
{
    struct sw_phase_lock *lock = &((struct sw_cpu *)serve->table->memory)->lock;
    (void)sw_phase_lock_enter_uncounted(lock);
    sw_phase_lock_lengthen(lock);
    share_reports(serve, 1);
    sw_phase_lock_leave_write(lock);
}

/* Neither a request on a key nor a report starves behind connections that ask for many reports. */
LOOP_TEST(resp_conn, nobody_starves_behind_reports)
{
    enum { COUNT = 60 };
    static struct fake *peers[COUNT];
    struct fake *keys = serve_open(serve);
    struct fake *report = serve_open(serve);
    for (int i = 0; i < COUNT; i++) {
        peers[i] = serve_open(serve);
        send_reports(peers[i], 200);
    }
    fake_say(keys, "GET 1\r\n");
    fake_say(report, "PING\r\n");
    serve_iteration(serve);
    fake_expect(keys, "$-1\r\n");
    /* An iteration has room for the reports of four connections; the last of them lacks one report.
     */
    for (int iteration = 0; iteration < 2 * COUNT; iteration++) {
        serve_iteration(serve);
    }
    fake_expect(report, "+PONG\r\n");
    for (int i = 0; i < COUNT; i++) {
        cr_assert_gt(peers[i]->out_bytes, SW_ITERATION_TEXT_BYTES, "connection %d has had no share",
                     i);
    }
}

/* --- errors of the connection, in order ------------------------------------------------------- */

SERVE_TEST_WITH(resp_conn, the_time_out_comes_behind_earlier_replies,
                serve->config.request_timeout_ms = 1000)
{
    fake_say(peer, "SET 1 1\r\nGET 1\r\n*2\r\n$3\r\nGE");
    serve_pass(serve, 1001); /* the batch has not even been submitted */
    cr_assert_eq(serve->loop->counters.request_timeouts, 1);
    cr_assert_eq(peer->out_bytes, 0);
    serve_until_idle(serve);
    fake_expect(peer, "+OK\r\n$1\r\n1\r\n" TIMED_OUT);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

SERVE_TEST_WITH(resp_conn, the_time_out_waits_for_room, serve->config.request_timeout_ms = 1000)
{
    for (int i = 0; i < 1024; i++) {
        fake_say(peer, "PING\r\n"); /* the maximum of replies of a batch */
    }
    fake_say(peer, "*2\r\n$3\r\nGE");
    serve_pass(serve, 1001);
    cr_assert_eq(serve->loop->counters.request_timeouts, 0);
    serve_until_idle(serve);
    serve_pass(serve, SW_SWEEP_MS);
    cr_assert_eq(serve->loop->counters.request_timeouts, 1);
    serve_until_idle(serve);
    size_t at = 1024 * 7;
    cr_assert_eq(peer->out_bytes, at + strlen(TIMED_OUT));
    cr_assert_eq(memcmp(peer->out + at, TIMED_OUT, strlen(TIMED_OUT)), 0);
}

SERVE_TEST(resp_conn, a_protocol_error_comes_behind_earlier_replies)
{
    fake_say(peer, "SET 1 1\r\n*1\r\nx\r\nGET 1\r\n");
    serve_until_idle(serve);
    fake_expect(peer, "+OK\r\n-ERR Protocol error: expected '$', got 'x'\r\n");
    cr_assert_eq(serve->loop->counters.resp_protocol_errors, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

LOOP_TEST(resp_conn, one_that_passes_connections_max_is_told)
{
    struct fake *peer = fake_open(&serve->loop->net, true);
    fake_say(peer, "PING\r\n");
    serve_until_idle(serve);
    fake_expect(peer, "-ERR max number of clients reached\r\n");
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

SERVE_TEST_WITH(resp_conn, one_that_holds_too_much_input_is_told_behind_its_replies,
                serve->budget.bytes_max = 128 << 10)
{
    static char request[200 << 10] = "SET 1 1\r\n*2\r\n$4\r\nECHO\r\n$1000000\r\n";
    memset(request + strlen(request), 'x', sizeof(request) - strlen(request));
    fake_send(peer, request, sizeof(request));
    serve_until_idle(serve);
    fake_expect(peer,
                "+OK\r\n-ERR the memory for incomplete requests is used up (input-bytes-max)\r\n");
    cr_assert_eq(serve->loop->counters.input_memory_closes, 1);
}

/* The reply to a control command is not part of a batch, and must not be overtaken either. */
SERVE_TEST_WITH(resp_conn, one_that_holds_too_much_input_is_told_behind_a_control_command,
                serve->budget.bytes_max = 128 << 10)
{
    static char request[200 << 10] = "FLUSHALL\r\n*2\r\n$4\r\nECHO\r\n$1000000\r\n";
    memset(request + strlen(request), 'x', sizeof(request) - strlen(request));
    fake_send(peer, request, sizeof(request));
    serve_until_idle(serve);
    fake_expect(peer,
                "+OK\r\n-ERR the memory for incomplete requests is used up (input-bytes-max)\r\n");
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(serve->loop->counters.input_memory_closes, 1);
}

SERVE_TEST(resp_conn, http_is_closed_without_a_word)
{
    sw_log_init(SW_LOG_ERROR);
    fake_say(peer, "POST / HTTP/1.1\r\nHost: x\r\n\r\n");
    serve_until_idle(serve);
    fake_expect(peer, "");
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

SERVE_TEST(resp_conn, quit_is_the_last_command)
{
    fake_say(peer, "SET 1 1\r\nQUIT\r\nSET 1 2\r\n");
    serve_until_idle(serve);
    fake_expect(peer, "+OK\r\n+OK\r\n");
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}
