/* SPDX-License-Identifier: MIT
 *
 * test_trace.c - the trace context of a request: its text, and its bytes in a header.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "proto/frame.h"

#define TEXT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define TRACE_BYTES 25

static struct sw_trace example(void)
{
    struct sw_trace trace;
    cr_assert(sw_trace_parse(TEXT, &trace));
    return trace;
}

Test(trace, the_text_of_a_traceparent)
{
    const struct sw_trace trace = example();
    const uint8_t id[] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                          0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    const uint8_t parent[] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
    struct sw_trace later;
    cr_assert_arr_eq(trace.trace_id, id, sizeof(id));
    cr_assert_arr_eq(trace.parent_id, parent, sizeof(parent));
    cr_assert_eq(trace.flags, 1);
    cr_assert(sw_trace_parse("cc" TEXT + 2, &later)); /* the "00" of TEXT is left out */
}

Test(trace, a_text_that_is_not_a_traceparent)
{
    static const char *const wrong[] = {
        "",
        "00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-010",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-010",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    };
    struct sw_trace trace;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect(!sw_trace_parse(wrong[i], &trace), "%s", wrong[i]);
    }
    cr_expect(
        sw_trace_parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later", &trace));
}

/* Decodes the header of the frame in `head`. */
static uint32_t decode(const uint8_t *head, struct sw_request *request)
{
    struct sw_frame_prefix prefix;
    cr_assert_gt(sw_frame_prefix_decode(head, SW_FRAME_HEAD_BYTES_MAX, UINT64_MAX, &prefix), 0);
    cr_assert_eq(prefix.version, SW_FRAME_VERSION);
    cr_assert_eq(sw_request_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, request), 0);
    return prefix.header_bytes;
}

Test(trace, a_request_carries_a_context)
{
    const struct sw_request request = {.request_id = 7, .operation = SW_OPERATION_GET, .count = 3};
    struct sw_trace trace = example();
    for (int flags = 0; flags < 256; flags++) {
        uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
        struct sw_request got;
        struct sw_trace read;
        trace.flags = (uint8_t)flags;
        cr_assert_gt(sw_frame_trace_encode(&request, &trace, 64, head, sizeof(head)), 0);
        const uint32_t bytes = decode(head, &got);
        cr_assert_eq(got.is_sampled, (flags & 1) != 0, "flags %d", flags);
        cr_assert(got.request_id == 7 && got.count == 3);
        cr_assert_eq(sw_frame_trace_decode(head + SW_FRAME_PREFIX_BYTES, bytes, &read), 0);
        cr_assert_eq(memcmp(&read, &trace, sizeof(trace)), 0);
    }
}

/* As W3C Trace Context has it, a server goes on without a context that is not valid. */
Test(trace, a_context_that_is_not_valid_is_ignored)
{
    uint8_t header[5 + TRACE_BYTES + 1] = {0x10, 0x01, 0x8a, 0x04}; /* GET, the tag of field 65 */
    struct sw_request request;
    struct sw_trace trace;
    memset(header + 5, 0xff, TRACE_BYTES + 1);
    for (uint8_t bytes = 0; bytes <= TRACE_BYTES + 1; bytes++) {
        header[4] = bytes;
        cr_assert_eq(sw_request_decode(header, 5U + bytes, &request), 0);
        cr_assert_eq(request.is_sampled, bytes == TRACE_BYTES, "%u bytes", bytes);
        cr_assert_eq(sw_frame_trace_decode(header, 5U + bytes, &trace),
                     bytes == TRACE_BYTES ? 0 : SW_FRAME_E_HEADER);
    }
    header[4] = TRACE_BYTES;
    memset(header + 5, 0, SW_TRACE_ID_BYTES);
    cr_assert_eq(sw_request_decode(header, 5 + TRACE_BYTES, &request), 0);
    cr_assert(!request.is_sampled);
    memset(header + 5, 0xff, TRACE_BYTES);
    memset(header + 5 + SW_TRACE_ID_BYTES, 0, SW_SPAN_ID_BYTES);
    cr_assert_eq(sw_request_decode(header, 5 + TRACE_BYTES, &request), 0);
    cr_assert(!request.is_sampled);
}
