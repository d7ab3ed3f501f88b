/* SPDX-License-Identifier: MIT
 *
 * test_bulk_conn.c - a bulk connection: frames in whatever pieces, what they wait for, and replies
 * to a peer that takes them as it likes.
 */
#include "server/bulk/request.h"
#include "table/instance.h"
#include "table/robin_hood/cpu/cpu.h"
#include "tests/server/bulk_fixture.h"

static struct stream stream;

/* --- pieces ----------------------------------------------------------------------------------- */

/* Three whole ones, a refused one with a body, and one more. */
static void fill_mixed(void)
{
    stream.size = 0;
    add_frame(&stream, SW_OPERATION_SET, 1, 100, 9);
    add_frame(&stream, SW_OPERATION_PING, 2, 0, 0);
    add_frame(&stream, SW_OPERATION_GET, 3, 100, 10);
    add_frame(&stream, UNKNOWN, 4, 0, 0);
    add_frame(&stream, SW_OPERATION_GET, 5, 105, 3);
}

static void expect_mixed(struct fake *peer)
{
    struct sw_reply reply;
    bool seen[6] = {false};
    for (int i = 0; i < 5; i++) {
        cr_assert(take_reply(peer, &reply));
        cr_assert(reply.request_id <= 5 && !seen[reply.request_id]);
        seen[reply.request_id] = true;
        cr_assert_eq(reply.status,
                     reply.request_id == 4 ? SW_REPLY_UNKNOWN_OPERATION : SW_REPLY_OK);
        cr_assert_eq(reply.hits, reply.request_id == 3 ? 9 : reply.request_id == 5 ? 3 : 0);
    }
    expect_no_reply(peer);
}

static void clear(struct serve *serve, struct fake *peer)
{
    stream.size = 0;
    add_frame(&stream, SW_OPERATION_CLEAR, 9, 0, 0);
    send_all(serve, peer, stream.bytes, stream.size);
    serve_until_idle(serve);
    expect_reply(peer, 9, SW_REPLY_OK);
}

LOOP_TEST(bulk_conn, replies_are_the_same_wherever_frames_are_cut)
{
    fill_mixed();
    size_t size = stream.size;
    for (size_t cut = 0; cut <= size; cut += cut < 1500 || cut > size - 700 ? 1 : 517) {
        struct fake *peer = serve_open(serve);
        fill_mixed();
        send_all(serve, peer, stream.bytes, cut);
        if (cut % 2 == 1) {
            serve_until_idle(serve);
        }
        send_all(serve, peer, stream.bytes + cut, size - cut);
        serve_until_idle(serve);
        expect_mixed(peer);
        clear(serve, peer);
        serve_close(serve, peer);
    }
}

SERVE_TEST(bulk_conn, replies_are_the_same_byte_by_byte)
{
    fill_mixed();
    for (size_t i = 0; i < stream.size; i++) {
        send_all(serve, peer, stream.bytes + i, 1);
    }
    serve_until_idle(serve);
    expect_mixed(peer);
}

LOOP_TEST(bulk_conn, replies_are_the_same_whatever_the_peer_takes)
{
    for (size_t takes = 0; takes < 700; takes++) {
        struct fake *peer = serve_open(serve);
        fill_mixed();
        peer->takes = takes;
        send_all(serve, peer, stream.bytes, stream.size);
        do {
            fake_take(peer, takes + 1);
            serve_check(serve);
        } while (serve_iteration(serve) || peer->queued > 0);
        expect_mixed(peer);
        cr_assert_eq(sw_conn_unsent_bytes(peer->conn), 0);
        peer->takes = SIZE_MAX;
        clear(serve, peer);
        serve_close(serve, peer);
    }
}

enum { FRAMES = 200 };

