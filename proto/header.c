/* SPDX-License-Identifier: MIT
 *
 * header.c - converts the protobuf header of a bulk frame to structs and back. A decoder takes all
 * its memory from a fixed buffer on the stack.
 */
#include "proto/header.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "proto/region.h"

#define DIGEST_SUMS 2

static_assert(sizeof(Sherwood__Reply) + sizeof(Sherwood__ServerInfo) + SW_FRAME_HEADER_BYTES_MAX <
                  SW_HEADER_ARENA_BYTES / 4,
              "known fields take a small part of the arena");

/* The fields that a message has under the same name and type as its struct, which each direction
 * copies. Enums, texts and fields that mean something else on the wire are beside them. */
/* clang-format off */
#define REQUEST_FIELDS(COPY) \
    COPY(request_id) COPY(count) COPY(key_bytes) COPY(value_bytes) COPY(want_values) \
    COPY(cursor) COPY(capacity_slots) COPY(has_scores) COPY(want_scores) \
    COPY(want_not_admitted) COPY(by_score) COPY(score_min) COPY(score_max) COPY(epoch) \
    COPY(sequence) COPY(incarnation) COPY(timeout_ms) COPY(scale_bits) COPY(range_offset) \
    COPY(range_bytes) COPY(time_ms) COPY(has_times) COPY(map_epoch) COPY(frozen_seen) \
    COPY(table) COPY(table_id)
#define REPLY_FIELDS(COPY) \
    COPY(request_id) COPY(count) COPY(key_bytes) COPY(value_bytes) COPY(has_values) \
    COPY(hits) COPY(overflows) COPY(cursor) COPY(capacity_slots) COPY(has_scores) \
    COPY(has_not_admitted) COPY(has_evicted) COPY(evicted_count) COPY(not_admitted) \
    COPY(matched) COPY(epoch) COPY(write_sequence) COPY(durable_through) \
    COPY(first_bad_index) COPY(slot) COPY(map_epoch)
#define INFO_FIELDS(COPY) \
    COPY(key_bytes) COPY(value_bytes) COPY(frame_ops_max) COPY(requests_in_flight_max) \
    COPY(capacity_slots) COPY(occupied_max) COPY(frame_bytes_max) COPY(incarnation) \
    COPY(dimension) COPY(is_cluster) COPY(map_epoch) COPY(takes_times) \
    COPY(takes_tables) COPY(table) COPY(table_id) COPY(segments_max) COPY(run)
/* clang-format on */

/* Copies a text up to its first NUL, cuts it to fit, and pads it with NULs. */
static void copy_text(char *out, size_t out_bytes, ProtobufCBinaryData text)
{
    size_t size = text.len < out_bytes ? text.len : out_bytes - 1;
    size = size > 0 ? strnlen((const char *)text.data, size) : 0;
    if (size > 0) {
        memcpy(out, text.data, size);
    }
    memset(out + size, 0, out_bytes - size);
}

ProtobufCBinaryData sw_header_lend_text(const char *text, size_t bytes_max)
{
    return (ProtobufCBinaryData){strnlen(text, bytes_max - 1), (uint8_t *)(uintptr_t)text};
}

const Sherwood__Request *sw_header_unpack(const uint8_t *header, size_t size,
                                          struct sw_arena *arena,
                                          uint8_t memory[SW_HEADER_ARENA_BYTES])
{
    if (size > SW_FRAME_HEADER_BYTES_MAX) {
        return NULL;
    }
    sw_arena_init(arena, memory, SW_HEADER_ARENA_BYTES);
    return sherwood__request__unpack(&arena->allocator, size, header);
}

/* Returns false if the message has no valid trace context. */
static bool read_trace(const Sherwood__Request *in, struct sw_trace *trace)
{
    if (in->traceparent.len != sizeof(*trace)) {
        return false;
    }
    memcpy(trace, in->traceparent.data, sizeof(*trace));
    return sw_trace_is_valid(trace);
}

