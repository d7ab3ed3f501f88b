/* SPDX-License-Identifier: MIT
 *
 * test_times.c - what frames say of when keys expire: the operations, the array of times, and what
 * peers of another version make of it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/region.h"

Test(times, a_request_ends_with_them)
{
    for (uint32_t operation = 0; operation < SW_OPERATION_NUMBERS; operation++) {
        for (uint32_t scores = 0; scores < 2; scores++) {
            struct sw_request request = {.operation = operation,
                                         .count = 100,
                                         .key_bytes = 4,
                                         .value_bytes = 20,
                                         .has_scores = scores != 0};
            const uint64_t without = sw_request_layout(&request).bytes;
            request.has_times = true;
            const struct sw_body_layout layout = sw_request_layout(&request);
            const bool data = sw_operation_is_data(operation);
            cr_assert_eq(layout.times, without, "%u", operation);
            cr_assert_eq(layout.bytes, without + (data ? 832 : 0), "%u", operation);
            cr_assert_eq(sw_request_check(&request, 4, 20, 100, layout.bytes),
                         sw_operation_is_known(operation) ? 0 : SW_FRAME_E_OPERATION);
            if (data) {
                cr_assert_eq(sw_request_check(&request, 4, 20, 100, without), SW_FRAME_E_LAYOUT);
                cr_assert_eq(sw_request_check(&request, 4, 20, 100, layout.bytes + 64),
                             SW_FRAME_E_LAYOUT);
            }
        }
    }
}

/* One time for all keys lies in the header. */
Test(times, one_for_all_takes_no_body)
{
    struct sw_request request = {.operation = SW_OPERATION_EXPIRE,
                                 .count = 9,
                                 .key_bytes = 8,
                                 .value_bytes = 8,
                                 .times = SW_FRAME_TIMES_IN,
                                 .time_ms = 5};
    cr_assert_eq(sw_request_layout(&request).bytes, 128);
}

Test(times, those_of_a_reply_are_its_values)
{
    const struct sw_request request = {
        .operation = SW_OPERATION_TTL, .count = 100, .key_bytes = 4, .value_bytes = 256};
    cr_assert_eq(sw_request_answer_bytes(&request), 8);
    cr_assert_eq(sw_request_operand_bytes(&request), 0);
    struct sw_reply reply = {.count = 100, .key_bytes = 4, .value_bytes = 8, .has_values = true};
    struct sw_body_layout layout = sw_reply_layout(&reply, SW_OPERATION_TTL);
    cr_assert_eq(layout.second, 832);
    cr_assert_eq(layout.bytes, 896);
}

Test(times, classes_of_operations)
{
    for (uint32_t operation = 0; operation < 300; operation++) {
        const char *name = sw_operation_name(operation);
        const bool expires = strncmp(name, "EXPIRE", 6) == 0;
        const bool needs = expires || strcmp(name, "PERSIST") == 0 || strcmp(name, "TTL") == 0;
        cr_assert_eq(sw_operation_expires(operation), expires, "%u", operation);
        cr_assert_eq(sw_operation_needs_expiry(operation), needs, "%u", operation);
        if (needs) {
            cr_assert_eq(sw_operation_writes(operation), operation != SW_OPERATION_TTL);
            cr_assert(!sw_operation_has_pairs(operation));
            cr_assert(!sw_operation_takes_times(operation));
        }
        if (sw_operation_takes_times(operation)) { /* what may insert, or replaces */
            cr_assert(sw_operation_writes(operation) && sw_operation_has_operands(operation));
            cr_assert(!sw_operation_is_composed(operation));
            cr_assert_null(strstr(name, "ADD_PRESENT"), "%s", name);
        }
    }
    cr_assert(sw_operation_takes_times(SW_OPERATION_SET));
    cr_assert(sw_operation_takes_times(SW_OPERATION_ADD_BF16));
    cr_assert(!sw_operation_takes_times(SW_OPERATION_DECREMENT));
}

/* A number of a later version is shown as it is, and refused by who looks at it. */
Test(times, a_number_of_a_later_version)
{
    const uint8_t header[] = {(52 << 3 & 0x7f) | 0x80, 52 >> 4, 77};
    struct sw_request request;
    cr_assert_eq(sw_request_decode(header, sizeof(header), &request), 0);
    cr_assert_eq(request.times, 77);
}

/* A record of a ring holds the time of all keys, or the place of the array of times. */
Test(times, records_of_rings_hold_them)
{
    for (uint32_t i = 0; i < 2 * SW_OPERATION_NUMBERS; i++) {
        const struct sw_request request = {.operation = i / 2,
                                           .count = 1,
                                           .key_bytes = 8,
                                           .value_bytes = 8,
                                           .times = SW_FRAME_TIMES_IN,
                                           .time_ms = i % 2 == 0 ? 5 : 0,
                                           .has_times = i % 2 == 1};
        struct sw_submission submission;
        struct sw_ring_extent extents[SW_RING_ARRAYS];
        struct sw_request got;
        if (!sw_operation_is_data(request.operation)) {
            continue;
        }
        sw_submission_encode(&request, &submission);
        sw_submission_extents(&request, extents);
        for (int array = 0; array < SW_RING_ARRAYS; array++) {
            if (extents[array].bytes > 0) {
                sw_submission_set_place(&submission, array, 64 * (uint64_t)array);
            }
        }
        const char *wrong = sw_submission_decode(&submission, 8, 8, &got);
        cr_assert_null(wrong, "%u: %s", request.operation, wrong);
        cr_assert(got.times == request.times && got.time_ms == request.time_ms &&
                      got.has_times == request.has_times,
                  "%u", request.operation);
    }
}

/* Headers of a request and of a reply to HELLO read back as they were written. */
Test(times, through_headers)
{
    static const uint64_t numbers[] = {0, 1, 77, INT64_MAX, UINT64_MAX};
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    for (uint32_t i = 0; i < 5 * 5 * 2; i++) {
        const struct sw_request request = {
            .times = i % 5, .time_ms = numbers[i / 5 % 5], .has_times = i >= 25};
        struct sw_reply reply = {.has_info = true, .info.takes_times = i % 2 != 0}, told;
        struct sw_frame_prefix prefix;
        struct sw_request got;
        cr_assert_gt(sw_request_encode(&request, 0, head, sizeof(head)), 0);
        cr_assert_gt(sw_frame_prefix_decode(head, sizeof(head), 0, &prefix), 0);
        cr_assert_eq(sw_request_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &got), 0);
        cr_assert(got.times == request.times && got.time_ms == request.time_ms &&
                  got.has_times == request.has_times);
        cr_assert_gt(sw_reply_encode(&reply, 0, head, sizeof(head)), 0);
        cr_assert_gt(sw_frame_prefix_decode(head, sizeof(head), 0, &prefix), 0);
        cr_assert_eq(sw_reply_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &told), 0);
        cr_assert_eq(told.info.takes_times, reply.info.takes_times);
    }
}
