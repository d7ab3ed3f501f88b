/* SPDX-License-Identifier: MIT
 *
 * test_times.c - what a program says of when keys expire, as bytes at the server: one time for all
 * keys, or one for each, in calls that are split, in requests and in pieces; and what is refused
 * before a byte of it is sent.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "client/bounds.h"
#include "client/sherwood.h"
#include "tests/support/fake_server.h"

#define KEYS 300
#define OPS_MAX 128
#define SEEN_MAX 8

/* Frames on keys as they came. */
static struct seen {
    struct sw_request request;
    uint64_t times[OPS_MAX];
} seen[SEEN_MAX];
static uint32_t seen_count;
static bool takes_times = true;
static struct sw_fake_server server;
static struct sherwood *client;
static uint64_t keys[KEYS], values[KEYS], times[KEYS], answers[KEYS], found[KEYS / 64 + 1];

static void tell(int fd, const struct sw_request *request, const uint8_t *body)
{
    static uint8_t reply_body[OPS_MAX * 8 + 64];
    struct sw_reply reply = sw_fake_ok(request);
    struct seen *frame = &seen[seen_count++ % SEEN_MAX];
    frame->request = *request;
    if (request->has_times) {
        memcpy(frame->times, body + sw_request_layout(request).times, request->count * 8ULL);
    }
    reply.value_bytes = sw_request_answer_bytes(request);
    for (uint64_t i = 0; i < request->count; i++) {
        uint64_t answer = i + 77;
        memcpy(reply_body + i * reply.value_bytes, &answer, reply.value_bytes);
    }
    sw_fake_reply(fd, &reply, reply_body,
                  (size_t)sw_reply_layout(&reply, request->operation).bytes);
}

static void script(int fd, void *unused)
{
    static uint8_t body[4 * OPS_MAX * 8 + 64];
    struct sw_request request;
    (void)unused;
    while (sw_fake_read(fd, &request, body, sizeof(body))) {
        if (request.operation == SW_OPERATION_HELLO) {
            struct sw_reply reply = {.request_id = request.request_id, .has_info = true};
            reply.info = (struct sw_server_info){.version = "fake",
                                                 .key_bytes = 4,
                                                 .value_bytes = 4,
                                                 .frame_ops_max = OPS_MAX,
                                                 .requests_in_flight_max = 4,
                                                 .frame_bytes_max = 1 << 20,
                                                 .takes_times = takes_times};
            sw_fake_reply(fd, &reply, NULL, 0);
        } else {
            tell(fd, &request, body);
        }
    }
}

static void setup(void)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i;
        times[i] = 1000 + i;
    }
    sw_fake_start_with(&server, script, NULL, 0);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
}

static void teardown(void)
{
    sherwood_close(client);
    sw_fake_stop(&server);
}

TestSuite(times, .init = setup, .fini = teardown);

Test(times, one_for_all_keys)
{
    struct sherwood_times said = SHERWOOD_TIMES_INIT;
    said.when = SHERWOOD_IN;
    said.time_ms = 60000;
    cr_assert_eq(sherwood_set_times(client, keys, values, 9, &said), SHERWOOD_OK);
    cr_expect_eq(seen[0].request.operation, SW_OPERATION_SET);
    cr_expect_eq(seen[0].request.times, SW_FRAME_TIMES_IN);
    cr_expect_eq(seen[0].request.time_ms, 60000);
    cr_expect(!seen[0].request.has_times);
}

Test(times, each_frame_of_a_call_has_those_of_its_keys)
{
    struct sherwood_times said = SHERWOOD_TIMES_INIT;
    uint32_t at = 0;
    said.when = SHERWOOD_AT;
    said.times_ms = times;
    cr_assert_eq(sherwood_expire(client, keys, KEYS, &said, found), SHERWOOD_OK);
    cr_assert(seen_count >= 3 && seen_count <= SEEN_MAX);
    for (uint32_t f = 0; f < seen_count; f++) {
        cr_expect_eq(seen[f].request.operation, SW_OPERATION_EXPIRE);
        cr_expect(seen[f].request.has_times && seen[f].request.time_ms == 0);
        for (uint32_t i = 0; i < seen[f].request.count; i++, at++) {
            cr_assert_eq(seen[f].times[i], times[at], "key %u", at);
        }
    }
    cr_expect_eq(at, KEYS);
}

/* They are of 8 bytes, whatever the values of the server are. */
/* Frames of this many keys have longer answers to TTL than to any other operation, where values
 * have 4 bytes. */
enum { FULL = 4096 };

