/* SPDX-License-Identifier: MIT
 *
 * test_iteration.c - the time of an iteration is shared: a connection with many requests yields,
 * and those behind it are served in the same iteration or the next. The clock is the test's.
 */
#include "server/resp/control_parts.h"
#include "tests/server/serve_fixture.h"

/* Each look at the clock finds that STEP_NS have passed. */
enum { STEP_NS = SW_ITERATION_NS / 50 };
static uint64_t time_ns;

static uint64_t passing_clock(void)
{
    return time_ns += STEP_NS;
}

/* A clock that ends the time of a phase at once. */
static uint64_t slow_clock(void)
{
    return time_ns += SW_ITERATION_NS;
}

static void begin(struct serve *serve)
{
    serve->loop->net.iteration.clock_ns = passing_clock;
    sw_iteration_begin_phase(&serve->loop->net.iteration);
}

/* Returns a connection that has sent `count` requests of one kind at once. */
static struct fake *flood(struct serve *serve, const char *request, unsigned count)
{
    const size_t each = strlen(request);
    char *all = malloc(each * count);
    cr_assert_not_null(all);
    for (unsigned i = 0; i < count; i++) {
        memcpy(all + i * each, request, each);
    }
    struct fake *peer = serve_open(serve);
    fake_send(peer, all, each * count);
    free(all);
    return peer;
}

static size_t replies_of(struct fake *peer, const char *reply)
{
    size_t count = 0;
    fake_take_all(peer);
    for (const char *at = peer->out; at != NULL && at < peer->out + peer->out_bytes; count++) {
        cr_assert_eq(strncmp(at, reply, strlen(reply)), 0);
        at += strlen(reply);
    }
    return count;
}

/* --- one connection that would keep the loop -------------------------------------------------- */

/* Requests of a flood that begin before another connection is served. */
static uint32_t begun_at_once(struct serve *serve, const char *request)
{
    struct fake *hog = flood(serve, request, 4000);
    cr_assert_eq(hog->conn->stall, SW_STALL_YIELDED, "%s", request);
    const uint32_t begun = hog->conn->in_flight;
    struct fake *other = serve_open(serve);
    cr_assert_eq(fake_say(other, "PING\r\n"), 0, "the time of this phase is over");
    cr_assert_eq(other->conn->stall, SW_STALL_NONE);
    serve_iteration(serve);
    cr_assert_eq(fake_say(other, "PING\r\n"), 6, "%s: it is served in the next", request);
    serve_iteration(serve);
    fake_take_all(other);
    fake_expect(other, "+PONG\r\n");
    cr_assert_eq(hog->conn->stall, SW_STALL_YIELDED, "%s: it has not ended before", request);
    fake_fini(other);
    serve_close(serve, hog);
    sw_iteration_begin_phase(&serve->loop->net.iteration);
    return begun;
}

LOOP_TEST(iteration, no_flood_of_small_requests_keeps_the_loop)
{
    const uint32_t looks = SW_ITERATION_NS / STEP_NS;
    static const char *const each[] = {"DBSIZE\r\n", "CONFIG SET slowlog-max-len 128\r\n",
                                       "ACL WHOAMI\r\n", "CLIENT ID\r\n", "SLOWLOG LEN\r\n"};
    begin(serve);
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        cr_assert_leq(begun_at_once(serve, each[i]), looks + 1, "%s", each[i]);
    }
    cr_assert_leq(begun_at_once(serve, "PING\r\n"),
                  (looks + 1) * SW_ITERATION_CLOCK_COST / SW_COST_SESSION);
    cr_assert_gt(serve->loop->counters.turn_pauses, 0);
}

