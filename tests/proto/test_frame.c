/* SPDX-License-Identifier: MIT
 *
 * test_frame.c - prefixes, layouts, and which requests make sense.
 */
#include "proto/frame.h"

#include <stdio.h>

#include "proto/sherwood.pb-c.h"
#include "tests/proto/guard.h"

static struct guard guard;

static void setup(void)
{
    guard = guard_create(4096);
}

static void teardown(void)
{
    guard_destroy(&guard);
}

TestSuite(frame, .init = setup, .fini = teardown);

#define BODY_MAX ((UINT64_C(1) << 40) + 5)

static int decode(const uint8_t *bytes, size_t size, struct sw_frame_prefix *prefix)
{
    return sw_frame_prefix_decode(guard_place(&guard, bytes, size), size, BODY_MAX, prefix);
}

static void put_prefix(uint8_t *out, uint32_t header_bytes, uint64_t body_bytes)
{
    static const uint8_t magic[4] = {0xD5, 'S', 'W', 1};
    memcpy(out, magic, sizeof(magic));
    for (int i = 0; i < 4; i++) {
        out[4 + i] = (uint8_t)(header_bytes >> (8 * i));
    }
    for (int i = 0; i < 8; i++) {
        out[8 + i] = (uint8_t)(body_bytes >> (8 * i));
    }
}

Test(frame, every_split_point_of_valid_prefixes)
{
    static const uint32_t headers[] = {1, 2, 255, 256, SW_FRAME_HEADER_BYTES_MAX};
    static const uint64_t bodies[] = {0, 64, UINT64_C(0x123456789A), BODY_MAX};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        for (size_t j = 0; j < sizeof(bodies) / sizeof(bodies[0]); j++) {
            uint8_t bytes[SW_FRAME_PREFIX_BYTES + 8] = {0};
            struct sw_frame_prefix prefix;
            put_prefix(bytes, headers[i], bodies[j]);
            for (size_t size = 0; size < SW_FRAME_PREFIX_BYTES; size++) {
                cr_assert(decode(bytes, size, &prefix) == 0, "%zu bytes", size);
            }
            for (size_t size = SW_FRAME_PREFIX_BYTES; size <= sizeof(bytes); size++) {
                prefix = (struct sw_frame_prefix){0};
                cr_assert(decode(bytes, size, &prefix) == SW_FRAME_PREFIX_BYTES);
                cr_assert(prefix.header_bytes == headers[i] && prefix.body_bytes == bodies[j]);
            }
        }
    }
}

/* The error must show as soon as `shown` bytes are there, and no other before. */
static void refuse(const uint8_t *bytes, size_t shown, int error)
{
    for (size_t size = 0; size <= SW_FRAME_PREFIX_BYTES; size++) {
        struct sw_frame_prefix prefix = {.header_bytes = 77};
        int got = decode(bytes, size, &prefix);
        cr_assert(got == (size < shown ? 0 : error), "%zu bytes gave %d", size, got);
        cr_assert(prefix.header_bytes == 77, "an error wrote the prefix");
    }
}

Test(frame, wrong_magic_shows_at_its_first_byte)
{
    for (size_t at = 0; at < 4; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            uint8_t bytes[SW_FRAME_PREFIX_BYTES];
            put_prefix(bytes, 10, 64);
            if (bytes[at] == byte || (at == 3 && byte == SW_FRAME_VERSION_TABLES)) {
                continue;
            }
            bytes[at] = (uint8_t)byte;
            refuse(bytes, at + 1, at < 3 ? SW_FRAME_E_MAGIC : SW_FRAME_E_VERSION);
        }
    }
    refuse((const uint8_t *)"GET / HTTP/1.1\r\n", 1, SW_FRAME_E_MAGIC);
    refuse((const uint8_t *)"*1\r\n$4\r\nPING\r\n*1", 1, SW_FRAME_E_MAGIC);
}

