/* SPDX-License-Identifier: MIT
 *
 * header.c - converts the protobuf header of a bulk frame to structs and back. A decoder takes all
 * its memory from a fixed buffer on the stack.
 */
#include "proto/frame.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "proto/arena.h"
#include "proto/region.h"
#include "proto/sherwood.pb-c.h"

/* A full Reply takes about 2 KiB. The rest is for fields of later versions. An unknown field takes
 * about 70 bytes while a header is decoded, so 200 of them fit. A header of 1008 bytes that
 * consists of nothing but unknown fields is refused. */
#define ARENA_BYTES 16384
#define DIGEST_SUMS 2

static_assert(sizeof(Sherwood__Reply) + sizeof(Sherwood__ServerInfo) + SW_FRAME_HEADER_BYTES_MAX <
                  ARENA_BYTES / 4,
              "known fields take a small part of the arena");

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

/* Lends `text` to a message. protobuf-c only reads it. */
static ProtobufCBinaryData borrow_text(const char *text, size_t bytes_max)
{
    return (ProtobufCBinaryData){strnlen(text, bytes_max - 1), (uint8_t *)(uintptr_t)text};
}

/* Unpacks a request into `memory`, which `arena` hands out. NULL: it is not one. */
static const Sherwood__Request *unpack_request(const uint8_t *header, size_t size,
                                               struct sw_arena *arena, uint8_t memory[ARENA_BYTES])
{
    if (size > SW_FRAME_HEADER_BYTES_MAX) {
        return NULL;
    }
    sw_arena_init(arena, memory, ARENA_BYTES);
    return sherwood__request__unpack(&arena->allocator, size, header);
}

int sw_request_decode(const uint8_t *header, size_t size, struct sw_request *request)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[ARENA_BYTES];
    struct sw_arena arena;
    const Sherwood__Request *in = unpack_request(header, size, &arena, memory);
    if (in == NULL) {
        explicit_bzero(memory, sizeof(memory)); /* the header may contain a password */
        return SW_FRAME_E_HEADER;
    }
    *request = (struct sw_request){
        .request_id = in->request_id,
        .operation = (uint32_t)in->operation,
        .count = in->count,
        .key_bytes = in->key_bytes,
        .value_bytes = in->value_bytes,
        .want_values = in->want_values,
        .declines_found =
            in->found_wish_case == SHERWOOD__REQUEST__FOUND_WISH_WANT_FOUND && !in->want_found,
        .cursor = in->cursor,
        .capacity_slots = in->capacity_slots,
        .has_scores = in->has_scores,
        .want_scores = in->want_scores,
        .want_not_admitted = in->want_not_admitted,
        .want_evicted = in->want_evicted & SW_FRAME_EVICTED_ALL,
        .by_score = in->by_score,
        .score_min = in->score_min,
        .score_max = in->score_max,
        .epoch = in->epoch,
        .sequence = in->sequence,
        .incarnation = in->incarnation,
        .timeout_ms = in->timeout_ms,
        .scale_bits = in->scale_bits,
        .operand_type = (uint32_t)in->operand_type,
        .range_offset = in->range_offset,
        .range_bytes = in->range_bytes,
        .times = (uint32_t)in->times,
        .time_ms = in->time_ms,
        .has_times = in->has_times,
        .map_epoch = in->map_epoch,
        .frozen_seen = in->frozen_seen,
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
    alignas(SW_ARENA_ALIGN) uint8_t memory[ARENA_BYTES];
    struct sw_arena arena;

    *login = (struct sw_frame_login){0};
    bool good = copy_login(unpack_request(header, size, &arena, memory), login);
    explicit_bzero(memory, sizeof(memory));
    return good ? 0 : SW_FRAME_E_HEADER;
}

/* Copies bytes that are all there or not at all. Returns false if there is another number. */
static bool copy_bytes(uint8_t *out, size_t bytes, ProtobufCBinaryData in)
{
    if (in.len == bytes) {
        memcpy(out, in.data, bytes);
    }
    return in.len == bytes || in.len == 0;
}

int sw_region_request_decode(const uint8_t *header, size_t size, struct sw_region_request *region)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[ARENA_BYTES];
    struct sw_arena arena;

    *region = (struct sw_region_request){0};
    const Sherwood__Request *request = unpack_request(header, size, &arena, memory);
    if (request == NULL || request->region == NULL) {
        return SW_FRAME_E_HEADER;
    }
    const Sherwood__Region *in = request->region;
    region->kind = (uint32_t)in->kind;
    region->index = in->index;
    region->bytes = in->bytes;
    region->offset = in->offset;
    region->entries = in->entries;
    return copy_bytes(region->device_uuid, sizeof(region->device_uuid), in->device_uuid) &&
                   copy_bytes(region->handle, sizeof(region->handle), in->handle)
               ? 0
               : SW_FRAME_E_HEADER;
}

