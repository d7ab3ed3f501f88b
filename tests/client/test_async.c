/* SPDX-License-Identifier: MIT
 *
 * test_async.c - waiting with a limit, the descriptor, requests in pieces, and what may be asked of
 * a request: to drop its answer, to be sent later, to be sent as pages. Every key is checked.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/client/table_fixture.h"
#include "tests/support/clock.h"

#define SIZED .size = sizeof(struct sherwood_request)

static void open_table(int flags, uint32_t ops_max, uint32_t in_flight, uint32_t reply_batch)
{
    sw_fake_table_init(&table, 8, 8, 1U << 20);
    start_table(flags, ops_max, in_flight, reply_batch);
    connect_client();
}

/* Answers a request once a byte can be read from the pipe. */
static void on_command(int fd, void *user)
{
    const int *pipe_end = user;
    struct sw_request request;
    uint8_t body[4096], byte;
    if (!sw_fake_hello(fd, 8, 8, 128, 8)) {
        return;
    }
    while (sw_fake_read(fd, &request, body, sizeof(body)) && read(*pipe_end, &byte, 1) == 1) {
        struct sw_reply reply = sw_fake_ok(&request);
        memset(body, 0xFF, sizeof(body));
        sw_fake_reply(fd, &reply, body, (size_t)sw_reply_layout(&reply, SW_OPERATION_GET).bytes);
    }
}

Test(async, waiting_has_a_limit)
{
    int ends[2];
    uint64_t keys[10] = {0}, values[2][10] = {{0}};
    struct sherwood_request *any;
    cr_assert_eq(pipe(ends), 0);
    sw_fake_start(&server, on_command, &ends[0]);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    cr_expect_eq(sherwood_wait_any_for(client, &any, 0), SHERWOOD_OK, "nothing is in flight");
    cr_expect_null(any);
    struct sherwood_request requests[2];
    for (int r = 0; r < 2; r++) {
        requests[r] = (struct sherwood_request){SIZED, .operation = SHERWOOD_GET, .count = 10,
                                                .keys = keys, .previous = values[r]};
        cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
    }
    double start = seconds_now();
    cr_expect_eq(sherwood_wait_for(client, &requests[0], 0), SHERWOOD_E_PENDING);
    cr_expect_eq(sherwood_wait_any_for(client, &any, 0), SHERWOOD_E_PENDING);
    cr_expect_null(any);
    cr_expect_eq(sherwood_wait_for(client, &requests[0], 60), SHERWOOD_E_PENDING);
    cr_expect_eq(sherwood_wait_any_for(client, &any, 60), SHERWOOD_E_PENDING);
    cr_expect_geq(seconds_now() - start, 0.119);
    int descriptor = sherwood_descriptor(client);
    struct pollfd ready = {.fd = descriptor, .events = POLLIN};
    cr_assert_geq(descriptor, 0);
    cr_expect_eq(sherwood_descriptor(client), descriptor);
    cr_expect_eq(poll(&ready, 1, 30), 0, "nothing was answered");
    cr_assert_eq(write(ends[1], "x", 1), 1);
    /* An answer may come in several pieces. Each piece wakes the poll. */
    do {
        cr_assert_eq(poll(&ready, 1, 5000), 1);
    } while (sherwood_wait_any_for(client, &any, 0) == SHERWOOD_E_PENDING);
    cr_expect_eq(any, &requests[0]);
    cr_expect_eq(requests[0].status, SHERWOOD_OK);
    cr_expect_eq(sherwood_wait_any_for(client, &any, 0), SHERWOOD_E_PENDING);
    cr_expect_eq(poll(&ready, 1, 30), 0);
    cr_assert_eq(write(ends[1], "x", 1), 1);
    cr_expect_eq(sherwood_wait_for(client, &requests[1], 5000), SHERWOOD_OK);
    cr_expect_eq(sherwood_wait_for(client, &requests[1], 0), SHERWOOD_E_INVALID, "given back");
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 10; i++) {
            cr_assert_eq(values[r][i], UINT64_MAX);
        }
    }
    cr_expect_eq(sherwood_wait_for(NULL, NULL, 0), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_wait_any_for(client, NULL, 0), SHERWOOD_E_INVALID);
    sherwood_close(client);
    close(ends[1]);
    sw_fake_stop(&server);
    close(ends[0]);
}

