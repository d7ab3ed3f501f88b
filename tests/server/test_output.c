/* SPDX-License-Identifier: MIT
 *
 * test_output.c - replies in RESP on their way to a peer that takes them as it likes.
 */
#include "server/resp/output.h"
#include "tests/server/serve_fixture.h"

static void begin(struct serve *serve, struct fake *peer)
{
    serve_ask(serve, peer, "PING\r\n", "+PONG\r\n");
    peer->tries = peer->writes = 0;
}

/* A test of a connection that speaks RESP and has nothing to send. */
#define OUTPUT_TEST(name)                                                  \
    static void name(struct serve *serve, struct fake *peer);              \
    SERVE_TEST_WITH(output, name, serve->config.output_bytes_pause = 1000; \
                    serve->config.output_bytes_max = 100000)               \
    {                                                                      \
        begin(serve, peer);                                                \
        name(serve, peer);                                                 \
    }                                                                      \
    static void name(struct serve *serve, struct fake *peer)

static void send_text(struct serve *serve, struct fake *peer, const char *text)
{
    sw_resp_send(sw_resp_of(peer->conn), text, strlen(text));
    serve_check(serve);
}

OUTPUT_TEST(what_the_socket_takes_is_not_kept)
{
    send_text(serve, peer, "hello");
    fake_expect(peer, "hello");
    cr_assert_eq(peer->writes, 0);
    cr_assert_eq(sw_conn_unsent_bytes(peer->conn), 0);
}

OUTPUT_TEST(nothing_is_sent_for_nothing)
{
    send_text(serve, peer, "");
    cr_assert_eq(peer->tries, 0);
}

OUTPUT_TEST(the_rest_follows_wherever_the_socket_stops)
{
    for (size_t takes = 0; takes <= 6; takes++) {
        peer->takes = takes;
        send_text(serve, peer, "hello");
        cr_assert_eq(sw_conn_unsent_bytes(peer->conn), takes < 5 ? 5 - takes : 0);
        fake_take_all(peer);
        fake_expect(peer, "hello");
        cr_assert_eq(sw_conn_unsent_bytes(peer->conn), 0);
    }
}

/* While one buffer is written the other one gathers; the order stays. */
OUTPUT_TEST(later_replies_wait_behind_earlier_ones)
{
    peer->takes = 1;
    send_text(serve, peer, "one,");
    send_text(serve, peer, "two,");
    send_text(serve, peer, "three");
    cr_assert_eq(peer->tries, 1, "nothing overtakes what waits");
    cr_assert_eq(peer->writes, 1);
    cr_assert_eq(sw_conn_unsent_bytes(peer->conn), 12);
    fake_take(peer, 2);
    fake_expect(peer, "one");
    fake_take(peer, 1);
    cr_assert_eq(peer->writes, 2, "the gathered ones leave together");
    cr_assert_eq(peer->queued, 9);
    fake_take_all(peer);
    fake_expect(peer, ",two,three");
    peer->takes = SIZE_MAX;
    send_text(serve, peer, "four");
    cr_assert_eq(peer->tries, 2, "and then it is tried at once again");
    fake_expect(peer, "four");
}

OUTPUT_TEST(unsent_replies_stop_reading)
{
    char text[1002];
    memset(text, 'x', sizeof(text));
    text[1001] = '\0';
    peer->takes = 0;
    send_text(serve, peer, text);
    cr_assert_not(peer->reading);
    cr_assert_eq(serve->loop->counters.output_pauses, 1);
    fake_take_all(peer);
    cr_assert(peer->reading);
}

OUTPUT_TEST(one_that_never_reads_is_closed)
{
    static char text[50001];
    memset(text, 'x', sizeof(text) - 1);
    peer->takes = 0;
    send_text(serve, peer, text);
    send_text(serve, peer, text);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN, "100,000 bytes may be");
    send_text(serve, peer, "x");
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(serve->loop->counters.output_limit_closes, 1);
}

OUTPUT_TEST(an_error_closes)
{
    peer->try_error = UV_EPIPE;
    send_text(serve, peer, "hello");
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

OUTPUT_TEST(an_error_of_the_write_closes)
{
    peer->takes = 0;
    peer->write_error = UV_ENOMEM;
    send_text(serve, peer, "hello");
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

OUTPUT_TEST(an_error_on_the_way_closes)
{
    peer->takes = 0;
    send_text(serve, peer, "hello");
    send_text(serve, peer, "again");
    uint64_t before = serve->loop->counters.net_output_bytes;
    fake_lose(peer, UV_ECONNRESET);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(serve->loop->counters.net_output_bytes, before, "it was not sent");
}

/* The transport writes from the buffer until it says that it does not. */
OUTPUT_TEST(closing_leaves_the_buffer_to_the_transport)
{
    peer->takes = 0;
    send_text(serve, peer, "hello");
    sw_conn_abort(peer->conn);
    serve_check(serve);
    cr_assert_eq(memcmp(peer->pieces[0].base, "hello", 5), 0);
    cr_assert(fake_deliver_closed(peer));
}

OUTPUT_TEST(nothing_is_sent_after_the_end)
{
    sw_conn_drain(peer->conn, false);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
    send_text(serve, peer, "late");
    fake_expect(peer, "");
}

OUTPUT_TEST(draining_sends_everything_first)
{
    peer->takes = 0;
    send_text(serve, peer, "one,");
    send_text(serve, peer, "two");
    sw_conn_drain(peer->conn, false);
    cr_assert_eq(peer->shutdowns, 0);
    fake_take(peer, 4);
    cr_assert_eq(peer->shutdowns, 0);
    fake_take(peer, 3);
    cr_assert_eq(peer->shutdowns, 1);
    fake_expect(peer, "one,two");
}

/* A large buffer is for one large reply; it is not kept for good. */
OUTPUT_TEST(large_buffers_are_given_back)
{
    static char text[50001];
    memset(text, 'x', sizeof(text) - 1);
    peer->takes = 0;
    send_text(serve, peer, text);
    fake_take_all(peer);
    const struct sw_resp_output *unsent = &sw_resp_of(peer->conn)->output;
    cr_assert_eq(unsent->unsent[0].capacity + unsent->unsent[1].capacity, 0);
    send_text(serve, peer, "small");
    fake_take_all(peer);
    cr_assert_gt(unsent->unsent[0].capacity + unsent->unsent[1].capacity, 0, "a small one is");
}

OUTPUT_TEST(every_byte_is_counted_once)
{
    uint64_t before = serve->loop->counters.net_output_bytes;
    peer->takes = 3;
    send_text(serve, peer, "hello");
    send_text(serve, peer, "again");
    fake_take_all(peer);
    cr_assert_eq(serve->loop->counters.net_output_bytes - before, 10);
}
