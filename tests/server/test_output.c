/* SPDX-License-Identifier: MIT
 *
 * test_output.c - replies in RESP on their way to a peer that takes them as it likes.
 */
#include "server/resp/output.h"
#include "tests/server/serve_fixture.h"

struct output {
    struct serve serve;
    struct fake peer;
};

/* A connection that speaks RESP and has nothing to send. */
static struct output *create(void)
{
    struct output *output = calloc(1, sizeof(*output));
    cr_assert_not_null(output);
    serve_init(&output->serve);
    output->serve.config.output_bytes_pause = 1000;
    output->serve.config.output_bytes_max = 100000;
    serve_start(&output->serve);
    serve_open(&output->serve, &output->peer);
    serve_ask(&output->serve, &output->peer, "PING\r\n", "+PONG\r\n");
    output->peer.tries = output->peer.writes = 0;
    return output;
}

static void destroy(struct output *output)
{
    serve_close(&output->serve, &output->peer);
    serve_stop_loop(&output->serve);
    free(output);
}

static void send_text(struct output *output, const char *text)
{
    sw_resp_send(sw_resp_of(output->peer.conn), text, strlen(text));
    serve_check(&output->serve);
}

Test(output, what_the_socket_takes_is_not_kept)
{
    struct output *output = create();
    send_text(output, "hello");
    fake_expect(&output->peer, "hello");
    cr_assert_eq(output->peer.writes, 0);
    cr_assert_eq(sw_conn_unsent_bytes(output->peer.conn), 0);
    destroy(output);
}

Test(output, nothing_is_sent_for_nothing)
{
    struct output *output = create();
    send_text(output, "");
    cr_assert_eq(output->peer.tries, 0);
    destroy(output);
}

Test(output, the_rest_follows_wherever_the_socket_stops)
{
    for (size_t takes = 0; takes <= 6; takes++) {
        struct output *output = create();
        output->peer.takes = takes;
        send_text(output, "hello");
        cr_assert_eq(sw_conn_unsent_bytes(output->peer.conn), takes < 5 ? 5 - takes : 0);
        fake_take_all(&output->peer);
        fake_expect(&output->peer, "hello");
        cr_assert_eq(sw_conn_unsent_bytes(output->peer.conn), 0);
        destroy(output);
    }
}

/* While one buffer is written the other one gathers; the order stays. */
Test(output, later_replies_wait_behind_earlier_ones)
{
    struct output *output = create();
    output->peer.takes = 1;
    send_text(output, "one,");
    send_text(output, "two,");
    send_text(output, "three");
    cr_assert_eq(output->peer.tries, 1, "nothing overtakes what waits");
    cr_assert_eq(output->peer.writes, 1);
    cr_assert_eq(sw_conn_unsent_bytes(output->peer.conn), 12);
    fake_take(&output->peer, 2);
    fake_expect(&output->peer, "one");
    fake_take(&output->peer, 1);
    cr_assert_eq(output->peer.writes, 2, "the gathered ones leave together");
    cr_assert_eq(output->peer.queued, 9);
    fake_take_all(&output->peer);
    fake_expect(&output->peer, ",two,three");
    output->peer.takes = SIZE_MAX;
    send_text(output, "four");
    cr_assert_eq(output->peer.tries, 2, "and then it is tried at once again");
    fake_expect(&output->peer, "four");
    destroy(output);
}

Test(output, unsent_replies_stop_reading)
{
    struct output *output = create();
    char text[1002];
    memset(text, 'x', sizeof(text));
    text[1001] = '\0';
    output->peer.takes = 0;
    send_text(output, text);
    cr_assert_not(output->peer.reading);
    cr_assert_eq(output->serve.loop->counters.output_pauses, 1);
    fake_take_all(&output->peer);
    cr_assert(output->peer.reading);
    destroy(output);
}