/* Large frames both ways, driven by nothing but the descriptor: neither the room to send nor the
 * mark that wakes for a whole body may be missed. */
Test(async, the_descriptor_drives_large_frames)
{
    enum { REQUESTS = 6, KEYS = 1 << 16, ROUNDS = 3 };
    static struct sherwood_request requests[REQUESTS];
    for (int flags = 0; flags <= SW_FAKE_TCP; flags++) {
        uint64_t *keys = malloc(REQUESTS * KEYS * 8), *values = malloc(REQUESTS * KEYS * 8);
        open_table(flags, KEYS, 4, 0);
        struct pollfd ready = {.fd = sherwood_descriptor(client), .events = POLLIN};
        for (uint64_t i = 0; i < REQUESTS * KEYS; i++) {
            keys[i] = i;
        }
        for (int round = 0; round < ROUNDS; round++) {
            const bool is_set = round == 0;
            for (uint64_t i = 0; i < REQUESTS * KEYS; i++) {
                values[i] = is_set ? value_of(i) : 0;
            }
            for (int next = 0, answered = 0; answered < REQUESTS;) {
                for (int rc = SHERWOOD_OK; next < REQUESTS && rc == SHERWOOD_OK;) {
                    uint64_t *at = values + (size_t)next * KEYS;
                    requests[next] =
                        (struct sherwood_request){SIZED,
                                                  .operation = is_set ? SHERWOOD_SET : SHERWOOD_GET,
                                                  .count = KEYS,
                                                  .keys = keys + (size_t)next * KEYS,
                                                  .values = is_set ? at : NULL,
                                                  .previous = is_set ? NULL : at};
                    rc = sherwood_submit(client, &requests[next]);
                    cr_assert(rc == SHERWOOD_OK || rc == SHERWOOD_E_BUSY, "%d", rc);
                    next += rc == SHERWOOD_OK;
                }
                struct sherwood_request *any;
                int rc = sherwood_wait_any_for(client, &any, 0);
                if (any != NULL) {
                    cr_assert_eq(rc, SHERWOOD_OK, "%s", sherwood_error(client));
                    answered++;
                } else {
                    cr_assert_eq(poll(&ready, 1, 20000), 1, "nothing moves");
                }
            }
            for (uint64_t i = 0; i < REQUESTS * KEYS; i++) {
                cr_assert_eq(values[i], value_of(i), "key %lu", (unsigned long)i);
            }
        }
        close_table();
        free(keys);
        free(values);
    }
}

/* Keys, operands and results in pieces of odd lengths, some without room for their values. */
Test(async, requests_in_pieces)
{
    for (uint32_t pieces_count = 1; pieces_count <= SHERWOOD_PIECES_MAX; pieces_count++) {
        for (int large = 0; large < 2; large++) {
            struct sherwood_piece pieces[SHERWOOD_PIECES_MAX] = {{0}};
            uint64_t *arrays[SHERWOOD_PIECES_MAX][3];
            uint64_t found[1024] = {0};
            uint32_t total = 0;
            open_table(0, 65536, 4, 0);
            for (uint32_t p = 0; p < pieces_count; p++) {
                uint32_t count = large ? 1000 + 77 * p : 1 + 3 * p;
                for (int a = 0; a < 3; a++) {
                    arrays[p][a] = malloc(count * 8);
                }
                for (uint32_t i = 0; i < count; i++) {
                    arrays[p][0][i] = total + i;
                    arrays[p][1][i] = value_of(total + i);
                    arrays[p][2][i] = 0xAA;
                }
                pieces[p] = (struct sherwood_piece){arrays[p][0], arrays[p][1], NULL, count};
                total += count;
            }
            struct sherwood_request request = {SIZED, .operation = SHERWOOD_SET, .count = total,
                                               .pieces = pieces, .pieces_count = pieces_count};
            cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK, "%s",
                         sherwood_error(client));
            cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_OK);
            for (uint32_t p = 0; p < pieces_count; p++) {
                pieces[p].previous = p % 3 == 1 ? NULL : arrays[p][2];
            }
            request = (struct sherwood_request){
                SIZED,          .operation = SHERWOOD_GET, .count = total,
                .found = found, .pieces = pieces,          .pieces_count = pieces_count};
            cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK);
            cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_OK);
            cr_assert_eq(request.hits, total);
            uint32_t key = 0;
            for (uint32_t p = 0; p < pieces_count; p++) {
                for (uint32_t i = 0; i < pieces[p].count; i++, key++) {
                    uint64_t expected = p % 3 == 1 ? 0xAA : value_of(key);
                    cr_assert_eq(arrays[p][2][i], expected, "piece %u element %u", p, i);
                    cr_assert(sherwood_found(found, key));
                }
                for (int a = 0; a < 3; a++) {
                    free(arrays[p][a]);
                }
            }
            close_table();
        }
    }
}