static void read_info(const Sherwood__ServerInfo *in, struct sw_server_info *out)
{
    copy_text(out->version, sizeof(out->version), in->version);
    copy_text(out->backend, sizeof(out->backend), in->backend);
    copy_text(out->backend_reason, sizeof(out->backend_reason), in->backend_reason);
    out->key_bytes = in->key_bytes;
    out->value_bytes = in->value_bytes;
    out->frame_ops_max = in->frame_ops_max;
    out->requests_in_flight_max = in->requests_in_flight_max;
    out->capacity_slots = in->capacity_slots;
    out->occupied_max = in->occupied_max;
    copy_text(out->engine, sizeof(out->engine), in->engine);
    out->value_format = (uint32_t)in->value_format;
    copy_text(out->policy, sizeof(out->policy), in->policy);
    out->frame_bytes_max = in->frame_bytes_max;
    out->incarnation = in->incarnation;
    out->resp_keys = (uint32_t)in->resp_keys;
    out->value_type = (uint32_t)in->value_type;
    out->dimension = in->dimension;
    out->is_cluster = in->is_cluster;
    out->map_epoch = in->map_epoch;
    out->takes_times = in->takes_times;
}

static void read_sharing(const Sherwood__Sharing *in, struct sw_sharing *out)
{
    out->regions_max = in->regions_max;
    out->ring_entries_max = in->ring_entries_max;
    out->region_bytes_max = in->region_bytes_max;
    out->has_device = in->device_uuid.len == sizeof(out->device_uuid);
    if (out->has_device) {
        memcpy(out->device_uuid, in->device_uuid.data, sizeof(out->device_uuid));
    }
}

int sw_reply_decode(const uint8_t *header, size_t size, struct sw_reply *reply)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[ARENA_BYTES];
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
        .request_id = in->request_id,
        .status = (uint32_t)in->status,
        .count = in->count,
        .key_bytes = in->key_bytes,
        .value_bytes = in->value_bytes,
        .has_values = in->has_values,
        .lacks_found =
            in->found_presence_case == SHERWOOD__REPLY__FOUND_PRESENCE_HAS_FOUND && !in->has_found,
        .hits = in->hits,
        .overflows = in->overflows,
        .cursor = in->cursor,
        .capacity_slots = in->capacity_slots,
        .has_scores = in->has_scores,
        .has_not_admitted = in->has_not_admitted,
        .has_evicted = in->has_evicted,
        .evicted_count = in->evicted_count,
        .not_admitted = in->not_admitted,
        .matched = in->matched,
        .epoch = in->epoch,
        .write_sequence = in->write_sequence,
        .durable_through = in->durable_through,
        .first_bad_index = in->first_bad_index,
        .slot = in->slot,
        .map_epoch = in->map_epoch,
        .has_info = in->info != NULL,
        .has_sharing = in->sharing != NULL,
        .has_digest = in->digest != NULL && in->digest->n_sums == DIGEST_SUMS,
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

static int encode(const ProtobufCMessage *message, uint64_t body_bytes, uint8_t *out,
                  size_t out_bytes)
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
    out[3] = SW_FRAME_VERSION;
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

static Sherwood__Request message_of(const struct sw_request *request)
{
    Sherwood__Request message;

    sherwood__request__init(&message);
    message.request_id = request->request_id;
    message.operation = (Sherwood__Operation)request->operation;
    message.count = request->count;
    message.key_bytes = request->key_bytes;
    message.value_bytes = request->value_bytes;
    message.want_values = request->want_values;
    if (request->declines_found) {
        message.found_wish_case = SHERWOOD__REQUEST__FOUND_WISH_WANT_FOUND;
        message.want_found = false;
    }
    message.cursor = request->cursor;
    message.capacity_slots = request->capacity_slots;
    message.has_scores = request->has_scores;
    message.want_scores = request->want_scores;
    message.want_not_admitted = request->want_not_admitted;
    message.want_evicted = request->want_evicted;
    message.by_score = request->by_score;
    message.score_min = request->score_min;
    message.score_max = request->score_max;
    message.epoch = request->epoch;
    message.sequence = request->sequence;
    message.incarnation = request->incarnation;
    message.timeout_ms = request->timeout_ms;
    message.scale_bits = request->scale_bits;
    message.operand_type = (Sherwood__ValueType)request->operand_type;
    message.range_offset = request->range_offset;
    message.range_bytes = request->range_bytes;
    message.times = (Sherwood__Times)request->times;
    message.time_ms = request->time_ms;
    message.has_times = request->has_times;
    message.map_epoch = request->map_epoch;
    message.frozen_seen = request->frozen_seen;
    return message;
}

