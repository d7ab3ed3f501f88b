/* SPDX-License-Identifier: MIT
 *
 * test_tables.c - the fields of frames that name a table, and the bytes of frames that name none.
 */
#include <criterion/criterion.h>

#include "proto/frame.h"
#include "proto/region.h"

#include <string.h>

enum { HEAD = SW_FRAME_ALIGN };

/* The requests, and the bytes that an encoder from before the field `table` made of them; zeros
 * follow up to HEAD bytes. */
static const struct {
    struct sw_request request;
    uint64_t body_bytes;
    size_t size;
    uint8_t bytes[HEAD];
} kept[] = {
    {{.request_id = 7,
      .operation = SW_OPERATION_GET,
      .count = 100,
      .key_bytes = 8,
      .value_bytes = 8,
      .want_values = true},
     832,
     28,
     {0xd5, 0x53, 0x57, 0x01, 0x0c, 0, 0,  0,    0x40, 0x03, 0,    0,    0,    0,
      0,    0,    0x08, 0x07, 0x10, 1, 24, 0x64, 0x20, 0x08, 0x28, 0x08, 0x30, 0x01}},
    {{.request_id = 1, .operation = SW_OPERATION_HELLO}, 0, 20, {0xd5, 0x53, 0x57, 0x01, 4, 0, 0, 0,
                                                                 0,    0,    0,    0,    0, 0, 0, 0,
                                                                 0x08, 0x01, 0x10, 0x20}},
    {{.request_id = 2,
      .operation = SW_OPERATION_SCAN,
      .count = 10,
      .key_bytes = 8,
      .value_bytes = 8,
      .cursor = 300},
     0,
     29,
     {0xd5, 0x53, 0x57, 0x01, 0x0d, 0,    0,    0,    0,    0,    0,    0,    0,    0,   0,
      0,    0x08, 0x02, 0x10, 0x24, 0x18, 0x0a, 0x20, 0x08, 0x28, 0x08, 0x38, 0xac, 0x02}},
    {{.request_id = 3,
      .operation = SW_OPERATION_SET,
      .count = 2,
      .key_bytes = 4,
      .value_bytes = 4,
      .declines_found = true,
      .times = SW_FRAME_TIMES_IN,
      .time_ms = 1000,
      .map_epoch = 5},
     128,
     38,
     {0xd5, 0x53, 0x57, 0x01, 0x16, 0,    0,    0,    0x80, 0,    0,    0,    0,
      0,    0,    0,    0x08, 0x03, 0x10, 0x02, 0x18, 0x02, 0x20, 0x04, 0x28, 0x04,
      0x48, 0,    0xc0, 0x02, 5,    0xa0, 0x03, 2,    0xa8, 0x03, 0xe8, 0x07}},
};

Test(tables, a_request_for_the_default_table_has_the_bytes_of_before)
{
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
        const int size =
            sw_request_encode(&kept[i].request, kept[i].body_bytes, head, sizeof(head));
        cr_assert_eq(size, HEAD, "request %zu", i);
        cr_assert_arr_eq(head, kept[i].bytes, HEAD, "request %zu", i);
    }
}

Test(tables, a_reply_without_a_table_has_the_bytes_of_before)
{
    static const uint8_t wanted[HEAD] = {0xd5, 0x53, 0x57, 0x01, 0x1f, 0,    0,    0,    0,    0,
                                         0,    0,    0,    0,    0,    0,    0x08, 0x01, 0x52, 0x1b,
                                         0x0a, 0x01, 0x31, 0x10, 0x08, 0x18, 0x08, 0x20, 0x80, 0x80,
                                         0x04, 0x28, 0x40, 0x30, 0x80, 0x20, 0x42, 0x03, 0x63, 0x70,
                                         0x75, 0x88, 0x02, 0x01, 0xd0, 0x02, 0x01};
    struct sw_reply reply = {.request_id = 1,
                             .has_info = true,
                             .info = {.version = "1",
                                      .backend = "cpu",
                                      .key_bytes = 8,
                                      .value_bytes = 8,
                                      .frame_ops_max = 65536,
                                      .requests_in_flight_max = 64,
                                      .capacity_slots = 4096,
                                      .takes_times = true,
                                      .dimension = 1}};
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    cr_assert_eq(sw_reply_encode(&reply, 0, head, sizeof(head)), HEAD);
    cr_assert_arr_eq(head, wanted, HEAD);
}

