/* SPDX-License-Identifier: MIT
 *
 * test_conn_waits.c - connections that wait: for what their next request needs, for a peer that
 * reads, for their turn.
 */
#include "tests/server/toy_protocol.h"

/* --- stalls ----------------------------------------------------------------------------------- */

/* A connection that has sent one request which stalls for this reason. */
static struct fake *open_stalled(struct toy *toy, enum sw_stall reason)
{
    struct fake *peer = toy_peer(toy);
    char line[16];
    snprintf(line, sizeof(line), "s%d\n", reason);
    fake_say(peer, line);
    cr_assert_eq(peer->conn->stall, reason);
    sw_net_check(&toy->net);
    return peer;
}

/* Opens three of them, and gives each `protocol`. */
static void open_three_stalled(struct toy *toy, enum sw_stall reason,
                               const struct sw_protocol *protocol, struct fake *peers[3])
{
    for (int i = 0; i < 3; i++) {
        peers[i] = open_stalled(toy, reason);
        peers[i]->conn->protocol = protocol;
    }
}

NET_TEST(conn_waits, a_stalled_one_is_not_read)
{
    struct fake *peer = open_stalled(toy, SW_STALL_BATCH_FULL);
    cr_assert_not(peer->reading);
    cr_assert_eq(toy->net.stalled_count, 1);
    cr_assert_eq(peer->conn->times.request_since, 0, "this time is not the peer's");
}

TOY_TEST(conn_waits, a_retry_goes_on_where_it_stopped)
{
    fake_say(peer, "r\ns1\nr\n=20\nabc");
    cr_assert_str_eq(toy->log, "r");
    toy->has = toy->net.retry = true;
    toy_iteration(toy);
    cr_assert_str_eq(toy->log, "rsr");
    cr_assert(peer->reading);
    cr_assert_eq(peer->conn->times.request_since, toy->uv.time, "half a request is left");
}

NET_TEST(conn_waits, nobody_is_tried_before_something_changes)
{
    struct fake *peer = open_stalled(toy, SW_STALL_BATCH_FULL);
    unsigned feeds = toy->feeds;
    toy->net.retry = false;
    cr_assert_not(sw_net_retry_stalled(&toy->net));
    cr_assert_eq(toy->feeds, feeds);
    toy->net.retry = true;
    cr_assert(sw_net_retry_stalled(&toy->net));
    cr_assert_eq(toy->feeds, feeds + 1);
    cr_assert_eq(peer->conn->stall, SW_STALL_BATCH_FULL, "it waits again");
    cr_assert_not(peer->conn->retried);
}