LOOP_TEST_WITH(iteration, requests_on_keys_yield, serve->config.round_ops_max = 128 * 1024)
{
    serve->loop->net.iteration.clock_ns = passing_clock;
    struct fake *hog = flood(serve, "GET 1\r\n", 20000);
    cr_assert_eq(hog->conn->stall, SW_STALL_YIELDED);
    cr_assert_leq(hog->conn->in_flight, (SW_ITERATION_NS / STEP_NS + 2) * SW_ITERATION_CLOCK_COST);
    serve_iteration(serve);
    struct fake *other = serve_open(serve);
    serve_ask(serve, other, "GET 1\r\n", "$-1\r\n");
    cr_assert_eq(replies_of(hog, "$-1\r\n"), 20000, "all are carried out in the end");
}

/* A frame costs more than a command: the loop looks at the clock more often. */
LOOP_TEST(iteration, frames_yield)
{
    uint8_t frame[256];
    const struct sw_request ping = {.operation = SW_OPERATION_PING, .request_id = 1};
    const size_t bytes = sw_request_encode(&ping, 0, frame, sizeof(frame));
    uint8_t *all = malloc(bytes * 400);
    begin(serve);
    serve->loop->config = &serve->config;
    serve->config.frames_in_flight_max = 65536;
    for (size_t i = 0; i < 400; i++) {
        memcpy(all + i * bytes, frame, bytes);
    }
    struct fake *hog = serve_open(serve);
    fake_send(hog, all, bytes * 400);
    cr_assert_eq(hog->conn->stall, SW_STALL_YIELDED);
    cr_assert_leq(hog->conn->unsent_replies, SW_ITERATION_NS / STEP_NS + 1);
    free(all);
}

/* --- commands that read the whole table ------------------------------------------------------- */

static void fill(struct serve *serve, unsigned keys)
{
    struct fake *peer = serve_open(serve);
    char line[32];
    for (unsigned i = 0; i < keys; i++) {
        snprintf(line, sizeof(line), "SET %u 1\r\n", i);
        fake_say(peer, line);
        serve_until_idle(serve);
    }
    fake_fini(peer);
}

/* Entries that the first pass of the list has looked at. */
static uint32_t looked_at(const struct serve *serve)
{
    return SW_CONTAINER(serve->loop->first.resp.passes.next, struct sw_control, waits)->pass.next;
}

static unsigned keys_in(struct fake *peer)
{
    unsigned keys = 0;
    fake_take_all(peer);
    for (size_t i = 0; i < peer->out_bytes; i++) {
        keys += peer->out[i] == '$';
    }
    return keys;
}

LOOP_TEST(iteration, a_pass_looks_at_entries_in_portions)
{
    enum { KEYS = 2000, PASSES = 3 };
    static const char *const commands[PASSES] = {"KEYS *\r\n", "KEYS *\r\n",
                                                 "SCAN 0 COUNT 1000\r\n"};
    const uint32_t most = SW_ITERATION_CLOCK_COST / SW_COST_ENTRY; /* then the time is over */
    struct fake *peers[PASSES];
    begin(serve);
    fill(serve, KEYS);
    for (int i = 0; i < PASSES; i++) {
        sw_iteration_begin_phase(&serve->loop->net.iteration);
        peers[i] = serve_open(serve);
        fake_say(peers[i], commands[i]);
    }
    struct fake *other = serve_open(serve);
    serve->loop->net.iteration.clock_ns = slow_clock;
    for (int iterations = 0; iterations < 10; iterations++) {
        serve_iteration(serve);
        cr_assert_not(sw_list_is_empty(&serve->loop->first.resp.passes));
        cr_assert_leq(looked_at(serve), (unsigned)(iterations + 1) * most);
        cr_assert_eq(fake_say(other, "PING\r\n"), 6, "it is served meanwhile");
    }
    serve->loop->net.iteration.clock_ns = passing_clock;
    serve_until_idle(serve);
    cr_assert_eq(keys_in(peers[0]), KEYS);
    cr_assert_eq(keys_in(peers[1]), KEYS);
    cr_assert_geq(keys_in(peers[2]), 1000);
}

/* What is closed meanwhile ends, and gives its memory back. */
SERVE_TEST(iteration, a_pass_ends_with_its_connection)
{
    begin(serve);
    fill(serve, 2000);
    serve->loop->net.iteration.clock_ns = slow_clock;
    fake_say(peer, "KEYS *\r\n");
    serve_iteration(serve);
    cr_assert_not(sw_list_is_empty(&serve->loop->first.resp.passes));
}

