/* SPDX-License-Identifier: MIT
 *
 * frame.c - all of a bulk frame except its header, which is in header.c: the prefix, the layout of
 * the body, and the check of a request.
 */
#include "proto/frame.h"

#include <assert.h>

#include "proto/sherwood.pb-c.h"
#include "proto/value_type.h"

/* Byte offsets within a prefix. */
enum { OFFSET_VERSION = 3, OFFSET_HEADER = 4, OFFSET_BODY = 8 };

static_assert(SW_FRAME_PREFIX_BYTES + SW_FRAME_HEADER_BYTES_MAX == SW_FRAME_HEAD_BYTES_MAX,
              "the largest head has no padding");
static_assert(SW_FRAME_HEAD_BYTES_MAX % SW_FRAME_ALIGN == 0, "a frame's body stays aligned");

#define SAME_FORMAT(name, number, word)                                   \
    static_assert((number) == (int)SHERWOOD__VALUE_FORMAT__VALUES_##name, \
                  "sherwood.proto: ValueFormat " #name);
SW_FRAME_VALUES_MAP(SAME_FORMAT)

#define SAME_STATUS(name)                                                \
    static_assert((int)SW_REPLY_##name == (int)SHERWOOD__STATUS__##name, \
                  "sherwood.proto: Status " #name)
SAME_STATUS(OK);
SAME_STATUS(BAD_REQUEST);
SAME_STATUS(UNKNOWN_OPERATION);
SAME_STATUS(OUT_OF_MEMORY);
SAME_STATUS(SERVER_ERROR);
SAME_STATUS(SHUTTING_DOWN);
SAME_STATUS(TIMED_OUT);
SAME_STATUS(TOO_MANY_CONNECTIONS);
SAME_STATUS(NOT_DURABLE);
SAME_STATUS(OUTCOME_UNKNOWN);
SAME_STATUS(LOADING);
SAME_STATUS(WRONG_SHARD);
SAME_STATUS(SLOT_FROZEN);
SAME_STATUS(NOT_PRIMARY);
SAME_STATUS(NO_TABLE);
SAME_STATUS(TABLE_CHANGED);

#define SAME_TIMES(name)                                                            \
    static_assert((int)SW_FRAME_TIMES_##name == (int)SHERWOOD__TIMES__TIMES_##name, \
                  "sherwood.proto: Times " #name)
SAME_TIMES(UNSAID);
SAME_TIMES(AT);
SAME_TIMES(IN);
SAME_TIMES(KEEP);

const char *sw_frame_error_text(int error)
{
    switch (error) {
    case 0:
        return "no error";
#define SW_FRAME_ERROR_TEXT(name, value, text) \
    case name:                                 \
        return text;
        SW_FRAME_ERROR_MAP(SW_FRAME_ERROR_TEXT)
#undef SW_FRAME_ERROR_TEXT
    default:
        return "unknown error";
    }
}

const char *sw_reply_status_name(uint32_t status)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&sherwood__status__descriptor, (int)status);
    return value == NULL ? NULL : value->name;
}

/* Appends an array to a body of *bytes bytes. Returns where it begins. */
static uint64_t append(uint64_t *bytes, uint64_t array_bytes)
{
    uint64_t begin = *bytes;
    *bytes += sw_frame_align(array_bytes);
    return begin;
}

/* A body of these arrays, without times, and entries that were evicted. */
static struct sw_body_layout four_arrays(uint64_t first, uint64_t second, uint64_t not_admitted,
                                         uint64_t scores)
{
    struct sw_body_layout layout = {0};
    layout.first = append(&layout.bytes, first);
    layout.second = append(&layout.bytes, second);
    layout.not_admitted = append(&layout.bytes, not_admitted);
    layout.scores = append(&layout.bytes, scores);
    layout.times = layout.bytes;
    layout.evicted_keys = layout.evicted_values = layout.evicted_scores = layout.bytes;
    return layout;
}

struct sw_body_layout sw_request_layout(const struct sw_request *request)
{
    if (!sw_operation_is_data(request->operation)) {
        return four_arrays(0, 0, 0, 0);
    }
    uint64_t count = request->count;
    struct sw_body_layout layout =
        four_arrays(count * request->key_bytes, count * sw_request_operand_bytes(request), 0,
                    request->has_scores ? count * sizeof(uint64_t) : 0);
    layout.times = append(&layout.bytes, request->has_times ? count * sizeof(uint64_t) : 0);
    layout.evicted_keys = layout.evicted_values = layout.evicted_scores = layout.bytes;
    return layout;
}

struct sw_request sw_frame_segment(const struct sw_request *request,
                                   const struct sw_frame_segments *segments, uint32_t i)
{
    struct sw_request one = *request;
    one.has_segments = false;
    one.table = segments->tables[i];
    one.table_id = segments->table_ids[i];
    one.count = segments->counts[i];
    one.value_bytes = segments->value_bytes[i];
    return one;
}

static struct sw_body_layout data_layout(const struct sw_reply *reply)
{
    uint64_t count = reply->count, evicted = reply->evicted_count, has = reply->has_evicted;
    struct sw_body_layout layout =
        four_arrays(reply->has_values ? count * reply->value_bytes : 0,
                    reply->lacks_found ? 0 : sw_found_bytes(reply->count),
                    reply->has_not_admitted ? sw_found_bytes(reply->count) : 0,
                    reply->has_scores ? count * sizeof(uint64_t) : 0);
    layout.evicted_keys =
        append(&layout.bytes, has & SW_FRAME_EVICTED_KEYS ? evicted * reply->key_bytes : 0);
    layout.evicted_values =
        append(&layout.bytes, has & SW_FRAME_EVICTED_VALUES ? evicted * reply->value_bytes : 0);
    layout.evicted_scores =
        append(&layout.bytes, has & SW_FRAME_EVICTED_SCORES ? evicted * sizeof(uint64_t) : 0);
    return layout;
}

struct sw_body_layout sw_reply_layout(const struct sw_reply *reply, uint32_t operation)
{
    uint64_t count = reply->count;
    if (reply->status != SW_REPLY_OK) {
        return four_arrays(0, 0, 0, 0);
    }
    if (operation == SW_OPERATION_SCAN) {
        return four_arrays(count * reply->key_bytes, count * reply->value_bytes, 0,
                           reply->has_scores ? count * sizeof(uint64_t) : 0);
    }
    if (operation == SW_OPERATION_STATS) {
        return four_arrays(count * sizeof(struct sw_figure), 0, 0, 0);
    }
    if (operation == SW_OPERATION_TABLES) {
        return four_arrays(count * sizeof(struct sw_frame_place), 0, 0, 0);
    }
    if (operation == SW_OPERATION_TOPOLOGY) {
        return four_arrays(count, 0, 0, 0);
    }
    return sw_operation_is_data(operation) ? data_layout(reply) : four_arrays(0, 0, 0, 0);
}

static_assert(sizeof(struct sw_figure) == SW_FRAME_ALIGN, "figures need no padding");
static_assert(sizeof(struct sw_frame_place) == 2 * SW_FRAME_ALIGN, "places need no padding");

bool sw_figure_is_valid(const struct sw_figure *figure)
{
    size_t size = 0;
    while (size < SW_FIGURE_NAME_BYTES &&
           ((figure->name[size] >= 'a' && figure->name[size] <= 'z') ||
            (figure->name[size] >= '0' && figure->name[size] <= '9') ||
            figure->name[size] == '_')) {
        size++;
    }
    return size > 0 && size < SW_FIGURE_NAME_BYTES && figure->name[size] == '\0';
}

/* Loads the little-endian integer at [begin, end). Bytes from `size` on have not arrived and count
 * as zero. They are the high bytes, so the result is never larger than the whole integer. */
static uint64_t load_arrived(const uint8_t *bytes, size_t size, size_t begin, size_t end)
{
    uint64_t value = 0;
    for (size_t i = begin; i < end && i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * (i - begin));
    }
    return value;
}