Test(async, bad_requests_are_not_queued)
{
    uint64_t array[64] = {0};
    const struct sherwood_piece good = {array, array, NULL, 32};
    struct sherwood_piece many[SHERWOOD_PIECES_MAX + 1];
    const struct sherwood_piece empty[] = {good, {array, array, NULL, 0}};
    const struct sherwood_piece no_keys[] = {good, {NULL, array, NULL, 1}};
    const struct sherwood_piece no_values[] = {good, {array, NULL, NULL, 1}};
    for (int i = 0; i <= SHERWOOD_PIECES_MAX; i++) {
        many[i] = (struct sherwood_piece){array, array, NULL, 1};
    }
    const struct sherwood_request bad[] = {
        {.count = 33, .pieces = &good, .pieces_count = 1},
        {.count = 32, .pieces = &good, .pieces_count = 0},
        {.count = 32, .pieces = &good, .pieces_count = 1, .keys = array},
        {.count = 32, .pieces = &good, .pieces_count = 1, .previous = array},
        {.count = SHERWOOD_PIECES_MAX + 1, .pieces = many, .pieces_count = SHERWOOD_PIECES_MAX + 1},
        {.count = 32, .pieces = empty, .pieces_count = 2},
        {.count = 33, .pieces = no_keys, .pieces_count = 2},
        {.count = 33, .pieces = no_values, .pieces_count = 2},
        {.count = 32, .keys = array, .values = array, .flags = 8},
    };
    open_table(0, 128, 4, 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sherwood_request request = bad[i];
        request.operation = SHERWOOD_SET;
        request.size = sizeof(request);
        cr_expect_eq(sherwood_submit(client, &request), SHERWOOD_E_INVALID, "case %zu", i);
    }
    cr_expect_eq(sherwood_ping(client), SHERWOOD_OK);
    cr_expect_eq(table.frames, 0);
    close_table();
}

/* Answers that are dropped, between others that are not, in another order than asked for. */
Test(async, dropped_answers)
{
    enum { REQUESTS = 8, KEYS = 30000 };
    static struct sherwood_request requests[REQUESTS];
    for (int flags = 0; flags <= SW_FAKE_TCP; flags++) {
        uint64_t *keys = malloc(KEYS * 8), *values = malloc(REQUESTS * KEYS * 8);
        static const uint32_t counts[] = {10, 400, 5000, KEYS};
        open_table(flags, 65536, 8, 4);
        for (uint64_t i = 0; i < KEYS; i++) {
            keys[i] = i;
            values[i] = value_of(i);
        }
        struct sherwood_request *fill[4];
        for (int r = 0; r < 4; r++) {
            requests[r] = (struct sherwood_request){SIZED, .operation = SHERWOOD_SET, .count = KEYS,
                                                    .keys = keys, .values = values};
            cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
        }
        for (int r = 0; r < 4; r++) {
            cr_assert_eq(sherwood_wait_any(client, &fill[r]), SHERWOOD_OK);
        }
        for (int round = 0; round < 8; round++) {
            memset(values, 0xAA, REQUESTS * KEYS * 8);
            for (int r = 0; r < REQUESTS; r++) {
                const bool drops = (r + round) % 3 != 0;
                requests[r] =
                    (struct sherwood_request){SIZED,
                                              .operation = SHERWOOD_GET,
                                              .count = counts[(r * 3 + round) % 4],
                                              .keys = keys,
                                              .previous = drops ? NULL : values + (size_t)r * KEYS,
                                              .flags = drops ? SHERWOOD_DISCARD : 0};
                cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
            }
            for (int r = 0; r < REQUESTS; r++) {
                cr_assert_eq(sherwood_wait(client, &requests[r]), SHERWOOD_OK);
                cr_assert_eq(requests[r].hits, requests[r].count);
                for (uint32_t i = 0; i < KEYS; i++) {
                    bool is_there = requests[r].previous != NULL && i < requests[r].count;
                    cr_assert_eq(values[(size_t)r * KEYS + i],
                                 is_there ? value_of(i) : 0xAAAAAAAAAAAAAAAAU,
                                 "round %d request %d key %u", round, r, i);
                }
            }
        }
        close_table();
        free(keys);
        free(values);
    }
}

