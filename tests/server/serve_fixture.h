/* SPDX-License-Identifier: MIT
 *
 * serve_fixture.h - a loop that serves fake connections from a small table, iteration by iteration
 * as the test says. One thread; the clock is the test's.
 */
#ifndef SHERWOOD_TESTS_SERVER_SERVE_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_SERVE_FIXTURE_H

#include "server/bulk/output.h"
#include "server/limits.h"
#include "server/resp/control.h"
#include "table/sequencer.h"
#include "table/table.h"
#include "tests/server/fake_transport.h"
#include "tests/server/loop_fixture.h"
#include "tests/support/random.h"

struct serve {
    struct sw_config config;
    struct sw_sequencer sequencer;
    struct sw_table *table;
    struct sw_gate *gate; /* of the table; NULL: none. Owned */
    struct sw_loop *loop;
    struct sw_input_budget budget;
    struct sw_live live;
    struct sw_timings timings;
    unsigned stops;
};

static inline void serve_snapshot(void *server, struct sw_server_stats *snapshot)
{
    const struct serve *serve = server;
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->config = &serve->config;
    sw_table_info(serve->table, &snapshot->info);
    sw_table_stats(serve->table, &snapshot->stats);
}

static inline void serve_stop(void *server, bool save, int fd)
{
    (void)save;
    (void)fd;
    ((struct serve *)server)->stops++;
}

/* The configuration of a test: change it before serve_start. */
static inline void serve_init(struct serve *serve)
{
    memset(serve, 0, sizeof(*serve));
    small_config(&serve->config, 4096);
    serve->budget.bytes_max = 64 << 20;
}

static inline void serve_start(struct serve *serve)
{
    sw_timings_init(&serve->timings, &serve->config);
    sw_live_init(&serve->live, &serve->config, false, no_changes, serve);
    serve->table = open_table(&serve->config, &serve->sequencer);
    const struct sw_loop_owner owner = {.server = serve,
                                        .snapshot = serve_snapshot,
                                        .stop = serve_stop,
                                        .device_lost = no_call,
                                        .input_budget = &serve->budget,
                                        .live = &serve->live,
                                        .timings = &serve->timings,
                                        .gate = serve->gate};
    serve->loop = open_loop(&serve->config, serve->table, &owner, 0, 1);
    serve->loop->uv.time = 1000;
}

static inline void serve_check(const struct serve *serve)
{
    sw_seats_check(&serve->loop->seats, &serve->loop->sweeps, serve->loop->net.tables.number);
    sw_net_check(&serve->loop->net);
    sw_bulk_check(&serve->loop->bulk);
    sw_io_arena_check(&serve->loop->first.batches.arena);
}

/* Everything but reading sockets, as in loop.c. Returns true if anything moved. */
static inline bool serve_iteration_unchecked(struct serve *serve)
{
    struct sw_loop *loop = serve->loop;
    bool moved = sw_seats_submit(&loop->active);
    moved |= sw_seats_poll(&loop->active, true);
    moved |= sw_seats_poll_commands(&loop->active);
    moved |= sw_net_retry_stalled(&loop->net);
    moved |= sw_bulk_flush(&loop->bulk);
    sw_net_end_iteration(&loop->net);
    sw_iteration_begin_phase(
        &loop->net.iteration); /* what the peers send next is of the next one */
    moved |= sw_seats_settle(&loop->active);
    return moved || (loop->net.retry && loop->net.stalled_count > 0);
}

static inline bool serve_iteration(struct serve *serve)
{
    const bool moved = serve_iteration_unchecked(serve);
    serve_check(serve);
    return moved;
}

static inline void serve_until_idle(struct serve *serve)
{
    int iterations = 0;
    while (serve_iteration(serve)) {
        cr_assert_lt(++iterations, 100000, "it never ends");
    }
}

static inline struct fake *serve_open(struct serve *serve)
{
    return fake_open(&serve->loop->net, false);
}

/* Closes the connection, whatever is in flight, and waits for that. */
static inline void serve_close(struct serve *serve, struct fake *peer)
{
    fake_fini(peer);
    serve_until_idle(serve);
}

