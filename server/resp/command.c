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

#include "table/table.h"

static_assert(SW_COMMAND_COUNT <= 64, "a command is a bit of a mask");

#define SW_COMMAND_ROW(id, name, arity, kind, first, last, step, group, summary)          \
    {SW_COMMAND_##id, name,   sizeof(name) - 1, arity, SW_KIND_##kind, first, last, step, \
     group,           summary},
static const struct sw_command commands[SW_COMMAND_COUNT] = {SW_COMMAND_MAP(SW_COMMAND_ROW)};
#undef SW_COMMAND_ROW

/* Byte i of a literal in its place in a little-endian word, 0 past its end. */
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

const struct sw_command *sw_command_find(const uint8_t *name, size_t size)
{
    uint64_t low = 0, high = 0;
    if (size > 16) {
        return NULL;
    }
    /* Little-endian words whatever the machine. */
    for (size_t i = 0; i < size && i < 8; i++) {
        low |= (uint64_t)(name[i] | 0x20) << (i * 8);
    }
    for (size_t i = 8; i < size; i++) {
        high |= (uint64_t)(name[i] | 0x20) << ((i - 8) * 8);
    }
    switch (size) {
        SW_COMMAND_OF_LENGTH(3)
        SW_COMMAND_OF_LENGTH(4)
        SW_COMMAND_OF_LENGTH(5)
        SW_COMMAND_OF_LENGTH(6)
        SW_COMMAND_OF_LENGTH(7)
        SW_COMMAND_OF_LENGTH(8)
        SW_COMMAND_OF_LENGTH(9)
    default:
        return NULL;
    }
}

const struct sw_command *sw_command_at(enum sw_command_id id)
{
    return (unsigned)id < SW_COMMAND_COUNT ? &commands[id] : NULL;
}

bool sw_argument_is(const struct sw_resp_argument *argument, const char *word)
{
    for (uint32_t i = 0; i < argument->size; i++) {
        uint8_t c = argument->text[i];
        c = c >= 'a' && c <= 'z' ? (uint8_t)(c - 'a' + 'A') : c;
        if (word[i] == '\0' || c != (uint8_t)word[i]) {
            return false;
        }
    }
    return word[argument->size] == '\0';
}

/* The operation a command comes down to. SET looks at its own options (data.c). */
static const struct {
    uint8_t command, op;
} needed_operations[] = {
    {SW_COMMAND_GET, SW_GET},          {SW_COMMAND_SET, SW_SET},
    {SW_COMMAND_MGET, SW_GET},         {SW_COMMAND_MSET, SW_SET},
    {SW_COMMAND_SETNX, SW_SET_ABSENT}, {SW_COMMAND_GETSET, SW_SET},
    {SW_COMMAND_GETDEL, SW_DELETE},    {SW_COMMAND_DEL, SW_DELETE},
    {SW_COMMAND_UNLINK, SW_DELETE},    {SW_COMMAND_EXISTS, SW_GET},
    {SW_COMMAND_TOUCH, SW_GET},        {SW_COMMAND_INCR, SW_INCREMENT},
    {SW_COMMAND_DECR, SW_DECREMENT},   {SW_COMMAND_INCRBY, SW_INCREMENT},
    {SW_COMMAND_DECRBY, SW_DECREMENT}, {SW_COMMAND_STRLEN, SW_GET},
    {SW_COMMAND_TYPE, SW_GET},         {SW_COMMAND_TTL, SW_GET},
    {SW_COMMAND_PTTL, SW_GET},         {SW_COMMAND_PERSIST, SW_GET},
    {SW_COMMAND_MEMORY, SW_GET},       {SW_COMMAND_OBJECT, SW_GET},
};
static const struct {
    uint8_t command, kind;
} needed_kinds[] = {
    {SW_COMMAND_FLUSHALL, SW_BATCH_CLEAR}, {SW_COMMAND_FLUSHDB, SW_BATCH_CLEAR},
    {SW_COMMAND_RESIZE, SW_BATCH_RESIZE},  {SW_COMMAND_SCAN, SW_BATCH_SCAN},
    {SW_COMMAND_RANDOMKEY, SW_BATCH_SCAN},
};

uint64_t sw_commands_lacking(uint32_t operations, uint32_t batch_kinds)
{
    uint64_t lacking = 0;
    for (size_t i = 0; i < sizeof needed_operations / sizeof needed_operations[0]; i++) {
        bool has = operations >> needed_operations[i].op & 1;
        lacking |= (uint64_t)!has << needed_operations[i].command;
    }
    for (size_t i = 0; i < sizeof needed_kinds / sizeof needed_kinds[0]; i++) {
        bool has = batch_kinds >> needed_kinds[i].kind & 1;
        lacking |= (uint64_t)!has << needed_kinds[i].command;
    }
    return lacking;
}
