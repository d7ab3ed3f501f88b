/* SPDX-License-Identifier: MIT
 *
 * test_conn_random.c - some connections in random steps, looked at after each.
 */
#include "tests/server/toy_protocol.h"
#include "tests/support/random.h"

enum { PEERS = 6, STEPS = 30000 };

struct world {
    struct toy *toy;
    struct fake *peers[PEERS];
    struct sw_conn *freed_later[PEERS]; /* closed, with requests in flight */
    uint32_t left[PEERS];
    struct random random;
};

static void say_something(struct world *world, struct fake *peer)
{
    static const char *const words[] = {
        "r\n",   "r\nr\n",  "s1\n", "s2\n", "s3\nr\n", "s4\n", "s6\n", "b40\n",
        "=70\n", "=9000\n", "xxxx", "\n",   "r\ns3\n", "d\n",  "a\n",  "0123456789"};
    uint64_t which = random_below(&world->random, 200);
    fake_say(peer, words[which < 2 ? 14 : which < 4 ? 13 : which % 13]);
}

static void close_some(struct world *world, int i)
{
    struct fake *peer = world->peers[i];
    if (peer->closes == 0 || world->left[i] > 0) {
        return;
    }
    struct sw_conn *conn = peer->conn;
    world->left[i] = conn->in_flight;
    world->freed_later[i] = conn;
    fake_deliver_closed(peer);
    fake_fini(peer);
    world->peers[i] = fake_open(&world->toy->net, random_below(&world->random, 10) == 0);
}

static void answer_one(struct world *world, int i)
{
    if (world->left[i] > 0 && random_below(&world->random, 2) == 0) {
        world->left[i]--;
        sw_conn_request_done(world->freed_later[i], false);
    } else if (world->peers[i]->conn->in_flight > 0) {
        sw_conn_request_done(world->peers[i]->conn, false);
    }
}

static void step(struct world *world)
{
    struct toy *toy = world->toy;
    int i = (int)random_below(&world->random, PEERS);
    struct fake *peer = world->peers[i];
    struct sw_conn *conn = peer->conn;
    toy->has = random_below(&world->random, 3) > 0;
    toy->cannot_refuse = random_below(&world->random, 4) == 0;
    switch (random_below(&world->random, 10)) {
    case 0:
        toy->net.retry |= random_below(&world->random, 2) == 0;
        toy_iteration(toy);
        break;
    case 1:
        toy_pass(toy, random_below(&world->random, 400));
        break;
    case 2:
        if (conn->protocol != NULL && conn->state < SW_CONN_LINGERING && conn->in_flight > 0) {
            toy_queue(conn, 1 + random_below(&world->random, toy->config.output_bytes_pause));
        }
        break;
    case 3:
        if (conn->unsent_bytes > 0) {
            toy_sent(conn, 1 + random_below(&world->random, conn->unsent_bytes));
        }
        break;
    case 4:
        answer_one(world, i);
        break;
    case 5:
        if (random_below(&world->random, 8) == 0) {
            fake_end(peer, random_below(&world->random, 2) == 0 ? UV_EOF : UV_ECONNRESET);
        }
        break;
    case 6:
        close_some(world, i);
        break;
    default:
        say_something(world, peer);
        break;
    }
    sw_net_check(&toy->net);
}

/* Nothing but the checks of the module, and that everything is given back at the end. */
Test(conn_random, random_steps_keep_what_must_hold)
{
    static struct world world;
    world.toy = toy_create();
    world.random = random_of(0);
    world.toy->budget.bytes_max = 9000;
    world.toy->config.request_timeout_ms = 2000;
    for (int i = 0; i < PEERS; i++) {
        world.peers[i] = toy_peer(world.toy);
    }
    for (int n = 0; n < STEPS; n++) {
        if (world.toy->logged + 4096 > TOY_LOG_BYTES) {
            world.toy->logged = 0;
        }
        step(&world);
    }
    for (int i = 0; i < PEERS; i++) {
        struct sw_conn *conn = world.peers[i]->conn;
        uint32_t left = conn->in_flight;
        for (; world.left[i] > 0; world.left[i]--) {
            sw_conn_request_done(world.freed_later[i], false);
        }
        fake_fini(world.peers[i]);
        while (left-- > 0) {
            sw_conn_request_done(conn, false);
        }
    }
    cr_assert_gt(world.toy->closed, 20);
    cr_assert_gt(world.toy->counters.input_memory_closes, 0);
    cr_assert_gt(world.toy->counters.request_timeouts, 0);
    cr_assert_gt(world.toy->counters.output_pauses, 0);
    toy_destroy(world.toy);
}
