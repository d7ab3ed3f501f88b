/* SPDX-License-Identifier: MIT
 *
 * test_connections.c - handles of several connections: every key of every answer, the order of
 * writes, where requests go, and what remains when a connection is lost, silent or of another
 * server.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/control_request.h"
#include "tests/client/table_fixture.h"

static int connect_with(uint32_t stripes, int request_timeout_ms)
{
    const struct sherwood_options options = {.size = sizeof(struct sherwood_options),
                                             .stripes = stripes,
                                             .request_timeout_ms = request_timeout_ms};
    char text[512];
    int rc = sherwood_connect_text(server.address, &options, &client, text, sizeof(text));
    cr_assert(rc != SHERWOOD_OK || text[0] == '\0');
    return rc;
}

static void open_table(int flags, uint32_t ops_max, uint32_t in_flight, uint32_t reply_batch,
                       uint32_t stripes)
{
    sw_fake_table_init(&table, 8, 8, 1U << 18);
    start_table(SW_FAKE_PARALLEL | flags, ops_max, in_flight, reply_batch);
    cr_assert_eq(connect_with(stripes, 0), SHERWOOD_OK);
}

Test(connections, long_calls_over_many)
{
    for (int tcp = 0; tcp < 2; tcp++) {
        const size_t count = 100003;
        uint64_t *keys = malloc(count * 8), *values = malloc(count * 8);
        uint64_t *found = calloc(sherwood_found_words(count), 8);
        open_table(tcp ? SW_FAKE_TCP : 0, 1000, 3, 0, 7);
        cr_assert_eq(sherwood_stripes(client), 7);
        cr_assert_eq(sherwood_server(client)->requests_in_flight_max, 7 * 3);
        for (size_t i = 0; i < count; i++) {
            keys[i] = 2 * i;
            values[i] = value_of(2 * i);
        }
        cr_assert_eq(sherwood_set(client, keys, values, count), SHERWOOD_OK);
        for (size_t i = 0; i < count; i++) {
            keys[i] = i;
        }
        cr_assert_eq(sherwood_get(client, keys, count, values, found), SHERWOOD_OK);
        for (size_t i = 0; i < count; i++) {
            cr_assert_eq(sherwood_found(found, i), i % 2 == 0, "found of %zu", i);
            cr_assert_eq(values[i], i % 2 == 0 ? value_of(i) : 0, "value of %zu", i);
        }
        cr_expect_eq(sherwood_ping(client), SHERWOOD_OK);
        close_table();
        free(keys);
        free(values);
        free(found);
    }
}

/* Repeated keys of one call of writes: the last one wins, whatever the number of frames. */
Test(connections, writes_of_a_call_keep_their_order)
{
    enum { COUNT = 64 * 50, DISTINCT = 16 };
    static uint64_t keys[COUNT], values[COUNT];
    open_table(0, 64, 4, 0, 5);
    for (int round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            keys[i] = i % DISTINCT;
            values[i] = (uint64_t)round * COUNT + i;
        }
        cr_assert_eq(sherwood_set(client, keys, values, COUNT), SHERWOOD_OK);
        for (uint64_t k = 0; k < DISTINCT; k++) {
            uint64_t value;
            cr_assert(sw_fake_table_get(&table, k, &value));
            cr_assert_eq(value, (uint64_t)round * COUNT + COUNT - DISTINCT + k, "round %d", round);
        }
    }
    close_table();
}

/* Each connection would answer the fifth request, which is one more than it takes. */
Test(connections, all_are_full)
{
    static struct sherwood_request requests[13];
    static uint64_t key, value;
    open_table(0, 128, 4, 5, 3);
    for (size_t r = 0; r < 13; r++) {
        requests[r] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                .operation = SHERWOOD_SET,
                                                .count = 1,
                                                .keys = &key,
                                                .values = &value};
        cr_expect_eq(sherwood_submit(client, &requests[r]), r < 12 ? SHERWOOD_OK : SHERWOOD_E_BUSY,
                     "request %zu", r);
    }
    close_table();
}