Test(frame, wrong_sizes_show_as_early_as_they_can)
{
    uint8_t bytes[SW_FRAME_PREFIX_BYTES];
    put_prefix(bytes, 0, 64);
    refuse(bytes, 8, SW_FRAME_E_HEADER_SIZE);
    put_prefix(bytes, SW_FRAME_HEADER_BYTES_MAX + 1, 64); /* 0x03F1 */
    refuse(bytes, 6, SW_FRAME_E_HEADER_SIZE);
    put_prefix(bytes, 1U << 20, 64);
    refuse(bytes, 7, SW_FRAME_E_HEADER_SIZE);
    put_prefix(bytes, UINT32_MAX, 64);
    refuse(bytes, 6, SW_FRAME_E_HEADER_SIZE);
    put_prefix(bytes, 1U << 31, 64);
    refuse(bytes, 8, SW_FRAME_E_HEADER_SIZE);
    put_prefix(bytes, 10, BODY_MAX + 1);
    refuse(bytes, 14, SW_FRAME_E_BODY_SIZE);
    put_prefix(bytes, 10, UINT64_C(1) << 63);
    refuse(bytes, 16, SW_FRAME_E_BODY_SIZE);
    put_prefix(bytes, 10, UINT64_MAX);
    refuse(bytes, 14, SW_FRAME_E_BODY_SIZE);
}

Test(frame, errors_have_texts)
{
#define TEXT_IS(name, value, text)                     \
    cr_assert_str_eq(sw_frame_error_text(name), text); \
    cr_assert((name) == (value));
    SW_FRAME_ERROR_MAP(TEXT_IS)
    cr_assert_str_eq(sw_frame_error_text(0), "no error");
    cr_assert_str_eq(sw_frame_error_text(-1000), "unknown error");
}

/* Peers and logs of released versions use these numbers, so a number never becomes another
 * operation. Later operations need no row here. */
Test(frame, released_operations_keep_their_numbers)
{
    static const struct {
        const char *name;
        uint32_t number;
    } released[] = {{"GET", 1},       {"SET", 2},        {"SUM", 3},       {"MIN", 4},
                    {"MAX", 5},       {"SET_ABSENT", 6}, {"INCREMENT", 8}, {"DECREMENT", 9},
                    {"DELETE", 10},   {"PEEK", 11},      {"ADD_F32", 15},  {"ADD_F16", 21},
                    {"EXPIRE", 25},   {"HELLO", 32},     {"SCAN", 36},     {"EXPIRE_SHORTEN", 30},
                    {"WAIT", 46},     {"OR", 64},        {"ANDNOT", 67},   {"CAS", 68},
                    {"SETRANGE", 69}, {"GETRANGE", 70},  {"PERSIST", 71},  {"TTL", 72},
                    {"TOPOLOGY", 90}};
    for (size_t i = 0; i < sizeof(released) / sizeof(released[0]); i++) {
        cr_assert_str_eq(sw_operation_name(released[i].number), released[i].name);
    }
    cr_assert(!sw_operation_is_known(UINT32_MAX));
    cr_assert(!sw_operation_is_data(UINT32_MAX));
}

/* What follows from a row contradicts nothing else of it. */
Test(frame, operations_are_consistent)
{
    for (uint32_t n = 0; n < 300; n++) {
        const char *name = sw_operation_name(n);
        cr_assert(!sw_operation_is_data(n) || sw_operation_is_known(n), "%s", name);
        cr_assert(!sw_operation_is_data(n) || sw_operation_needs_table(n), "%s", name);
        cr_assert(!sw_operation_has_operands(n) || sw_operation_writes(n), "%s", name);
        cr_assert(!sw_operation_takes_times(n) || sw_operation_has_operands(n), "%s", name);
        cr_assert(!sw_operation_expires(n) || sw_operation_needs_expiry(n), "%s", name);
        cr_assert(!sw_operation_adds_16(n) || sw_operation_adds(n), "%s", name);
        cr_assert(!sw_operation_takes_device(n) || sw_operation_is_data(n), "%s", name);
        /* of those that are made from others, the table carries out ASSIGN alone by itself */
        cr_assert(!sw_operation_takes_device(n) || !sw_operation_is_composed(n) ||
                      n == SW_OPERATION_ASSIGN,
                  "%s", name);
        cr_assert(!sw_operation_is_known(n) || n == SW_OPERATION_BELL ||
                      sw_operation_right(n)[0] != '\0',
                  "%s has no right", name);
    }
}