NET_TEST(conn_waits, a_reply_wakes_who_waits_for_replies_and_nobody_else)
{
    static const struct {
        enum sw_stall reason;
        bool wakes;
    } rows[] = {{SW_STALL_BARRIER, true},
                {SW_STALL_IN_FLIGHT, true},
                {SW_STALL_BATCH_FULL, false},
                {SW_STALL_ARENA, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fake *peer = toy_peer(toy);
        char line[16];
        snprintf(line, sizeof(line), "r\ns%d\n", rows[i].reason);
        fake_say(peer, line);
        toy->net.retry = false;
        sw_conn_request_done(peer->conn, false);
        cr_assert_eq(toy->net.retry, rows[i].wakes, "reason %d", rows[i].reason);
        fake_fini(peer);
    }
}

/* It needs nothing but the next iteration. */
NET_TEST(conn_waits, who_waits_for_its_turn_is_tried_in_the_next)
{
    toy->net.retry = false;
    open_stalled(toy, SW_STALL_YIELDED);
    cr_assert(toy->net.retry);
    toy->has = true;
    toy_iteration(toy);
    cr_assert_str_eq(toy->log, "s");
}

/* If the table of the oldest is held still, the next sweep tries the others. */
NET_TEST(conn_waits, one_that_waits_for_a_held_table_is_tried_for_others)
{
    for (int i = 0; i < 3; i++) {
        fake_say(toy_peer(toy), "s4\n"); /* SW_STALL_HELD */
    }
    unsigned feeds = toy->feeds;
    toy->net.retry = true;
    toy_iteration(toy);
    cr_assert_eq(toy->feeds, feeds + 1);
    toy_pass(toy, SW_SWEEP_MS);
    toy_iteration(toy);
    cr_assert_eq(toy->feeds, feeds + 4);
    toy->has = toy->net.retry = true;
    toy_iteration(toy);
    cr_assert_eq(toy->feeds, feeds + 7);
    cr_assert_str_eq(toy->log, "sss");
}

NET_TEST(conn_waits, the_oldest_is_tried_first)
{
    struct fake *peers[3];
    for (int i = 0; i < 3; i++) {
        peers[i] = open_stalled(toy, SW_STALL_BATCH_FULL);
    }
    toy->net.retry = true;
    toy_iteration(toy); /* in vain: the order stays */
    for (int i = 0; i < 3; i++) {
        struct sw_list *link = toy->net.stalled.next;
        cr_assert_eq(SW_CONTAINER(link, struct sw_conn, stalled), peers[i]->conn, "%d", i);
        sw_conn_abort(peers[i]->conn);
    }
}

static bool memory_is_scarce;

static bool waits_for_memory(const struct sw_conn *conn)
{
    (void)conn;
    return memory_is_scarce;
}

NET_TEST(conn_waits, who_would_wait_again_is_not_fed)
{
    static struct sw_protocol scarce; /* the fixture closes the connections after this function */
    struct fake *peers[3];
    scarce = toy_lines;
    scarce.must_wait = waits_for_memory;
    open_three_stalled(toy, SW_STALL_BATCH_MEMORY, &scarce, peers);
    const unsigned feeds = toy->feeds;
    for (int tries = 0; tries < 2; tries++) {
        memory_is_scarce = tries == 0;
        toy->net.retry = true;
        toy_iteration(toy);
        cr_assert_eq(toy->feeds, feeds + 3U * (unsigned)tries);
        struct sw_list *link = toy->net.stalled.next;
        cr_assert_eq(SW_CONTAINER(link, struct sw_conn, stalled), peers[0]->conn,
                     "the order stays");
        cr_assert_eq(toy->net.memory_waiters, 3);
    }
    for (int i = 0; i < 3; i++) {
        sw_conn_abort(peers[i]->conn);
    }
}

NET_TEST(conn_waits, a_new_request_leaves_memory_to_who_waits_for_it)
{
    struct fake *other = toy_peer(toy);
    cr_assert_not(sw_conn_arena_is_reserved(other->conn));
    struct fake *waiting = open_stalled(toy, SW_STALL_ARENA);
    cr_assert_eq(toy->net.arena_waiters, 1);
    cr_assert(sw_conn_arena_is_reserved(other->conn));
    sw_conn_abort(waiting->conn);
    cr_assert_eq(toy->net.arena_waiters, 0);
    cr_assert_not(sw_conn_arena_is_reserved(other->conn));
}

/* What the retried connections saw of the memory, in order. */
static bool memory_seen[3];
static unsigned memory_tries;

static size_t feed_for_memory(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    (void)bytes;
    memory_seen[memory_tries++] = sw_conn_arena_is_reserved(conn);
    if (memory_tries == 2) { /* the second one is the first that is left without */
        sw_conn_stall(conn, SW_STALL_ARENA);
        return 0;
    }
    if (sw_conn_arena_is_reserved(conn)) {
        sw_conn_stall(conn, SW_STALL_ARENA);
        return 0;
    }
    return size;
}

NET_TEST(conn_waits, behind_one_that_still_lacks_memory_nobody_gets_any)
{
    static struct sw_protocol hungry; /* the fixture closes the connections after this function */
    struct fake *peers[3];
    hungry = toy_lines;
    hungry.feed = feed_for_memory;
    open_three_stalled(toy, SW_STALL_ARENA, &hungry, peers);
    toy->net.retry = true;
    toy_iteration(toy);
    cr_assert_eq(memory_tries, 3);
    cr_assert_not(memory_seen[0]);
    cr_assert_not(memory_seen[1]);
    cr_assert(memory_seen[2]);
    cr_assert_eq(toy->net.arena_waiters, 2);
    cr_assert_not(toy->net.arena_closed, "for this iteration alone");
}

NET_TEST(conn_waits, closing_a_stalled_one_leaves_no_trace)
{
    for (int reason = SW_STALL_BATCH_FULL; reason <= SW_STALL_BATCH_MEMORY; reason++) {
        struct fake *peer = open_stalled(toy, (enum sw_stall)reason);
        sw_conn_abort(peer->conn);
        cr_assert_eq(toy->net.stalled_count, 0);
        cr_assert_eq(toy->net.arena_waiters, 0);
        cr_assert_eq(toy->net.memory_waiters, 0);
        fake_fini(peer);
    }
}

/* --- a peer that does not read ---------------------------------------------------------------- */

TOY_TEST(conn_waits, unsent_replies_pause_reading)
{
    uint64_t pause = toy->config.output_bytes_pause;
    fake_say(peer, "r\n");
    toy_queue(peer->conn, pause);
    cr_assert(peer->reading);
    toy_queue(peer->conn, 1);
    cr_assert_not(peer->reading);
    cr_assert_eq(toy->counters.output_pauses, 1);
    toy_queue(peer->conn, 1);
    cr_assert_eq(toy->counters.output_pauses, 1, "the same pause");
}

TOY_TEST(conn_waits, reading_goes_on_at_half)
{
    uint64_t pause = toy->config.output_bytes_pause;
    fake_say(peer, "r\n=9\n");
    toy_queue(peer->conn, pause + 2);
    toy->uv.time += 500;
    toy_sent(peer->conn, pause / 2 + 1);
    cr_assert_not(peer->reading);
    toy_sent(peer->conn, 1);
    cr_assert(peer->reading);
    cr_assert_eq(peer->conn->times.request_since, toy->uv.time, "the pause was not the peer's");
}

/* Where a protocol says so, few replies pause nobody, however large they are. */
TOY_TEST(conn_waits, few_replies_do_not_pause)
{
    uint64_t large = 2 * toy->config.output_bytes_pause;
    fake_say(peer, "#r\n");
    for (int i = 0; i < TOY_UNSENT_MIN; i++) {
        toy_queue(peer->conn, large);
        cr_assert(peer->reading);
    }
    toy_queue(peer->conn, large);
    cr_assert_not(peer->reading);
    while (peer->conn->unsent_replies > TOY_UNSENT_MIN / 2 + 1) {
        toy_sent(peer->conn, large);
        cr_assert_not(peer->reading);
    }
    toy_sent(peer->conn, large);
    cr_assert(peer->reading, "half as many");
}

TOY_TEST(conn_waits, input_of_a_paused_one_goes_on_when_it_is_read)
{
    uint64_t pause = toy->config.output_bytes_pause;
    fake_say(peer, "r\ns1\nr\n");
    toy_queue(peer->conn, pause + 1);
    toy->has = toy->net.retry = true;
    toy_iteration(toy);
    cr_assert_eq(peer->conn->stall, SW_STALL_OUTPUT);
    cr_assert_str_eq(toy->log, "r");
    toy->net.retry = false;
    toy_sent(peer->conn, pause + 1);
    cr_assert(toy->net.retry);
    toy_iteration(toy);
    cr_assert_str_eq(toy->log, "rsr");
}

/* Bytes that the transport holds also count as unsent. */
TOY_TEST(conn_waits, bytes_that_are_being_written_count)
{
    static char reply[4096];
    toy->config.output_bytes_pause = 4000;
    uv_buf_t buffer = uv_buf_init(reply, sizeof(reply));
    fake_say(peer, "r\n");
    cr_assert_eq(sw_transport_write(peer->transport, &buffer, 1), 0);
    sw_conn_output_changed(peer->conn);
    cr_assert_eq(sw_conn_unsent_bytes(peer->conn), 4096);
    cr_assert_not(peer->reading);
    sw_conn_drain(peer->conn, false);
    toy_answer_all(peer);
    fake_take(peer, 4000);
    cr_assert_eq(peer->shutdowns, 0);
    fake_take(peer, 96);
    cr_assert_eq(peer->shutdowns, 1);
}

/* --- iterations ------------------------------------------------------------------------------- */

TOY_TEST(conn_waits, an_iteration_has_an_end)
{
    static char request[SW_ITERATION_BYTES_SHARED] = "=65536\n";
    cr_assert_eq(sizeof(request), 65536);
    toy->net.iteration.bytes = SW_ITERATION_BYTES_SHARED;
    cr_assert_eq(fake_send(peer, request, sizeof(request)), sizeof(request));
    cr_assert_str_eq(toy->log, "=");
    cr_assert_eq(fake_say(peer, "r\n"), 0);
    cr_assert_eq(peer->blocked, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_OPEN, "it only has to wait");
    toy_iteration(toy);
    cr_assert_eq(fake_say(peer, "r\n"), 2);
}

NET_TEST(conn_waits, an_iteration_is_long_when_nobody_shares_it)
{
    toy_iteration(toy);
    cr_assert_eq(toy->net.iteration.bytes, SW_ITERATION_BYTES_ALONE);
    toy->net.iteration.single_at_ms = toy->uv.time;
    toy_iteration(toy);
    cr_assert_eq(toy->net.iteration.bytes, SW_ITERATION_BYTES_SHARED);
    toy->uv.time += SW_ITERATION_SHARED_MS + 1;
    toy_iteration(toy);
    cr_assert_eq(toy->net.iteration.bytes, SW_ITERATION_BYTES_ALONE);
}
