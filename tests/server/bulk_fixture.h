/* SPDX-License-Identifier: MIT
 *
 * bulk_fixture.h - writing frames to a fake connection, and taking the replies to them.
 */
#ifndef SHERWOOD_TESTS_SERVER_BULK_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_BULK_FIXTURE_H

#include "proto/frame.h"
#include "tests/server/serve_fixture.h"

/* UNKNOWN is an operation that no server has; its frames have a body all the same. */
enum { FRAME_MAX = 64 * 1024, UNKNOWN = 60 };

/* Frames, one behind the other. */
struct stream {
    uint8_t bytes[4 * FRAME_MAX];
    size_t size;
};

/* Adds a frame with keys from `first` on, and an operand for each key if the operation has one. */
static inline void add_request(struct stream *stream, struct sw_request request, uint64_t first)
{
    uint32_t operation = request.operation;
    request.key_bytes = request.value_bytes = 8;
    uint64_t body = sw_operation_is_data(operation) ? sw_request_layout(&request).bytes : 0;
    body = operation == UNKNOWN ? 640 : body;
    uint8_t *at = stream->bytes + stream->size;
    int head = sw_request_encode(&request, body, at, SW_FRAME_HEAD_BYTES_MAX);
    cr_assert_gt(head, 0);
    memset(at + head, 0, body);
    for (uint32_t i = 0; i < request.count; i++) {
        uint64_t key = first + i, operand = 10 * key;
        memcpy(at + head + (size_t)i * 8, &key, 8);
        if (sw_operation_has_operands(operation)) {
            memcpy(at + head + sw_request_layout(&request).second + (size_t)i * 8, &operand, 8);
        }
    }
    stream->size += (size_t)head + body;
    cr_assert_leq(stream->size, sizeof(stream->bytes));
}

/* Adds a frame of `count` keys that wants what most clients want. */
static inline void add_frame(struct stream *stream, uint32_t operation, uint64_t id, uint64_t first,
                             uint32_t count)
{
    const struct sw_request request = {.request_id = id,
                                       .operation = operation,
                                       .count = count,
                                       .want_values = operation == SW_OPERATION_GET};
    add_request(stream, request, first);
}

/* Takes the next reply of what has left, and its body, of at most FRAME_MAX bytes, unless `body` is
 * NULL. Returns false if there is no whole one. */
static inline bool take_reply_and_body(struct fake *peer, struct sw_reply *reply, uint8_t *body,
                                       uint64_t *body_bytes)
{
    struct sw_frame_prefix prefix;
    const uint8_t *bytes = (const uint8_t *)peer->out;
    int result = sw_frame_prefix_decode(bytes, peer->out_bytes, 1 << 20, &prefix);
    cr_assert_geq(result, 0, "not a frame");
    uint64_t head = result == 0 ? 0 : sw_frame_head_bytes(prefix.header_bytes);
    if (result == 0 || peer->out_bytes < head + prefix.body_bytes) {
        return false;
    }
    cr_assert_eq(sw_reply_decode(bytes + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, reply), 0);
    if (body != NULL) {
        cr_assert_leq(prefix.body_bytes, FRAME_MAX);
        memcpy(body, bytes + head, prefix.body_bytes);
        *body_bytes = prefix.body_bytes;
    }
    peer->out_bytes -= head + prefix.body_bytes;
    memmove(peer->out, peer->out + head + prefix.body_bytes, peer->out_bytes);
    return true;
}

static inline bool take_reply(struct fake *peer, struct sw_reply *reply)
{
    return take_reply_and_body(peer, reply, NULL, NULL);
}

static inline void expect_reply(struct fake *peer, uint64_t id, enum sw_reply_status status)
{
    struct sw_reply reply;
    cr_assert(take_reply(peer, &reply), "no reply %llu", (unsigned long long)id);
    cr_assert_eq(reply.request_id, id);
    cr_assert_eq(reply.status, status, "%u: %s", reply.status, reply.message);
}

static inline void expect_no_reply(struct fake *peer)
{
    cr_assert_eq(peer->out_bytes, 0, "%zu bytes more", peer->out_bytes);
}

static inline void send_all(struct serve *serve, struct fake *peer, const uint8_t *bytes,
                            size_t size)
{
    for (size_t sent = 0; sent < size;) {
        sent += fake_send(peer, bytes + sent, size - sent);
        serve_check(serve);
        if (sent < size) {
            cr_assert(serve_iteration(serve), "it reads no more");
        }
    }
}

#endif