/* Every row of the map has everything, and every operation of sherwood.proto has a row. */
Test(frame, every_operation_has_a_whole_row)
{
#define ROW(name, number, ...) {#name, number},
#define OPERANDS(name, number, op, verb, ...) {#name, SW_HAS_OPERAND(verb)},
    static const struct {
        const char *name;
        uint32_t number;
    } rows[] = {SW_OPERATION_MAP(ROW)},
      takes[] = {SW_DATA_OPERATION_MAP(OPERANDS) SW_COMPOSED_OPERATION_MAP(OPERANDS)};
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    const size_t data = sizeof(takes) / sizeof(takes[0]);
    for (size_t i = 0; i < count; i++) {
        const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(
            &sherwood__operation__descriptor, rows[i].name);
        cr_assert_not_null(value, "%s", rows[i].name);
        cr_assert_eq((uint32_t)value->value, rows[i].number, "%s", rows[i].name);
        cr_assert(sw_operation_is_known(rows[i].number));
        cr_assert_str_eq(sw_operation_name(rows[i].number), rows[i].name);
        cr_assert_eq(sw_operation_is_data(rows[i].number), i < data, "%s", rows[i].name);
        cr_assert_eq(sw_operation_has_operands(rows[i].number), i < data && takes[i].number != 0,
                     "%s", rows[i].name);
    }
    cr_assert_eq(sherwood__operation__descriptor.n_values, count + 1, "and OPERATION_UNSPECIFIED");
}

Test(frame, every_value_format_has_a_whole_row)
{
#define FORMAT(name, number, word) {"VALUES_" #name, number, word},
    static const struct {
        const char *name;
        uint32_t number;
        const char *word;
    } rows[] = {SW_FRAME_VALUES_MAP(FORMAT)};
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    for (size_t i = 0; i < count; i++) {
        const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(
            &sherwood__value_format__descriptor, rows[i].name);
        cr_assert_not_null(value, "%s", rows[i].name);
        cr_assert_eq((uint32_t)value->value, rows[i].number);
        cr_assert(sw_frame_values_is_known(rows[i].number));
        cr_assert_str_eq(sw_frame_values_name(rows[i].number), rows[i].word);
    }
    cr_assert_eq(sherwood__value_format__descriptor.n_values, count);
    cr_assert(!sw_frame_values_is_known(100));
    cr_assert_str_eq(sw_frame_values_name(UINT32_MAX), "?");
}

