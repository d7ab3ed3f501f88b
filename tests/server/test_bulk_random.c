/* SPDX-License-Identifier: MIT
 *
 * test_bulk_random.c - bulk connections whose frames and replies come and go in random pieces: each
 * gets its own replies, in order where the table decides them, and all memory comes back.
 */
#include "tests/server/serve_fixture.h"
#include "tests/support/fake_server.h"

enum { LANES = 5, FRAMES = 120, KEYS = 40, STEPS = 8000, STREAM_BYTES = 1 << 20 };

/* What a frame must be replied. */
struct expected {
    bool found[KEYS];
    uint64_t before[KEYS];
    uint32_t count;
    uint32_t overflows;
    enum sw_operation operation;
    bool wants_values, declines_found;
    bool seen;
};

/* A connection with keys of its own. */
struct lane {
    struct pieces pieces;
    bool present[KEYS];
    uint64_t value[KEYS];
    struct expected expected[FRAMES];
    unsigned replies;
};

/* Carries the frame out in the model and writes it. */
static void add_frame(struct lane *lane, unsigned number, uint64_t base, struct random *random)
{
#define ROW(name, number, ...) SW_OPERATION_##name,
    static const enum sw_operation operations[] = {SW_INTEGER_OPERATION_MAP(ROW) SW_OPERATION_PING};
#undef ROW
    struct expected *expected = &lane->expected[number];
    enum sw_operation operation =
        operations[random_below(random, sizeof(operations) / sizeof(operations[0]))];
    struct sw_request request = {.request_id = number,
                                 .operation = operation,
                                 .count = 1 + (uint32_t)random_below(random, KEYS),
                                 .key_bytes = 8,
                                 .value_bytes = 8,
                                 .want_values = random_below(random, 3) > 0,
                                 .declines_found = random_below(random, 2) > 0};
    request.count = sw_operation_is_data(operation) ? request.count : 0;
    struct sw_body_layout layout = sw_request_layout(&request);
    uint64_t body = request.count > 0 ? layout.bytes : 0;
    uint8_t *at = (uint8_t *)lane->pieces.requests + lane->pieces.size;
    int head = sw_request_encode(&request, body, at, SW_FRAME_HEAD_BYTES_MAX);
    cr_assert(head > 0 && lane->pieces.size + (size_t)head + body < STREAM_BYTES);
    memset(at + head, 0, body);
    expected->operation = operation;
    expected->count = request.count;
    expected->wants_values = request.want_values;
    expected->declines_found = request.declines_found;
    for (uint32_t i = 0; i < request.count; i++) {
        uint64_t k = random_below(random, KEYS), key = base + k, operand = random_next(random);
        memcpy(at + head + (size_t)i * 8, &key, 8);
        if (sw_operation_has_operands(operation)) {
            memcpy(at + head + layout.second + (size_t)i * 8, &operand, 8);
        }
        expected->found[i] = lane->present[k];
        expected->before[i] = lane->present[k] ? lane->value[k] : 0;
        expected->overflows +=
            !sw_fake_apply(operation, &lane->present[k], &lane->value[k], operand, UINT64_MAX);
    }
    lane->pieces.size += (size_t)head + body;
}

static void check_reply(const struct expected *expected, const struct sw_reply *reply,
                        const uint8_t *body, uint64_t body_bytes)
{
    const unsigned id = (unsigned)reply->request_id;
    const bool is_data = sw_operation_is_data(expected->operation);
    const struct sw_body_layout layout = sw_reply_layout(reply, expected->operation);
    uint64_t hits = 0;
    cr_assert_eq(reply->count, expected->count);
    cr_assert_eq(body_bytes, layout.bytes, "frame %u", id);
    cr_assert_eq(reply->has_values, is_data && expected->wants_values, "frame %u", id);
    cr_assert_eq(reply->lacks_found, is_data && expected->declines_found, "frame %u", id);
    for (uint32_t i = 0; i < expected->count; i++) {
        hits += expected->found[i];
        if (reply->has_values) {
            uint64_t before;
            memcpy(&before, body + layout.first + (size_t)i * 8, 8);
            cr_assert_eq(before, expected->before[i], "frame %u", id);
        }
    }
    for (uint32_t i = 0; !reply->lacks_found && i < (expected->count + 63) / 64 * 64; i++) {
        bool wanted = i < expected->count && expected->found[i];
        cr_assert_eq(body[layout.second + i / 8] >> i % 8 & 1, wanted, "frame %u, bit %u", id, i);
    }
    cr_assert_eq(reply->hits, hits, "frame %u", id);
    cr_assert_eq(reply->overflows, expected->overflows, "frame %u", id);
}

/* Looks at the whole replies that have come. */
static void take_replies(struct lane *lane)
{
    struct fake *peer = lane->pieces.peer;
    struct sw_frame_prefix prefix;
    struct sw_reply reply;
    size_t at = 0;
    while (peer->out_bytes - at >= SW_FRAME_PREFIX_BYTES) {
        const uint8_t *bytes = (const uint8_t *)peer->out + at;
        cr_assert_gt(sw_frame_prefix_decode(bytes, peer->out_bytes - at, 1 << 20, &prefix), 0);
        uint64_t head = sw_frame_head_bytes(prefix.header_bytes);
        if (peer->out_bytes - at < head + prefix.body_bytes) {
            break;
        }
        cr_assert_eq(sw_reply_decode(bytes + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &reply),
                     0);
        cr_assert(reply.status == SW_REPLY_OK && reply.request_id < FRAMES, "%s", reply.message);
        struct expected *expected = &lane->expected[reply.request_id];
        cr_assert_not(expected->seen, "replied to twice");
        expected->seen = true;
        check_reply(expected, &reply, bytes + head, prefix.body_bytes);
        lane->replies++;
        at += head + prefix.body_bytes;
    }
    peer->out_bytes -= at;
    if (peer->out_bytes > 0) {
        memmove(peer->out, peer->out + at, peer->out_bytes);
    }
}

LOOP_TEST_WITH(bulk_random, every_frame_gets_its_own_reply, serve->config.arena_bytes = 64 << 10;
               serve->config.frame_ops_max = 64; serve->config.frames_in_flight_max = 6;
               serve->config.output_bytes_pause = 4096)
{
    struct random random = random_of(0);
    static struct lane lanes[LANES];
    for (unsigned i = 0; i < LANES; i++) {
        lanes[i].pieces.peer = serve_open(serve);
        lanes[i].pieces.requests = malloc(STREAM_BYTES);
        cr_assert_not_null(lanes[i].pieces.requests);
        for (unsigned n = 0; n < FRAMES; n++) {
            add_frame(&lanes[i], n, 1000ULL * i, &random);
        }
    }
    for (int n = 0; n < STEPS; n++) {
        struct lane *lane = &lanes[random_below(&random, LANES)];
        pieces_step(serve, &lane->pieces, &random);
        take_replies(lane);
    }
    for (bool more = true; more;) {
        more = serve_iteration(serve);
        for (int i = 0; i < LANES; i++) {
            more |= pieces_end(&lanes[i].pieces);
            take_replies(&lanes[i]);
        }
    }
    cr_assert_gt(serve->loop->counters.frames_in_flight_pauses, 0);
    cr_assert_gt(serve->loop->counters.arena_pauses, 0);
    for (int i = 0; i < LANES; i++) {
        cr_assert_eq(lanes[i].replies, FRAMES, "connection %d", i);
        cr_assert_eq(lanes[i].pieces.peer->out_bytes, 0);
        free(lanes[i].pieces.requests);
    }
}