/* Replies beyond one system call's pieces, and beyond an iteration's bytes. */
SERVE_TEST_WITH(bulk_conn, many_replies_leave_in_order, serve->config.frames_in_flight_max = FRAMES;
                serve->config.arena_bytes = 4 << 20)
{
    for (uint64_t i = 0; i < FRAMES; i++) {
        add_frame(&stream, SW_OPERATION_PING, i, 0, 0);
    }
    serve->loop->net.iteration.bytes = 1000;
    send_all(serve, peer, stream.bytes, 1000);
    for (size_t sent = 1000; sent < stream.size;) {
        serve->loop->net.iteration.number++;
        serve->loop->net.iteration.bytes = 1000;
        sent += fake_send(peer, stream.bytes + sent, stream.size - sent);
        sw_bulk_flush(&serve->loop->bulk);
        serve_check(serve);
    }
    serve_until_idle(serve);
    for (uint64_t i = 0; i < FRAMES; i++) {
        expect_reply(peer, i, SW_REPLY_OK);
    }
    expect_no_reply(peer);
}

/* --- what frames wait for --------------------------------------------------------------------- */

SERVE_TEST_WITH(bulk_conn, no_more_frames_are_in_flight_than_may_be,
                serve->config.frames_in_flight_max = 2)
{
    for (uint64_t i = 1; i <= 5; i++) {
        add_frame(&stream, SW_OPERATION_SET, i, i, 1);
    }
    fake_send(peer, stream.bytes, stream.size);
    cr_assert_eq(peer->conn->in_flight, 2);
    cr_assert_eq(peer->conn->stall, SW_STALL_IN_FLIGHT);
    cr_assert_eq(serve->loop->counters.frames_in_flight_pauses, 1);
    serve_until_idle(serve);
    for (uint64_t i = 1; i <= 5; i++) {
        expect_reply(peer, i, SW_REPLY_OK);
    }
    cr_assert_eq(peer->conn->stall, SW_STALL_NONE);
}

/* A reply that the peer has not taken is in flight. */
SERVE_TEST_WITH(bulk_conn, unsent_replies_count_as_in_flight,
                serve->config.frames_in_flight_max = 2)
{
    for (uint64_t i = 1; i <= 3; i++) {
        add_frame(&stream, SW_OPERATION_PING, i, 0, 0);
    }
    peer->takes = 0;
    fake_send(peer, stream.bytes, stream.size);
    serve_until_idle(serve);
    cr_assert_eq(peer->conn->stall, SW_STALL_IN_FLIGHT);
    cr_assert_eq(peer->conn->unsent_replies, 2);
    fake_take_all(peer);
    serve_until_idle(serve);
    fake_take_all(peer);
    for (uint64_t i = 1; i <= 3; i++) {
        expect_reply(peer, i, SW_REPLY_OK);
    }
}

/* A frame of 1024 operations takes 5 pages of 4 KiB; the arena has 1 MiB. The first frame gets
 * memory first, even if a later and smaller frame would fit. */
LOOP_TEST(bulk_conn, frames_wait_for_memory_in_order)
{
    enum { HOLDERS = 80 };
    static struct stream large, small;
    static struct fake *holders[HOLDERS];
    int held = 0;
    struct fake *waiting = serve_open(serve);
    struct fake *later = serve_open(serve);
    add_frame(&large, SW_OPERATION_SET, 1, 0, 1024);
    add_frame(&small, SW_OPERATION_SET, 2, 5000, 1);
    do { /* all but the last byte of their bodies */
        holders[held] = serve_open(serve);
        fake_send(holders[held], large.bytes, large.size - 1);
    } while (holders[held]->conn->stall == SW_STALL_NONE && ++held < HOLDERS);
    cr_assert_lt(held, HOLDERS, "memory for all");
    fake_send(waiting, large.bytes, large.size);
    fake_send(later, small.bytes, small.size);
    cr_assert_eq(waiting->conn->stall, SW_STALL_ARENA);
    cr_assert_eq(later->conn->stall, SW_STALL_ARENA, "it would fit, but others wait");
    cr_assert_eq(serve->loop->net.arena_waiters, 3);
    serve_until_idle(serve);
    expect_no_reply(later);
    for (int i = 0; i < 3; i++) { /* one goes: the oldest waiter takes its place, and so on */
        serve_close(serve, holders[i]);
    }
    serve_until_idle(serve);
    expect_reply(waiting, 1, SW_REPLY_OK);
    expect_reply(later, 2, SW_REPLY_OK);
    for (int i = 3; i <= held; i++) {
        serve_close(serve, holders[i]);
    }
    cr_assert_eq(serve->loop->net.arena_waiters, 0);
}

