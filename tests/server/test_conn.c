/* SPDX-License-Identifier: MIT
 *
 * test_conn.c - the states of a connection: how each begins and ends, whatever is in flight, unsent
 * or half received then.
 */
#include "tests/server/toy_protocol.h"

/* --- beginning -------------------------------------------------------------------------------- */

TOY_TEST(conn, a_new_one_reads_and_is_counted)
{
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    cr_assert(peer->reading);
    cr_assert_null(peer->conn->protocol);
    cr_assert_eq(toy->net.connections, 1);
    cr_assert_eq(toy->counters.connections_accepted, 1);
    sw_net_check(&toy->net);
    fake_fini(peer);
    cr_assert_eq(toy->counters.connections_closed, 1);
}

/* Numbers of connections are unique among the loops of a server. */
NET_TEST(conn, ids_go_on_in_steps_of_the_loops)
{
    struct fake *peers[3];
    toy->net.next_id = 2;
    toy->net.id_step = 4;
    for (uint64_t i = 0; i < 3; i++) {
        peers[i] = toy_peer(toy);
        cr_assert_eq(peers[i]->conn->peer.id, 2 + 4 * i);
    }
}

NET_TEST(conn, the_first_byte_chooses_the_protocol)
{
    struct fake *hash = toy_peer(toy);
    struct fake *lines = toy_peer(toy);
    fake_say(hash, "#");
    fake_say(lines, "r");
    cr_assert_eq(hash->conn->protocol, &toy_hash);
    cr_assert_eq(lines->conn->protocol, &toy_lines);
    fake_say(lines, "#\n"); /* the choice stays */
    cr_assert_eq(lines->conn->protocol, &toy_lines);
    cr_assert_eq(toy->opened, 2);
}

TOY_TEST(conn, one_that_says_nothing_has_no_protocol_to_close)
{
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->closes, 1);
    cr_assert(fake_deliver_closed(peer));
    cr_assert_eq(toy->opened, 0);
}

/* --- the end of input ------------------------------------------------------------------------- */

TOY_TEST(conn, the_end_of_input_closes_an_idle_one)
{
    fake_say(peer, "r\n");
    sw_conn_request_done(peer->conn, false);
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(peer->shutdowns, 0, "no shutdown is sent to a peer that has ended");
}

TOY_TEST(conn, the_end_of_input_waits_for_what_is_in_flight)
{
    fake_say(peer, "r\nr\n");
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->conn->state, SW_CONN_DRAINING);
    cr_assert_not(peer->reading);
    sw_conn_request_done(peer->conn, false);
    sw_net_check(&toy->net);
    cr_assert_eq(peer->conn->state, SW_CONN_DRAINING);
    sw_conn_request_done(peer->conn, false);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

