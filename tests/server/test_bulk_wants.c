/* SPDX-License-Identifier: MIT
 *
 * test_bulk_wants.c - a bulk reply has the values and the found bitmap if the request wants them.
 */
#include "tests/server/bulk_fixture.h"

/* Sends this request for keys from `first` on; the first `present` of them exist. Checks that the
 * reply has the requested arrays and no others. */
static void exchange(struct serve *serve, struct fake *peer, struct sw_request request,
                     uint64_t first, uint32_t present)
{
    static struct stream stream;
    static uint8_t body[FRAME_MAX];
    struct sw_reply reply;
    uint64_t body_bytes;
    stream.size = 0;
    add_request(&stream, request, first);
    send_all(serve, peer, stream.bytes, stream.size);
    serve_until_idle(serve);
    cr_assert(take_reply_and_body(peer, &reply, body, &body_bytes));
    expect_no_reply(peer);
    cr_assert_eq(reply.status, SW_REPLY_OK, "%s", reply.message);
    cr_assert_eq(reply.count, request.count);
    cr_assert_eq(reply.hits, present);
    cr_assert_eq(reply.has_values, request.want_values);
    cr_assert_eq(reply.lacks_found, request.declines_found);
    uint64_t values_bytes = request.want_values ? sw_frame_align(8ULL * request.count) : 0;
    uint64_t found_bytes = sw_frame_align(sw_found_bytes(request.count));
    cr_assert_eq(body_bytes, values_bytes + (request.declines_found ? 0 : found_bytes));
    for (uint64_t i = 0; i < values_bytes / 8; i++) {
        uint64_t value, expected = i < present ? 10 * (first + i) : 0;
        memcpy(&value, body + 8 * i, 8);
        cr_assert_eq(value, expected, "value %llu", (unsigned long long)i);
    }
    for (uint64_t at = values_bytes; at < body_bytes; at++) {
        for (uint64_t bit = 0; bit < 8; bit++) {
            uint64_t i = 8 * (at - values_bytes) + bit;
            cr_assert_eq(body[at] >> bit & 1, i < present, "bit %llu", (unsigned long long)i);
        }
    }
}

SERVE_TEST(bulk_conn, a_reply_has_what_was_asked_for_and_nothing_else)
{
    enum { PRESENT = 90, COUNT = 100 };
    for (int wants = 0; wants < 4; wants++) {
        struct sw_request request = {.request_id = 7,
                                     .operation = SW_OPERATION_SET,
                                     .count = PRESENT,
                                     .want_values = (wants & 1) != 0,
                                     .declines_found = (wants & 2) != 0};
        exchange(serve, peer, request, 500, 0);
        exchange(serve, peer, request, 500, PRESENT);
        request.count = COUNT;
        request.operation = SW_OPERATION_GET;
        exchange(serve, peer, request, 500, PRESENT);
        request.operation = SW_OPERATION_SET_PRESENT;
        exchange(serve, peer, request, 500, PRESENT);
        request.operation = SW_OPERATION_DELETE;
        exchange(serve, peer, request, 500, PRESENT);
        exchange(serve, peer, request, 500, 0);
    }
}

/* Frames that arrive together, some without the bitmap: each reply has the hits and overflows of
 * its own frame. */
SERVE_TEST(bulk_conn, frames_without_the_bitmap_count_beside_those_with_it)
{
    enum { FRAMES = 6, COUNT = 70 };
    static struct stream stream;
    struct sw_reply reply;
    stream.size = 0;
    add_frame(&stream, SW_OPERATION_SET, FRAMES, 1000, COUNT);
    for (uint64_t i = 0; i < FRAMES; i++) {
        const struct sw_request request = {.request_id = i,
                                           .operation = SW_OPERATION_DECREMENT,
                                           .count = COUNT,
                                           .declines_found = i % 2 == 0};
        add_request(&stream, request, 1000 + 10 * i); /* the later, the fewer are there */
    }
    send_all(serve, peer, stream.bytes, stream.size);
    serve_until_idle(serve);
    expect_reply(peer, FRAMES, SW_REPLY_OK);
    for (uint64_t i = 0; i < FRAMES; i++) {
        cr_assert(take_reply(peer, &reply));
        cr_assert_eq(reply.request_id, i);
        cr_assert_eq(reply.lacks_found, i % 2 == 0);
        cr_assert_eq(reply.hits, COUNT - 10 * i, "%llu", (unsigned long long)reply.hits);
        /* A key that frame i - 1 decremented to zero overflows, and so does an absent key. */
        cr_assert_eq(reply.overflows, i == 0 ? 0 : COUNT, "%llu",
                     (unsigned long long)reply.overflows);
    }
}