Test(frame, operations_on_values)
{
    static const struct {
        uint32_t operation;
        bool found;
        uint64_t old, operand, now;
        bool fits;
    } cases[] = {
        {SW_OPERATION_SET, true, 7, 9, 9, true},
        {SW_OPERATION_SUM, false, 0, 9, 9, true},
        {SW_OPERATION_SUM, true, UINT32_MAX - 55, 100, 44, true},
        {SW_OPERATION_MIN, true, 7, 9, 7, true},
        {SW_OPERATION_MIN, false, 0, 9, 9, true},
        {SW_OPERATION_MAX, true, 7, 9, 9, true},
        {SW_OPERATION_MAX, true, 9, 7, 9, true},
        {SW_OPERATION_SET_ABSENT, true, 7, 9, 7, true},
        {SW_OPERATION_SET_ABSENT, false, 0, 9, 9, true},
        {SW_OPERATION_SET_PRESENT, true, 7, 9, 9, true},
        {SW_OPERATION_SET_PRESENT, false, 0, 9, 0, true},
        {SW_OPERATION_INCREMENT, true, UINT32_MAX - 5, 5, UINT32_MAX, true},
        {SW_OPERATION_INCREMENT, true, UINT32_MAX - 5, 6, UINT32_MAX - 5, false},
        {SW_OPERATION_INCREMENT, false, 0, UINT32_MAX, UINT32_MAX, true},
        {SW_OPERATION_OR, true, 5, 3, 7, true},
        {SW_OPERATION_XOR, false, 0, 3, 3, true},
        {SW_OPERATION_AND, true, 5, 3, 1, true},
        {SW_OPERATION_AND, false, 0, 3, 0, true},
        {SW_OPERATION_ANDNOT, true, 5, 3, 4, true},
        {SW_OPERATION_DECREMENT, true, 5, 5, 0, true},
        {SW_OPERATION_DECREMENT, true, 5, 6, 5, false},
        {SW_OPERATION_DECREMENT, false, 0, 1, 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t now = 99;
        bool fits = sw_operation_apply(cases[i].operation, cases[i].found, cases[i].old,
                                       cases[i].operand, UINT32_MAX, &now);
        cr_assert_eq(fits, cases[i].fits, "case %zu", i);
        cr_assert_eq(now, cases[i].now, "case %zu", i);
        cr_assert(fits || sw_operation_may_overflow(cases[i].operation));
    }
}

Test(frame, operations_have_names)
{
    cr_assert_str_eq(sw_operation_name(SW_OPERATION_GET), "GET");
    cr_assert_str_eq(sw_operation_name(SW_OPERATION_SET_ABSENT), "SET_ABSENT");
    cr_assert_str_eq(sw_operation_name(SW_OPERATION_RESIZE), "RESIZE");
    for (uint32_t operation = 0; operation < 100; operation++) {
        const char *name = sw_operation_name(operation);
        cr_assert_not_null(name, "%u", operation);
        cr_assert_eq(strcmp(name, "?") != 0, sw_operation_is_known(operation), "%u", operation);
    }
    cr_assert_str_eq(sw_operation_name(UINT32_MAX), "?");
}

/* Checks the layouts of a reply to every operation. Arrays have `array` and `found` bytes, with
 * padding. */
static void check_reply_layouts(const struct sw_reply *reply, uint64_t array, uint64_t found)
{
    struct sw_reply refusal = *reply;
    refusal.status = SW_REPLY_OUT_OF_MEMORY;
    for (uint32_t operation = 0; operation <= 40; operation++) {
        struct sw_body_layout layout = sw_reply_layout(reply, operation);
        cr_assert(layout.first == 0);
        if (sw_operation_is_data(operation)) {
            cr_assert(layout.second == (reply->has_values ? array : 0));
            cr_assert(layout.bytes - layout.second == (reply->lacks_found ? 0 : found));
        } else if (operation == SW_OPERATION_SCAN) {
            cr_assert(layout.second == array && layout.bytes == 2 * array);
        } else if (operation == SW_OPERATION_STATS) {
            cr_assert(layout.bytes == reply->count * sizeof(struct sw_figure));
        } else {
            cr_assert(layout.bytes == 0);
        }
        cr_assert(sw_reply_layout(&refusal, operation).bytes == 0,
                  "a reply that is not OK has no body");
    }
}

Test(frame, layouts_are_aligned_and_just_large_enough)
{
    static const uint32_t widths[] = {4, 8};
    static const uint32_t counts[] = {1,  2,  7,  8,   9,   15,  16,   17,
                                      63, 64, 65, 511, 512, 513, 1000, SW_FRAME_OPS_MAX};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (size_t w = 0; w < 2; w++) {
            uint64_t array = ((uint64_t)counts[i] * widths[w] + 63) / 64 * 64;
            uint64_t found = ((uint64_t)counts[i] + 511) / 512 * 64;
            struct sw_request request = {
                .count = counts[i], .key_bytes = widths[w], .value_bytes = widths[w]};
            for (uint32_t operation = 0; operation <= 40; operation++) {
                request.operation = operation;
                struct sw_body_layout layout = sw_request_layout(&request);
                bool data = sw_operation_is_data(operation);
                bool operands = sw_operation_has_operands(operation);
                cr_assert(layout.first == 0);
                cr_assert(layout.second == (data ? array : 0));
                cr_assert(layout.bytes == (operands ? 2 * array : layout.second));
            }
            struct sw_reply reply = {
                .count = counts[i], .key_bytes = widths[w], .value_bytes = widths[w]};
            for (int bodies = 0; bodies < 4; bodies++) {
                reply.has_values = (bodies & 1) != 0;
                reply.lacks_found = (bodies & 2) != 0;
                check_reply_layouts(&reply, array, found);
            }
        }
    }
    struct sw_reply figures = {.count = 3};
    cr_assert(sw_reply_layout(&figures, SW_OPERATION_STATS).bytes == 3 * sizeof(struct sw_figure));
    cr_assert(sw_reply_layout(&figures, SW_OPERATION_PING).bytes == 0);
    struct sw_reply none = {.status = SW_REPLY_OK};
    cr_assert(sw_reply_layout(&none, SW_OPERATION_GET).bytes == 0);
    cr_assert(sw_reply_layout(&none, SW_OPERATION_SCAN).bytes == 0);
}