TOY_TEST(conn, the_end_of_input_waits_for_what_is_unsent)
{
    fake_say(peer, "r\n");
    toy_queue(peer->conn, 10);
    sw_conn_request_done(peer->conn, false);
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->conn->state, SW_CONN_DRAINING);
    toy_sent(peer->conn, 9);
    cr_assert_eq(peer->conn->state, SW_CONN_DRAINING);
    toy_sent(peer->conn, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

TOY_TEST(conn, the_end_of_input_drops_half_a_request)
{
    fake_say(peer, "=100\nabc");
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(toy->logged, 0);
}

TOY_TEST(conn, the_end_of_input_drops_half_a_body)
{
    fake_say(peer, "b100\nabc");
    cr_assert(peer->conn->receives_body);
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_not(peer->conn->receives_body);
}

/* The server executes every complete request, even if later. */
TOY_TEST(conn, the_end_of_input_keeps_input_that_waits)
{
    fake_say(peer, "r\ns1\nr\n");
    /* reading has stopped, so the end is not seen: a shutdown, say */
    sw_conn_drain(peer->conn, true);
    cr_assert_eq(peer->conn->state, SW_CONN_DRAINING);
    sw_conn_request_done(peer->conn, false);
    cr_assert_eq(peer->conn->state, SW_CONN_DRAINING, "it has more to do");
    toy->has = toy->net.retry = true;
    toy_iteration(toy);
    cr_assert_str_eq(toy->log, "rsr");
    sw_conn_request_done(peer->conn, false);
    sw_conn_request_done(peer->conn, false);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

TOY_TEST(conn, an_error_of_the_socket_closes_at_once)
{
    fake_say(peer, "r\n");
    struct sw_conn *conn = peer->conn;
    fake_end(peer, UV_ECONNRESET);
    cr_assert_eq(conn->state, SW_CONN_CLOSED);
    cr_assert(fake_deliver_closed(peer));
    cr_assert_eq(toy->closed, 0, "its request is in flight");
    sw_conn_request_done(conn, false); /* frees it */
    cr_assert_eq(toy->closed, 1);
}

/* --- draining and lingering ------------------------------------------------------------------- */

TOY_TEST(conn, draining_ends_in_an_orderly_shutdown)
{
    fake_say(peer, "r\nd\nr\n");
    cr_assert_eq(peer->conn->state, SW_CONN_DRAINING);
    cr_assert_str_eq(toy->log, "rr", "what had come with it");
    cr_assert_eq(peer->shutdowns, 0);
    sw_conn_request_done(peer->conn, false);
    sw_conn_request_done(peer->conn, false);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(peer->shutdowns, 1);
    cr_assert_eq(peer->closes, 0, "unread input would reset the connection");
    cr_assert(peer->reading);
}

TOY_TEST(conn, a_draining_one_reads_no_more)
{
    fake_say(peer, "r\n");
    sw_conn_drain(peer->conn, false);
    cr_assert_not(peer->reading);
    cr_assert_eq(fake_say(peer, "r\n"), 0);
}

TOY_TEST(conn, a_lingering_one_drops_what_comes)
{
    fake_say(peer, "d\n");
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(fake_say(peer, "r\nr\n=100\n"), 9);
    cr_assert_eq(toy->logged, 0);
    cr_assert_eq(sw_input_held(&peer->conn->input), 0);
    sw_net_check(&toy->net);
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

TOY_TEST(conn, lingering_has_its_time)
{
    fake_say(peer, "d\n");
    toy_pass(toy, SW_LINGER_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
    toy_pass(toy, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

TOY_TEST(conn, draining_forgets_half_a_request)
{
    fake_say(peer, "r\n=1000\nabc");
    sw_conn_drain(peer->conn, true);
    cr_assert_eq(sw_input_held(&peer->conn->input), 0);
    cr_assert_eq(peer->conn->times.request_since, 0);
    sw_conn_request_done(peer->conn, false);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

/* A second reason to close may be stronger than the first. */
TOY_TEST(conn, draining_again_may_drop_the_input_that_was_kept)
{
    fake_say(peer, "s1\nr\n");
    sw_conn_drain(peer->conn, true);
    cr_assert_eq(toy->net.stalled_count, 1);
    sw_conn_drain(peer->conn, false);
    cr_assert_eq(toy->net.stalled_count, 0);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

NET_TEST(conn, a_shutdown_drains_every_one)
{
    struct fake *busy = toy_peer(toy);
    struct fake *idle = toy_peer(toy);
    fake_say(busy, "r\n");
    sw_net_drain(&toy->net);
    cr_assert_eq(idle->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(busy->conn->state, SW_CONN_DRAINING);
    sw_conn_request_done(busy->conn, false);
    sw_net_sweep(&toy->net, true);
    cr_assert_eq(idle->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(busy->conn->state, SW_CONN_CLOSED);
}

/* --- abort ------------------------------------------------------------------------------------ */

TOY_TEST(conn, aborting_again_changes_nothing)
{
    fake_say(peer, "r\n");
    struct sw_conn *conn = peer->conn;
    sw_conn_abort(conn);
    sw_conn_abort(conn);
    sw_conn_drain(conn, false);
    cr_assert_eq(peer->closes, 1);
    cr_assert_eq(toy->dropped_outputs, 1);
    sw_net_check(&toy->net);
    sw_conn_request_done(conn, false);
}

TOY_TEST(conn, the_protocol_may_abort_while_it_is_fed)
{
    fake_say(peer, "r\na\nr\n");
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_str_eq(toy->log, "r");
    cr_assert_eq(sw_input_held(&peer->conn->input), 0);
}

TOY_TEST(conn, the_protocol_may_abort_while_held_input_is_fed)
{
    fake_say(peer, "a");
    fake_say(peer, "\nr\n");
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_null(peer->conn->input.bytes);
}

NET_TEST(conn, the_protocol_may_abort_when_it_is_resumed)
{
    struct fake *peer = toy_peer(toy);
    struct fake *other = toy_peer(toy);
    fake_say(peer, "s1\na\n");
    fake_say(other, "s1\n");
    toy->has = toy->net.retry = true;
    toy_iteration(toy);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_str_eq(toy->log, "ss", "the other one has its turn");
}

TOY_TEST(conn, the_protocol_may_abort_when_a_body_comes)
{
    fake_say(peer, "b10\n");
    toy->aborts_body = true;
    cr_assert_eq(fake_say(peer, "0123456789"), 10);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_not(peer->conn->receives_body);
}

TOY_TEST(conn, the_protocol_may_abort_when_bytes_have_left)
{
    static char reply[] = "reply";
    uv_buf_t buffer = uv_buf_init(reply, 5);
    fake_say(peer, "r\n");
    cr_assert_eq(sw_transport_write(peer->transport, &buffer, 1), 0);
    toy->aborts_written = true;
    fake_take_all(peer);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

/* The transport has the bytes until it says so, and says so before it is closed. */
TOY_TEST(conn, closing_waits_for_bytes_that_are_being_written)
{
    static char reply[] = "reply";
    uv_buf_t buffer = uv_buf_init(reply, 5);
    fake_say(peer, "r\n");
    struct sw_conn *conn = peer->conn;
    cr_assert_eq(sw_transport_write(peer->transport, &buffer, 1), 0);
    sw_conn_abort(conn);
    sw_conn_request_done(conn, false);
    cr_assert_eq(toy->closed, 0);
    cr_assert(fake_deliver_closed(peer));
    cr_assert_eq(toy->written, 1);
    cr_assert_eq(toy->written_status, UV_ECANCELED);
    cr_assert_eq(toy->closed, 1);
}

/* --- a refused connection --------------------------------------------------------------------- */

NET_TEST(conn, a_refused_one_is_told_in_its_protocol)
{
    struct fake *hash = fake_open(&toy->net, true);
    struct fake *lines = fake_open(&toy->net, true);
    cr_assert_eq(toy->net.connections, 0);
    cr_assert_eq(toy->net.refused, 2);
    fake_say(hash, "#r\nr\n");
    cr_assert_eq(hash->conn->protocol, &toy_hash);
    cr_assert_eq(toy->refusal, SW_REFUSAL_TOO_MANY_CONNECTIONS);
    cr_assert_eq(hash->conn->state, SW_CONN_LINGERING);
    fake_say(lines, "r");
    cr_assert_eq(lines->conn->protocol, &toy_lines);
    cr_assert_eq(toy->refusals, 2);
    cr_assert_eq(toy->logged, 0, "the server executes no request of it");
    sw_net_check(&toy->net);
    fake_fini(hash);
    fake_fini(lines);
    cr_assert_eq(toy->counters.connections_accepted, 0);
    cr_assert_eq(toy->net.refused, 0);
}

NET_TEST(conn, a_refused_one_that_keeps_silent_is_told_in_the_last_protocol)
{
    struct fake *peer = fake_open(&toy->net, true);
    toy_pass(toy, SW_REFUSED_MS);
    cr_assert_eq(toy->refusals, 0);
    toy_pass(toy, 1);
    cr_assert_eq(toy->refusals, 1);
    cr_assert_eq(peer->conn->protocol, &toy_lines);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

NET_TEST(conn, a_refused_one_is_told_later_if_there_is_no_room_now)
{
    struct fake *peer = fake_open(&toy->net, true);
    toy->cannot_refuse = true;
    fake_say(peer, "#r\n");
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    toy->cannot_refuse = false;
    toy_pass(toy, SW_REFUSED_MS + 1);
    cr_assert_eq(toy->refusals, 1);
    cr_assert_eq(peer->conn->protocol, &toy_hash);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}
