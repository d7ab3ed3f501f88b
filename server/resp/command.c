/* SPDX-License-Identifier: MIT
 *
 * command.c - the command table, and the look-up of a name.
 *
 * A name of at most 16 bytes is loaded into two words and made lower case by setting bit 5 of every
 * byte (only 'A'..'Z' and 'a'..'z' become letters that way). SW_COMMAND_MAP expands once for each
 * length; what remains after constant folding is one comparison for each command of that length.
 */
#include "server/resp/command.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <string.h>

#include "server/resp/reply_kind.h"
#include "table/batch.h"

/* The columns of command_map.h as fields. */
#define SW_ROW_KEYS(first, last, step) .first_key = (first), .last_key = (last), .key_step = (step)
#define SW_ROW_NO_KEYS SW_ROW_KEYS(0, 0, 0)
#define SW_ROW_TABLE_FACTS SW_ROW_NO_KEYS
#define SW_ROW_NAMED_FACTS SW_ROW_NO_KEYS
#define SW_ROW_TABLE_KEYS SW_ROW_NO_KEYS
#define SW_ROW_NAMED_KEYS SW_ROW_NO_KEYS
#define SW_ROW_ALL_KEYS SW_ROW_NO_KEYS

#define SW_GROUP_STRING "string"
#define SW_GROUP_GENERIC "generic"
#define SW_GROUP_SERVER "server"
#define SW_GROUP_CONNECTION "connection"
#define SW_GROUP_TRANSACTIONS "transactions"
#define SW_GROUP_CLUSTER "cluster"

#define SW_SPEED_FAST true
#define SW_SPEED_SLOW false

