/* SPDX-License-Identifier: MIT
 *
 * command.c - the command table, and the look-up of a name.
 *
 * A name of at most 16 bytes is loaded into two words and made lower case by setting bit 5 of every
 * byte (only 'A'..'Z' and 'a'..'z' become letters that way). SW_COMMAND_MAP expands once for each
 * length; what remains after constant folding is one comparison for each command of that length.
 */
#include "server/command.h"

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
