/* SPDX-License-Identifier: MIT
 *
 * fuzz_frame.c - libFuzzer target for bulk frames: the prefix, then the header as a request and as
 * a reply.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "tests/fuzz/require.h"

#define BODY_MAX (UINT64_C(1) << 30)
#define OPS_MAX (1U << 20)
#define WIDTH_MAX 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy in a heap block of just its size, so that over-reads are seen. */
static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + (size == 0));
    require(copy != NULL);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

static int check_prefix(const uint8_t *data, size_t size, struct sw_frame_prefix *prefix)
{
    int whole = sw_frame_prefix_decode(data, size, BODY_MAX, prefix);
    require(whole == SW_FRAME_PREFIX_BYTES || whole <= 0);
    require(whole != 0 || size < SW_FRAME_PREFIX_BYTES);
    size_t end = size < SW_FRAME_PREFIX_BYTES ? size : SW_FRAME_PREFIX_BYTES;
    for (size_t part = 0; part < end; part++) {
        struct sw_frame_prefix unused;
        uint8_t *copy = copy_of(data, part);
        int got = sw_frame_prefix_decode(copy, part, BODY_MAX, &unused);
        free(copy);
        require(got == 0 || got == whole);
    }
    if (whole > 0) {
        require(prefix->header_bytes > 0 && prefix->header_bytes <= SW_FRAME_HEADER_BYTES_MAX);
        require(prefix->body_bytes <= BODY_MAX);
    }
    return whole;
}

/* A login that was understood survives being written and read once more. */
static void check_login(const uint8_t *header, size_t size, const struct sw_request *request)
{
    struct sw_frame_login login, again;
    struct sw_frame_prefix prefix;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    if (sw_frame_login_decode(header, size, &login) != 0) {
        return;
    }
    require(memchr(login.user, '\0', sizeof(login.user)) != NULL);
    require(login.password_bytes <= sizeof(login.password));
    require(login.is_there == (login.user[0] != '\0' || login.password_bytes > 0));
    int bytes = sw_frame_login_encode(request, &login, head, sizeof(head));
    require(bytes > 0 && sw_frame_prefix_decode(head, (size_t)bytes, BODY_MAX, &prefix) > 0);
    require(sw_frame_login_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &again) == 0);
    require(memcmp(&login, &again, sizeof(login)) == 0);
}

/* A trace context that was understood survives being written and read once more. */
static void check_trace(const uint8_t *header, size_t size, const struct sw_request *request)
{
    struct sw_trace trace, again;
    struct sw_request decoded;
    struct sw_frame_prefix prefix;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    const bool has_trace = sw_frame_trace_decode(header, size, &trace) == 0;
    require(!request->is_sampled || has_trace);
    if (!has_trace) {
        return;
    }
    require(sw_trace_is_valid(&trace) && sw_trace_is_sampled(&trace) == request->is_sampled);
    int bytes = sw_frame_trace_encode(request, &trace, 0, head, sizeof(head));
    require(bytes > 0 && sw_frame_prefix_decode(head, (size_t)bytes, BODY_MAX, &prefix) > 0);
    const uint8_t *written = head + SW_FRAME_PREFIX_BYTES;
    require(sw_frame_trace_decode(written, prefix.header_bytes, &again) == 0);
    require(memcmp(&trace, &again, sizeof(trace)) == 0);
    require(sw_request_decode(written, prefix.header_bytes, &decoded) == 0);
    require(decoded.is_sampled == request->is_sampled);
}

/* Segments that were understood survive being written and read once more, if they fit a header: the
 * writer names each id. */
static void check_segments(const uint8_t *header, size_t size, const struct sw_request *request)
{
    static struct sw_frame_segments segments, again;
    struct sw_frame_prefix prefix;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    if (sw_frame_segments_decode(header, size, &segments) != 0) {
        require(segments.count == 0);
        return;
    }
    require(request->has_segments && segments.count > 0);
    require(segments.count <= SW_FRAME_SEGMENTS_MAX);
    int bytes = sw_frame_segments_encode(request, &segments, NULL, 0, head, sizeof(head));
    require(bytes > 0 || bytes == SW_FRAME_E_SPACE);
    if (bytes < 0) {
        return;
    }
    require(sw_frame_prefix_decode(head, (size_t)bytes, BODY_MAX, &prefix) > 0);
    require(prefix.version == SW_FRAME_VERSION_TABLES);
    header = head + SW_FRAME_PREFIX_BYTES;
    require(sw_frame_segments_decode(header, prefix.header_bytes, &again) == 0);
    require(memcmp(&segments, &again, sizeof(segments)) == 0);
}