/* Beside a long read of the table its writes wait, and get half of the arena of 1 MiB. Its reads
 * go on, and so get memory. */
LOOP_TEST(bulk_conn, reads_get_memory_beside_a_long_read)
{
    enum { WRITERS = 60 };
    static struct stream write, read;
    static struct fake *writers[WRITERS];
    struct sw_phase_lock *lock = &((struct sw_cpu *)serve->table->memory)->lock;
    struct fake *reader = serve_open(serve);
    int writes = 0;
    add_frame(&write, SW_OPERATION_SET, 1, 0, 1024);
    add_frame(&read, SW_OPERATION_GET, 2, 0, 1024);
    sw_phase_lock_enter_read(lock);
    sw_phase_lock_lengthen_read(lock);
    do {
        writers[writes] = serve_open(serve);
        fake_send(writers[writes], write.bytes, write.size);
    } while (writers[writes]->conn->stall == SW_STALL_NONE && ++writes < WRITERS);
    cr_assert_lt(writes, WRITERS, "memory for all");
    cr_assert_eq(writers[writes]->conn->stall, SW_STALL_HELD);
    fake_send(reader, read.bytes, read.size);
    cr_assert_eq(reader->conn->stall, SW_STALL_NONE);
    serve_iteration(serve);
    expect_reply(reader, 2, SW_REPLY_OK);
    expect_no_reply(writers[0]);
    sw_phase_lock_leave_long_read(lock);
    serve_until_idle(serve);
    for (int i = 0; i <= writes; i++) {
        expect_reply(writers[i], 1, SW_REPLY_OK);
    }
}

/* A write gets no memory beside a long read while frames of others keep half of the arena. So no
 * further read becomes long: reads that overlap would keep the write waiting for ever. */
LOOP_TEST(bulk_conn, no_read_becomes_long_before_a_write_without_memory)
{
    enum { HOLDERS = 30 };
    static struct stream write;
    static struct fake *holders[HOLDERS];
    struct sw_phase_lock *lock = &((struct sw_cpu *)serve->table->memory)->lock;
    struct fake *writer = serve_open(serve);
    add_frame(&write, SW_OPERATION_SET, 1, 0, 1024);
    for (int i = 0; i < HOLDERS; i++) { /* all but the last byte of their bodies */
        holders[i] = serve_open(serve);
        fake_send(holders[i], write.bytes, write.size - 1);
    }
    sw_phase_lock_enter_read(lock);
    sw_phase_lock_lengthen_read(lock);
    fake_send(writer, write.bytes, write.size);
    cr_assert_eq(writer->conn->stall, SW_STALL_HELD);
    sw_phase_lock_enter_read(lock);
    cr_assert_not(sw_phase_lock_try_lengthen_read(lock, 2));
    sw_phase_lock_leave_read(lock);
    sw_phase_lock_leave_long_read(lock);
    serve_pass(serve, SW_SWEEP_MS);
    serve_until_idle(serve);
    expect_reply(writer, 1, SW_REPLY_OK);
    for (int i = 0; i < HOLDERS; i++) {
        serve_close(serve, holders[i]);
    }
}

SERVE_TEST(bulk_conn, stats_waits_for_what_came_before_it)
{
    add_frame(&stream, SW_OPERATION_SET, 1, 0, 3);
    add_frame(&stream, SW_OPERATION_STATS, 2, 0, 0);
    fake_send(peer, stream.bytes, stream.size);
    cr_assert_eq(peer->conn->stall, SW_STALL_BARRIER);
    serve_until_idle(serve);
    expect_reply(peer, 1, SW_REPLY_OK);
    expect_reply(peer, 2, SW_REPLY_OK);
}

/* --- the end ---------------------------------------------------------------------------------- */