static void answer_full_frames(int fd, void *unused)
{
    static uint8_t body[FULL * 8 + FULL / 8 + 128], in[FULL * 4 + 64];
    struct sw_request request;
    (void)unused;
    while (sw_fake_read(fd, &request, in, sizeof(in))) {
        struct sw_reply reply = sw_fake_ok(&request);
        if (request.operation == SW_OPERATION_HELLO) {
            reply = (struct sw_reply){.request_id = request.request_id, .has_info = true};
            reply.info = (struct sw_server_info){.key_bytes = 4,
                                                 .value_bytes = 4,
                                                 .frame_ops_max = FULL,
                                                 .requests_in_flight_max = 4,
                                                 .takes_times = true};
        }
        reply.value_bytes = sw_request_answer_bytes(&request);
        sw_fake_reply(fd, &reply, body, (size_t)sw_reply_layout(&reply, request.operation).bytes);
    }
}

Test(times, answers_of_ttl_in_a_full_frame)
{
    static uint64_t when[FULL], bits[FULL / 64];
    static uint32_t many[FULL];
    struct sw_fake_server full;
    struct sherwood *other = NULL;
    sw_fake_start(&full, answer_full_frames, NULL);
    cr_assert_eq(sherwood_connect(full.address, NULL, &other), SHERWOOD_OK);
    cr_expect_eq(sherwood_ttl(other, many, FULL, when, bits), SHERWOOD_OK, "%s",
                 sherwood_error(other));
    cr_expect_eq(sherwood_ttl(other, many, FULL, when, NULL), SHERWOOD_OK);
    sherwood_close(other);
    sw_fake_stop(&full);
}

Test(times, answers_of_ttl)
{
    cr_assert_eq(sherwood_ttl(client, keys, 100, answers, found), SHERWOOD_OK, "%s",
                 sherwood_error(client));
    cr_expect_eq(seen[0].request.operation, SW_OPERATION_TTL);
    cr_expect(seen[0].request.want_values);
    for (uint64_t i = 0; i < 100; i++) {
        cr_assert_eq(answers[i], i + 77);
    }
    cr_assert_eq(sherwood_persist(client, keys, 1, found), SHERWOOD_OK);
    cr_expect_eq(seen[1].request.operation, SW_OPERATION_PERSIST);
}

Test(times, requests_in_pieces)
{
    struct sherwood_piece pieces[2] = {{keys, values, NULL, 3}, {keys, values, NULL, 5}};
    struct sherwood_times said = SHERWOOD_TIMES_INIT;
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    said.when = SHERWOOD_AT;
    said.times_ms = times + 1;
    request.operation = SHERWOOD_SET_PRESENT;
    request.pieces = pieces;
    request.pieces_count = 2;
    request.count = 8;
    request.times = &said;
    cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_OK);
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_eq(seen[0].times[i], times[i + 1]);
    }
}

/* Nothing of what is refused here reaches the server. */
static void expect_refusal(struct sherwood_times said, int status, const char *text)
{
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    request.operation = SHERWOOD_SET;
    request.keys = keys;
    request.values = values;
    request.count = 1;
    request.times = &said;
    cr_expect_eq(sherwood_set_times(client, keys, values, 1, &said), status);
    cr_expect_not_null(strstr(sherwood_error(client), text), "%s", sherwood_error(client));
    cr_expect_eq(sherwood_submit(client, &request), status);
    cr_expect_eq(seen_count, 0);
}

Test(times, arguments_that_contradict_each_other)
{
    const size_t size = sizeof(struct sherwood_times);
    const struct sherwood_times rows[] = {{size, SHERWOOD_AT, 0, NULL},
                                          {size, SHERWOOD_IN, 5, times},
                                          {size, SHERWOOD_KEEP, 5, NULL},
                                          {size, SHERWOOD_UNSAID, 0, times}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_refusal(rows[i], SHERWOOD_E_INVALID, "time_ms");
    }
    expect_refusal((struct sherwood_times){.when = SHERWOOD_IN, .time_ms = 5}, SHERWOOD_E_INVALID,
                   "SHERWOOD_TIMES_INIT");
    expect_refusal((struct sherwood_times){SW_CLIENT_STRUCT_BYTES_MAX + 1, SHERWOOD_IN, 5, NULL},
                   SHERWOOD_E_INVALID, "the field size is");
    cr_expect_eq(sherwood_set_times(NULL, keys, values, 1, NULL), SHERWOOD_E_INVALID);
}

/* An older server would skip the fields, and keep the keys for ever. */
Test(times, a_server_that_takes_none)
{
    sherwood_close(client);
    takes_times = false;
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    cr_expect_eq(sherwood_server(client)->takes_times, 0);
    expect_refusal((struct sherwood_times){sizeof(struct sherwood_times), SHERWOOD_IN, 5, NULL},
                   SHERWOOD_E_REQUEST, "accepts no expiry times");
    cr_assert_eq(sherwood_set_times(client, keys, values, 1, NULL), SHERWOOD_OK);
}