Test(frame, names_of_figures_are_checked)
{
    struct sw_figure figure = {"get_hits_2", 7};
    cr_assert(sw_figure_is_valid(&figure));
    memset(figure.name, 'a', sizeof(figure.name));
    cr_assert_not(sw_figure_is_valid(&figure), "without an end");
    figure.name[sizeof(figure.name) - 1] = '\0';
    cr_assert(sw_figure_is_valid(&figure), "the longest");
    static const char *const bad[] = {"", "Keys", "a b", "a\n", "a:b", "a\x80", "-"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        strcpy(figure.name, bad[i]);
        cr_assert_not(sw_figure_is_valid(&figure), "\"%s\"", bad[i]);
    }
}

Test(frame, heads_are_multiples_of_64)
{
    for (uint32_t header = 1; header <= SW_FRAME_HEADER_BYTES_MAX; header++) {
        uint64_t head = sw_frame_head_bytes(header);
        cr_assert(head % 64 == 0 && head >= header + 16 && head < header + 16 + 64);
        cr_assert(head <= SW_FRAME_HEAD_BYTES_MAX);
    }
    cr_assert(sw_found_bytes(0) == 0 && sw_found_bytes(1) == 8 && sw_found_bytes(64) == 8);
    cr_assert(sw_found_bytes(65) == 16 && sw_found_bytes(UINT32_MAX) == (UINT64_C(1) << 29));
}

/* --- requests ------------------------------------------------------------------------------------
 */

#define OPS_MAX 1000

static int check(uint32_t operation, uint32_t key_bytes, uint32_t value_bytes, uint32_t count,
                 uint64_t body_bytes)
{
    struct sw_request request = {.request_id = 9,
                                 .operation = operation,
                                 .count = count,
                                 .key_bytes = key_bytes,
                                 .value_bytes = value_bytes};
    return sw_request_check(&request, 8, 8, OPS_MAX, body_bytes);
}

Test(frame, requests_that_make_sense_pass)
{
    for (uint32_t operation = SW_OPERATION_GET; operation <= SW_OPERATION_DELETE; operation++) {
        for (uint32_t count = 1; count <= OPS_MAX; count++) {
            uint64_t array = (count * 8 + 63) / 64 * 64;
            uint64_t body = sw_operation_has_operands(operation) ? 2 * array : array;
            cr_assert(check(operation, 8, 8, count, body) == 0, "%u of %u", operation, count);
            cr_assert(check(operation, 8, 8, count, body + 64) == SW_FRAME_E_LAYOUT);
            cr_assert(check(operation, 8, 8, count, body - 64) == SW_FRAME_E_LAYOUT);
            cr_assert(check(operation, 8, 8, count, body - 1) == SW_FRAME_E_LAYOUT);
            cr_assert(check(operation, 8, 8, count, 0) == SW_FRAME_E_LAYOUT);
        }
    }
    cr_assert(check(SW_OPERATION_SCAN, 8, 8, 1, 0) == 0);
    cr_assert(check(SW_OPERATION_SCAN, 8, 8, OPS_MAX, 0) == 0);
    cr_assert(check(SW_OPERATION_HELLO, 0, 0, 0, 0) == 0);
    cr_assert(check(SW_OPERATION_HELLO, 4, 4, 0, 0) == 0, "HELLO is how widths are learnt");
    for (uint32_t operation = 0; operation < SW_OPERATION_NUMBERS; operation++) {
        if (operation == SW_OPERATION_SCAN || operation == SW_OPERATION_TOPOLOGY ||
            !sw_operation_is_known(operation) || sw_operation_is_data(operation)) {
            continue;
        }
        cr_assert(check(operation, 0, 0, 0, 0) == 0);
        cr_assert(check(operation, 8, 8, 0, 0) == 0);
    }
}