/* A server that has one table accepts version 1 alone: it reads byte 3 of a frame before it reads
 * anything else, and refuses the others. */
Test(tables, a_request_for_another_table_has_a_version_that_older_servers_refuse)
{
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        struct sw_request request = kept[i].request, got;
        struct sw_frame_prefix prefix;
        uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
        request.table = 65536;
        request.table_id = 9;
        cr_assert_gt(sw_request_encode(&request, kept[i].body_bytes, head, sizeof(head)), 0);
        cr_assert_eq(head[3], SW_FRAME_VERSION_TABLES);
        cr_assert_eq(sw_frame_prefix_decode(head, sizeof(head), UINT64_MAX, &prefix),
                     SW_FRAME_PREFIX_BYTES);
        cr_assert_eq(prefix.version, SW_FRAME_VERSION_TABLES);
        cr_assert_eq(sw_request_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &got), 0);
        cr_assert_eq(sw_request_version(&got), SW_FRAME_VERSION_TABLES);
        cr_assert_eq(got.table, 65536);
        cr_assert_eq(got.table_id, 9);
        cr_assert_eq(got.count, request.count);
        head[3] = SW_FRAME_VERSION_TABLES + 1;
        for (size_t size = 4; size < SW_FRAME_PREFIX_BYTES; size++) {
            cr_assert_eq(sw_frame_prefix_decode(head, size, UINT64_MAX, &prefix),
                         SW_FRAME_E_VERSION);
        }
    }
}

Test(tables, a_name_is_decoded_whole_or_refused)
{
    const struct sw_request hello = {.operation = SW_OPERATION_HELLO};
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    for (size_t bytes = 0; bytes < SW_FRAME_TABLE_BYTES; bytes++) {
        char name[SW_FRAME_TABLE_BYTES] = "", got[SW_FRAME_TABLE_BYTES];
        struct sw_frame_prefix prefix;
        struct sw_request request;
        memset(name, 'n', bytes);
        cr_assert_gt(sw_frame_table_name_encode(&hello, name, head, sizeof(head)), 0);
        cr_assert_gt(sw_frame_prefix_decode(head, sizeof(head), 0, &prefix), 0);
        cr_assert_eq(prefix.version, SW_FRAME_VERSION);
        const uint8_t *header = head + SW_FRAME_PREFIX_BYTES;
        cr_assert_eq(sw_request_decode(header, prefix.header_bytes, &request), 0);
        cr_assert_eq(request.names_table, bytes > 0);
        cr_assert_eq(sw_frame_table_name_decode(header, prefix.header_bytes, got), 0);
        cr_assert_str_eq(got, name);
    }
    uint8_t header[3 + SW_FRAME_TABLE_BYTES] = {0xea, 0x03}; /* the tag of field 61 */
    char got[SW_FRAME_TABLE_BYTES];
    memset(header + 3, 'n', SW_FRAME_TABLE_BYTES);
    header[2] = SW_FRAME_TABLE_BYTES;
    cr_assert_eq(sw_frame_table_name_decode(header, sizeof(header), got), SW_FRAME_E_HEADER);
    header[2] = 2;
    cr_assert_eq(sw_frame_table_name_decode(header, 5, got), 0);
    cr_assert_str_eq(got, "nn");
    header[4] = '\0';
    cr_assert_eq(sw_frame_table_name_decode(header, 5, got), SW_FRAME_E_HEADER);
}

Test(tables, a_reply_tells_the_place_of_a_table)
{
    struct sw_reply got,
        reply = {
            .has_info = true,
            .info = {.takes_tables = true, .table = 65537, .table_id = 3, .table_name = "served"}};
    struct sw_frame_prefix prefix;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    cr_assert_gt(sw_reply_encode(&reply, 0, head, sizeof(head)), 0);
    cr_assert_gt(sw_frame_prefix_decode(head, sizeof(head), 0, &prefix), 0);
    cr_assert_eq(prefix.version, SW_FRAME_VERSION);
    cr_assert_eq(sw_reply_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &got), 0);
    cr_assert(got.info.takes_tables && got.info.table == 65537 && got.info.table_id == 3);
    cr_assert_str_eq(got.info.table_name, "served");
}

