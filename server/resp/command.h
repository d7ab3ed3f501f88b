/* SPDX-License-Identifier: MIT
 *
 * command.h - the rows of command_map.h as a table, and looking up a command by its name. The data
 * is constant, and the functions may be called from any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_COMMAND_H
#define SHERWOOD_SERVER_RESP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"
#include "server/resp/command_map.h"

/* How a command is carried out. */
enum sw_command_kind {
    SW_KIND_DATA,       /* operations on keys, in the loop's RESP batch (data.c) */
    SW_KIND_RMW,        /* reads of keys, then writes; no other client writes in between (rmw.c) */
    SW_KIND_CONTROL,    /* a batch of its own, after all earlier commands are done (control.c) */
    SW_KIND_REPORT,     /* a text reply, after all earlier commands are done (admin.c) */
    SW_KIND_SESSION,    /* a text reply that does not depend on the table (admin.c) */
    SW_KIND_TRANSACTION /* MULTI, EXEC, DISCARD (transaction.c) */
};

/* The function of data.c that makes the operations of a command of kind DATA. */
enum sw_command_maker {
    SW_MAKER_NONE, /* the command is of another kind */
    SW_MAKER_ONE_KEY,
    SW_MAKER_EACH_KEY,
    SW_MAKER_SET,
    SW_MAKER_MSET,
    SW_MAKER_BY,
    SW_MAKER_BY_FLOAT,
    SW_MAKER_GETEX,
    SW_MAKER_SETEX,
    SW_MAKER_EXPIRE,
    SW_MAKER_PERSIST,
    SW_MAKER_PAIRS,  /* reads keys that have operands: MSETNX */
    SW_MAKER_RENAME, /* reads two keys */
    SW_MAKER_COPY,
    SW_MAKER_CAS,
    SW_MAKER_EACH_ID, /* as EACH_KEY, of operations that have operands elsewhere */
    SW_MAKER_DELEX,
    SW_MAKER_RANGE,
    SW_MAKER_SET_RANGE,
    SW_MAKER_ADD,
    SW_MAKER_MEMORY,
    SW_MAKER_OBJECT
};

enum sw_command_effect {
    SW_COMMAND_EFFECT_NONE,
    SW_COMMAND_EFFECT_READ,
    SW_COMMAND_EFFECT_INSERT, /* may add a key */
    SW_COMMAND_EFFECT_WRITE,  /* changes keys otherwise */
    SW_COMMAND_EFFECT_DELETE, /* removes the keys it names */
    SW_COMMAND_EFFECT_ADMIN
};

/* How a command is treated between MULTI and EXEC: queued for EXEC, carried out at once, or
 * refused.
 */
enum sw_command_in_multi { SW_MULTI_QUEUED, SW_MULTI_AT_ONCE, SW_MULTI_REFUSED };

enum sw_command_id {
#define SW_COMMAND_ENUM(id, ...) SW_COMMAND_##id,
    SW_COMMAND_MAP(SW_COMMAND_ENUM)
#undef SW_COMMAND_ENUM
        SW_COMMAND_COUNT
};

#define SW_COMMAND_NAME_BYTES 17 /* size of the longest name, with the NUL behind it */
struct sw_command {
    enum sw_command_id id;
    const char *name;  /* in lower case */
    uint8_t name_size; /* length of the name */
    int8_t arity;      /* number of arguments with the name; negative: at least that many */
    enum sw_command_kind kind;
    int8_t first_key, last_key, key_step; /* as in redis' COMMAND INFO; 0: it has no keys */
    const char *group;
    enum sw_command_effect effect;
    bool fast;
    enum sw_command_in_multi in_multi;
    const char *summary;

    /* Bit masks of the operations and kinds of batches that the engine must support. */
    uint64_t operations;
    uint32_t batch_kinds;

    /* Used by commands of the kinds DATA and RMW. */
    enum sw_command_maker maker;
    uint8_t op;      /* enum sw_op */
    uint8_t operand; /* ONE_KEY: index of the argument that is the operand; 0: the operand is 1 */
    uint8_t reply;   /* enum sw_reply_kind, where values are integers */
};

/* A set of commands. */
struct sw_command_set {
    bool has[SW_COMMAND_COUNT];
};

/* Returns the row of the command with this name, in any case, or NULL. */
const struct sw_command *sw_command_find(const uint8_t *name, size_t size);
/* Returns the row of the command with this id, or NULL. */
const struct sw_command *sw_command_at(enum sw_command_id id);
/* Writes the command's name in upper case, as error lines show it. */
void sw_command_upper(const struct sw_command *command, char out[SW_COMMAND_NAME_BYTES]);

/* Computes the commands that need an operation or a kind of batch that an engine does not support.
 * The masks are those of sw_table_info. */
void sw_commands_unsupported(uint64_t operations, uint32_t batch_kinds,
                             struct sw_command_set *unsupported);

/* Does a command with `count` arguments, counting its name, fit the arity? */
static inline bool sw_command_arity_fits(const struct sw_command *command, uint32_t count)
{
    return command->arity >= 0 ? count == (uint32_t)command->arity
                               : count >= (uint32_t)-command->arity;
}

/* Does the command change keys? */
static inline bool sw_command_writes(const struct sw_command *command)
{
    return command->effect == SW_COMMAND_EFFECT_INSERT ||
           command->effect == SW_COMMAND_EFFECT_WRITE ||
           command->effect == SW_COMMAND_EFFECT_DELETE;
}
/* Returns true if the table numbers the command as a write. FLUSHALL and RESIZE also count. */
bool sw_command_is_numbered(const struct sw_command *command);

#endif
