/* SPDX-License-Identifier: MIT
 *
 * test_scores.c - what only frames to a cache have: scores, the entries that were evicted, the keys
 * that were turned away. Where their arrays lie, and what peers of another version make of it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/frame.h"

static struct sw_body_layout layout_of(struct sw_reply *reply)
{
    return sw_reply_layout(reply, SW_OPERATION_SET);
}

Test(scores, a_request_ends_with_them)
{
    struct sw_request request = {.count = 100, .key_bytes = 4, .value_bytes = 20};
    for (uint32_t operation = 0; operation < 64; operation++) {
        request.operation = operation;
        request.has_scores = false;
        uint64_t without = sw_request_layout(&request).bytes;
        request.has_scores = true;
        struct sw_body_layout layout = sw_request_layout(&request);
        bool data = sw_operation_is_data(operation);
        cr_assert_eq(layout.scores, without, "%u", operation);
        cr_assert_eq(layout.bytes, without + (data ? 832 : 0), "%u", operation);
        cr_assert_eq(sw_request_check(&request, 4, 20, 100, layout.bytes),
                     sw_operation_is_known(operation) ? 0 : SW_FRAME_E_OPERATION);
        if (data) {
            cr_assert_eq(sw_request_check(&request, 4, 20, 100, without), SW_FRAME_E_LAYOUT);
        }
    }
}

/* Each announced array exists, and moves the arrays after it. */
Test(scores, arrays_of_a_reply_follow_each_other)
{
    for (uint32_t bits = 0; bits < 256; bits++) {
        struct sw_reply reply = {.count = 100,
                                 .key_bytes = 4,
                                 .value_bytes = 20,
                                 .has_values = (bits & 1) != 0,
                                 .lacks_found = (bits & 2) != 0,
                                 .has_not_admitted = (bits & 4) != 0,
                                 .has_scores = (bits & 8) != 0,
                                 .has_evicted = bits >> 4 & 7,
                                 .evicted_count = bits & 128 ? 30 : 0};
        struct sw_body_layout layout = layout_of(&reply);
        uint64_t evicted = reply.evicted_count;
        uint64_t ends[] = {layout.second,       layout.not_admitted,   layout.scores,
                           layout.evicted_keys, layout.evicted_values, layout.evicted_scores,
                           layout.bytes};
        uint64_t sizes[] = {reply.has_values ? 2000 : 0,     reply.lacks_found ? 0 : 16,
                            reply.has_not_admitted ? 16 : 0, reply.has_scores ? 800 : 0,
                            bits & 16 ? evicted * 4 : 0,     bits & 32 ? evicted * 20 : 0,
                            bits & 64 ? evicted * 8 : 0};
        uint64_t at = 0;
        cr_assert_eq(layout.first, 0);
        for (int i = 0; i < 7; i++) {
            at += sw_frame_align(sizes[i]);
            cr_assert_eq(ends[i], at, "bits %u, array %d", bits, i);
        }
        reply.status = SW_REPLY_BAD_REQUEST;
        cr_assert_eq(layout_of(&reply).bytes, 0);
    }
}

Test(scores, a_scan_ends_with_them)
{
    struct sw_reply reply = {.count = 10, .key_bytes = 8, .value_bytes = 8, .has_scores = true};
    struct sw_body_layout layout = sw_reply_layout(&reply, SW_OPERATION_SCAN);
    cr_assert_eq(layout.scores, 256);
    cr_assert_eq(layout.bytes, 384);
}

/* Bits that this version does not know are not answered, and values come with their keys. */
Test(scores, wishes_of_a_later_client)
{
    static const struct {
        uint8_t wish;
        uint32_t decoded;
    } rows[] = {{0, 0}, {1, 1}, {2, 3}, {4, 5}, {7, 7}, {8, 0}, {10, 3}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint8_t header[] = {12 << 3, rows[i].wish};
        struct sw_request request;
        cr_assert_eq(sw_request_decode(header, sizeof(header), &request), 0);
        cr_assert_eq(request.want_evicted, rows[i].decoded, "%u", rows[i].wish);
    }
}

Test(scores, operations_that_add)
{
    for (uint32_t operation = 0; operation < 64; operation++) {
        cr_assert_eq(sw_operation_adds(operation),
                     strncmp(sw_operation_name(operation), "ADD_", 4) == 0, "%u", operation);
    }
}
