/* SPDX-License-Identifier: MIT
 *
 * command.h - the rows of command_map.h as a table, looked up by name. Constant, any thread.
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
    SW_KIND_DATA,    /* operations on keys, in the loop's batch of them (data.c) */
    SW_KIND_CONTROL, /* a table batch of its own, after everything before it (control.c) */
    SW_KIND_REPORT,  /* a reply that shows effects of what came before it: waits for that (admin.c)
                      */
    SW_KIND_SESSION, /* a reply that does not depend on the table (admin.c) */
    SW_KIND_TRANSACTION /* MULTI, EXEC, DISCARD (transaction.c) */
};

/* What makes the operations of a command of kind DATA. */
enum sw_command_maker {
    SW_MAKER_NONE, /* the command is of another kind */
    SW_MAKER_ONE_KEY,
    SW_MAKER_EACH_KEY,
    SW_MAKER_SET,
    SW_MAKER_MSET,
    SW_MAKER_MEMORY,
    SW_MAKER_OBJECT
};

enum sw_command_effect {
    SW_EFFECT_NONE,
    SW_EFFECT_READ,
    SW_EFFECT_INSERT, /* may add a key */
    SW_EFFECT_WRITE,  /* changes keys otherwise */
    SW_EFFECT_DELETE, /* removes the keys it names */
    SW_EFFECT_ADMIN
};

/* What becomes of a command between MULTI and EXEC. */
enum sw_command_in_multi { SW_MULTI_QUEUED, SW_MULTI_AT_ONCE, SW_MULTI_REFUSED };

enum sw_command_id {
#define SW_COMMAND_ENUM(id, ...) SW_COMMAND_##id,
    SW_COMMAND_MAP(SW_COMMAND_ENUM)
#undef SW_COMMAND_ENUM
        SW_COMMAND_COUNT
};

#define SW_COMMAND_NAME_BYTES 17 /* a name and its end */
struct sw_command {
    enum sw_command_id id;
    const char *name; /* lower case */
    uint8_t name_size;
    int8_t arity;
    enum sw_command_kind kind;
    int8_t first_key, last_key, key_step; /* 0: it names no keys */
    const char *group;
    enum sw_command_effect effect;
    bool fast;
    enum sw_command_in_multi in_multi;
    const char *summary;

    /* What the engine must have, as in sw_table_info. */
    uint32_t operations;
    uint32_t batch_kinds;

    /* Of kind DATA. */
    enum sw_command_maker maker;
    uint8_t op;      /* enum sw_op */
    uint8_t operand; /* ONE_KEY: the argument that holds the operand; 0: none, or 1 */
    uint8_t reply;   /* enum sw_answer, where values are integers */
};

/* Some of the commands. */
struct sw_command_set {
    bool has[SW_COMMAND_COUNT];
};

/* The row of a command named in any case, or NULL. */
const struct sw_command *sw_command_find(const uint8_t *name, size_t size);
const struct sw_command *sw_command_at(enum sw_command_id id);
/* Its name in upper case, as error lines have it. */
void sw_command_upper(const struct sw_command *command, char out[SW_COMMAND_NAME_BYTES]);

/* The commands that need an operation or a batch kind an engine lacks (masks as in sw_table_info).
 */
void sw_commands_lacking(uint32_t operations, uint32_t batch_kinds, struct sw_command_set *lacking);

/* Does a command of `count` arguments, its name included, fit the arity? */
static inline bool sw_command_arity_fits(const struct sw_command *command, uint32_t count)
{
    return command->arity >= 0 ? count == (uint32_t)command->arity
                               : count >= (uint32_t)-command->arity;
}

/* Is the argument this word, in any case? `word` is upper case. */
bool sw_argument_is(const struct sw_resp_argument *argument, const char *word);

#endif
