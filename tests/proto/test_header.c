/* SPDX-License-Identifier: MIT
 *
 * test_header.c - headers to bytes and back, damaged headers, and headers made to use up memory.
 */
#include "proto/frame.h"

#include <inttypes.h>

#include "tests/proto/guard.h"
#include "tests/proto/largest_reply.h"
#include "tests/support/random.h"

static struct guard guard;

static void setup(void)
{
    guard = guard_create(8192);
}

static void teardown(void)
{
    guard_destroy(&guard);
}

TestSuite(header, .init = setup, .fini = teardown);

/* Small and large values, and the extremes. */
static uint64_t some_number(struct random *state)
{
    uint64_t value = random_next(state);
    switch (random_next(state) % 4) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    default:
        return value >> (random_next(state) % 64);
    }
}

/* Fills a text of `bytes` with 0 to bytes - 1 characters; zeros follow. */
static void some_text(char *out, size_t bytes, struct random *state)
{
    size_t size = random_next(state) % 3 == 0 ? bytes - 1 : random_next(state) % bytes;
    memset(out, 0, bytes);
    for (size_t i = 0; i < size; i++) {
        out[i] = (char)(1 + random_next(state) % 255);
    }
}

/* The numbers and flags of the messages. */
#define REQUEST(DO)                                                                                \
    DO(request_id), DO(operation), DO(count), DO(key_bytes), DO(value_bytes), DO(want_values),     \
        DO(declines_found), DO(cursor), DO(has_scores), DO(want_scores), DO(want_not_admitted),    \
        DO(by_score), DO(score_min), DO(score_max), DO(epoch), DO(map_epoch), DO(capacity_slots),  \
        DO(sequence), DO(incarnation), DO(timeout_ms), DO(scale_bits), DO(operand_type),           \
        DO(range_offset), DO(range_bytes), DO(times), DO(time_ms), DO(has_times), DO(frozen_seen), \
        DO(table), DO(table_id)
#define REPLY(DO)                                                                                 \
    DO(request_id), DO(status), DO(count), DO(key_bytes), DO(value_bytes), DO(has_values),        \
        DO(lacks_found), DO(hits), DO(overflows), DO(cursor), DO(capacity_slots), DO(has_scores), \
        DO(has_not_admitted), DO(has_evicted), DO(evicted_count), DO(not_admitted), DO(matched),  \
        DO(epoch), DO(first_bad_index), DO(slot), DO(map_epoch), DO(write_sequence),              \
        DO(durable_through)
#define INFO(DO)                                                                        \
    DO(key_bytes), DO(value_bytes), DO(frame_ops_max), DO(requests_in_flight_max),      \
        DO(capacity_slots), DO(occupied_max), DO(frame_bytes_max), DO(value_format),    \
        DO(is_cluster), DO(takes_times), DO(map_epoch), DO(incarnation), DO(resp_keys), \
        DO(value_type), DO(dimension), DO(run)

#define DRAW(field) out->field = (__typeof__(out->field))some_number(state)
#define DRAW_TEXT(text) some_text(out->text, sizeof(out->text), state)
#define SAME(field) same &= a->field == b->field
#define SAME_TEXT(text) same &= memcmp(a->text, b->text, sizeof(a->text)) == 0
#define INFO_TEXTS(DO) DO(version), DO(backend), DO(backend_reason), DO(engine), DO(policy)

static void some_info(struct sw_server_info *out, struct random *state)
{
    INFO(DRAW), INFO_TEXTS(DRAW_TEXT);
}

static void some_reply(struct sw_reply *out, struct random *state)
{
    memset(out, 0, sizeof(*out));
    REPLY(DRAW), DRAW_TEXT(message);
    out->has_info = random_next(state) % 2;
    if (out->has_info) {
        some_info(&out->info, state);
    }
}

static void some_request(struct sw_request *out, struct random *state)
{
    const uint32_t evicted = random_next(state) % 8;
    *out = (struct sw_request){.want_evicted = evicted == 0 ? 0 : evicted | SW_FRAME_EVICTED_KEYS};
    REQUEST(DRAW);
}

static bool same_info(const struct sw_server_info *a, const struct sw_server_info *b)
{
    bool same = true;
    INFO(SAME), INFO_TEXTS(SAME_TEXT);
    return same;
}

