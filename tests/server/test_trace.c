/* SPDX-License-Identifier: MIT
 *
 * test_trace.c - the queue of spans, and spans as JSON.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/limits.h"
#include "server/trace/otlp.h"

Test(trace, a_queue_keeps_the_order_and_is_bounded)
{
    enum { ROOM = 5 };
    struct sw_span_queue queue;
    uint64_t added = 0, taken = 0;
    cr_assert_eq(sw_span_queue_init(&queue, ROOM), 0);
    cr_assert_null(sw_span_queue_oldest(&queue));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1 + round % ROOM; i++) {
            struct sw_span *span = sw_span_queue_slot(&queue);
            cr_assert_eq(span == NULL, added - taken == ROOM);
            if (span != NULL) {
                span->begin_ns = added++;
                (void)sw_span_queue_add(&queue);
            }
        }
        for (int i = 0; i < round % 4 && taken < added; i++) {
            cr_assert_eq(sw_span_queue_oldest(&queue)->begin_ns, taken);
            sw_span_queue_drop(&queue);
            taken++;
        }
    }
    cr_assert_gt(taken, 3 * ROOM);
    sw_span_queue_fini(&queue);
}

/* Adds spans to an empty queue of this room. Returns the number of the first one that wakes the
 * exporter. */
static uint32_t first_wake(uint32_t room)
{
    struct sw_span_queue queue;
    uint32_t count = 1;
    cr_assert_eq(sw_span_queue_init(&queue, room), 0);
    for (; sw_span_queue_slot(&queue) != NULL && !sw_span_queue_add(&queue); count++) {
    }
    sw_span_queue_fini(&queue);
    return count;
}

Test(trace, a_queue_wakes_the_exporter_before_it_is_full)
{
    cr_expect_eq(first_wake(4 * SW_TRACE_BATCH_SPANS), SW_TRACE_BATCH_SPANS);
    cr_expect_eq(first_wake(2 * SW_TRACE_BATCH_SPANS), SW_TRACE_BATCH_SPANS);
    cr_expect_eq(first_wake(256), 128);
    cr_expect_eq(first_wake(3), 2);
    cr_expect_eq(first_wake(1), 1);
}

/* Returns the text of an attribute of the span, which is valid as long as the span; "": none. */
static const char *attribute(const json_t *span, const char *key)
{
    size_t i;
    const json_t *each, *attributes = json_object_get(span, "attributes");
    json_array_foreach(attributes, i, each)
    {
        if (strcmp(json_string_value(json_object_get(each, "key")), key) == 0) {
            const json_t *value = json_object_get(each, "value"), *text;
            text = json_object_get(value, "stringValue");
            return json_string_value(text != NULL ? text : json_object_get(value, "intValue"));
        }
    }
    return "";
}

Test(trace, addresses_and_errors)
{
    static const uint8_t id[SW_SPAN_ID_BYTES] = {1, 2, 3, 4, 5, 6, 7, 0xff};
    struct sw_span span = {.trace = {{0xab}, {0xcd}, 1},
                           .begin_ns = 5,
                           .end_ns = 9,
                           .operation = 9999,
                           .status = 12345,
                           .peer = "[2001:db8::1]:50000",
                           .own = "?:0",
                           .message = "a\x80\xff\nb"};
    json_t *json = sw_otlp_span(&span, id, 1000);
    cr_assert_not_null(json);
    cr_expect_str_eq(json_string_value(json_object_get(json, "spanId")), "01020304050607ff");
    cr_expect_str_eq(json_string_value(json_object_get(json, "parentSpanId")), "cd00000000000000");
    cr_expect_str_eq(json_string_value(json_object_get(json, "startTimeUnixNano")), "1005");
    cr_expect_str_eq(json_string_value(json_object_get(json, "endTimeUnixNano")), "1009");
    cr_expect_str_eq(json_string_value(json_object_get(json, "name")), "?");
    cr_expect_str_eq(attribute(json, "network.peer.address"), "2001:db8::1");
    cr_expect_str_eq(attribute(json, "network.peer.port"), "50000");
    cr_expect_str_eq(attribute(json, "server.address"), "");
    cr_expect_str_eq(attribute(json, "db.operation.batch.size"), "");
    cr_expect_str_eq(attribute(json, "error.type"), "_OTHER");
    const json_t *message = json_object_get(json_object_get(json, "status"), "message");
    cr_expect_str_eq(json_string_value(message), "a???b");
    json_decref(json);
}

Test(trace, rejected_spans_of_an_answer)
{
    static const struct {
        const char *answer;
        uint64_t rejected;
    } rows[] = {
        {"", 0},
        {"{}", 0},
        {"no JSON", 0},
        {"[1]", 0},
        {"{\"partialSuccess\":{}}", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"7\"}}", 7},
        {"{\"partialSuccess\":{\"rejectedSpans\":8,\"errorMessage\":\"full\"}}", 8},
        {"{\"partialSuccess\":{\"rejectedSpans\":-1}}", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":[]}}", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t size = strlen(rows[i].answer);
        cr_expect_eq(sw_otlp_rejected(size == 0 ? NULL : rows[i].answer, size), rows[i].rejected,
                     "%s", rows[i].answer);
    }
}