/* --- several ---------------------------------------------------------------------------------- */

LOOP_TEST(iteration, those_that_yielded_go_on_one_behind_the_other)
{
    enum { PEERS = 5, REQUESTS = 300 };
    struct fake *peers[PEERS];
    begin(serve);
    for (int i = 0; i < PEERS; i++) {
        peers[i] = flood(serve, "DBSIZE\r\n", REQUESTS);
        sw_iteration_begin_phase(&serve->loop->net.iteration);
    }
    for (int iterations = 0; serve_iteration(serve) && iterations < 10000; iterations++) {
        size_t least = SIZE_MAX, most = 0;
        for (int i = 0; i < PEERS; i++) {
            const size_t left = sw_input_held(&peers[i]->conn->input) / strlen("DBSIZE\r\n");
            least = left < least ? left : least;
            most = left > most ? left : most;
        }
        if (iterations > 2 * PEERS) {
            cr_assert_leq(most - least, 4 * SW_ITERATION_NS / STEP_NS, "%zu and %zu are left",
                          least, most);
        }
    }
    for (int i = 0; i < PEERS; i++) {
        cr_assert_eq(replies_of(peers[i], ":0\r\n"), REQUESTS);
        fake_fini(peers[i]);
    }
}

/* Each look at this clock finds that a long request has ended. */
static uint64_t long_clock(void)
{
    return time_ns += 3 * SW_ITERATION_NS;
}

/* A long request of the sockets and a long one of a connection that has yielded are of different
 * iterations, so that a light connection does not wait for both. */
LOOP_TEST(iteration, an_iteration_has_one_long_request)
{
    begin(serve);
    struct fake *hog = flood(serve, "DBSIZE\r\n", 300), *other = serve_open(serve);
    const size_t line = strlen("DBSIZE\r\n");
    serve->loop->net.iteration.clock_ns = long_clock;
    serve_iteration(serve);
    for (int pairs = 0; pairs < 20; pairs++) {
        const size_t held = sw_input_held(&hog->conn->input);
        cr_assert_eq(hog->conn->stall, SW_STALL_YIELDED);
        cr_assert_eq(fake_say(other, "DBSIZE\r\n"), line, "it takes long");
        cr_assert(serve_iteration(serve), "the loop goes on at once");
        cr_assert_eq(sw_input_held(&hog->conn->input), held, "it waits for the next iteration");
        cr_assert(serve->loop->net.iteration.lights_first, "which reads no heavy socket");
        cr_assert(serve_iteration(serve));
        cr_assert_eq(sw_input_held(&hog->conn->input), held - line, "and does not wait twice");
        cr_assert_not(serve->loop->net.iteration.lights_first);
    }
    fake_take_all(other);
    serve_close(serve, hog);
}

/* The first connections of the poll are not read a second time before the last ones were read once.
 */
LOOP_TEST(iteration, each_socket_is_read_before_any_is_read_again)
{
    begin(serve);
    struct fake *first = serve_open(serve);
    struct fake *last = serve_open(serve);
    cr_assert_eq(fake_say(first, "PING\r\n"), 6);
    serve->loop->net.iteration.is_spent = true;
    cr_assert_eq(fake_say(last, "PING\r\n"), 0);
    serve_iteration(serve);
    cr_assert_eq(fake_say(first, "PING\r\n"), 0, "the other is behind");
    cr_assert_eq(fake_say(last, "PING\r\n"), 6);
    serve_iteration(serve);
    cr_assert_eq(fake_say(first, "PING\r\n"), 6);
    serve_until_idle(serve);
    cr_assert_eq(replies_of(first, "+PONG\r\n"), 2);
    cr_assert_eq(replies_of(last, "+PONG\r\n"), 1);
}

