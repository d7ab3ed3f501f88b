/* SPDX-License-Identifier: MIT
 *
 * test_conn_deadlines.c - what closes a connection that waits too long, and what does not count.
 */
#include "tests/server/toy_protocol.h"

enum { REQUEST_MS = TOY_REQUEST_MS, WRITE_MS = TOY_WRITE_MS };

/* --- requests --------------------------------------------------------------------------------- */

TOY_TEST(conn_deadlines, half_a_request_times_out)
{
    fake_say(peer, "=100\nabc");
    toy_pass(toy, REQUEST_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    toy_pass(toy, 1);
    cr_assert_eq(toy->refusal, SW_REFUSAL_TIMED_OUT);
    cr_assert_eq(toy->counters.request_timeouts, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

TOY_TEST(conn_deadlines, half_a_body_times_out)
{
    fake_say(peer, "b100\nabc");
    toy_pass(toy, REQUEST_MS + 1);
    cr_assert_eq(toy->counters.request_timeouts, 1);
    cr_assert_not(peer->conn->receives_body);
}

TOY_TEST(conn_deadlines, whole_requests_do_not)
{
    fake_say(peer, "r\nb3\nabc");
    toy_pass(toy, 100 * REQUEST_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
}

/* One byte now and then does not make a request arrive. */
TOY_TEST(conn_deadlines, more_bytes_of_the_same_request_win_no_time)
{
    fake_say(peer, "=100\n");
    for (int i = 0; i < 3; i++) {
        toy_pass(toy, REQUEST_MS / 3);
        fake_say(peer, "x");
    }
    toy_pass(toy, 1);
    cr_assert_eq(toy->counters.request_timeouts, 1);
}

TOY_TEST(conn_deadlines, the_next_request_has_its_own_time)
{
    fake_say(peer, "=8\n");
    toy_pass(toy, REQUEST_MS - 1);
    fake_say(peer, "abcd\n=8\n");
    toy_pass(toy, REQUEST_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    toy_pass(toy, 1);
    cr_assert_eq(toy->counters.request_timeouts, 1);
}

TOY_TEST(conn_deadlines, a_timed_out_one_that_cannot_be_told_is_told_in_the_next_sweep)
{
    fake_say(peer, "=100\n");
    toy->cannot_refuse = true;
    toy_pass(toy, REQUEST_MS + 1);
    cr_assert_eq(toy->counters.request_timeouts, 0);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    toy->cannot_refuse = false;
    toy_pass(toy, SW_SWEEP_MS);
    cr_assert_eq(toy->counters.request_timeouts, 1);
}

TOY_TEST(conn_deadlines, a_stalled_one_has_all_the_time)
{
    fake_say(peer, "s1\n=100\n");
    toy_pass(toy, 100 * REQUEST_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    toy->has = toy->net.retry = true;
    toy_iteration(toy);
    toy_pass(toy, REQUEST_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN, "its time began again");
}

TOY_TEST(conn_deadlines, a_paused_one_is_not_to_blame_for_its_request)
{
    toy->config.write_timeout_ms = 0;
    fake_say(peer, "r\n=100\n");
    toy_queue(peer->conn, toy->config.output_bytes_pause + 1);
    toy_pass(toy, 100 * REQUEST_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
}

TOY_TEST(conn_deadlines, none_is_none)
{
    toy->config.request_timeout_ms = toy->config.write_timeout_ms = 0;
    fake_say(peer, "r\n=100\n");
    toy_queue(peer->conn, 10);
    toy_pass(toy, 1);
    toy_pass(toy, 1000ULL * REQUEST_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
}

/* Where others wait for the memory that it lies in. */
static void half_a_body_has_less_time(struct toy *toy, const char *stall)
{
    struct fake *slow = toy_peer(toy);
    struct fake *lines = toy_peer(toy);
    fake_say(slow, "b100\nabc");
    fake_say(lines, "=100\n");
    toy_pass(toy, SW_FRAME_STALL_MS + 1);
    cr_assert_eq(slow->conn->state, SW_CONN_OPEN);
    struct fake *waiting = toy_peer(toy);
    fake_say(waiting, stall);
    fake_say(slow, "d");
    toy_pass(toy, SW_FRAME_STALL_MS);
    cr_assert_eq(slow->conn->state, SW_CONN_OPEN, "it still sends");
    toy_pass(toy, 1);
    cr_assert_eq(slow->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(lines->conn->state, SW_CONN_OPEN, "it has no such memory");
}

NET_TEST(conn_deadlines, half_a_body_has_less_time_when_memory_is_short)
{
    half_a_body_has_less_time(toy, "s3\n"); /* SW_STALL_ARENA */
}

NET_TEST(conn_deadlines, half_a_body_has_less_time_when_a_held_table_has_no_more)
{
    half_a_body_has_less_time(toy, "s4\n"); /* SW_STALL_HELD */
}

/* The server did not read it meanwhile. */
NET_TEST(conn_deadlines, a_body_behind_a_stall_has_its_time_when_memory_is_short)
{
    struct fake *stalled = toy_peer(toy);
    struct fake *waiting = toy_peer(toy);
    fake_say(stalled, "s1\nb100\nabc");
    toy_pass(toy, 10 * SW_FRAME_STALL_MS);
    toy->has = toy->net.retry = true;
    toy_iteration(toy);
    cr_assert(stalled->conn->receives_body);
    toy->has = false;
    fake_say(waiting, "s3\n"); /* SW_STALL_ARENA */
    toy_pass(toy, SW_FRAME_STALL_MS);
    cr_assert_eq(stalled->conn->state, SW_CONN_OPEN);
    toy_pass(toy, 1);
    cr_assert_eq(toy->counters.request_timeouts, 1);
}

/* --- replies ---------------------------------------------------------------------------------- */

TOY_TEST(conn_deadlines, a_peer_that_takes_nothing_is_closed)
{
    fake_say(peer, "r\n");
    toy_queue(peer->conn, 100);
    toy_pass(toy, 1); /* noted */
    toy_pass(toy, WRITE_MS);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    toy_pass(toy, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(toy->counters.write_timeouts, 1);
}

TOY_TEST(conn_deadlines, a_peer_that_takes_little_is_not)
{
    fake_say(peer, "r\n");
    toy_queue(peer->conn, 100);
    toy_pass(toy, 1);
    for (int i = 0; i < 10; i++) {
        toy_pass(toy, WRITE_MS);
        toy_sent(peer->conn, 1);
        toy_pass(toy, 1);
    }
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
}

TOY_TEST(conn_deadlines, a_draining_one_has_to_take_its_replies_too)
{
    fake_say(peer, "r\n");
    toy_queue(peer->conn, 100);
    toy_answer_all(peer);
    sw_conn_drain(peer->conn, false);
    toy_pass(toy, 1);
    toy_pass(toy, WRITE_MS + 1);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

NET_TEST(conn_deadlines, replies_have_less_time_when_memory_is_short)
{
    struct fake *peer = toy_peer(toy);
    struct fake *waiting = toy_peer(toy);
    fake_say(peer, "#r\n");
    toy_queue(peer->conn, 100);
    toy_pass(toy, 1);
    toy_pass(toy, SW_FRAME_STALL_MS + 1);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    fake_say(waiting, "s3\n");
    toy_pass(toy, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
}

/* --- idleness --------------------------------------------------------------------------------- */

TOY_TEST(conn_deadlines, an_idle_one_is_closed_in_an_orderly_way)
{
    toy->config.idle_timeout_ms = 700;
    fake_say(peer, "r\n");
    toy_pass(toy, 10000);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN, "a request is in flight");
    toy_answer_all(peer);
    fake_say(peer, "r\n");
    toy_answer_all(peer);
    toy_pass(toy, 700);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    toy_pass(toy, 1);
    cr_assert_eq(toy->counters.idle_timeouts, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

TOY_TEST(conn_deadlines, who_waits_is_not_idle)
{
    toy->config.idle_timeout_ms = 700;
    fake_say(peer, "s1\n");
    toy_pass(toy, 10000);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
}

/* --- time that was not the peers' ------------------------------------------------------------- */

/* The loop does not check the deadlines for `ms`, and then checks them. */
static void look_away(struct toy *toy, uint64_t ms)
{
    toy->uv.time += ms;
    sw_net_move_deadlines(&toy->net, ms);
    sw_net_sweep(&toy->net, false);
    sw_net_check(&toy->net);
}

NET_TEST(conn_deadlines, time_that_is_forgiven_does_not_count)
{
    struct fake *half = toy_peer(toy);
    struct fake *slow = toy_peer(toy);
    struct fake *idle = toy_peer(toy);
    struct fake *leaving = toy_peer(toy);
    fake_say(half, "=100\n");
    fake_say(slow, "r\n");
    fake_say(leaving, "d\n");
    toy_queue(slow->conn, 100);
    toy_pass(toy, 1);
    toy->config.idle_timeout_ms = 700;
    look_away(toy, 10 * WRITE_MS);
    cr_assert_eq(half->conn->state, SW_CONN_OPEN);
    cr_assert_eq(slow->conn->state, SW_CONN_OPEN);
    cr_assert_eq(idle->conn->state, SW_CONN_OPEN);
    cr_assert_eq(leaving->conn->state, SW_CONN_LINGERING);
    toy_answer_all(slow);
    toy->config.idle_timeout_ms = 0;
    toy_pass(toy, WRITE_MS + 1);
    cr_assert_eq(half->conn->state, SW_CONN_LINGERING, "the rest of its time is over");
    cr_assert_eq(slow->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(leaving->conn->state, SW_CONN_CLOSED);
}

TOY_TEST(conn_deadlines, nothing_is_moved_past_now)
{
    toy->uv.time += 100;
    fake_say(peer, "=100\n");
    toy->uv.time += 5;
    sw_net_move_deadlines(&toy->net, 1000);
    cr_assert_eq(peer->conn->times.request_since, toy->uv.time);
    cr_assert_eq(peer->conn->times.input_at, toy->uv.time);
}

TOY_TEST(conn_deadlines, what_did_not_happen_is_not_moved)
{
    fake_say(peer, "r\n");
    sw_net_move_deadlines(&toy->net, 1000);
    cr_assert_eq(peer->conn->times.request_since, 0);
    cr_assert_eq(peer->conn->times.linger_since, 0);
}