static bool same_reply(const struct sw_reply *a, const struct sw_reply *b)
{
    bool same = same_info(&a->info, &b->info);
    REPLY(SAME), SAME(has_info), SAME_TEXT(message);
    return same;
}

static bool same_request(const struct sw_request *a, const struct sw_request *b)
{
    bool same = true;
    REQUEST(SAME), SAME(want_evicted);
    return same;
}

/* Checks prefix and padding of an encoded head; returns its header's length. */
static uint32_t check_head(const uint8_t *head, int size, uint64_t body_bytes)
{
    struct sw_frame_prefix prefix;
    cr_assert(size > 0 && size % 64 == 0 && size <= SW_FRAME_HEAD_BYTES_MAX, "%d", size);
    cr_assert(sw_frame_prefix_decode(head, (size_t)size, UINT64_MAX, &prefix) ==
              SW_FRAME_PREFIX_BYTES);
    cr_assert(prefix.body_bytes == body_bytes);
    cr_assert(sw_frame_head_bytes(prefix.header_bytes) == (uint64_t)size);
    for (int i = SW_FRAME_PREFIX_BYTES + (int)prefix.header_bytes; i < size; i++) {
        cr_assert(head[i] == 0, "padding is not zero");
    }
    return prefix.header_bytes;
}

Test(header, random_requests_round_trip)
{
    struct random state = random_of(0);
    for (unsigned round = 0; round < 50000; round++) {
        struct sw_request request;
        struct sw_request got;
        uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
        uint64_t body = some_number(&state);
        some_request(&request, &state);
        memset(head, 0xEE, sizeof(head));
        int size = sw_request_encode(&request, body, head, sizeof(head));
        uint32_t header = check_head(head, size, body);
        const uint8_t *bytes = guard_place(&guard, head + SW_FRAME_PREFIX_BYTES, header);
        cr_assert(sw_request_decode(bytes, header, &got) == 0, "round %u", round);
        cr_assert(same_request(&request, &got), "round %u", round);
    }
}

Test(header, random_replies_round_trip)
{
    struct random state = random_of(1);
    for (unsigned round = 0; round < 20000; round++) {
        struct sw_reply reply;
        struct sw_reply got;
        uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
        uint64_t body = some_number(&state);
        some_reply(&reply, &state);
        memset(head, 0xEE, sizeof(head));
        int size = sw_reply_encode(&reply, body, head, sizeof(head));
        uint32_t header = check_head(head, size, body);
        const uint8_t *bytes = guard_place(&guard, head + SW_FRAME_PREFIX_BYTES, header);
        cr_assert(sw_reply_decode(bytes, header, &got) == 0, "round %u", round);
        cr_assert(same_reply(&reply, &got), "round %u", round);
    }
}

Test(header, the_largest_reply_fits)
{
    struct sw_reply reply = largest_reply();
    struct sw_reply got;
    uint8_t *head = guard_place(&guard, "", 0) - SW_FRAME_HEAD_BYTES_MAX;
    int size = sw_reply_encode(&reply, UINT64_MAX, head, SW_FRAME_HEAD_BYTES_MAX);
    uint32_t header = check_head(head, size, UINT64_MAX);
    cr_assert(sw_reply_decode(head + SW_FRAME_PREFIX_BYTES, header, &got) == 0);
    cr_assert(strlen(got.message) == sizeof(got.message) - 1);
    cr_assert(strlen(got.info.version) == sizeof(got.info.version) - 1);
    cr_assert(strlen(got.info.backend) == sizeof(got.info.backend) - 1);
    cr_assert(strlen(got.info.backend_reason) == sizeof(got.info.backend_reason) - 1);
    cr_assert(got.cursor == UINT64_MAX && got.info.occupied_max == UINT64_MAX);
}

Test(header, encoding_never_passes_the_room_given)
{
    struct sw_reply reply = largest_reply();
    struct sw_request request = {.request_id = UINT64_MAX, .operation = 1, .count = 1};
    for (size_t room = 0; room <= SW_FRAME_HEAD_BYTES_MAX; room++) {
        uint8_t *out = guard_place(&guard, "", 0) - room;
        int size = sw_reply_encode(&reply, 0, out, room);
        cr_assert(size == SW_FRAME_E_SPACE || (size > 0 && (size_t)size <= room));
        size = sw_request_encode(&request, 0, out, room);
        cr_assert(size == (room < 64 ? SW_FRAME_E_SPACE : 64), "%zu bytes of room", room);
    }
}