/* The bytes were 0 before they had a meaning, and a server refused other ones. */
Test(tables, a_record_of_a_ring_has_a_table_in_the_bytes_that_were_0)
{
    struct sw_submission record;
    struct sw_request request = {.operation = SW_OPERATION_PING}, got;
    static const uint8_t zeros[8];
    sw_submission_encode(&request, &record);
    cr_assert_arr_eq((const uint8_t *)&record + 40, zeros, sizeof(zeros));
    request.table = 65536;
    request.table_id = 9;
    sw_submission_encode(&request, &record);
    cr_assert_eq(((const uint8_t *)&record)[42], 1);
    cr_assert_null(sw_submission_decode(&record, 8, 8, &got));
    cr_assert(got.table == 65536 && got.table_id == 9);
}

Test(tables, words_of_a_change_survive_a_header)
{
    const struct sw_request request = {.operation = SW_OPERATION_TABLE, .request_id = 1};
    const char *words[SW_FRAME_WORDS_MAX + 1];
    static struct sw_frame_words got;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_frame_prefix prefix;
    for (uint32_t count = 0; count <= SW_FRAME_WORDS_MAX; count++) {
        words[count] = count % 3 == 0 ? "" : "abc";
        const int size = sw_frame_words_encode(&request, words, count, head, sizeof(head));
        cr_assert_gt(size, 0, "%u words", count);
        cr_assert_gt(sw_frame_prefix_decode(head, (size_t)size, 0, &prefix), 0);
        const int status =
            sw_frame_words_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &got);
        cr_assert_eq(status, count == 0 ? SW_FRAME_E_HEADER : 0, "%u words", count);
        const uint8_t *at = got.text;
        cr_assert_eq(got.count, count);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(got.bytes[i], strlen(words[i]));
            cr_assert_eq(memcmp(at, words[i], got.bytes[i]), 0);
            at += got.bytes[i];
        }
    }
    /* one word more than a server takes, and words that do not fit a header */
    uint8_t header[3 * (SW_FRAME_WORDS_MAX + 1)];
    for (uint32_t i = 0; i <= SW_FRAME_WORDS_MAX; i++) {
        memcpy(header + (size_t)3 * i, "\x82\x04\x00", 3); /* the tag of field 64, no bytes */
    }
    cr_assert_eq(sw_frame_words_decode(header, sizeof(header), &got), SW_FRAME_E_HEADER);
    static char long_word[SW_FRAME_HEADER_BYTES_MAX + 1];
    memset(long_word, 'x', SW_FRAME_HEADER_BYTES_MAX);
    words[0] = long_word;
    cr_assert_eq(sw_frame_words_encode(&request, words, 1, head, sizeof(head)), SW_FRAME_E_SPACE);
}

/* --- segments --------------------------------------------------------------------------------- */

static int decode(const uint8_t *head, size_t size, struct sw_request *request,
                  struct sw_frame_segments *segments)
{
    struct sw_frame_prefix prefix;
    const uint8_t *header = head + SW_FRAME_PREFIX_BYTES;
    cr_assert_gt(sw_frame_prefix_decode(head, size, UINT64_MAX, &prefix), 0);
    cr_assert_eq(prefix.version, SW_FRAME_VERSION_TABLES);
    cr_assert_eq(sw_request_decode(header, prefix.header_bytes, request), 0);
    return sw_frame_segments_decode(header, prefix.header_bytes, segments);
}

static const struct sw_request by_segments = {
    .operation = SW_OPERATION_GET, .key_bytes = 8, .want_values = true, .has_segments = true};

Test(tables, segments_survive_a_header)
{
    static struct sw_frame_segments given, got;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_request request;
    for (uint32_t count = 0; count <= SW_FRAME_SEGMENTS_MAX; count++) {
        if (count > 0) {
            given.tables[count - 1] = count == 1 ? 0 : 65536 + count;
            given.counts[count - 1] = 4096 * count;
            given.value_bytes[count - 1] = 4 * count;
            given.table_ids[count - 1] = count % 2 == 0 ? 0 : count + 1000;
        }
        given.count = count;
        const int size =
            sw_frame_segments_encode(&by_segments, &given, NULL, 640, head, sizeof(head));
        cr_assert_gt(size, 0, "%u segments", count);
        cr_assert_eq(decode(head, (size_t)size, &request, &got), count > 0 ? 0 : SW_FRAME_E_HEADER);
        cr_assert(request.has_segments && request.count == by_segments.count);
        cr_assert_eq(memcmp(&given, &got, sizeof(got)), 0, "%u segments", count);
    }
    for (uint32_t i = 0; i < SW_FRAME_SEGMENTS_MAX; i++) { /* numbers that no server gives */
        given.tables[i] = given.table_ids[i] = given.counts[i] = UINT32_MAX;
    }
    cr_assert_eq(sw_frame_segments_encode(&by_segments, &given, NULL, 640, head, sizeof(head)),
                 SW_FRAME_E_SPACE);
}