SERVE_TEST(bulk_conn, closing_gives_the_memory_of_half_a_body_back)
{
    add_frame(&stream, SW_OPERATION_SET, 1, 0, 1024);
    fake_send(peer, stream.bytes, stream.size / 2);
    cr_assert_gt(serve->loop->first.batches.arena.pages_used, 0);
    serve_close(serve, peer);
    cr_assert_eq(serve->loop->first.batches.arena.pages_used, 0);
}

SERVE_TEST(bulk_conn, closing_leaves_frames_to_the_transport_that_writes_them)
{
    add_frame(&stream, SW_OPERATION_GET, 1, 0, 1024);
    add_frame(&stream, SW_OPERATION_GET, 2, 0, 1024);
    peer->takes = 100;
    fake_send(peer, stream.bytes, stream.size);
    serve_until_idle(serve);
    cr_assert_gt(peer->queued, 0);
    sw_conn_abort(peer->conn);
    serve_check(serve);
    cr_assert_gt(serve->loop->first.batches.arena.pages_used, 0, "it is being written from there");
    cr_assert(fake_deliver_closed(peer));
    cr_assert_eq(serve->loop->first.batches.arena.pages_used, 0);
}

SERVE_TEST(bulk_conn, closing_waits_for_frames_in_flight)
{
    add_frame(&stream, SW_OPERATION_SET, 1, 0, 10);
    fake_send(peer, stream.bytes, stream.size);
    cr_assert_eq(peer->conn->in_flight, 1);
    sw_conn_abort(peer->conn);
    cr_assert(fake_deliver_closed(peer));
    serve_until_idle(serve);
    cr_assert_eq(serve->loop->first.batches.arena.pages_used, 0);
}

LOOP_TEST(bulk_conn, an_error_while_replies_are_sent_closes)
{
    static const int errors[][2] = {{UV_EPIPE, 0}, {0, UV_ENOMEM}};
    add_frame(&stream, SW_OPERATION_GET, 1, 0, 10);
    for (int i = 0; i < 2; i++) {
        struct fake *peer = serve_open(serve);
        peer->takes = 10;
        peer->try_error = errors[i][0];
        peer->write_error = errors[i][1];
        fake_send(peer, stream.bytes, stream.size);
        serve_until_idle(serve);
        cr_assert_eq(peer->conn->state, SW_CONN_CLOSED);
    }
}

SERVE_TEST(bulk_conn, what_is_no_frame_is_told_and_closed)
{
    add_frame(&stream, SW_OPERATION_PING, 1, 0, 0);
    fake_send(peer, stream.bytes, stream.size);
    fake_send(peer, "\xd5SX\x01", 4);
    serve_until_idle(serve);
    expect_reply(peer, 1, SW_REPLY_OK);
    expect_reply(peer, 0, SW_REPLY_BAD_REQUEST);
    cr_assert_eq(serve->loop->counters.frame_protocol_errors, 1);
    cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
}

LOOP_TEST_WITH(bulk_conn, half_a_frame_times_out_in_a_frame,
               serve->config.request_timeout_ms = 1000)
{
    add_frame(&stream, SW_OPERATION_SET, 1, 0, 1024);
    const size_t parts[] = {10, stream.size / 2};
    for (int i = 0; i < 2; i++) {
        struct fake *peer = serve_open(serve);
        fake_send(peer, stream.bytes, parts[i]);
        serve_pass(serve, 1001);
        serve_until_idle(serve);
        expect_reply(peer, 0, SW_REPLY_TIMED_OUT);
        cr_assert_eq(peer->conn->state, SW_CONN_LINGERING);
        serve_close(serve, peer);
    }
}

LOOP_TEST(bulk_conn, one_that_passes_connections_max_is_told_in_a_frame)
{
    struct fake *peer = fake_open(&serve->loop->net, true);
    add_frame(&stream, SW_OPERATION_HELLO, 1, 0, 0);
    fake_send(peer, stream.bytes, stream.size);
    serve_until_idle(serve);
    expect_reply(peer, 0, SW_REPLY_TOO_MANY_CONNECTIONS);
    expect_no_reply(peer);
}