Test(header, a_header_is_never_empty)
{
    struct sw_reply reply = {.request_id = 0, .status = SW_REPLY_OK};
    struct sw_reply got = {.count = 77};
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    int size = sw_reply_encode(&reply, 0, head, sizeof(head));
    uint32_t header = check_head(head, size, 0);
    cr_assert(header > 0 && sw_reply_decode(head + SW_FRAME_PREFIX_BYTES, header, &got) == 0);
    cr_assert(got.request_id == 0 && got.count == 0 && got.message[0] == '\0' && !got.has_info);
}

/* --- hand-made headers ---------------------------------------------------------------------------
 */

struct bytes {
    uint8_t at[8192];
    size_t size;
};

static void append_bytes(struct bytes *out, const void *bytes, size_t size)
{
    memcpy(out->at + out->size, bytes, size);
    out->size += size;
}

#define ADD(out, literal) append_bytes((out), literal, sizeof(literal) - 1)

static int decode_request(const struct bytes *in, struct sw_request *request)
{
    return sw_request_decode(guard_place(&guard, in->at, in->size), in->size, request);
}

static int decode_reply(const struct bytes *in, struct sw_reply *reply)
{
    return sw_reply_decode(guard_place(&guard, in->at, in->size), in->size, reply);
}

Test(header, broken_messages_are_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
    } broken[] = {
#define BROKEN(literal) {literal, sizeof(literal) - 1}
        BROKEN("\x08"),                                             /* a tag without a value */
        BROKEN("\x08\x80"),                                         /* a varint without an end */
        BROKEN("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* of 11 bytes */
        BROKEN("\x09\x01\x02\x03"),                                 /* a cut fixed64 */
        BROKEN("\x0d\x01\x02\x03"),                                 /* a cut fixed32 */
        BROKEN("\x0a\x05xy"),                                       /* a length past the end */
        BROKEN("\x0a\xff\xff\xff\xff\x0f"),                         /* a length of 4 GiB */
        BROKEN("\x0b\x0c"),                                         /* a group */
        BROKEN("\x0f\x00"),                                         /* wire type 7 */
        BROKEN("\x00\x00"),                                         /* field number 0 */
        BROKEN("\x0a\x01x"),                                        /* request_id as bytes */
        BROKEN("\xff\xff\xff\xff\xff\xff\xff\xff"),
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct bytes in = {.size = 0};
        struct sw_request request = {.count = 77};
        struct sw_reply reply = {.count = 77};
        append_bytes(&in, broken[i].bytes, broken[i].size);
        cr_assert(decode_request(&in, &request) == SW_FRAME_E_HEADER, "request %zu", i);
        cr_assert(request.count == 77, "request %zu was written", i);
        cr_assert(decode_reply(&in, &reply) == SW_FRAME_E_HEADER, "reply %zu", i);
        cr_assert(reply.count == 77, "reply %zu was written", i);
    }
    /* A nested message that is broken. */
    struct bytes in = {.size = 0};
    struct sw_reply reply;
    ADD(&in, "\x52\x02\x10\x80");
    cr_assert(decode_reply(&in, &reply) == SW_FRAME_E_HEADER);
}

Test(header, prefixes_of_a_header_decode_or_are_refused)
{
    struct random state = random_of(2);
    struct sw_reply reply;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    for (unsigned round = 0; round < 50; round++) {
        some_reply(&reply, &state);
        int size = sw_reply_encode(&reply, 0, head, sizeof(head));
        uint32_t header = check_head(head, size, 0);
        for (size_t part = 0; part < header; part++) {
            struct sw_reply got;
            struct sw_request request;
            const uint8_t *bytes = guard_place(&guard, head + SW_FRAME_PREFIX_BYTES, part);
            int error = sw_reply_decode(bytes, part, &got);
            cr_assert(error == 0 || error == SW_FRAME_E_HEADER);
            error = sw_request_decode(bytes, part, &request);
            cr_assert(error == 0 || error == SW_FRAME_E_HEADER);
        }
    }
}