int sw_request_decode(const uint8_t *header, size_t size, struct sw_request *request)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;
    const Sherwood__Request *in = sw_header_unpack(header, size, &arena, memory);
    if (in == NULL) {
        explicit_bzero(memory, sizeof(memory)); /* the header may contain a password */
        return SW_FRAME_E_HEADER;
    }
    struct sw_trace trace;
    *request = (struct sw_request){
        .operation = (uint32_t)in->operation,
        .declines_found =
            in->found_wish_case == SHERWOOD__REQUEST__FOUND_WISH_WANT_FOUND && !in->want_found,
        .want_evicted = in->want_evicted & SW_FRAME_EVICTED_ALL,
        .operand_type = (uint32_t)in->operand_type,
        .times = (uint32_t)in->times,
        .names_table = in->table_name.len > 0,
        .is_sampled =
            in->traceparent.len > 0 && read_trace(in, &trace) && sw_trace_is_sampled(&trace),
        .has_segments = in->segments != NULL,
#define COPY(field) .field = in->field,
        REQUEST_FIELDS(COPY)
#undef COPY
    };
    if (request->want_evicted != 0) {
        request->want_evicted |= SW_FRAME_EVICTED_KEYS;
    }
    if (in->password.len > 0) {
        explicit_bzero(memory, sizeof(memory));
    }
    return 0;
}

/* Returns false if the message has no login that will do. */
static bool copy_login(const Sherwood__Request *in, struct sw_frame_login *login)
{
    if (in == NULL || in->user.len >= sizeof(login->user) ||
        in->password.len > sizeof(login->password) ||
        (in->user.len > 0 && memchr(in->user.data, '\0', in->user.len) != NULL)) {
        return false;
    }
    login->is_there = in->user.len > 0 || in->password.len > 0;
    copy_text(login->user, sizeof(login->user), in->user);
    login->password_bytes = (uint32_t)in->password.len;
    if (in->password.len > 0) {
        memcpy(login->password, in->password.data, in->password.len);
    }
    return true;
}

int sw_frame_login_decode(const uint8_t *header, size_t size, struct sw_frame_login *login)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;

    *login = (struct sw_frame_login){0};
    bool good = copy_login(sw_header_unpack(header, size, &arena, memory), login);
    explicit_bzero(memory, sizeof(memory));
    return good ? 0 : SW_FRAME_E_HEADER;
}

int sw_frame_table_name_decode(const uint8_t *header, size_t size, char name[SW_FRAME_TABLE_BYTES])
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;
    const Sherwood__Request *in = sw_header_unpack(header, size, &arena, memory);
    const bool good =
        in != NULL && in->table_name.len < SW_FRAME_TABLE_BYTES &&
        (in->table_name.len == 0 || memchr(in->table_name.data, '\0', in->table_name.len) == NULL);
    if (good) {
        copy_text(name, SW_FRAME_TABLE_BYTES, in->table_name);
    }
    explicit_bzero(memory, sizeof(memory)); /* the header may contain a password */
    return good ? 0 : SW_FRAME_E_HEADER;
}

int sw_frame_trace_decode(const uint8_t *header, size_t size, struct sw_trace *trace)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;
    const Sherwood__Request *in = sw_header_unpack(header, size, &arena, memory);
    const bool good = in != NULL && read_trace(in, trace);
    if (in == NULL || in->password.len > 0) {
        explicit_bzero(memory, sizeof(memory));
    }
    return good ? 0 : SW_FRAME_E_HEADER;
}

static void read_info(const Sherwood__ServerInfo *in, struct sw_server_info *out)
{
#define COPY(field) out->field = in->field;
    INFO_FIELDS(COPY)
#undef COPY
    copy_text(out->version, sizeof(out->version), in->version);
    copy_text(out->backend, sizeof(out->backend), in->backend);
    copy_text(out->backend_reason, sizeof(out->backend_reason), in->backend_reason);
    copy_text(out->engine, sizeof(out->engine), in->engine);
    out->value_format = (uint32_t)in->value_format;
    copy_text(out->policy, sizeof(out->policy), in->policy);
    copy_text(out->table_name, sizeof(out->table_name), in->table_name);
    out->resp_keys = (uint32_t)in->resp_keys;
    out->value_type = (uint32_t)in->value_type;
}