int sw_frame_prefix_decode(const uint8_t *bytes, size_t size, uint64_t body_bytes_max,
                           struct sw_frame_prefix *prefix)
{
    static const uint8_t magic[OFFSET_VERSION] = {SW_FRAME_MAGIC, 'S', 'W'};

    for (size_t i = 0; i < OFFSET_VERSION && i < size; i++) {
        if (bytes[i] != magic[i]) {
            return SW_FRAME_E_MAGIC;
        }
    }
    if (size > OFFSET_VERSION && bytes[OFFSET_VERSION] != SW_FRAME_VERSION &&
        bytes[OFFSET_VERSION] != SW_FRAME_VERSION_TABLES) {
        return SW_FRAME_E_VERSION;
    }
    uint64_t header_bytes = load_arrived(bytes, size, OFFSET_HEADER, OFFSET_BODY);
    if (header_bytes > SW_FRAME_HEADER_BYTES_MAX || (header_bytes == 0 && size >= OFFSET_BODY)) {
        return SW_FRAME_E_HEADER_SIZE;
    }
    uint64_t body_bytes = load_arrived(bytes, size, OFFSET_BODY, SW_FRAME_PREFIX_BYTES);
    if (body_bytes > body_bytes_max) {
        return SW_FRAME_E_BODY_SIZE;
    }
    if (size < SW_FRAME_PREFIX_BYTES) {
        return 0;
    }
    prefix->version = bytes[OFFSET_VERSION];
    prefix->header_bytes = (uint32_t)header_bytes;
    prefix->body_bytes = body_bytes;
    return SW_FRAME_PREFIX_BYTES;
}

/* A client learns the widths by HELLO, so those of a HELLO are not checked. Other requests without
 * arrays may leave them out. If they are given, they must be the table's: a CLEAR that was meant
 * for another table is not carried out. */
static bool width_fits(uint32_t operation, uint32_t bytes, uint32_t table_bytes)
{
    bool has_arrays = sw_operation_is_data(operation) || operation == SW_OPERATION_SCAN;
    return operation == SW_OPERATION_HELLO || bytes == table_bytes || (bytes == 0 && !has_arrays);
}

int sw_request_check(const struct sw_request *request, uint32_t key_bytes, uint32_t value_bytes,
                     uint32_t ops_max, uint64_t body_bytes)
{
    uint32_t operation = request->operation;

    if (!sw_operation_is_known(operation)) {
        return SW_FRAME_E_OPERATION;
    }
    if (!width_fits(operation, request->key_bytes, key_bytes) ||
        !width_fits(operation, request->value_bytes, value_bytes)) {
        return SW_FRAME_E_WIDTH;
    }
    bool counts = sw_operation_is_data(operation) || operation == SW_OPERATION_SCAN;
    if (counts && (request->count == 0 || request->count > ops_max)) {
        return SW_FRAME_E_COUNT;
    }
    if (body_bytes != sw_request_layout(request).bytes) {
        return SW_FRAME_E_LAYOUT;
    }
    return 0;
}