Test(async, delayed_requests_leave_together)
{
    enum { REQUESTS = 5 };
    struct sherwood_request requests[REQUESTS];
    struct sherwood_traffic before, after;
    uint64_t keys[4] = {1, 2, 3, 4}, values[4];
    open_table(0, 128, 8, REQUESTS);
    sherwood_traffic(client, &before, sizeof(before));
    for (int r = 0; r < REQUESTS; r++) {
        requests[r] = (struct sherwood_request){
            SIZED,        .operation = SHERWOOD_GET, .count = 4,
            .keys = keys, .previous = values,        .flags = SHERWOOD_DELAY};
        cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
    }
    sherwood_traffic(client, &after, sizeof(after));
    cr_expect_eq(after.writes, before.writes, "nothing was sent");
    for (int r = 0; r < REQUESTS; r++) {
        cr_assert_eq(sherwood_wait(client, &requests[r]), SHERWOOD_OK);
    }
    sherwood_traffic(client, &after, sizeof(after));
    cr_expect_eq(after.writes - before.writes, 1, "one call sent all");
    cr_expect_gt(after.bytes_received, before.bytes_received);
    cr_expect_gt(after.reads, before.reads);
    sherwood_traffic(NULL, &after, sizeof(after));
    cr_expect_eq(after.writes, 0);
    close_table();
}

/* Memory that is written once. */
static uint64_t *constant_keys(uint32_t count, uint64_t first)
{
    uint64_t *keys = mmap(NULL, count * sizeof(*keys), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(keys != MAP_FAILED);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = value_of(first + i);
    }
    return keys;
}

Test(async, constant_arrays_go_as_pages)
{
    enum { REQUESTS = 5, KEYS = 65536 };
    for (int flags = 0; flags <= SW_FAKE_TCP; flags++) {
        uint64_t *keys[REQUESTS], *operands[REQUESTS], *got = malloc(KEYS * 8);
        static struct sherwood_request requests[REQUESTS];
        struct sherwood_traffic traffic;
        open_table(flags, KEYS, 3, 0);
        for (uint64_t r = 0; r < REQUESTS; r++) {
            /* One request begins within a page, the last is small. */
            keys[r] = constant_keys(KEYS, r << 32);
            operands[r] = constant_keys(KEYS, r << 32 | 1U << 30);
            uint32_t skip = r == 1 ? 3 : 0;
            requests[r] = (struct sherwood_request){SIZED,
                                                    .operation = SHERWOOD_SET,
                                                    .count = r == 4 ? 9 : KEYS - skip,
                                                    .keys = keys[r] + skip,
                                                    .values = operands[r] + skip,
                                                    .flags = SHERWOOD_CONSTANT};
            int rc;
            while ((rc = sherwood_submit(client, &requests[r])) == SHERWOOD_E_BUSY) {
                struct sherwood_request *any;
                cr_assert_eq(sherwood_wait_any(client, &any), SHERWOOD_OK);
            }
            cr_assert_eq(rc, SHERWOOD_OK);
        }
        cr_assert_eq(sherwood_ping(client), SHERWOOD_OK);
        sherwood_traffic(client, &traffic, sizeof(traffic));
        cr_expect_gt(traffic.bytes_spliced, 3U * KEYS * 8, "%lu bytes as pages",
                     (unsigned long)traffic.bytes_spliced);
        struct sherwood_request *any;
        while (sherwood_wait_any(client, &any) == SHERWOOD_OK && any != NULL) {
        }
        for (int r = 0; r < REQUESTS; r++) {
            const uint32_t count = requests[r].count, skip = r == 1 ? 3 : 0;
            struct sherwood_request get = {SIZED,           .operation = SHERWOOD_GET,
                                           .count = count,  .keys = keys[r] + skip,
                                           .previous = got, .flags = SHERWOOD_CONSTANT};
            cr_assert_eq(sherwood_submit(client, &get), SHERWOOD_OK);
            cr_assert_eq(sherwood_wait(client, &get), SHERWOOD_OK);
            cr_assert_eq(memcmp(got, operands[r] + skip, count * 8), 0, "request %d", r);
        }
        close_table();
        for (int r = 0; r < REQUESTS; r++) {
            munmap(keys[r], KEYS * 8);
            munmap(operands[r], KEYS * 8);
        }
        free(got);
    }
}

