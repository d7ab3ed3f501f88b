/* SPDX-License-Identifier: MIT
 *
 * test_conn_input.c - what a connection receives: in whatever pieces, and in how much memory.
 */
#include "tests/server/toy_protocol.h"

enum { KIB = 1024 };

/* The peer sends the first `size` bytes of a request of `whole`. */
static size_t send_part(struct fake *peer, size_t whole, size_t size)
{
    static char bytes[1 << 20];
    int head = snprintf(bytes, sizeof(bytes), "=%zu\n", whole);
    memset(bytes + head, 'x', sizeof(bytes) - (size_t)head);
    return fake_send(peer, bytes, size);
}

/* --- pieces ----------------------------------------------------------------------------------- */

NET_TEST(conn_input, requests_are_the_same_wherever_they_are_cut)
{
    static const char stream[] = "r\n=20\nxxxxxxxxxxxxxxx\nb12\n0123456789abr\nb3\nxyz=7\nabc\nr\n";
    for (size_t cut = 0; cut <= sizeof(stream) - 1; cut++) {
        for (size_t other = cut; other <= sizeof(stream) - 1; other += 5) {
            struct fake *peer = toy_peer(toy);
            toy->logged = 0;
            fake_send(peer, stream, cut);
            sw_net_check(&toy->net);
            fake_send(peer, stream + cut, other - cut);
            sw_net_check(&toy->net);
            fake_send(peer, stream + other, sizeof(stream) - 1 - other);
            sw_net_check(&toy->net);
            cr_assert_str_eq(toy->log, "r=brb=r", "cut at %zu and %zu", cut, other);
            cr_assert_null(peer->conn->input.bytes, "nothing is left");
            toy_answer_all(peer);
            toy_iteration(toy);
            fake_fini(peer);
        }
    }
}

TOY_TEST(conn_input, requests_are_the_same_byte_by_byte)
{
    static const char stream[] = "r\n=20\nxxxxxxxxxxxxxxx\nb12\n0123456789abr\nb3\nxyz=7\nabc\nr\n";
    for (size_t i = 0; i < sizeof(stream) - 1; i++) {
        cr_assert_eq(fake_send(peer, stream + i, 1), 1);
        sw_net_check(&toy->net);
    }
    cr_assert_str_eq(toy->log, "r=brb=r");
}

/* The protocol says how much it needs, and is not asked before. */
TOY_TEST(conn_input, the_protocol_is_not_fed_in_vain)
{
    fake_say(peer, "=1000\n");
    unsigned feeds = toy->feeds;
    for (int i = 6; i < 999; i++) {
        fake_say(peer, "x");
    }
    cr_assert_eq(toy->feeds, feeds);
    fake_say(peer, "x");
    cr_assert_eq(toy->feeds, feeds + 1);
    cr_assert_str_eq(toy->log, "=");
}

/* A body goes where the protocol says, without a copy on the way. */
TOY_TEST(conn_input, a_body_is_received_where_it_belongs)
{
    fake_say(peer, "b10\n012");
    cr_assert_null(peer->conn->input.bytes);
    uv_buf_t room = peer->transport->events->room(peer->transport);
    cr_assert_eq((uint8_t *)room.base, toy->body + 3);
    cr_assert_eq(room.len, 7);
    fake_say(peer, "3456789");
    cr_assert_eq(memcmp(toy->body, "0123456789", 10), 0);
    cr_assert_str_eq(toy->log, "b");
}

/* --- memory ----------------------------------------------------------------------------------- */

TOY_TEST(conn_input, whole_requests_need_no_memory)
{
    fake_say(peer, "r\nr\nr\n");
    cr_assert_eq(sw_input_budget_used(&toy->budget), 0);
}

TOY_TEST(conn_input, memory_is_given_back_with_the_end_of_the_request)
{
    send_part(peer, 200 * KIB, 150 * KIB);
    cr_assert_geq(sw_input_budget_used(&toy->budget), 150 * KIB);
    while (toy->logged == 0) {
        fake_say(peer, "xxxxxxxxxxxxxxxx");
    }
    toy_answer_all(peer);
    cr_assert_eq(sw_input_held(&peer->conn->input), 0);
    cr_assert_eq(sw_input_budget_used(&toy->budget), 0);
}

TOY_TEST(conn_input, memory_is_given_back_when_the_peer_leaves)
{
    send_part(peer, 200 * KIB, 150 * KIB);
    fake_end(peer, UV_EOF);
    cr_assert(fake_deliver_closed(peer));
    cr_assert_eq(sw_input_budget_used(&toy->budget), 0);
}

/* Its replies may keep the connection open for long; the request that was cut does not. */
TOY_TEST(conn_input, a_request_cut_by_the_end_gives_its_memory_back_at_once)
{
    fake_say(peer, "r");
    send_part(peer, 200 * KIB, 150 * KIB);
    fake_end(peer, UV_EOF);
    cr_assert_eq(peer->conn->in_flight, 1);
    cr_assert_eq(sw_input_budget_used(&toy->budget), 0);
}

