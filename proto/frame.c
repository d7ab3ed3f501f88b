/* SPDX-License-Identifier: MIT
 *
 * frame.c - all of a bulk frame but its header, which is in header.c: the operations, the prefix,
 * the layout of the body, and the check of a request.
 */
#include "proto/frame.h"

#include <assert.h>

#include "proto/ops/apply.h"
#include "proto/sherwood.pb-c.h"
#include "proto/value_type.h"

/* Byte offsets within a prefix. */
enum { OFFSET_VERSION = 3, OFFSET_HEADER = 4, OFFSET_BODY = 8 };

static_assert(SW_FRAME_PREFIX_BYTES + SW_FRAME_HEADER_BYTES_MAX == SW_FRAME_HEAD_BYTES_MAX,
              "the largest head has no padding");
static_assert(SW_FRAME_HEAD_BYTES_MAX % SW_FRAME_ALIGN == 0, "a frame's body stays aligned");

#define SAME_OPERATION(name, number, ...)                                                     \
    static_assert((number) == (int)SHERWOOD__OPERATION__##name,                               \
                  "sherwood.proto: Operation " #name);                                        \
    static_assert((number) > 0 && (number) < SW_OPERATION_NUMBERS, #name " has a number too " \
                                                                         "large");
SW_OPERATION_MAP(SAME_OPERATION)

/* Other maps take trailing columns as "..". These maps name all columns, so a missing one fails to
 * compile. */
enum { RIGHT_IS_SAME, RIGHT_IS_LIKE };
#define WHOLE(name, number, op, verb, guard, element, on, use, times, device, acl, command, text) \
    static_assert(RIGHT_IS_##acl >= 0 && SW_WHEN_##guard < SW_WHEN_COUNT &&                       \
                      SW_ELEMENT_##element >= 0 && SW_ON_##on > 0 &&                              \
                      SW_IS_##use + SW_IS_##times + SW_IS_##device >= 0,                          \
                  "proto/ops/operations.h: " #name);
SW_DATA_OPERATION_MAP(WHOLE)
SW_COMPOSED_OPERATION_MAP(WHOLE)
#define WHOLE_CONTROL(name, number, who, needs, effect, acl, command, text)          \
    static_assert(RIGHT_IS_##acl >= 0 && SW_IS_##needs + (int)SW_DOES_##effect >= 0, \
                  "proto/ops/operations.h: " #name);
SW_CONTROL_OPERATION_MAP(WHOLE_CONTROL)

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

/* Facts of each operation, from its row and its verb's row. */
enum {
    IS_KNOWN = 1,
    IS_DATA = 2,
    HAS_OPERANDS = 4,
    IS_COMPOSED = 8,
    IS_OF_PARTS = 16,
    RETIMES = 32,
    NEEDS_EXPIRY = 64,
    TAKES_TIMES = 128,
    WRITES = 256,
    MAY_REFUSE = 512,
    ADDS_ROWS = 1024,
    IS_OF_16_BITS = 2048,
    NEEDS_TABLE = 4096,
    TAKES_DEVICE = 16384,
    OF_BITS = 32768,
    OF_INTEGERS = 65536
};
#define IF(condition, fact) ((condition) ? (fact) : 0)
#define IS_BITS(verb)                                                 \
    (SW_VERB_##verb == SW_VERB_OR || SW_VERB_##verb == SW_VERB_XOR || \
     SW_VERB_##verb == SW_VERB_AND || SW_VERB_##verb == SW_VERB_ANDNOT)
#define ON_KEYS(name, number, op, verb, guard, element, on, use, times, device, ...)           \
    [number] = IS_KNOWN | IS_DATA | NEEDS_TABLE | IF(SW_HAS_OPERAND(verb), HAS_OPERANDS) |     \
               IF(SW_VERB_##verb == SW_VERB_GETRANGE || SW_VERB_##verb == SW_VERB_SETRANGE,    \
                  IS_OF_PARTS) |                                                               \
               IF(SW_VERB_##verb == SW_VERB_EXPIRE, RETIMES) |                                 \
               IF(SW_ON_##on == SW_ON_EXPIRY, NEEDS_EXPIRY) | IF(SW_IS_##times, TAKES_TIMES) | \
               IF((int)SW_VERB_DOES_##verb != (int)SW_DOES_READS, WRITES) |                    \
               IF(SW_WHEN_##guard == SW_WHEN_FITS, MAY_REFUSE) |                               \
               IF(SW_VERB_##verb == SW_VERB_ADD_ROW, ADDS_ROWS) |                              \
               IF(SW_ELEMENT_##element >= SW_ELEMENT_F16, IS_OF_16_BITS) |                     \
               IF(SW_IS_##device, TAKES_DEVICE) | IF(IS_BITS(verb), OF_BITS) |                 \
               IF(SW_ON_##on == SW_ON_INTEGERS, OF_INTEGERS)
#define DATA(...) ON_KEYS(__VA_ARGS__),
#define COMPOSED(...) ON_KEYS(__VA_ARGS__) | IS_COMPOSED,
#define CONTROL(name, number, who, needs, effect, ...) \
    [number] =                                         \
        IS_KNOWN | IF(SW_IS_##needs, NEEDS_TABLE) |    \
        IF(SW_DOES_##effect == SW_DOES_WRITES || SW_DOES_##effect == SW_DOES_CHANGES, WRITES),
static const uint32_t operations[SW_OPERATION_NUMBERS] = {SW_CONTROL_OPERATION_MAP(
    CONTROL) SW_DATA_OPERATION_MAP(DATA) SW_COMPOSED_OPERATION_MAP(COMPOSED)};

static bool is(uint32_t operation, uint32_t what)
{
    return operation < SW_OPERATION_NUMBERS && (operations[operation] & what) != 0;
}

#define PREDICATE(name, fact)                    \
    bool sw_operation_##name(uint32_t operation) \
    {                                            \
        return is(operation, fact);              \
    }
PREDICATE(is_known, IS_KNOWN)
PREDICATE(is_data, IS_DATA)
PREDICATE(is_composed, IS_COMPOSED)
PREDICATE(has_range, IS_OF_PARTS)
PREDICATE(expires, RETIMES)
PREDICATE(needs_expiry, NEEDS_EXPIRY)
PREDICATE(takes_times, TAKES_TIMES)
PREDICATE(writes, WRITES)
PREDICATE(has_operands, HAS_OPERANDS)
PREDICATE(may_overflow, MAY_REFUSE)
PREDICATE(adds, ADDS_ROWS)
PREDICATE(adds_16, IS_OF_16_BITS)
PREDICATE(needs_table, NEEDS_TABLE)
PREDICATE(takes_device, TAKES_DEVICE)
PREDICATE(of_bits, OF_BITS)
PREDICATE(of_integers, OF_INTEGERS)

bool sw_operation_runs_alone(uint32_t operation)
{
    return is(operation, IS_COMPOSED) && is(operation, HAS_OPERANDS);
}

uint32_t sw_operation_that_adds(uint32_t type, bool present_only)
{
#define ADDS(name, number, op, verb, guard, element, ...)                              \
    if (SW_VERB_##verb == SW_VERB_ADD_ROW && (uint32_t)SW_ELEMENT_##element == type && \
        (SW_WHEN_##guard == SW_WHEN_PRESENT) == present_only) {                        \
        return (number);                                                               \
    }
    SW_DATA_OPERATION_MAP(ADDS)
    return 0;
}

const char *sw_operation_right(uint32_t operation)
{
#define RIGHT_OF_KEYS(n, number, o, v, g, e, on, use, times, device, acl, command, ...) \
    [number] = (command),
#define RIGHT_OF_CONTROL(n, number, w, needs, effect, acl, command, ...) [number] = (command),
    static const char *const rights[SW_OPERATION_NUMBERS] = {
        SW_DATA_OPERATION_MAP(RIGHT_OF_KEYS) SW_COMPOSED_OPERATION_MAP(RIGHT_OF_KEYS)
            SW_CONTROL_OPERATION_MAP(RIGHT_OF_CONTROL)};
    return sw_operation_is_known(operation) ? rights[operation] : "";
}

bool sw_operation_apply(uint32_t operation, bool found, uint64_t old, uint64_t operand,
                        uint64_t max, uint64_t *out)
{
    uint32_t narrow = 0;
    uint64_t wide = 0;
    enum sw_effect effect = SW_EFFECT_NONE;
#define APPLIED(name, number, op, verb, guard, ...)                                               \
    case (number):                                                                                \
        effect = max > UINT32_MAX ? sw_verb_apply_s128(SW_VERB_##verb, SW_WHEN_##guard, found,    \
                                                       old, operand, &wide)                       \
                                  : sw_verb_apply_s64(SW_VERB_##verb, SW_WHEN_##guard, found,     \
                                                      (uint32_t)old, (uint32_t)operand, &narrow); \
        break;
    switch (operation) {
        SW_DATA_OPERATION_MAP(APPLIED)
        SW_COMPOSED_OPERATION_MAP(APPLIED)
    }
    *out = effect == SW_EFFECT_WRITE ? (max > UINT32_MAX ? wide : narrow) : found ? old : 0;
    return effect != SW_EFFECT_NONE || !sw_operation_may_overflow(operation);
}

const char *sw_operation_name(uint32_t operation)
{
    static const char *const names[] = {
#define NAME(name, number, ...) [number] = #name,
        SW_OPERATION_MAP(NAME)};
    return sw_operation_is_known(operation) ? names[operation] : "?";
}

static const char *const format_words[] = {
#define WORD(name, number, word) [number] = (word),
    SW_FRAME_VALUES_MAP(WORD)};

bool sw_frame_values_is_known(uint32_t format)
{
    return format < sizeof(format_words) / sizeof(format_words[0]) && format_words[format] != NULL;
}

const char *sw_frame_values_name(uint32_t format)
{
    return sw_frame_values_is_known(format) ? format_words[format] : "?";
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

bool sw_request_is_wide(const struct sw_request *request)
{
    return sw_operation_adds_16(request->operation) && request->operand_type == SW_TYPE_F32;
}

uint32_t sw_request_operand_bytes(const struct sw_request *request)
{
    const bool is_pair = request->operation == SW_OPERATION_CAS || sw_request_is_wide(request);
    return !sw_operation_has_operands(request->operation) ? 0
           : request->operation == SW_OPERATION_SETRANGE  ? request->range_bytes
           : is_pair                                      ? 2 * request->value_bytes
                                                          : request->value_bytes;
}

uint32_t sw_request_answer_bytes(const struct sw_request *request)
{
    return request->operation == SW_OPERATION_GETRANGE ? request->range_bytes
           : request->operation == SW_OPERATION_TTL    ? (uint32_t)sizeof(uint64_t)
                                                       : request->value_bytes;
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
    if (operation == SW_OPERATION_TOPOLOGY) {
        return four_arrays(count, 0, 0, 0);
    }
    return sw_operation_is_data(operation) ? data_layout(reply) : four_arrays(0, 0, 0, 0);
}

static_assert(sizeof(struct sw_figure) == SW_FRAME_ALIGN, "figures need no padding");

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
    if (size > OFFSET_VERSION && bytes[OFFSET_VERSION] != SW_FRAME_VERSION) {
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