/* An engine without PEEK uses GET instead. */
#define SW_NEEDS(op) SW_OPS_ONE((op) == SW_PEEK ? SW_GET : (op))
#define SW_ROW_DATA(made_by, operation, operand_argument, reply_kind)                          \
    .kind = SW_KIND_DATA, .operations = SW_NEEDS(SW_##operation), .maker = SW_MAKER_##made_by, \
    .op = SW_##operation, .operand = (operand_argument), .reply = SW_REPLY_KIND_##reply_kind
#define SW_ROW_ONE_KEY(operation, operand, reply) SW_ROW_DATA(ONE_KEY, operation, operand, reply)
#define SW_ROW_EACH_KEY(operation, reply) SW_ROW_DATA(EACH_KEY, operation, 0, reply)
#define SW_ROW_KEY_FUNCTION(maker, operation, reply) SW_ROW_DATA(maker, operation, 0, reply)
/* The cache engine does not support these commands (sw_commands_unsupported). */
#define SW_ROW_RMW(made_by, operand_argument, reply_kind)                                          \
    .kind = SW_KIND_RMW, .maker = SW_MAKER_##made_by, .op = SW_GET, .operand = (operand_argument), \
    .reply = SW_REPLY_KIND_##reply_kind
#define SW_ROW_TABLE(batch, function) .kind = SW_KIND_CONTROL, .batch_kinds = 1U << SW_BATCH_##batch
#define SW_ROW_SAVER(function) .kind = SW_KIND_CONTROL
#define SW_ROW_REPORT(function) .kind = SW_KIND_REPORT
#define SW_ROW_SESSION(function) .kind = SW_KIND_SESSION
#define SW_ROW_TRANSACTION(function) .kind = SW_KIND_TRANSACTION

#define SW_COMMAND_ROW(id_, name_, arity_, keys_, group_, effect_, speed_, in_multi_, how_, text_) \
    {.id = SW_COMMAND_##id_,                                                                       \
     .name = (name_),                                                                              \
     .name_size = sizeof(name_) - 1,                                                               \
     .arity = (arity_),                                                                            \
     SW_ROW_##keys_,                                                                               \
     .group = SW_GROUP_##group_,                                                                   \
     .effect = SW_COMMAND_EFFECT_##effect_,                                                        \
     .fast = SW_SPEED_##speed_,                                                                    \
     .in_multi = SW_MULTI_##in_multi_,                                                             \
     SW_ROW_##how_,                                                                                \
     .summary = (text_)},
static const struct sw_command commands[SW_COMMAND_COUNT] = {SW_COMMAND_MAP(SW_COMMAND_ROW)};

/* Names must have the lengths that sw_command_find looks for, and no summary may be empty. */
#define SW_COMMAND_CHECK(id, name, arity, keys, group, effect, speed, in_multi, how, text) \
    static_assert(sizeof(name) > 2 && sizeof(name) <= SW_COMMAND_NAME_BYTES,               \
                  "2 to 16 bytes: " name);                                                 \
    static_assert((arity) != 0, "no command has so few arguments: " name);                 \
    static_assert(sizeof(text) > 1, "no summary: " name);
SW_COMMAND_MAP(SW_COMMAND_CHECK)

/* Byte i of a literal, at its place in a little-endian word; 0 behind the end of the literal. */
#define SW_BYTE(name, i)                                                                \
    ((uint64_t)(i < sizeof(name) - 1 ? (uint8_t)name[i < sizeof(name) - 1 ? i : 0] : 0) \
     << (i % 8 * 8))
#define SW_WORD(name, i)                                                                           \
    (SW_BYTE(name, i) | SW_BYTE(name, (i + 1)) | SW_BYTE(name, (i + 2)) | SW_BYTE(name, (i + 3)) | \
     SW_BYTE(name, (i + 4)) | SW_BYTE(name, (i + 5)) | SW_BYTE(name, (i + 6)) |                    \
     SW_BYTE(name, (i + 7)))

#define SW_COMMAND_COMPARE(id, name, ...)                                                    \
    if (sizeof(name) - 1 == length && low == SW_WORD(name, 0) && high == SW_WORD(name, 8)) { \
        return &commands[SW_COMMAND_##id];                                                   \
    }

#define SW_COMMAND_OF_LENGTH(n)            \
    case n: {                              \
        enum { length = n };               \
        SW_COMMAND_MAP(SW_COMMAND_COMPARE) \
        return NULL;                       \
    }

/* Up to 8 bytes in lower case as a little-endian word, by two loads that may overlap. */
static inline uint64_t lower_word(const uint8_t *name, size_t size)
{
    const uint64_t case_bits = 0x2020202020202020U >> (64 - size * 8);
    if (size == 1) {
        return name[0] | case_bits;
    }
    if (size < 4) {
        uint16_t first, last;
        memcpy(&first, name, sizeof(first));
        memcpy(&last, name + size - sizeof(last), sizeof(last));
        return le16toh(first) | (uint64_t)le16toh(last) << (size * 8 - 16) | case_bits;
    }
    uint32_t first, last;
    memcpy(&first, name, sizeof(first));
    memcpy(&last, name + size - sizeof(last), sizeof(last));
    return le32toh(first) | (uint64_t)le32toh(last) << (size * 8 - 32) | case_bits;
}

const struct sw_command *sw_command_find(const uint8_t *name, size_t size)
{
    if (size < 2 || size > 16) {
        return NULL;
    }
    uint64_t low = lower_word(name, size < 8 ? size : 8);
    uint64_t high = size > 8 ? lower_word(name + 8, size - 8) : 0;
    switch (size) {
        SW_COMMAND_OF_LENGTH(2)
        SW_COMMAND_OF_LENGTH(3)
        SW_COMMAND_OF_LENGTH(4)
        SW_COMMAND_OF_LENGTH(5)
        SW_COMMAND_OF_LENGTH(6)
        SW_COMMAND_OF_LENGTH(7)
        SW_COMMAND_OF_LENGTH(8)
        SW_COMMAND_OF_LENGTH(9)
        SW_COMMAND_OF_LENGTH(10)
        SW_COMMAND_OF_LENGTH(11)
        SW_COMMAND_OF_LENGTH(12)
        SW_COMMAND_OF_LENGTH(13)
        SW_COMMAND_OF_LENGTH(14)
        SW_COMMAND_OF_LENGTH(15)
        SW_COMMAND_OF_LENGTH(16)
    default:
        return NULL;
    }
}

const struct sw_command *sw_command_at(enum sw_command_id id)
{
    return (unsigned)id < SW_COMMAND_COUNT ? &commands[id] : NULL;
}

void sw_command_upper(const struct sw_command *command, char out[SW_COMMAND_NAME_BYTES])
{
    for (size_t i = 0; i <= command->name_size; i++) {
        out[i] = (char)toupper((unsigned char)command->name[i]);
    }
}

/* May the command set the value of a key to an operand of the command, or to the value of another
 * key? */
static bool sets_values(const struct sw_command *command)
{
    return (command->effect == SW_COMMAND_EFFECT_INSERT && command->id != SW_COMMAND_ASSIGN) ||
           (command->effect == SW_COMMAND_EFFECT_WRITE && command->kind == SW_KIND_RMW);
}

void sw_commands_unsupported(uint64_t operations, uint32_t batch_kinds,
                             struct sw_command_set *unsupported)
{
    /* An engine with scores evicts entries, so a write could evict a key that was read before. */
    const bool evicts = (operations >> SW_SET_SCORE & 1) != 0;
    /* A table of ids has no operation that sets a value. */
    const bool gives_ids = (operations & (SW_OPS_ONE(SW_FIND_OR_INSERT) | SW_OPS_PUT)) ==
                           SW_OPS_ONE(SW_FIND_OR_INSERT);
    /* A key set has no other operations. */
    const bool is_set =
        operations == (SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET) | SW_OPS_ONE(SW_SET_ABSENT) |
                       SW_OPS_ONE(SW_SET_PRESENT) | SW_OPS_ONE(SW_DELETE));
    /* INCR and DECR of strings and of rows of integers are made of other operations. */
    const uint64_t counters =
        SW_OPS_ONE(SW_INCRBY) | SW_OPS_ONE(SW_INCREMENT_U64) | SW_OPS_ONE(SW_INCREMENT_I64);
    if ((operations & counters) != 0) {
        operations |= SW_OPS_ONE(SW_INCREMENT) | SW_OPS_ONE(SW_DECREMENT);
    }
    for (size_t i = 0; i < SW_COMMAND_COUNT; i++) {
        unsupported->has[i] = (evicts && (commands[i].kind == SW_KIND_RMW ||
                                          (commands[i].id == SW_COMMAND_ASSIGN && !gives_ids) ||
                                          commands[i].id == SW_COMMAND_INCRBYFLOAT ||
                                          commands[i].id == SW_COMMAND_SETRANGE)) ||
                              (gives_ids && sets_values(&commands[i])) ||
                              (!is_set && commands[i].id == SW_COMMAND_INSERT) ||
                              (commands[i].operations & ~operations) != 0 ||
                              (commands[i].batch_kinds & ~batch_kinds) != 0;
    }
}

bool sw_command_is_numbered(const struct sw_command *command)
{
    const uint32_t batches = 1U << SW_BATCH_CLEAR | 1U << SW_BATCH_RESIZE;
    return sw_command_writes(command) || (command->batch_kinds & batches) != 0;
}