Test(header, damaged_headers_decode_or_are_refused)
{
    struct random state = random_of(3);
    struct sw_reply reply;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    for (unsigned round = 0; round < 50000; round++) {
        some_reply(&reply, &state);
        int size = sw_reply_encode(&reply, 0, head, sizeof(head));
        uint32_t header = check_head(head, size, 0);
        uint8_t *bytes = guard_place(&guard, head + SW_FRAME_PREFIX_BYTES, header);
        for (uint64_t n = random_next(&state) % 4; n < 4; n++) {
            bytes[random_next(&state) % header] = (uint8_t)random_next(&state);
        }
        struct sw_reply got;
        struct sw_request request;
        int error = sw_reply_decode(bytes, header, &got);
        cr_assert(error == 0 || error == SW_FRAME_E_HEADER);
        cr_assert(error != 0 || memchr(got.message, '\0', sizeof(got.message)) != NULL);
        error = sw_request_decode(bytes, header, &request);
        cr_assert(error == 0 || error == SW_FRAME_E_HEADER);
    }
}

Test(header, texts_are_cut_and_terminated)
{
    struct bytes in = {.size = 0};
    struct sw_reply reply;
    ADD(&in, "\x1a\x90\x03"); /* message of 400 bytes */
    memset(in.at + in.size, 'm', 400);
    in.size += 400;
    ADD(&in, "\x52\x2a\x0a\x28"); /* info.version of 40 bytes */
    memset(in.at + in.size, 'v', 40);
    in.size += 40;
    cr_assert(decode_reply(&in, &reply) == 0);
    cr_assert(strlen(reply.message) == sizeof(reply.message) - 1);
    cr_assert(strlen(reply.info.version) == sizeof(reply.info.version) - 1);

    in.size = 0;
    ADD(&in, "\x1a\x05"
             "ab\0cd");
    memset(&reply, 0xEE, sizeof(reply));
    cr_assert(decode_reply(&in, &reply) == 0);
    cr_assert_str_eq(reply.message, "ab");
    for (size_t i = 2; i < sizeof(reply.message); i++) {
        cr_assert(reply.message[i] == '\0', "byte %zu behind an embedded NUL", i);
    }
}

Test(header, fields_of_later_versions_are_tolerated)
{
    struct bytes in = {.size = 0};
    struct sw_request request;
    ADD(&in, "\x08\x2a\x10\x01\x18\x02\x20\x08\x28\x08");
    for (unsigned field = 0; field < 16; field++) {
        ADD(&in, "\xf8\x07\x01");     /* field 127, varint */
        ADD(&in, "\xfa\x07\x03xyz");  /* field 127, bytes */
        ADD(&in, "\xf9\x07zyxwvuts"); /* field 127, fixed64 */
        ADD(&in, "\xfd\x07ponm");     /* field 127, fixed32 */
    }
    cr_assert(decode_request(&in, &request) == 0);
    cr_assert(request.request_id == 42 && request.operation == SW_OPERATION_GET);
    cr_assert(request.count == 2 && request.key_bytes == 8 && request.value_bytes == 8);
}

/* want_found and has_found are true if they are absent. Only false is written, so a peer that
 * declines nothing sends the bytes that it always sent. */