/* Each connection answers four requests at once, the last first: all are answered only if each
 * connection has got four of the twelve. */
Test(connections, requests_are_spread_and_answers_come_in_any_order)
{
    enum { REQUESTS = 12, KEYS = 70 };
    static struct sherwood_request requests[REQUESTS];
    static uint64_t keys[REQUESTS][KEYS], values[REQUESTS][KEYS], found[REQUESTS][2];
    open_table(0, 128, 4, 4, 3);
    for (uint64_t r = 0; r < REQUESTS; r++) {
        for (uint64_t i = 0; i < KEYS; i++) {
            keys[r][i] = r * KEYS + i;
            values[r][i] = value_of(keys[r][i]);
        }
        requests[r] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                .operation = SHERWOOD_SET,
                                                .count = KEYS,
                                                .keys = keys[r],
                                                .values = values[r]};
        cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
    }
    for (int r = 0; r < REQUESTS; r++) {
        cr_assert_eq(sherwood_wait(client, &requests[r]), SHERWOOD_OK);
    }
    for (int r = 0; r < REQUESTS; r++) {
        memset(values[r], 0xAA, sizeof(values[r]));
        requests[r] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                .operation = SHERWOOD_GET,
                                                .count = KEYS,
                                                .keys = keys[r],
                                                .previous = values[r],
                                                .found = found[r]};
        cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
    }
    for (int r = 0; r < REQUESTS; r++) {
        struct sherwood_request *answered;
        cr_assert_eq(sherwood_wait_any(client, &answered), SHERWOOD_OK);
        cr_assert_eq(answered->hits, KEYS);
    }
    for (int r = 0; r < REQUESTS; r++) {
        for (int i = 0; i < KEYS; i++) {
            cr_assert_eq(values[r][i], value_of(keys[r][i]), "request %d key %d", r, i);
            cr_assert(sherwood_found(found[r], (size_t)i));
        }
    }
    close_table();
}

/* A connection that behaves badly once it has read a request. */
struct bad {
    atomic_int connections;
    int number; /* which one */
    bool is_silent;
    bool is_narrow; /* another width in its greeting */
};

static void bad_script(int fd, void *user)
{
    struct bad *bad = user;
    const bool is_bad = atomic_fetch_add(&bad->connections, 1) == bad->number;
    uint8_t body[4096];
    struct sw_request request;
    if (!sw_fake_hello(fd, is_bad && bad->is_narrow ? 4 : 8, 8, 128, 8)) {
        return;
    }
    while (sw_fake_read(fd, &request, body, sizeof(body))) {
        struct sw_reply reply = sw_fake_ok(&request);
        if (is_bad && bad->is_silent) {
            while (read(fd, body, sizeof(body)) > 0) {
            }
            return;
        }
        if (is_bad) {
            return;
        }
        reply.hits = request.count;
        memset(body, 0xFF, sizeof(body));
        sw_fake_reply(fd, &reply, body, (size_t)sw_reply_layout(&reply, SW_OPERATION_GET).bytes);
    }
}

/* Sixteen gets on four connections. One connection closes or falls silent: its four gets fail, the
 * others succeed, and so do all later ones. */
static void lose_one(bool is_silent)
{
    enum { REQUESTS = 16, KEYS = 100 };
    struct bad bad = {.number = 2, .is_silent = is_silent};
    static struct sherwood_request requests[REQUESTS];
    static uint64_t keys[KEYS], values[REQUESTS][KEYS];
    const int code = is_silent ? SHERWOOD_E_TIMEOUT : SHERWOOD_E_CONNECTION;
    int lost = 0;
    sw_fake_start_with(&server, bad_script, &bad, SW_FAKE_PARALLEL);
    cr_assert_eq(connect_with(4, is_silent ? 1000 : 0), SHERWOOD_OK);
    for (int r = 0; r < REQUESTS; r++) {
        requests[r] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                .operation = SHERWOOD_GET,
                                                .count = KEYS,
                                                .keys = keys,
                                                .previous = values[r]};
        cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
    }
    for (int r = 0; r < REQUESTS; r++) {
        int rc = sherwood_wait(client, &requests[r]);
        cr_assert(rc == SHERWOOD_OK || rc == code, "request %d: %d", r, rc);
        lost += rc != SHERWOOD_OK;
        for (int i = 0; rc == SHERWOOD_OK && i < KEYS; i++) {
            cr_assert_eq(values[r][i], UINT64_MAX);
        }
    }
    cr_expect_eq(lost, 4, "%d were lost", lost);
    const char *says = is_silent ? "no byte moved for 1000 ms" : "the connection was lost";
    cr_expect(strstr(sherwood_error(client), says) != NULL, "%s", sherwood_error(client));
    cr_expect_eq(sherwood_stripes(client), 3);
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(sherwood_get(client, keys, KEYS, values[0], NULL), SHERWOOD_OK);
    }
    sherwood_close(client);
    sw_fake_stop(&server);
}

