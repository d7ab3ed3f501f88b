/* SPDX-License-Identifier: MIT
 *
 * catalog.h - the commands that ACL rules name, and the categories of redis 7. The owner of the
 * catalog lists the commands. All data is constant. Threads: any.
 */
#ifndef SHERWOOD_SERVER_USERS_CATALOG_H
#define SHERWOOD_SERVER_USERS_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The categories, in the order of redis' ACL CAT. Categories of missing types have no command. They
 * exist so that rules written for redis are accepted. */
#define SW_CATEGORY_MAP(X)        \
    X(KEYSPACE, "keyspace")       \
    X(READ, "read")               \
    X(WRITE, "write")             \
    X(SET, "set")                 \
    X(SORTEDSET, "sortedset")     \
    X(LIST, "list")               \
    X(HASH, "hash")               \
    X(STRING, "string")           \
    X(BITMAP, "bitmap")           \
    X(HYPERLOGLOG, "hyperloglog") \
    X(GEO, "geo")                 \
    X(STREAM, "stream")           \
    X(PUBSUB, "pubsub")           \
    X(ADMIN, "admin")             \
    X(FAST, "fast")               \
    X(SLOW, "slow")               \
    X(BLOCKING, "blocking")       \
    X(DANGEROUS, "dangerous")     \
    X(CONNECTION, "connection")   \
    X(TRANSACTION, "transaction") \
    X(SCRIPTING, "scripting")

enum sw_category_index {
#define SW_CATEGORY_INDEX(id, name) SW_CATEGORY_INDEX_##id,
    SW_CATEGORY_MAP(SW_CATEGORY_INDEX)
#undef SW_CATEGORY_INDEX
        SW_CATEGORY_COUNT
};
enum sw_category {
#define SW_CATEGORY_BIT(id, name) SW_CATEGORY_##id = 1 << SW_CATEGORY_INDEX_##id,
    SW_CATEGORY_MAP(SW_CATEGORY_BIT)
#undef SW_CATEGORY_BIT
};

/* Most commands of a catalog, subcommands among them. */
#define SW_CATALOG_COMMANDS_MAX 256

/* The tables that a command reads, changes or describes. */
enum sw_scope {
    SW_SCOPE_NONE,     /* none, or the tables of its user alone */
    SW_SCOPE_SELECTED, /* the table that its connection has selected */
    SW_SCOPE_NAMED,    /* the tables that its arguments name */
    SW_SCOPE_ALL       /* any table: users who are limited to some tables may not run it */
};

/* A command "client", or a subcommand "client|id". */
struct sw_catalog_command {
    const char *name;    /* in lower case */
    uint32_t categories; /* bits of enum sw_category */
    bool all_keys;       /* users who are limited to ranges of keys may not run it */
    enum sw_scope scope;
};

/* Kind of a name in redis that a catalog lacks. */
enum sw_absence {
    SW_ABSENCE_UNKNOWN,  /* redis does not have it either */
    SW_ABSENCE_COMMAND,  /* a command, or a subcommand: "xinfo", "xinfo|stream" */
    SW_ABSENCE_ARGUMENT, /* such a command with a first argument: "debug|sleep" */
};

struct sw_commands {
    const struct sw_catalog_command *commands;
    uint32_t count;
    /* Returns the kind of this name in redis, in upper or lower case. If a command of the catalog
     * does the work of the missing one, sets *stands_in to its index: a rule that denies the
     * missing command also denies that one. Otherwise sets *stands_in to -1. NULL: the catalog
     * lacks no command of redis. */
    enum sw_absence (*absence)(const char *name, size_t size, int *stands_in);
    /* Returns true if a table may have this name. NULL: no table has a name. */
    bool (*is_table_name)(const char *name, size_t size);
};

/* Return the index of the command or the category with this name, in upper or lower case, or -1 if
 * there is no such name. */
int sw_catalog_find(const struct sw_commands *catalog, const char *name, size_t size);
int sw_category_find(const char *name, size_t size);
const char *sw_category_name(unsigned index);

/* Returns true if command `i` is a subcommand of command `container`. */
bool sw_catalog_is_within(const struct sw_commands *catalog, uint32_t i, uint32_t container);

#endif