int sw_request_encode(const struct sw_request *request, uint64_t body_bytes, uint8_t *out,
                      size_t out_bytes)
{
    Sherwood__Request message = message_of(request);
    return encode(&message.base, body_bytes, out, out_bytes);
}

int sw_frame_login_encode(const struct sw_request *request, const struct sw_frame_login *login,
                          uint8_t *out, size_t out_bytes)
{
    Sherwood__Request message = message_of(request);
    message.user = borrow_text(login->user, sizeof(login->user));
    message.password =
        (ProtobufCBinaryData){login->password_bytes, (uint8_t *)(uintptr_t)login->password};
    return encode(&message.base, 0, out, out_bytes);
}

int sw_region_request_encode(const struct sw_request *request,
                             const struct sw_region_request *region, uint8_t *out, size_t out_bytes)
{
    Sherwood__Request message = message_of(request);
    Sherwood__Region said;
    sherwood__region__init(&said);
    said.kind = (Sherwood__RegionKind)region->kind;
    said.index = region->index;
    said.bytes = region->bytes;
    said.offset = region->offset;
    said.entries = region->entries;
    if (region->kind == SW_REGION_CUDA_IPC) { /* protobuf-c only reads it */
        said.device_uuid = (ProtobufCBinaryData){sizeof(region->device_uuid),
                                                 (uint8_t *)(uintptr_t)region->device_uuid};
        said.handle =
            (ProtobufCBinaryData){sizeof(region->handle), (uint8_t *)(uintptr_t)region->handle};
    }
    message.region = &said;
    return encode(&message.base, 0, out, out_bytes);
}

static void write_sharing(const struct sw_sharing *in, Sherwood__Sharing *out)
{
    sherwood__sharing__init(out);
    out->regions_max = in->regions_max;
    out->ring_entries_max = in->ring_entries_max;
    out->region_bytes_max = in->region_bytes_max;
    if (in->has_device) {
        out->device_uuid =
            (ProtobufCBinaryData){sizeof(in->device_uuid), (uint8_t *)(uintptr_t)in->device_uuid};
    }
}

static void write_info(const struct sw_server_info *in, Sherwood__ServerInfo *out)
{
    sherwood__server_info__init(out);
    out->version = borrow_text(in->version, sizeof(in->version));
    out->backend = borrow_text(in->backend, sizeof(in->backend));
    out->backend_reason = borrow_text(in->backend_reason, sizeof(in->backend_reason));
    out->key_bytes = in->key_bytes;
    out->value_bytes = in->value_bytes;
    out->frame_ops_max = in->frame_ops_max;
    out->requests_in_flight_max = in->requests_in_flight_max;
    out->capacity_slots = in->capacity_slots;
    out->occupied_max = in->occupied_max;
    out->engine = borrow_text(in->engine, sizeof(in->engine));
    out->value_format = (Sherwood__ValueFormat)in->value_format;
    out->policy = borrow_text(in->policy, sizeof(in->policy));
    out->frame_bytes_max = in->frame_bytes_max;
    out->incarnation = in->incarnation;
    out->resp_keys = (Sherwood__RespKeys)in->resp_keys;
    out->value_type = (Sherwood__ValueType)in->value_type;
    out->dimension = in->dimension;
    out->is_cluster = in->is_cluster;
    out->map_epoch = in->map_epoch;
    out->takes_times = in->takes_times;
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
    message.request_id = reply->request_id;
    message.status = (Sherwood__Status)reply->status;
    message.message = borrow_text(reply->message, sizeof(reply->message));
    message.count = reply->count;
    message.key_bytes = reply->key_bytes;
    message.value_bytes = reply->value_bytes;
    message.has_values = reply->has_values;
    if (reply->lacks_found) {
        message.found_presence_case = SHERWOOD__REPLY__FOUND_PRESENCE_HAS_FOUND;
        message.has_found = false;
    }
    message.hits = reply->hits;
    message.overflows = reply->overflows;
    message.cursor = reply->cursor;
    message.capacity_slots = reply->capacity_slots;
    message.has_scores = reply->has_scores;
    message.has_not_admitted = reply->has_not_admitted;
    message.has_evicted = reply->has_evicted;
    message.evicted_count = reply->evicted_count;
    message.not_admitted = reply->not_admitted;
    message.matched = reply->matched;
    message.epoch = reply->epoch;
    message.write_sequence = reply->write_sequence;
    message.durable_through = reply->durable_through;
    message.first_bad_index = reply->first_bad_index;
    message.slot = reply->slot;
    message.map_epoch = reply->map_epoch;
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
    return encode(&message.base, body_bytes, out, out_bytes);
}