Test(connections, one_is_lost)
{
    lose_one(false);
}

Test(connections, one_is_silent)
{
    lose_one(true);
}

static void takes_all(int fd, void *user)
{
    uint8_t body[4096];
    (void)user;
    if (sw_fake_hello(fd, 8, 8, 128, 64)) {
        while (read(fd, body, sizeof(body)) > 0) {
        }
    }
}

/* A program that goes on to submit requests notices all the same that the server is silent. */
Test(connections, later_requests_do_not_lengthen_a_wait)
{
    enum { REQUESTS = 40 };
    static struct sherwood_request requests[REQUESTS];
    static uint64_t keys[8], values[REQUESTS][8];
    int submitted = 0, rc = SHERWOOD_E_PENDING;
    sw_fake_start_with(&server, takes_all, NULL, SW_FAKE_PARALLEL);
    cr_assert_eq(connect_with(1, 1000), SHERWOOD_OK);
    for (; submitted < REQUESTS && rc == SHERWOOD_E_PENDING; submitted++) {
        requests[submitted] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                        .operation = SHERWOOD_GET,
                                                        .count = 8,
                                                        .keys = keys,
                                                        .previous = values[submitted]};
        cr_assert_eq(sherwood_submit(client, &requests[submitted]), SHERWOOD_OK);
        rc = sherwood_wait_for(client, &requests[0], 100);
    }
    cr_expect_eq(rc, SHERWOOD_E_TIMEOUT, "%d requests were submitted, then: %d", submitted, rc);
    sherwood_close(client);
    sw_fake_stop(&server);
}

static void closes_after_one(int fd, void *user)
{
    uint8_t body[4096];
    struct sw_request request;
    (void)user;
    if (sw_fake_hello(fd, 8, 8, 128, 8)) {
        sw_fake_read(fd, &request, body, sizeof(body));
    }
}

Test(connections, all_are_lost)
{
    static uint64_t keys[8], values[8];
    sw_fake_start_with(&server, closes_after_one, NULL, SW_FAKE_PARALLEL);
    cr_assert_eq(connect_with(3, 0), SHERWOOD_OK);
    for (uint32_t left = 3; left > 0; left--) {
        cr_expect_eq(sherwood_stripes(client), left);
        cr_expect_eq(sherwood_get(client, keys, 8, values, NULL), SHERWOOD_E_CONNECTION);
    }
    cr_expect_eq(sherwood_stripes(client), 0);
    cr_expect_eq(sherwood_ping(client), SHERWOOD_E_CONNECTION, "the handle is over");
    sherwood_close(client);
    sw_fake_stop(&server);
}

Test(connections, that_do_not_agree)
{
    struct bad bad = {.number = 1, .is_narrow = true};
    char text[512];
    const struct sherwood_options options = {.size = sizeof(struct sherwood_options), .stripes = 3};
    sw_fake_start_with(&server, bad_script, &bad, SW_FAKE_PARALLEL);
    int rc = sherwood_connect_text(server.address, &options, &client, text, sizeof(text));
    cr_expect_eq(rc, SHERWOOD_E_PROTOCOL);
    cr_expect(strstr(text, "differ between connections") != NULL, "%s", text);
    cr_expect_null(client);
    sw_fake_stop(&server);
}