static void check_request(const uint8_t *header, size_t size, uint64_t body_bytes)
{
    struct sw_request request;
    int error = sw_request_decode(header, size, &request);
    require(error == 0 || error == SW_FRAME_E_HEADER);
    if (error == 0) {
        check_login(header, size, &request);
        check_trace(header, size, &request);
        check_segments(header, size, &request);
    }
    if (error != 0) {
        return;
    }
    /* What was understood survives being written and read once more. This encoder writes no
     * segments, which also decide on the version. */
    request.has_segments = false;
    uint8_t first[SW_FRAME_HEAD_BYTES_MAX];
    uint8_t second[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_frame_prefix prefix;
    struct sw_request again;
    int bytes = sw_request_encode(&request, body_bytes, first, sizeof(first));
    require(bytes > 0 && bytes % SW_FRAME_ALIGN == 0);
    require(sw_frame_prefix_decode(first, (size_t)bytes, BODY_MAX, &prefix) > 0);
    require(prefix.body_bytes == body_bytes);
    require(sw_request_decode(first + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &again) == 0);
    require(sw_request_encode(&again, body_bytes, second, sizeof(second)) == bytes);
    require(memcmp(first, second, (size_t)bytes) == 0);

    for (uint32_t width = 4; width <= 8; width += 4) {
        if (sw_request_check(&request, width, width, OPS_MAX, body_bytes) != 0) {
            continue;
        }
        struct sw_body_layout layout = sw_request_layout(&request);
        require(layout.bytes == body_bytes);
        require(layout.first <= layout.second && layout.second <= layout.bytes);
        require(layout.bytes % SW_FRAME_ALIGN == 0);
        require(sw_operation_is_known(request.operation));
        if (sw_operation_is_data(request.operation)) {
            uint64_t array = (uint64_t)request.count * width;
            bool operands = sw_operation_has_operands(request.operation);
            require(layout.second - layout.first >= array);
            uint64_t scores = request.has_scores ? request.count * sizeof(uint64_t) : 0;
            bool is_part = request.operation == SW_OPERATION_SETRANGE;
            uint64_t parts = (uint64_t)request.count * request.range_bytes;
            require(layout.scores - layout.second >= (is_part ? parts : operands ? array : 0));
            require(layout.times - layout.scores >= scores);
            uint64_t times = request.has_times ? request.count * sizeof(uint64_t) : 0;
            require(layout.bytes - layout.times >= times);
            require(times > 0 || layout.times == layout.bytes);
        } else {
            require(layout.bytes == 0);
        }
    }
}

/* Bytes that only the reply of a cache has, without padding. */
static uint64_t cache_bytes(const struct sw_reply *reply)
{
    uint64_t evicted = (uint64_t)reply->key_bytes + reply->value_bytes + sizeof(uint64_t);
    uint64_t bitmap = reply->has_not_admitted ? sw_found_bytes(reply->count) : 0;
    uint64_t scores = reply->has_scores ? (uint64_t)reply->count * sizeof(uint64_t) : 0;
    return bitmap + scores + (reply->has_evicted != 0 ? reply->evicted_count * evicted : 0);
}

/* A client takes no layout from widths that it has not checked. */
static void check_reply_layouts(const struct sw_reply *reply)
{
    if (reply->key_bytes > WIDTH_MAX || reply->value_bytes > WIDTH_MAX) {
        return;
    }
    for (uint32_t operation = 0; operation < SW_OPERATION_NUMBERS; operation++) {
        struct sw_body_layout layout = sw_reply_layout(reply, operation);
        require(layout.first <= layout.second && layout.second <= layout.bytes);
        require(layout.bytes % SW_FRAME_ALIGN == 0);
        if (reply->status != SW_REPLY_OK || !sw_operation_is_data(operation)) {
            continue;
        }
        uint64_t values = reply->has_values ? (uint64_t)reply->count * reply->value_bytes : 0;
        uint64_t found = reply->lacks_found ? 0 : sw_found_bytes(reply->count);
        require(layout.second - layout.first >= values);
        require(layout.bytes - layout.second >= found);
        require(layout.bytes < values + found + cache_bytes(reply) + UINT64_C(7) * SW_FRAME_ALIGN);
    }
}

static void check_reply(const uint8_t *header, size_t size, uint64_t body_bytes)
{
    struct sw_reply reply;
    int error = sw_reply_decode(header, size, &reply);
    require(error == 0 || error == SW_FRAME_E_HEADER);
    if (error != 0) {
        return;
    }
    require(memchr(reply.message, 0, sizeof(reply.message)) != NULL);
    require(memchr(reply.info.version, 0, sizeof(reply.info.version)) != NULL);
    require(memchr(reply.info.backend, 0, sizeof(reply.info.backend)) != NULL);
    require(memchr(reply.info.backend_reason, 0, sizeof(reply.info.backend_reason)) != NULL);

    check_reply_layouts(&reply);

    uint8_t first[SW_FRAME_HEAD_BYTES_MAX];
    uint8_t second[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_frame_prefix prefix;
    struct sw_reply again;
    int bytes = sw_reply_encode(&reply, body_bytes, first, sizeof(first));
    require(bytes > 0 && bytes % SW_FRAME_ALIGN == 0);
    require(sw_frame_prefix_decode(first, (size_t)bytes, BODY_MAX, &prefix) > 0);
    require(sw_reply_decode(first + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &again) == 0);
    require(sw_reply_encode(&again, body_bytes, second, sizeof(second)) == bytes);
    require(memcmp(first, second, (size_t)bytes) == 0);
}

static void check_figure(const uint8_t *data, size_t size)
{
    struct sw_figure figure = {"", 0};
    memcpy(&figure, data, size < sizeof(figure) ? size : sizeof(figure));
    bool is_valid = sw_figure_is_valid(&figure);
    size_t name_bytes = strnlen(figure.name, sizeof(figure.name));
    require(!is_valid || (name_bytes > 0 && name_bytes < sizeof(figure.name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_frame_prefix prefix;

    check_figure(data, size);
    if (check_prefix(data, size, &prefix) <= 0) {
        return 0;
    }
    size_t left = size - SW_FRAME_PREFIX_BYTES;
    size_t header_bytes = prefix.header_bytes < left ? prefix.header_bytes : left;
    uint8_t *header = copy_of(data + SW_FRAME_PREFIX_BYTES, header_bytes);
    check_request(header, header_bytes, prefix.body_bytes);
    check_reply(header, header_bytes, prefix.body_bytes);
    free(header);
    return 0;
}