static void read_sharing(const Sherwood__Sharing *in, struct sw_sharing *out)
{
    out->regions_max = in->regions_max;
    out->ring_entries_max = in->ring_entries_max;
    out->region_bytes_max = in->region_bytes_max;
    out->found_bytes = in->found_bytes;
    out->details = in->details;
    out->has_device = in->device_uuid.len == sizeof(out->device_uuid);
    if (out->has_device) {
        memcpy(out->device_uuid, in->device_uuid.data, sizeof(out->device_uuid));
    }
}

int sw_reply_decode(const uint8_t *header, size_t size, struct sw_reply *reply)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;

    if (size > SW_FRAME_HEADER_BYTES_MAX) {
        return SW_FRAME_E_HEADER;
    }
    sw_arena_init(&arena, memory, sizeof(memory));
    const Sherwood__Reply *in = sherwood__reply__unpack(&arena.allocator, size, header);
    if (in == NULL) {
        return SW_FRAME_E_HEADER;
    }
    *reply = (struct sw_reply){
        .status = (uint32_t)in->status,
        .lacks_found =
            in->found_presence_case == SHERWOOD__REPLY__FOUND_PRESENCE_HAS_FOUND && !in->has_found,
        .has_info = in->info != NULL,
        .has_sharing = in->sharing != NULL,
        .has_digest = in->digest != NULL && in->digest->n_sums == DIGEST_SUMS,
#define COPY(field) .field = in->field,
        REPLY_FIELDS(COPY)
#undef COPY
    };
    copy_text(reply->message, sizeof(reply->message), in->message);
    if (in->info != NULL) {
        read_info(in->info, &reply->info);
    }
    if (in->sharing != NULL) {
        read_sharing(in->sharing, &reply->sharing);
    }
    if (reply->has_digest) {
        reply->digest = (struct sw_frame_digest){
            in->digest->sequence, in->digest->entries, {in->digest->sums[0], in->digest->sums[1]}};
    }
    return 0;
}

static void store_little_endian(uint8_t *out, size_t bytes, uint64_t value)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

int sw_header_encode(const ProtobufCMessage *message, uint32_t version, uint64_t body_bytes,
                     uint8_t *out, size_t out_bytes)
{
    /* The field request_id = 0. proto3 leaves out fields that are zero, but a header is never
     * empty. */
    static const uint8_t all_zero[] = {0x08, 0x00};

    size_t packed = protobuf_c_message_get_packed_size(message);
    size_t header = packed > 0 ? packed : sizeof(all_zero);
    if (header > SW_FRAME_HEADER_BYTES_MAX || sw_frame_head_bytes((uint32_t)header) > out_bytes) {
        return SW_FRAME_E_SPACE;
    }
    size_t head = (size_t)sw_frame_head_bytes((uint32_t)header);
    out[0] = SW_FRAME_MAGIC;
    out[1] = 'S';
    out[2] = 'W';
    out[3] = (uint8_t)version;
    store_little_endian(out + 4, 4, header);
    store_little_endian(out + 8, 8, body_bytes);
    if (packed > 0) {
        protobuf_c_message_pack(message, out + SW_FRAME_PREFIX_BYTES);
    } else {
        memcpy(out + SW_FRAME_PREFIX_BYTES, all_zero, sizeof(all_zero));
    }
    size_t end = SW_FRAME_PREFIX_BYTES + header;
    memset(out + end, 0, head - end);
    return (int)head;
}

Sherwood__Request sw_header_message(const struct sw_request *request)
{
    Sherwood__Request message;

    sherwood__request__init(&message);
#define COPY(field) message.field = request->field;
    REQUEST_FIELDS(COPY)
#undef COPY
    message.operation = (Sherwood__Operation)request->operation;
    if (request->declines_found) {
        message.found_wish_case = SHERWOOD__REQUEST__FOUND_WISH_WANT_FOUND;
        message.want_found = false;
    }
    message.want_evicted = request->want_evicted;
    message.operand_type = (Sherwood__ValueType)request->operand_type;
    message.times = (Sherwood__Times)request->times;
    return message;
}

int sw_request_encode(const struct sw_request *request, uint64_t body_bytes, uint8_t *out,
                      size_t out_bytes)
{
    Sherwood__Request message = sw_header_message(request);
    return sw_header_encode(&message.base, sw_request_version(request), body_bytes, out, out_bytes);
}

