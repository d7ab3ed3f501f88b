/* SPDX-License-Identifier: MIT
 *
 * test_trace.c - which requests of a handle carry its trace context.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "client/bounds.h"
#include "client/sherwood-trace.h"
#include "tests/support/fake_server.h"

#define SAMPLED "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define NOT_SAMPLED "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

enum { KEYS = 300, OPS_MAX = 128 };

static struct sw_fake_server server;
static struct sherwood *client;
static uint32_t frames, sampled, hellos_sampled;
static uint64_t keys[KEYS], values[KEYS];

static void script(int fd, void *unused)
{
    static uint8_t body[2 * OPS_MAX * 8 + 128], reply_body[OPS_MAX * 8 + 64];
    struct sw_request request;
    (void)unused;
    if (!sw_fake_hello(fd, 8, 8, OPS_MAX, 4)) {
        return;
    }
    while (sw_fake_read(fd, &request, body, sizeof(body))) {
        const struct sw_reply reply = sw_fake_ok(&request);
        frames++;
        sampled += request.is_sampled;
        hellos_sampled += request.is_sampled && request.operation == SW_OPERATION_HELLO;
        sw_fake_reply(fd, &reply, reply_body,
                      (size_t)sw_reply_layout(&reply, request.operation).bytes);
    }
}

static void setup(void)
{
    sw_fake_start(&server, script, NULL);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
}

static void teardown(void)
{
    sherwood_close(client);
    sw_fake_stop(&server);
}

TestSuite(trace, .init = setup, .fini = teardown);

/* Runs a call of three frames and a PING. Returns how many of these frames had a context with the
 * flag. */
static uint32_t sampled_of_four(void)
{
    frames = sampled = 0;
    cr_assert_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_OK, "%s",
                 sherwood_error(client));
    cr_assert_eq(sherwood_ping(client), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_assert_eq(frames, 4);
    return sampled;
}

Test(trace, requests_have_the_context_that_was_set)
{
    cr_assert_eq(sampled_of_four(), 0);
    cr_assert_eq(sherwood_traceparent(client, SAMPLED), SHERWOOD_OK);
    cr_assert_eq(sampled_of_four(), 4);
    cr_assert_eq(sherwood_traceparent(client, NOT_SAMPLED), SHERWOOD_OK);
    cr_assert_eq(sampled_of_four(), 0);
    cr_assert_eq(sherwood_traceparent(client, SAMPLED), SHERWOOD_OK);
    cr_assert_eq(sherwood_traceparent(client, NULL), SHERWOOD_OK);
    cr_assert_eq(sampled_of_four(), 0);
}

Test(trace, a_wrong_text_leaves_the_context_unchanged)
{
    cr_assert_eq(sherwood_traceparent(client, SAMPLED), SHERWOOD_OK);
    cr_assert_eq(sherwood_traceparent(client, "00-0-0-01"), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "'00-0-0-01' is not a traceparent"), "%s",
                       sherwood_error(client));
    cr_assert_eq(sampled_of_four(), 4);
    cr_assert_eq(sherwood_traceparent(NULL, SAMPLED), SHERWOOD_E_INVALID);
}

/* The head of the longest request has room for a context. */
Test(trace, the_longest_head_fits)
{
    const struct sw_request longest = {.request_id = UINT64_MAX,
                                       .operation = SW_OPERATION_NUMBERS - 1,
                                       .count = UINT32_MAX,
                                       .key_bytes = 8,
                                       .value_bytes = 4096,
                                       .want_values = true,
                                       .declines_found = true,
                                       .has_scores = true,
                                       .want_scores = true,
                                       .want_not_admitted = true,
                                       .want_evicted = SW_FRAME_EVICTED_ALL,
                                       .scale_bits = UINT32_MAX,
                                       .operand_type = SW_TYPE_F64,
                                       .range_offset = 4096,
                                       .range_bytes = 4096,
                                       .times = SW_FRAME_TIMES_KEEP,
                                       .time_ms = UINT64_MAX,
                                       .has_times = true,
                                       .map_epoch = UINT64_MAX,
                                       .frozen_seen = UINT32_MAX,
                                       .table = UINT32_MAX,
                                       .table_id = UINT32_MAX};
    const struct sw_trace trace = {{1}, {1}, 1};
    uint8_t head[SW_CLIENT_HEAD_BYTES_MAX];
    cr_assert_gt(sw_frame_trace_encode(&longest, &trace, UINT64_MAX, head, sizeof(head)), 0);
}