static void closes_midway(int fd, void *user)
{
    uint8_t bytes[70000];
    (void)user;
    if (sw_fake_hello(fd, 8, 8, 1U << 20, 4)) {
        (void)!read(fd, bytes, sizeof(bytes));
    }
}

/* splice raises SIGPIPE by itself; the test would die of it. */
Test(async, no_signal_when_the_server_closes)
{
    const uint32_t count = 1U << 20;
    uint64_t *keys = constant_keys(count, 0);
    for (int flags = 0; flags <= SW_FAKE_TCP; flags++) {
        sw_fake_start_with(&server, closes_midway, NULL, flags);
        cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
        struct sherwood_request request = {SIZED,          .operation = SHERWOOD_SET,
                                           .count = count, .keys = keys,
                                           .values = keys, .flags = SHERWOOD_CONSTANT};
        cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK);
        cr_expect_eq(sherwood_wait(client, &request), SHERWOOD_E_CONNECTION);
        sherwood_close(client);
        sw_fake_stop(&server);
    }
    munmap(keys, count * 8);
}

struct pace {
    size_t chunk;
    int pauses; /* 250 ms each, then it goes on at once; negative: silence after one chunk */
};

/* Answers one large GET slowly. */
static void paced(int fd, void *user)
{
    const struct pace *pace = user;
    const size_t room = (1U << 20) + SW_FRAME_HEAD_BYTES_MAX + 65536;
    uint8_t *bytes = calloc(1, room);
    struct sw_request request;
    if (sw_fake_hello(fd, 8, 8, 65536, 4) && sw_fake_read(fd, &request, bytes, room)) {
        struct sw_reply reply = sw_fake_ok(&request);
        size_t body = (size_t)sw_reply_layout(&reply, SW_OPERATION_GET).bytes, at = 0;
        memset(bytes, 0, room);
        size_t size = (size_t)sw_reply_encode(&reply, body, bytes, room) + body;
        for (int i = 0; i < (pace->pauses < 0 ? 1 : pace->pauses); i++) {
            sw_fake_write(fd, bytes + at, pace->chunk);
            at += pace->chunk;
            usleep(250 * 1000);
        }
        if (pace->pauses < 0) {
            (void)!read(fd, bytes, 1); /* until the client closes */
        } else {
            sw_fake_write(fd, bytes + at, size - at);
        }
    }
    free(bytes);
}

/* Waking only for a whole body must not hide that bytes move, nor that they do not. */
Test(async, slow_bodies_by_tcp)
{
    static const struct {
        struct pace pace;
        int status;
    } cases[] = {{{1000, 9}, SHERWOOD_OK}, {{50000, 9}, SHERWOOD_OK}, {{70000, -1}, -5}};
    uint64_t *arrays = calloc(2 * 65536, 8);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pace pace = cases[i].pace;
        const struct sherwood_options options = {.size = sizeof(struct sherwood_options),
                                                 .request_timeout_ms = 2000};
        sw_fake_start_with(&server, paced, &pace, SW_FAKE_TCP);
        cr_assert_eq(sherwood_connect(server.address, &options, &client), SHERWOOD_OK);
        int rc = sherwood_get(client, arrays, 65536, arrays + 65536, NULL);
        cr_expect_eq(rc, cases[i].status, "case %zu: %d %s", i, rc, sherwood_error(client));
        sherwood_close(client);
        sw_fake_stop(&server);
    }
    free(arrays);
}