Test(connections, limits)
{
    const struct sherwood_options bad[] = {
        {.stripes = SHERWOOD_STRIPES_MAX + 1},
        {.send_buffer_bytes = SHERWOOD_SOCKET_BUFFER_MAX + 1},
        {.receive_buffer_bytes = SHERWOOD_SOCKET_BUFFER_MAX + 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sherwood_options options = bad[i];
        char text[512];
        options.size = sizeof(options);
        cr_expect_eq(sherwood_connect_text("127.0.0.1:1", &options, &client, text, sizeof(text)),
                     SHERWOOD_E_INVALID);
        cr_expect(strstr(text, "at most") != NULL, "%s", text);
    }
    cr_expect_eq(sherwood_stripes(NULL), 0);
    cr_expect_eq(sherwood_descriptor(NULL), -1);
}

/* A server with a log that makes no write durable. */
static struct {
    uint32_t waits, longest_ms;
} slow_log;

static void serve_slow_log(int fd, void *user)
{
    struct sw_request request;
    (void)user;
    while (sw_fake_read(fd, &request, NULL, 0)) {
        struct sw_reply reply = sw_fake_ok(&request);
        if (request.operation == SW_OPERATION_HELLO) {
            reply.has_info = true;
            reply.info = (struct sw_server_info){.version = "fake",
                                                 .backend = "cpu",
                                                 .backend_reason = "a test",
                                                 .key_bytes = 8,
                                                 .value_bytes = 8,
                                                 .frame_ops_max = 64,
                                                 .requests_in_flight_max = 4,
                                                 .incarnation = 7};
        } else if (request.operation == SW_OPERATION_WAIT_DURABLE) {
            slow_log.waits++;
            slow_log.longest_ms =
                request.timeout_ms > slow_log.longest_ms ? request.timeout_ms : slow_log.longest_ms;
        } else {
            reply.write_sequence = 1;
        }
        if (!sw_fake_reply(fd, &reply, NULL, 0)) {
            return;
        }
    }
}

/* A request of a wait ends well before the client would end its connection. */
Test(connections, a_wait_is_cut_by_the_request_timeout)
{
    const struct {
        int request_timeout_ms, wait_ms;
        uint32_t longest_ms;
    } cases[] = {{1500, 2000, 750}, {30000, 2500, 1000}, {30000, 20, 20}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sherwood_options options = {.size = sizeof(options),
                                                 .request_timeout_ms = cases[i].request_timeout_ms};
        memset(&slow_log, 0, sizeof(slow_log));
        sw_fake_start(&server, serve_slow_log, NULL);
        cr_assert_eq(sherwood_connect(server.address, &options, &client), SHERWOOD_OK);
        cr_assert_eq(sherwood_clear(client), SHERWOOD_OK, "%s", sherwood_error(client));
        cr_expect_eq(sherwood_wait_durable(client, cases[i].wait_ms), SHERWOOD_E_TIMEOUT);
        cr_expect_eq(slow_log.longest_ms, cases[i].longest_ms, "case %zu: %u ms", i,
                     slow_log.longest_ms);
        cr_expect_eq(sherwood_ping(client), SHERWOOD_OK, "case %zu: %s", i, sherwood_error(client));
        client->request_timeout_ms = 1;
        cr_expect_eq(sw_client_wait_once_ms(client, -1), 1, "never 0, which would not end");
        sherwood_close(client);
        sw_fake_stop(&server);
    }
}

Test(connections, more_than_the_limit)
{
    char text[512];
    const struct sherwood_options options = {.size = sizeof(struct sherwood_options),
                                             .stripes = SHERWOOD_STRIPES_MAX + 1};
    open_table(0, 1000, 3, 0, 1);
    struct sherwood *other = NULL;
    cr_expect_eq(sherwood_connect_text(server.address, &options, &other, text, sizeof(text)),
                 SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(text, "use at most"), "%s", text);
    cr_expect_null(other);
    close_table();
}