Test(header, a_peer_without_the_fields_of_the_bitmap_means_that_there_is_one)
{
    static const struct {
        const char *request, *reply;
        bool without;
    } cases[] = {
        {"", "", false},
        {"\x48\x01", "\x70\x01", false},
        {"\x48", "\x70", true}, /* the zero that ends the literal is the value */
        {"\x48\x01\x48", "\x70\x01\x70", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sw_request request = {0};
        struct sw_reply reply = {0};
        struct bytes in = {.size = 0};
        ADD(&in, "\x08\x2a\x10\x01\x18\x02\x20\x08\x28\x08");
        struct bytes same = in;
        append_bytes(&in, cases[i].request, strlen(cases[i].request) + cases[i].without);
        cr_assert_eq(decode_request(&in, &request), 0, "case %zu", i);
        cr_assert_eq(request.declines_found, cases[i].without, "case %zu", i);
        uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
        int size = sw_request_encode(&request, 0, head, sizeof(head));
        cr_assert_eq(check_head(head, size, 0), same.size + (cases[i].without ? 2 : 0));
        cr_assert_eq(memcmp(head + SW_FRAME_PREFIX_BYTES, same.at, same.size), 0, "case %zu", i);

        in = (struct bytes){.size = 0};
        ADD(&in, "\x08\x2a\x20\x02\x28\x08\x30\x08");
        same = in;
        append_bytes(&in, cases[i].reply, strlen(cases[i].reply) + cases[i].without);
        cr_assert_eq(decode_reply(&in, &reply), 0, "case %zu", i);
        cr_assert_eq(reply.lacks_found, cases[i].without, "case %zu", i);
        size = sw_reply_encode(&reply, 0, head, sizeof(head));
        cr_assert_eq(check_head(head, size, 0), same.size + (cases[i].without ? 2 : 0));
        cr_assert_eq(memcmp(head + SW_FRAME_PREFIX_BYTES, same.at, same.size), 0, "case %zu", i);
    }
}

/* A header of `size` bytes that repeats one field. */
static void repeat(struct bytes *out, const char *field, size_t field_bytes, size_t size)
{
    out->size = 0;
    while (out->size + field_bytes <= size) {
        append_bytes(out, field, field_bytes);
    }
}

Test(header, headers_made_to_use_up_memory_are_refused)
{
    struct bytes in;
    struct sw_request request;
    struct sw_reply reply;
    /* Unknown fields and nothing else. */
    repeat(&in, "\x78\x00", 2, SW_FRAME_HEADER_BYTES_MAX);
    cr_assert(decode_request(&in, &request) == SW_FRAME_E_HEADER);
    cr_assert(decode_reply(&in, &reply) == SW_FRAME_E_HEADER);
    /* Empty submessages: each is allocated and merged with the one before. */
    repeat(&in, "\x52\x00", 2, SW_FRAME_HEADER_BYTES_MAX);
    cr_assert(decode_reply(&in, &reply) == SW_FRAME_E_HEADER);
    repeat(&in, "\x5a\x00", 2, SW_FRAME_HEADER_BYTES_MAX);
    cr_assert(decode_reply(&in, &reply) == SW_FRAME_E_HEADER);
    repeat(&in, "\x52\x06\x0a\x00\x42\x00\x4a\x00", 8, SW_FRAME_HEADER_BYTES_MAX);
    cr_assert(decode_reply(&in, &reply) == SW_FRAME_E_HEADER);
    /* The same known field over and over costs nothing: the last one counts. */
    repeat(&in, "\x18\x05", 2, SW_FRAME_HEADER_BYTES_MAX);
    int error = decode_request(&in, &request);
    cr_assert(error == SW_FRAME_E_HEADER || (error == 0 && request.count == 5));
    /* Any number of any of these: refused or decoded, never anything else. */
    static const char *const fields[] = {"\x78\x00",         "\x52\x00",  "\x5a\x00",
                                         "\x5a\x02\x0a\x00", "\x1a\x01x", "\x7a\x00"};
    static const size_t sizes[] = {2, 2, 2, 4, 3, 2};
    for (size_t i = 0; i < 6; i++) {
        bool refused = false;
        for (size_t size = sizes[i]; size <= SW_FRAME_HEADER_BYTES_MAX; size += sizes[i]) {
            repeat(&in, fields[i], sizes[i], size);
            error = decode_reply(&in, &reply);
            cr_assert(error == 0 || error == SW_FRAME_E_HEADER);
            cr_assert(!refused || error != 0, "more of field %zu was accepted than less", i);
            refused = error != 0;
        }
    }
}

Test(header, size_is_bounded_even_if_the_caller_forgot)
{
    struct bytes in;
    struct sw_request request;
    struct sw_reply reply;
    repeat(&in, "\x18\x05", 2, SW_FRAME_HEADER_BYTES_MAX + 2);
    cr_assert(decode_request(&in, &request) == SW_FRAME_E_HEADER);
    cr_assert(decode_reply(&in, &reply) == SW_FRAME_E_HEADER);
    in.size = 0;
    cr_assert(decode_request(&in, &request) == 0, "no field at all is a valid message");
    cr_assert(request.operation == 0);
}
