/* SPDX-License-Identifier: MIT
 *
 * operation.c - the facts of each operation, expanded from the rows of proto/ops/operations.h, and
 * the widths of a request's elements, which follow from them.
 */
#include "proto/operation.h"

#include <assert.h>

#include "proto/frame.h"
#include "proto/ops/apply.h"
#include "proto/sherwood.pb-c.h"

#define SAME_OPERATION(name, number, ...)                                                     \
    static_assert((number) == (int)SHERWOOD__OPERATION__##name,                               \
                  "sherwood.proto: Operation " #name);                                        \
    static_assert((number) > 0 && (number) < SW_OPERATION_NUMBERS, #name " has a number too " \
                                                                         "large");
SW_OPERATION_MAP(SAME_OPERATION)

/* Other maps take trailing columns as "..". These maps name all columns, so a missing one fails to
 * compile. */
enum { RIGHT_IS_SAME, RIGHT_IS_LIKE };
enum { WHO_IS_SERVER, WHO_IS_TABLE };
#define WHOLE(name, number, op, verb, guard, element, on, use, times, device, acl, command, text) \
    static_assert(RIGHT_IS_##acl >= 0 && SW_WHEN_##guard < SW_WHEN_COUNT &&                       \
                      SW_ELEMENT_##element >= 0 && SW_ON_##on > 0 &&                              \
                      SW_IS_##use + SW_IS_##times + SW_IS_##device >= 0,                          \
                  "proto/ops/operations.h: " #name);
SW_DATA_OPERATION_MAP(WHOLE)
SW_COMPOSED_OPERATION_MAP(WHOLE)
#define WHOLE_CONTROL(name, number, who, needs, effect, acl, command, text)           \
    static_assert(RIGHT_IS_##acl >= 0 &&                                              \
                      SW_IS_##needs + (int)WHO_IS_##who + (int)SW_DOES_##effect >= 0, \
                  "proto/ops/operations.h: " #name);
SW_CONTROL_OPERATION_MAP(WHOLE_CONTROL)

/* Facts of each operation, from its row and its verb's row. */
enum {
    IS_KNOWN = 1,
    IS_DATA = 2,
    HAS_OPERANDS = 4,
    IS_COMPOSED = 8,
    IS_OF_PARTS = 16,
    SETS_TIMES = 32,
    NEEDS_EXPIRY = 64,
    TAKES_TIMES = 128,
    WRITES = 256,
    MAY_REFUSE = 512,
    ADDS_ROWS = 1024,
    IS_OF_16_BITS = 2048,
    NEEDS_TABLE = 4096,
    HAS_PAIRS = 8192,
    TAKES_DEVICE = 16384,
    OF_BITS = 32768,
    OF_INTEGERS = 65536,
    ANSWERS_PARTS = 131072,
    ANSWERS_TIMES = 262144,
    OF_PRESENT = 524288,
    INSERTS = 1048576,
    KEEPS_MISFITS = 2097152,
    RETIMES = 4194304,
    OF_TABLE = 8388608,
    GIVES_IDS = 16777216
};
#define IF(condition, fact) ((condition) ? (fact) : 0)
#define IS_BITS(verb)                                                 \
    (SW_VERB_##verb == SW_VERB_OR || SW_VERB_##verb == SW_VERB_XOR || \
     SW_VERB_##verb == SW_VERB_AND || SW_VERB_##verb == SW_VERB_ANDNOT)
#define ON_KEYS(name, number, op, verb, guard, element, on, use, times, device, ...)            \
    [number] =                                                                                  \
        IS_KNOWN | IS_DATA | NEEDS_TABLE | OF_TABLE | IF(SW_HAS_OPERAND(verb), HAS_OPERANDS) |  \
        IF(SW_VERB_##verb == SW_VERB_GETRANGE || SW_VERB_##verb == SW_VERB_SETRANGE,            \
           IS_OF_PARTS) |                                                                       \
        IF(SW_VERB_##verb == SW_VERB_EXPIRE, SETS_TIMES) |                                      \
        IF((int)SW_VERB_DOES_##verb == (int)SW_DOES_RETIMES, RETIMES) |                         \
        IF(SW_ON_##on == SW_ON_EXPIRY, NEEDS_EXPIRY) | IF(SW_IS_##times, TAKES_TIMES) |         \
        IF((int)SW_VERB_DOES_##verb != (int)SW_DOES_READS, WRITES) |                            \
        IF(SW_WHEN_##guard == SW_WHEN_FITS, MAY_REFUSE) |                                       \
        IF(SW_VERB_##verb == SW_VERB_ADD_ROW, ADDS_ROWS) |                                      \
        IF(SW_BYTES_OF_##element == 2, IS_OF_16_BITS) | IF(SW_IS_##device, TAKES_DEVICE) |      \
        IF(IS_BITS(verb), OF_BITS) |                                                            \
        IF((int)SW_VERB_OPERAND_##verb == (int)SW_OPERAND_PAIR, HAS_PAIRS) |                    \
        IF(SW_VERB_##verb == SW_VERB_GETRANGE, ANSWERS_PARTS) |                                 \
        IF(SW_VERB_##verb == SW_VERB_TTL, ANSWERS_TIMES) |                                      \
        IF(SW_WHEN_##guard == SW_WHEN_PRESENT, OF_PRESENT) |                                    \
        IF(SW_INSERTS(verb, guard), INSERTS) | IF(SW_ON_##on == SW_ON_INTEGERS, OF_INTEGERS) |  \
        IF(SW_VERB_##verb == SW_VERB_ADD_FITTING || SW_VERB_##verb == SW_VERB_SUBTRACT_FITTING, \
           KEEPS_MISFITS) |                                                                     \
        IF(SW_VERB_##verb == SW_VERB_ASSIGN, GIVES_IDS)
#define DATA(...) ON_KEYS(__VA_ARGS__),
#define COMPOSED(...) ON_KEYS(__VA_ARGS__) | IS_COMPOSED,
#define CONTROL(name, number, who, needs, effect, ...)                           \
    [number] =                                                                   \
        IS_KNOWN | IF(SW_IS_##needs, NEEDS_TABLE) | IF(WHO_IS_##who, OF_TABLE) | \
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
PREDICATE(expires, SETS_TIMES)
PREDICATE(retimes, RETIMES)
PREDICATE(needs_expiry, NEEDS_EXPIRY)
PREDICATE(takes_times, TAKES_TIMES)
PREDICATE(writes, WRITES)
PREDICATE(has_operands, HAS_OPERANDS)
PREDICATE(may_overflow, MAY_REFUSE)
PREDICATE(adds, ADDS_ROWS)
PREDICATE(adds_16, IS_OF_16_BITS)
PREDICATE(of_table, OF_TABLE)
PREDICATE(needs_table, NEEDS_TABLE)
PREDICATE(takes_device, TAKES_DEVICE)
PREDICATE(of_bits, OF_BITS)
PREDICATE(of_integers, OF_INTEGERS)
PREDICATE(has_pairs, HAS_PAIRS)
PREDICATE(answers_parts, ANSWERS_PARTS)
PREDICATE(answers_times, ANSWERS_TIMES)
PREDICATE(of_present, OF_PRESENT)
PREDICATE(inserts, INSERTS)
PREDICATE(gives_ids, GIVES_IDS)

bool sw_operation_writes_parts(uint32_t operation)
{
    return is(operation, IS_OF_PARTS) && is(operation, HAS_OPERANDS);
}

/* --- the widths of a request: each frame asks for them several times -------------------------- */

bool sw_request_is_wide(const struct sw_request *request)
{
    return is(request->operation, IS_OF_16_BITS) && request->operand_type == SW_TYPE_F32;
}

bool sw_request_logs_results(const struct sw_request *request)
{
    return sw_request_is_wide(request) || is(request->operation, KEEPS_MISFITS | GIVES_IDS);
}

uint32_t sw_request_operand_bytes(const struct sw_request *request)
{
    const bool is_pair = is(request->operation, HAS_PAIRS) || sw_request_is_wide(request);
    return !is(request->operation, HAS_OPERANDS) ? 0
           : is(request->operation, IS_OF_PARTS) ? request->range_bytes
           : is_pair                             ? 2 * request->value_bytes
                                                 : request->value_bytes;
}

uint32_t sw_request_answer_bytes(const struct sw_request *request)
{
    return is(request->operation, ANSWERS_PARTS)   ? request->range_bytes
           : is(request->operation, ANSWERS_TIMES) ? (uint32_t)sizeof(uint64_t)
                                                   : request->value_bytes;
}

/* --- the rows --------------------------------------------------------------------------------- */

uint8_t sw_operation_op(uint32_t operation)
{
#define OP(name, number, op, ...) OP_##name = (op),
    enum { SW_DATA_OPERATION_MAP(OP) };
#define OP_OF(name, number, op, ...) [number] = (op),
#define OP_BEHIND(name, number, op, ...) [number] = OP_##op,
    static const uint8_t ops[SW_OPERATION_NUMBERS] = {SW_DATA_OPERATION_MAP(OP_OF)
                                                          SW_COMPOSED_OPERATION_MAP(OP_BEHIND)};
    assert(sw_operation_is_data(operation));
    return ops[operation];
}

uint32_t sw_operation_that_adds(uint32_t type, bool present_only)
{
    const uint32_t adds = sw_value_type_adds(type);
#define ADDS(name, number, op, verb, guard, element, ...)                              \
    if (SW_VERB_##verb == SW_VERB_ADD_ROW && (uint32_t)SW_ELEMENT_##element == adds && \
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