int sw_frame_login_encode(const struct sw_request *request, const struct sw_frame_login *login,
                          uint8_t *out, size_t out_bytes)
{
    Sherwood__Request message = sw_header_message(request);
    message.user = sw_header_lend_text(login->user, sizeof(login->user));
    message.password =
        (ProtobufCBinaryData){login->password_bytes, (uint8_t *)(uintptr_t)login->password};
    return sw_header_encode(&message.base, sw_request_version(request), 0, out, out_bytes);
}

int sw_frame_table_name_encode(const struct sw_request *request, const char *name, uint8_t *out,
                               size_t out_bytes)
{
    Sherwood__Request message = sw_header_message(request);
    message.table_name = sw_header_lend_text(name, SW_FRAME_TABLE_BYTES);
    return sw_header_encode(&message.base, sw_request_version(request), 0, out, out_bytes);
}

int sw_frame_trace_encode(const struct sw_request *request, const struct sw_trace *trace,
                          uint64_t body_bytes, uint8_t *out, size_t out_bytes)
{
    Sherwood__Request message = sw_header_message(request);
    message.traceparent = (ProtobufCBinaryData){sizeof(*trace), (uint8_t *)(uintptr_t)trace};
    return sw_header_encode(&message.base, sw_request_version(request), body_bytes, out, out_bytes);
}

static void write_sharing(const struct sw_sharing *in, Sherwood__Sharing *out)
{
    sherwood__sharing__init(out);
    out->regions_max = in->regions_max;
    out->ring_entries_max = in->ring_entries_max;
    out->region_bytes_max = in->region_bytes_max;
    out->found_bytes = in->found_bytes;
    out->details = in->details;
    if (in->has_device) {
        out->device_uuid =
            (ProtobufCBinaryData){sizeof(in->device_uuid), (uint8_t *)(uintptr_t)in->device_uuid};
    }
}

static void write_info(const struct sw_server_info *in, Sherwood__ServerInfo *out)
{
    sherwood__server_info__init(out);
#define COPY(field) out->field = in->field;
    INFO_FIELDS(COPY)
#undef COPY
    out->version = sw_header_lend_text(in->version, sizeof(in->version));
    out->backend = sw_header_lend_text(in->backend, sizeof(in->backend));
    out->backend_reason = sw_header_lend_text(in->backend_reason, sizeof(in->backend_reason));
    out->engine = sw_header_lend_text(in->engine, sizeof(in->engine));
    out->value_format = (Sherwood__ValueFormat)in->value_format;
    out->policy = sw_header_lend_text(in->policy, sizeof(in->policy));
    out->table_name = sw_header_lend_text(in->table_name, sizeof(in->table_name));
    out->resp_keys = (Sherwood__RespKeys)in->resp_keys;
    out->value_type = (Sherwood__ValueType)in->value_type;
}

int sw_reply_encode(const struct sw_reply *reply, uint64_t body_bytes, uint8_t *out,
                    size_t out_bytes)
{
    Sherwood__Reply message;
    Sherwood__ServerInfo info;
    Sherwood__Sharing sharing;
    Sherwood__Digest digest;
    uint64_t sums[DIGEST_SUMS] = {reply->digest.sums[0], reply->digest.sums[1]};

    sherwood__reply__init(&message);
#define COPY(field) message.field = reply->field;
    REPLY_FIELDS(COPY)
#undef COPY
    message.status = (Sherwood__Status)reply->status;
    message.message = sw_header_lend_text(reply->message, sizeof(reply->message));
    if (reply->lacks_found) {
        message.found_presence_case = SHERWOOD__REPLY__FOUND_PRESENCE_HAS_FOUND;
        message.has_found = false;
    }
    if (reply->has_info) {
        write_info(&reply->info, &info);
        message.info = &info;
    }
    if (reply->has_sharing) {
        write_sharing(&reply->sharing, &sharing);
        message.sharing = &sharing;
    }
    if (reply->has_digest) {
        sherwood__digest__init(&digest);
        digest.sequence = reply->digest.sequence;
        digest.entries = reply->digest.entries;
        digest.n_sums = DIGEST_SUMS;
        digest.sums = sums;
        message.digest = &digest;
    }
    return sw_header_encode(&message.base, SW_FRAME_VERSION, body_bytes, out, out_bytes);
}
