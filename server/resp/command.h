/* SPDX-License-Identifier: MIT
 *
 * command.h - the RESP commands: one row each, looked up by name.
 */
#ifndef SHERWOOD_SERVER_RESP_COMMAND_H
#define SHERWOOD_SERVER_RESP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"

/* How a command is carried out. */
enum sw_command_kind {
    SW_KIND_DATA,    /* operations on keys, gathered into the loop's round (data.c) */
    SW_KIND_CONTROL, /* a table batch of its own, after everything before it (control.c) */
    SW_KIND_REPORT,  /* a reply that shows effects of what came before it: waits for that (admin.c)
                      */
    SW_KIND_SESSION  /* a reply that does not depend on the table (admin.c) */
};

/* id, name, arity as in redis (negative: at least), kind, first key, last key, key step, group,
 * summary. Rows of a kind are handled by the file named above. */
#define SW_COMMAND_MAP(X)                                                                         \
    X(GET, "get", 2, DATA, 1, 1, 1, "string", "Get the value of a key")                           \
    X(SET, "set", -3, DATA, 1, 1, 1, "string", "Set a key: SET key value [NX | XX] [GET]")        \
    X(MGET, "mget", -2, DATA, 1, -1, 1, "string", "Get the values of keys")                       \
    X(MSET, "mset", -3, DATA, 1, -1, 2, "string", "Set keys to values")                           \
    X(SETNX, "setnx", 3, DATA, 1, 1, 1, "string", "Set a key if it is absent")                    \
    X(GETSET, "getset", 3, DATA, 1, 1, 1, "string", "Set a key, return its old value")            \
    X(GETDEL, "getdel", 2, DATA, 1, 1, 1, "string", "Delete a key, return its value")             \
    X(DEL, "del", -2, DATA, 1, -1, 1, "generic", "Delete keys")                                   \
    X(UNLINK, "unlink", -2, DATA, 1, -1, 1, "generic", "Delete keys")                             \
    X(EXISTS, "exists", -2, DATA, 1, -1, 1, "generic", "Count the keys that exist")               \
    X(TOUCH, "touch", -2, DATA, 1, -1, 1, "generic", "Count the keys that exist")                 \
    X(INCR, "incr", 2, DATA, 1, 1, 1, "string", "Add 1 to a key")                                 \
    X(DECR, "decr", 2, DATA, 1, 1, 1, "string", "Subtract 1 from a key")                          \
    X(INCRBY, "incrby", 3, DATA, 1, 1, 1, "string", "Add to a key")                               \
    X(DECRBY, "decrby", 3, DATA, 1, 1, 1, "string", "Subtract from a key")                        \
    X(STRLEN, "strlen", 2, DATA, 1, 1, 1, "string", "Length of a key's value")                    \
    X(TYPE, "type", 2, DATA, 1, 1, 1, "generic", "\"string\", or \"none\" if the key is absent")  \
    X(TTL, "ttl", 2, DATA, 1, 1, 1, "generic", "-1, or -2 if the key is absent: nothing expires") \
    X(PTTL, "pttl", 2, DATA, 1, 1, 1, "generic", "-1, or -2 if the key is absent")                \
    X(PERSIST, "persist", 2, DATA, 1, 1, 1, "generic", "0: nothing expires")                      \
    X(FLUSHALL, "flushall", -1, CONTROL, 0, 0, 0, "server", "Remove every key")                   \
    X(FLUSHDB, "flushdb", -1, CONTROL, 0, 0, 0, "server", "Remove every key")                     \
    X(RESIZE, "resize", 2, CONTROL, 0, 0, 0, "server", "RESIZE slots: the capacity it has then")  \
    X(SCAN, "scan", -2, CONTROL, 0, 0, 0, "generic", "Iterate keys: SCAN cursor [COUNT n]")       \
    X(RANDOMKEY, "randomkey", 1, CONTROL, 0, 0, 0, "generic", "Some key of the table")            \
    X(DBSIZE, "dbsize", 1, REPORT, 0, 0, 0, "server", "Number of keys")                           \
    X(INFO, "info", -1, REPORT, 0, 0, 0, "server", "Facts and counters of the server")            \
    X(PING, "ping", -1, SESSION, 0, 0, 0, "connection", "PONG, or the message")                   \
    X(ECHO, "echo", 2, SESSION, 0, 0, 0, "connection", "The message")                             \
    X(QUIT, "quit", -1, SESSION, 0, 0, 0, "connection", "Close the connection")                   \
    X(AUTH, "auth", -2, SESSION, 0, 0, 0, "connection", "No password is configured")              \
    X(HELLO, "hello", -1, SESSION, 0, 0, 0, "connection", "Choose RESP2 or RESP3")                \
    X(SELECT, "select", 2, SESSION, 0, 0, 0, "connection", "Database 0, the only one")            \
    X(RESET, "reset", 1, SESSION, 0, 0, 0, "connection", "Reset the connection's state")          \
    X(CLIENT, "client", -2, SESSION, 0, 0, 0, "connection", "Names and facts of connections")     \
    X(COMMAND, "command", -1, SESSION, 0, 0, 0, "server", "This list")                            \
    X(CONFIG, "config", -2, SESSION, 0, 0, 0, "server", "CONFIG GET pattern")                     \
    X(MEMORY, "memory", -2, DATA, 2, 2, 1, "server", "MEMORY USAGE key: bytes of a slot")         \
    X(OBJECT, "object", -2, DATA, 2, 2, 1, "generic", "OBJECT ENCODING key: int or raw")          \
    X(LATENCY, "latency", -2, SESSION, 0, 0, 0, "server", "LATENCY LATEST | HISTOGRAM | RESET")   \
    X(SLOWLOG, "slowlog", -2, SESSION, 0, 0, 0, "server", "SLOWLOG GET | LEN | RESET: empty")     \
    X(LASTSAVE, "lastsave", 1, SESSION, 0, 0, 0, "server", "0: nothing is saved")                 \
    X(SAVE, "save", 1, SESSION, 0, 0, 0, "server", "An error: there is no persistence")           \
    X(BGSAVE, "bgsave", -1, SESSION, 0, 0, 0, "server", "An error: there is no persistence")      \
    X(SHUTDOWN, "shutdown", -1, REPORT, 0, 0, 0, "server", "Stop the server cleanly")             \
    X(WAIT, "wait", 3, SESSION, 0, 0, 0, "generic", "0: there are no replicas")                   \
    X(ROLE, "role", 1, SESSION, 0, 0, 0, "server", "master")                                      \
    X(TIME, "time", 1, SESSION, 0, 0, 0, "server", "Seconds and microseconds of the clock")       \
    X(READONLY, "readonly", 1, SESSION, 0, 0, 0, "cluster", "An error: no cluster mode")          \
    X(READWRITE, "readwrite", 1, SESSION, 0, 0, 0, "cluster", "An error: no cluster mode")        \
    X(ASKING, "asking", 1, SESSION, 0, 0, 0, "cluster", "An error: no cluster mode")              \
    X(CLUSTER, "cluster", -2, SESSION, 0, 0, 0, "cluster", "An error: no cluster mode")

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
    uint8_t kind; /* enum sw_command_kind */
    int8_t first_key, last_key, key_step;
    const char *group;
    const char *summary;
};

/* The row of a command named in any case, or NULL. */
const struct sw_command *sw_command_find(const uint8_t *name, size_t size);
const struct sw_command *sw_command_at(enum sw_command_id id);

/* The commands that need an operation or a batch kind an engine lacks (masks as in sw_table_info):
 * bit 1 << enum sw_command_id. */
uint64_t sw_commands_lacking(uint32_t operations, uint32_t batch_kinds);

/* Does a command of `count` arguments, its name included, fit the arity? */
static inline bool sw_command_arity_fits(const struct sw_command *command, uint32_t count)
{
    return command->arity >= 0 ? count == (uint32_t)command->arity
                               : count >= (uint32_t)-command->arity;
}

/* Is the argument this word, in any case? `word` is upper case. */
bool sw_argument_is(const struct sw_resp_argument *argument, const char *word);

#endif