Test(output, one_that_never_reads_is_closed)
{
    struct output *output = create();
    static char text[50001];
    memset(text, 'x', sizeof(text) - 1);
    output->peer.takes = 0;
    send_text(output, text);
    send_text(output, text);
    cr_assert_eq(output->peer.conn->state, SW_CONN_OPEN, "100,000 bytes may be");
    send_text(output, "x");
    cr_assert_eq(output->peer.conn->state, SW_CONN_CLOSED);
    cr_assert_eq(output->serve.loop->counters.output_limit_closes, 1);
    destroy(output);
}

Test(output, an_error_closes)
{
    struct output *output = create();
    output->peer.try_error = UV_EPIPE;
    send_text(output, "hello");
    cr_assert_eq(output->peer.conn->state, SW_CONN_CLOSED);
    destroy(output);
}

Test(output, an_error_of_the_write_closes)
{
    struct output *output = create();
    output->peer.takes = 0;
    output->peer.write_error = UV_ENOMEM;
    send_text(output, "hello");
    cr_assert_eq(output->peer.conn->state, SW_CONN_CLOSED);
    destroy(output);
}

Test(output, an_error_on_the_way_closes)
{
    struct output *output = create();
    output->peer.takes = 0;
    send_text(output, "hello");
    send_text(output, "again");
    uint64_t before = output->serve.loop->counters.net_output_bytes;
    fake_lose(&output->peer, UV_ECONNRESET);
    cr_assert_eq(output->peer.conn->state, SW_CONN_CLOSED);
    cr_assert_eq(output->serve.loop->counters.net_output_bytes, before, "it was not sent");
    destroy(output);
}

/* The transport writes from the buffer until it says that it does not. */
Test(output, closing_leaves_the_buffer_to_the_transport)
{
    struct output *output = create();
    output->peer.takes = 0;
    send_text(output, "hello");
    sw_conn_abort(output->peer.conn);
    serve_check(&output->serve);
    cr_assert_eq(memcmp(output->peer.pieces[0].base, "hello", 5), 0);
    cr_assert(fake_deliver_closed(&output->peer));
    destroy(output);
}

Test(output, nothing_is_sent_after_the_end)
{
    struct output *output = create();
    sw_conn_drain(output->peer.conn, false);
    cr_assert_eq(output->peer.conn->state, SW_CONN_LINGERING);
    send_text(output, "late");
    fake_expect(&output->peer, "");
    destroy(output);
}

Test(output, draining_sends_everything_first)
{
    struct output *output = create();
    output->peer.takes = 0;
    send_text(output, "one,");
    send_text(output, "two");
    sw_conn_drain(output->peer.conn, false);
    cr_assert_eq(output->peer.shutdowns, 0);
    fake_take(&output->peer, 4);
    cr_assert_eq(output->peer.shutdowns, 0);
    fake_take(&output->peer, 3);
    cr_assert_eq(output->peer.shutdowns, 1);
    fake_expect(&output->peer, "one,two");
    destroy(output);
}

/* A large buffer is for one large reply; it is not kept for good. */
Test(output, large_buffers_are_given_back)
{
    struct output *output = create();
    static char text[50001];
    memset(text, 'x', sizeof(text) - 1);
    output->peer.takes = 0;
    send_text(output, text);
    fake_take_all(&output->peer);
    const struct sw_resp_output *unsent = &sw_resp_of(output->peer.conn)->output;
    cr_assert_eq(unsent->unsent[0].capacity + unsent->unsent[1].capacity, 0);
    send_text(output, "small");
    fake_take_all(&output->peer);
    cr_assert_gt(unsent->unsent[0].capacity + unsent->unsent[1].capacity, 0, "a small one is");
    destroy(output);
}

Test(output, every_byte_is_counted_once)
{
    struct output *output = create();
    uint64_t before = output->serve.loop->counters.net_output_bytes;
    output->peer.takes = 3;
    send_text(output, "hello");
    send_text(output, "again");
    fake_take_all(&output->peer);
    cr_assert_eq(output->serve.loop->counters.net_output_bytes - before, 10);
    destroy(output);
}