/* Time passes, and deadlines are looked at. */
static inline void serve_pass(struct serve *serve, uint64_t ms)
{
    serve->loop->uv.time += ms;
    sw_net_sweep(&serve->loop->net, false);
    serve_check(serve);
}

/* Closes the connections of the test, and checks that everything was freed. */
static inline void serve_end(struct serve *serve)
{
    fake_fini_all();
    serve_until_idle(serve);
    cr_assert_eq(serve->loop->net.connections, 0);
    cr_assert_eq(serve->loop->first.batches.arena.pages_used, 0, "I/O memory was not given back");
    cr_assert_eq(sw_input_budget_used(&serve->budget), 0);
    cr_assert_eq(serve->budget.bytes_kept, 0);
    close_loop(serve->loop);
    sw_timings_fini(&serve->timings);
    sw_table_destroy(serve->table);
    sw_gate_destroy(serve->gate);
}

/* A test of a loop: its body has `serve`. SETUP is a statement that may change `serve` before the
 * loop starts. */
#define LOOP_TEST_WITH(suite, name, SETUP)           \
    static void suite##_##name(struct serve *serve); \
    Test(suite, name)                                \
    {                                                \
        struct serve state, *serve = &state;         \
        serve_init(serve);                           \
        SETUP;                                       \
        serve_start(serve);                          \
        suite##_##name(serve);                       \
        serve_end(serve);                            \
    }                                                \
    static void suite##_##name(struct serve *serve)
#define LOOP_TEST(suite, name) LOOP_TEST_WITH(suite, name, (void)0)

/* The same with a connection: the body has `serve` and `peer`. */
#define SERVE_TEST_WITH(suite, name, SETUP)                             \
    static void suite##_##name(struct serve *serve, struct fake *peer); \
    Test(suite, name)                                                   \
    {                                                                   \
        struct serve state, *serve = &state;                            \
        serve_init(serve);                                              \
        SETUP;                                                          \
        serve_start(serve);                                             \
        suite##_##name(serve, serve_open(serve));                       \
        serve_end(serve);                                               \
    }                                                                   \
    static void suite##_##name(struct serve *serve, struct fake *peer)
#define SERVE_TEST(suite, name) SERVE_TEST_WITH(suite, name, (void)0)

/* Sends RESP, and expects this reply. */
static inline void serve_ask(struct serve *serve, struct fake *peer, const char *request,
                             const char *reply)
{
    fake_say(peer, request);
    serve_until_idle(serve);
    fake_take_all(peer);
    fake_expect(peer, reply);
}

/* A connection whose requests and replies come and go in random pieces. */
struct pieces {
    struct fake *peer;
    char *requests;
    size_t size, sent;
};

static inline void pieces_send(struct pieces *pieces, size_t bytes)
{
    pieces->sent += fake_send(pieces->peer, pieces->requests + pieces->sent, bytes);
}

/* A piece of the requests or of the replies, or something that the server does. */
static inline void pieces_step(struct serve *serve, struct pieces *pieces, struct random *random)
{
    const size_t left = pieces->size - pieces->sent;
    switch (random_below(random, 6)) {
    case 0:
        serve_iteration(serve);
        break;
    case 1:
        pieces->peer->takes = random_below(random, 3) == 0 ? SIZE_MAX : random_below(random, 300);
        break;
    case 2:
        fake_take(pieces->peer, random_below(random, 3000));
        break;
    case 3:
        serve_pass(serve, random_below(random, 3));
        break;
    default:
        pieces_send(pieces, left > 0 ? random_below(random, left < 900 ? left + 1 : 900) : 0);
        break;
    }
    serve_check(serve);
}

/* Sends and takes all that is left. Returns false if nothing was. */
static inline bool pieces_end(struct pieces *pieces)
{
    const bool more = pieces->peer->queued > 0 || pieces->sent < pieces->size;
    pieces->peer->takes = SIZE_MAX;
    fake_take_all(pieces->peer);
    pieces_send(pieces, pieces->size - pieces->sent);
    return more;
}

#endif