Test(frame, requests_that_do_not_are_named_in_order)
{
    /* unknown operation, before everything else */
    for (uint32_t i = 0; i < 300; i++) {
        cr_assert(sw_operation_is_known(i) == (check(i, 3, 3, 0, 17) != SW_FRAME_E_OPERATION), "%u",
                  i);
    }
    cr_assert(check(UINT32_MAX, 3, 3, 0, 17) == SW_FRAME_E_OPERATION);
    /* widths, before the count */
    static const uint32_t widths[] = {0, 1, 4, 7, 9, 16, UINT32_MAX};
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        for (uint32_t operation = 1; operation < SW_OPERATION_NUMBERS; operation++) {
            bool arrays = sw_operation_is_data(operation) || operation == SW_OPERATION_SCAN;
            if (!sw_operation_is_known(operation) || operation == SW_OPERATION_HELLO ||
                (!arrays && widths[i] == 0)) {
                continue;
            }
            cr_assert(check(operation, widths[i], 8, 0, 17) == SW_FRAME_E_WIDTH);
            cr_assert(check(operation, 8, widths[i], 0, 17) == SW_FRAME_E_WIDTH);
        }
    }
    /* count, before the layout */
    for (uint32_t operation = SW_OPERATION_GET; operation <= SW_OPERATION_DELETE; operation++) {
        cr_assert(check(operation, 8, 8, 0, 0) == SW_FRAME_E_COUNT);
        cr_assert(check(operation, 8, 8, OPS_MAX + 1, 17) == SW_FRAME_E_COUNT);
        cr_assert(check(operation, 8, 8, UINT32_MAX, 0) == SW_FRAME_E_COUNT);
    }
    cr_assert(check(SW_OPERATION_SCAN, 8, 8, 0, 0) == SW_FRAME_E_COUNT);
    cr_assert(check(SW_OPERATION_SCAN, 8, 8, OPS_MAX + 1, 0) == SW_FRAME_E_COUNT);
    /* control has no body */
    for (uint32_t operation = SW_OPERATION_HELLO; operation <= SW_OPERATION_RESIZE; operation++) {
        cr_assert(check(operation, 8, 8, 1, 64) == SW_FRAME_E_LAYOUT);
    }
}

/* A header whose only field is a text of this number, of `bytes` letters. Returns its size. */
static size_t put_text(uint8_t *out, uint32_t number, uint32_t bytes)
{
    const uint32_t tag = number << 3 | 2;
    const uint8_t head[] = {(uint8_t)(tag | 0x80), (uint8_t)(tag >> 7), (uint8_t)(bytes | 0x80),
                            (uint8_t)(bytes >> 7)};
    memcpy(out, head, sizeof(head));
    memset(out + sizeof(head), 'u', bytes);
    return sizeof(head) + bytes;
}

/* A name that is cut would be the name of another user. */
Test(frame, no_text_of_a_login_is_cut)
{
    const struct {
        uint32_t number, bytes_max;
    } texts[] = {{21, SW_FRAME_USER_BYTES - 1}, {22, SW_FRAME_PASSWORD_BYTES}};
    for (unsigned i = 0; i < 2; i++) {
        for (uint32_t bytes = texts[i].bytes_max - 1; bytes <= texts[i].bytes_max + 2; bytes++) {
            static struct sw_frame_login login;
            uint8_t header[SW_FRAME_PASSWORD_BYTES + 16];
            const size_t size = put_text(header, texts[i].number, bytes);
            const int status = sw_frame_login_decode(header, size, &login);
            if (bytes > texts[i].bytes_max) {
                cr_expect_eq(status, SW_FRAME_E_HEADER, "field %u, %u bytes", texts[i].number,
                             bytes);
                continue;
            }
            cr_expect_eq(status, 0, "field %u, %u bytes", texts[i].number, bytes);
            cr_expect_eq(i == 0 ? strlen(login.user) : login.password_bytes, bytes);
        }
    }
}

/* A header may be as long as the limit, and no longer. A field of a later version makes it long. */
Test(frame, no_header_is_longer_than_the_limit)
{
    static uint8_t header[SW_FRAME_HEADER_BYTES_MAX + 1];
    struct sw_request request;
    struct sw_reply reply;
    for (uint32_t more = 0; more < 2; more++) {
        const uint32_t bytes = SW_FRAME_HEADER_BYTES_MAX - 4 + more;
        const size_t size = put_text(header, 2047, bytes);
        const int wanted = more == 0 ? 0 : SW_FRAME_E_HEADER;
        cr_assert_eq(size, SW_FRAME_HEADER_BYTES_MAX + more);
        cr_expect_eq(sw_request_decode(header, size, &request), wanted, "%u bytes", bytes);
        cr_expect_eq(sw_reply_decode(header, size, &reply), wanted, "%u bytes", bytes);
    }
}