/* A peer that announces a large request has not sent it: what it costs goes by what has come. */
TOY_TEST(conn_input, what_is_announced_takes_no_memory)
{
    send_part(peer, 900 * KIB, 100);
    fake_say(peer, "x");
    cr_assert_leq(sw_input_budget_used(&toy->budget), 2 * SW_INPUT_STEP_BYTES);
}

/* The connection with most buffered input is closed, so that others have room. */
NET_TEST(conn_input, the_largest_goes_when_the_budget_is_used_up)
{
    struct fake *large = toy_peer(toy);
    struct fake *middle = toy_peer(toy);
    struct fake *small = toy_peer(toy);
    toy->budget.bytes_max = 600 * KIB;
    send_part(middle, 900 * KIB, 150 * KIB);
    send_part(large, 900 * KIB, 250 * KIB);
    cr_assert_eq(toy->refusals, 0);
    cr_assert_eq(send_part(small, 900 * KIB, 140 * KIB), 140 * KIB);
    cr_assert_eq(toy->refusal, SW_REFUSAL_INPUT_MEMORY);
    cr_assert_eq(toy->counters.input_memory_closes, 1);
    cr_assert_eq(large->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(middle->conn->state, SW_CONN_OPEN);
    cr_assert_eq(small->conn->state, SW_CONN_OPEN);
    cr_assert_leq(sw_input_budget_used(&toy->budget), 600 * KIB);
    sw_net_check(&toy->net);
}

NET_TEST(conn_input, one_that_is_the_largest_itself_goes)
{
    struct fake *large = toy_peer(toy);
    struct fake *small = toy_peer(toy);
    toy->budget.bytes_max = 200 * KIB;
    send_part(small, 900 * KIB, 10 * KIB);
    send_part(large, 900 * KIB, 250 * KIB);
    cr_assert_eq(toy->refusals, 1);
    cr_assert_eq(large->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(small->conn->state, SW_CONN_OPEN);
    sw_net_check(&toy->net);
}

/* Bytes come in small reads: memory is asked for before the read, not after it. */
TOY_TEST(conn_input, one_that_grows_by_little_goes_when_there_is_no_more)
{
    static char bytes[1000];
    toy->budget.bytes_max = 100 * KIB;
    send_part(peer, 900 * KIB, 100);
    memset(bytes, 'x', sizeof(bytes));
    size_t sent = 0;
    while (peer->reading && peer->conn->state == SW_CONN_OPEN) {
        sent += fake_send(peer, bytes, sizeof(bytes));
        sw_net_check(&toy->net);
        cr_assert_leq(sw_input_budget_used(&toy->budget), 100 * KIB);
    }
    cr_assert_gt(sent, 50 * KIB);
    cr_assert_eq(toy->counters.input_memory_closes, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

NET_TEST(conn_input, one_that_cannot_be_told_is_closed_all_the_same)
{
    struct fake *large = toy_peer(toy);
    struct fake *small = toy_peer(toy);
    toy->budget.bytes_max = 300 * KIB;
    send_part(large, 900 * KIB, 200 * KIB);
    toy->cannot_refuse = true;
    send_part(small, 900 * KIB, 100 * KIB);
    cr_assert_eq(large->conn->state, SW_CONN_CLOSED);
    cr_assert_eq(small->conn->state, SW_CONN_OPEN);
    cr_assert_eq(toy->counters.input_memory_closes, 1);
    sw_net_check(&toy->net);
}

/* A stalled connection is among those that hold input. */
NET_TEST(conn_input, a_stalled_one_may_have_to_go)
{
    static char bytes[200 * KIB] = "s1\n";
    struct fake *stalled = toy_peer(toy);
    struct fake *small = toy_peer(toy);
    toy->budget.bytes_max = 300 * KIB;
    memset(bytes + 3, '\n', sizeof(bytes) - 3);
    fake_send(stalled, bytes, sizeof(bytes));
    cr_assert_eq(toy->net.stalled_count, 1);
    send_part(small, 900 * KIB, 100 * KIB);
    cr_assert_eq(stalled->conn->state, SW_CONN_LINGERING);
    cr_assert_eq(toy->net.stalled_count, 0);
    sw_net_check(&toy->net);
}

/* Large requests of others, on any loop, leave room for a small one. */
TOY_TEST(conn_input, a_small_request_goes_on_when_other_loops_hold_the_most)
{
    struct sw_input other_loop = {0};
    toy->budget.bytes_max = 800 * KIB;
    while (sw_input_grow(&other_loop, &toy->budget, 4 * KIB) == SW_INPUT_OK) {
        other_loop.end = other_loop.capacity;
    }
    cr_assert_eq(send_part(peer, 30 * KIB, 20 * KIB), 20 * KIB);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN);
    cr_assert_eq(toy->refusals, 0);
    fake_fini(peer);
    sw_input_free(&other_loop, &toy->budget);
}