Test(tables, a_segment_is_a_request_of_its_own)
{
    const struct sw_frame_segments segments = {2, {0, 7}, {100, 65}, {8, 12}, {0, 3}};
    const struct sw_request one = sw_frame_segment(&by_segments, &segments, 1);
    cr_assert(one.table == 7 && one.count == 65 && one.value_bytes == 12 && one.table_id == 3);
    cr_assert(!one.has_segments && one.want_values && one.key_bytes == 8);
    cr_assert_eq(sw_request_layout(&one).bytes, 576);
    cr_assert_eq(sw_request_version(&one), SW_FRAME_VERSION_TABLES);
    const struct sw_request first = sw_frame_segment(&by_segments, &segments, 0);
    cr_assert_eq(sw_request_version(&first), SW_FRAME_VERSION);
}

/* Lists of different lengths, lists that are too long, and a message without any. */
Test(tables, segments_that_contradict_each_other_are_refused)
{
    static const struct {
        size_t size;
        uint8_t bytes[24];
    } wrong[] = {
        {0, {0}},
        {3, {0xf2, 0x03, 0}},                                          /* no list */
        {6, {0xf2, 0x03, 3, 0x0a, 1, 5}},                              /* tables alone */
        {11, {0xf2, 0x03, 9, 0x0a, 1, 5, 0x12, 1, 9, 0x1a, 1}},        /* cut off */
        {13, {0xf2, 0x03, 10, 0x0a, 1, 5, 0x12, 2, 9, 9, 0x1a, 1, 8}}, /* two counts */
        {13, {0xf2, 0x03, 10, 0x0a, 1, 5, 0x12, 1, 9, 0x1a, 2, 8, 8}}, /* two widths */
        {16, {0xf2, 0x03, 13, 0x0a, 1, 5, 0x12, 1, 9, 0x1a, 1, 8, 0x22, 2, 1, 1}},
    };
    static struct sw_frame_segments got;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_eq(sw_frame_segments_decode(wrong[i].bytes, wrong[i].size, &got),
                     SW_FRAME_E_HEADER, "header %zu", i);
        cr_assert_eq(got.count, 0);
    }
    static const uint8_t right[] = {0xf2, 0x03, 9, 0x0a, 1, 5, 0x12, 1, 9, 0x1a, 1, 8};
    cr_assert_eq(sw_frame_segments_decode(right, sizeof(right), &got), 0);
    cr_assert(got.count == 1 && got.tables[0] == 5 && got.counts[0] == 9 && got.table_ids[0] == 0);
    uint8_t many[3 + 3 * (2 + SW_FRAME_SEGMENTS_MAX + 1)] = {0xf2, 0x03, 0};
    uint8_t *at = many + 3;
    for (uint8_t list = 1; list <= 3; list++) {
        *at++ = (uint8_t)(list << 3 | 2);
        *at++ = SW_FRAME_SEGMENTS_MAX + 1;
        memset(at, 1, SW_FRAME_SEGMENTS_MAX + 1);
        at += SW_FRAME_SEGMENTS_MAX + 1;
    }
    uint8_t header[sizeof(many) + 1] = {0xf2, 0x03, (uint8_t)((sizeof(many) - 3) | 0x80),
                                        (uint8_t)((sizeof(many) - 3) >> 7)};
    memcpy(header + 4, many + 3, sizeof(many) - 3);
    cr_assert_eq(sw_frame_segments_decode(header, sizeof(header), &got), SW_FRAME_E_HEADER);
}

Test(tables, a_list_has_no_padding)
{
    const struct sw_reply reply = {.count = 3};
    cr_assert_eq(sw_reply_layout(&reply, SW_OPERATION_TABLES).bytes, 3 * 128);
}