/* A client with small requests waits for one iteration, however many heavy ones there are. */
Test(iteration, light_connections_are_read_before_heavy_ones)
{
    enum { HEAVY = 20 };
    struct sw_iteration iteration;
    struct sw_iteration_share heavy[HEAVY] = {{.phase = 0}}, light = {.phase = 0};
    sw_iteration_init(&iteration);
    iteration.clock_ns = still_clock;
    for (int i = 0; i < HEAVY; i++) {
        heavy[i].heavy_until_ns = UINT64_MAX;
    }
    for (int pairs = 0; pairs < 2 * HEAVY; pairs++) {
        bool light_was_read = false;
        int read = 0;
        for (int i = 0; i < 2; i++) { /* an iteration and the next */
            sw_iteration_begin_phase(&iteration);
            for (int k = 0; k < HEAVY; k++) {
                if (sw_iteration_may_read(&iteration, &heavy[k])) {
                    iteration.is_spent = true; /* each uses up all the time */
                    read++;
                }
            }
            light_was_read |= sw_iteration_may_read(&iteration, &light);
            sw_iteration_end(&iteration, false);
        }
        cr_assert(light_was_read, "iterations %d and %d", 2 * pairs, 2 * pairs + 1);
        cr_assert_eq(read, 1, "heavy ones are read every other time");
    }
    for (int k = 0; k < HEAVY; k++) {
        cr_assert_neq(heavy[k].phase, 0, "connection %d was never read", k);
    }
}

/* The more connections want to be served, the smaller is the share of each. */
Test(iteration, a_share_is_a_part_of_the_time)
{
    struct sw_iteration iteration;
    struct sw_iteration_share share = {.phase = 0};
    sw_iteration_init(&iteration);
    iteration.clock_ns = passing_clock;
    time_ns = 0;
    sw_iteration_enter(&iteration, &share);
    cr_assert_eq(share.until_ns, STEP_NS + SW_ITERATION_NS);
    iteration.waiting = 3;
    sw_iteration_begin_phase(&iteration);
    sw_iteration_enter(&iteration, &share);
    cr_assert_eq(share.until_ns, 2 * STEP_NS + SW_ITERATION_NS / 4);
    iteration.waiting = 100000;
    sw_iteration_begin_phase(&iteration);
    sw_iteration_enter(&iteration, &share);
    cr_assert_eq(share.until_ns, 3 * STEP_NS + SW_ITERATION_NS_MIN);
    cr_assert_not(sw_iteration_must_yield(&iteration, &share));
    sw_iteration_add(&iteration, SW_ITERATION_CLOCK_COST);
    cr_assert(sw_iteration_must_yield(&iteration, &share));
    cr_assert_not(iteration.is_spent, "others have time");
}

/* In one iteration, a connection reads up to its share of bytes, in however many phases. */
Test(iteration, a_connection_reads_its_share_of_bytes)
{
    struct sw_iteration iteration;
    struct sw_iteration_share first = {.phase = 0}, second = {.phase = 0};
    sw_iteration_init(&iteration);
    iteration.clock_ns = still_clock;
    cr_assert_eq(iteration.bytes, SW_ITERATION_BYTES_ALONE);
    cr_assert(sw_iteration_may_read(&iteration, &first));
    first.bytes = iteration.bytes - 1;
    cr_assert(sw_iteration_may_read(&iteration, &first), "a byte is left of its share");
    first.bytes = iteration.bytes;
    cr_assert_not(sw_iteration_may_read(&iteration, &first), "its share is used up");
    sw_iteration_begin_phase(&iteration);
    cr_assert_not(sw_iteration_may_read(&iteration, &first), "in a later phase as well");
    cr_assert(sw_iteration_may_read(&iteration, &second), "the other has its own");
    sw_iteration_end(&iteration, true);
    cr_assert_eq(iteration.bytes, SW_ITERATION_BYTES_SHARED);
    sw_iteration_begin_phase(&iteration);
    cr_assert(sw_iteration_may_read(&iteration, &first), "a new share");
    cr_assert_eq(first.bytes, 0);
}
