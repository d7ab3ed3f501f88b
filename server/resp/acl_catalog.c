/* SPDX-License-Identifier: MIT
 *
 * acl_catalog.c - which categories commands are in, as redis 7 has them.
 */
#include "server/resp/acl_catalog.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/resp/unsupported_commands.h"
#include "server/tables/places.h"

#define C(name) SW_CATEGORY_##name
#define ADMINS (C(ADMIN) | C(DANGEROUS))

/* The categories that a column of a row in command_map.h adds. */
#define GROUP_STRING C(STRING)
#define GROUP_GENERIC C(KEYSPACE)
#define GROUP_SERVER 0
#define GROUP_CONNECTION C(CONNECTION)
#define GROUP_TRANSACTIONS C(TRANSACTION)
#define GROUP_CLUSTER 0
#define EFFECT_NONE 0
#define EFFECT_READ C(READ)
#define EFFECT_INSERT C(WRITE)
#define EFFECT_WRITE C(WRITE)
#define EFFECT_DELETE C(WRITE)
#define EFFECT_ADMIN ADMINS
#define NEEDS_KEYS(first, last, step) false, SW_SCOPE_SELECTED
#define NEEDS_TABLE_KEYS true, SW_SCOPE_SELECTED
#define NEEDS_NAMED_KEYS true, SW_SCOPE_NAMED
#define NEEDS_ALL_KEYS true, SW_SCOPE_ALL
#define NEEDS_TABLE_FACTS false, SW_SCOPE_SELECTED
#define NEEDS_NAMED_FACTS false, SW_SCOPE_NAMED
#define NEEDS_NO_KEYS false, SW_SCOPE_NONE
#define ROW(id, name, arity, keys, group, effect, speed, in_multi, how, summary) \
    {name, GROUP_##group | EFFECT_##effect | C(speed), NEEDS_##keys},

/* A subcommand: its name, its column `keys` as in command_map.h, its categories. */
#define SUBCOMMAND(name, keys, categories) \
    {                                      \
        name, (categories), NEEDS_##keys   \
    }

static const struct sw_catalog_command subcommands[] = {
    SUBCOMMAND("acl|cat", NO_KEYS, C(SLOW)),
    SUBCOMMAND("acl|deluser", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|dryrun", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|genpass", NO_KEYS, C(SLOW)),
    SUBCOMMAND("acl|getuser", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|help", NO_KEYS, C(SLOW)),
    SUBCOMMAND("acl|list", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|load", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|log", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|save", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|setuser", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|users", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("acl|whoami", NO_KEYS, C(SLOW)),
    SUBCOMMAND("client|caching", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|getname", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|getredir", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|help", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|id", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|info", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|kill", NO_KEYS, ADMINS | C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|list", NO_KEYS, ADMINS | C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|no-evict", NO_KEYS, ADMINS | C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|no-touch", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|pause", ALL_KEYS, ADMINS | C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|reply", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|setinfo", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|setname", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|tracking", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|trackinginfo", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|unblock", NO_KEYS, ADMINS | C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("client|unpause", ALL_KEYS, ADMINS | C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("cluster|count-failure-reports", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("cluster|countkeysinslot", TABLE_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|getkeysinslot", TABLE_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|help", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|info", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|keyslot", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|links", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|move", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("cluster|myid", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|myshardid", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|nodes", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|settopology", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("cluster|shards", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|slots", NO_KEYS, C(SLOW)),
    SUBCOMMAND("cluster|topology", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("command|count", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("command|docs", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("command|getkeys", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("command|help", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("command|info", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("command|list", NO_KEYS, C(SLOW) | C(CONNECTION)),
    SUBCOMMAND("config|get", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("config|help", NO_KEYS, C(SLOW)),
    SUBCOMMAND("config|resetstat", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("config|rewrite", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("config|set", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("ha|help", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("ha|status", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("latency|doctor", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("latency|graph", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("latency|help", NO_KEYS, C(SLOW)),
    SUBCOMMAND("latency|histogram", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("latency|history", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("latency|latest", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("latency|reset", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("memory|help", NO_KEYS, C(SLOW)),
    SUBCOMMAND("memory|usage", KEYS(2, 2, 1), C(READ) | C(SLOW)),
    SUBCOMMAND("object|encoding", KEYS(2, 2, 1), C(KEYSPACE) | C(READ) | C(SLOW)),
    SUBCOMMAND("object|help", NO_KEYS, C(KEYSPACE) | C(SLOW)),
    SUBCOMMAND("slowlog|get", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("slowlog|help", NO_KEYS, C(SLOW)),
    SUBCOMMAND("slowlog|len", NO_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("slowlog|reset", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("table|alter", NAMED_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("table|create", NAMED_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("table|drop", NAMED_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("table|help", NO_KEYS, C(SLOW)),
    SUBCOMMAND("table|info", NAMED_FACTS, C(SLOW)),
    SUBCOMMAND("table|list", NO_KEYS, C(SLOW)),
    SUBCOMMAND("table|rename", ALL_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("table|swap", NAMED_KEYS, ADMINS | C(SLOW)),
    SUBCOMMAND("table|truncate", NAMED_KEYS, C(KEYSPACE) | C(WRITE) | C(DANGEROUS) | C(SLOW)),
};
#define SUBCOMMAND_BYTES 32 /* no subcommand is longer: "count-failure-reports" */
#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))
static_assert(SW_COMMAND_COUNT + SUBCOMMANDS <= SW_CATALOG_COMMANDS_MAX,
              "rules of a user have a bit for each command");

/* Categories that do not follow from the row, as redis has them. If the subcommands of a command
 * are in the list above, these categories replace those of the row. */
static const struct {
    enum sw_command_id id;
    uint32_t categories;
    bool replaces;
} others[] = {
    {SW_COMMAND_FLUSHALL, C(KEYSPACE) | C(DANGEROUS), false},
    {SW_COMMAND_FLUSHDB, C(KEYSPACE) | C(DANGEROUS), false},
    {SW_COMMAND_KEYS, C(DANGEROUS), false},
    {SW_COMMAND_RESIZE, C(KEYSPACE) | C(WRITE), false},
    {SW_COMMAND_DBSIZE, C(KEYSPACE), false},
    {SW_COMMAND_INFO, C(DANGEROUS), false},
    {SW_COMMAND_ROLE, ADMINS, false},
    {SW_COMMAND_LASTSAVE, ADMINS, false},
    {SW_COMMAND_WAIT, C(BLOCKING) | C(CONNECTION), false},
    {SW_COMMAND_WAITAOF, C(BLOCKING) | C(CONNECTION), false},
    {SW_COMMAND_COMMAND, C(CONNECTION), false},
    {SW_COMMAND_READONLY, C(CONNECTION), false},
    {SW_COMMAND_READWRITE, C(CONNECTION), false},
    {SW_COMMAND_ASKING, C(CONNECTION), false},
    {SW_COMMAND_ACL, ADMINS | C(SLOW), true},
    {SW_COMMAND_CLIENT, ADMINS | C(SLOW), true},
    {SW_COMMAND_CLUSTER, ADMINS | C(SLOW), true},
    {SW_COMMAND_CONFIG, ADMINS | C(SLOW), true},
    {SW_COMMAND_LATENCY, ADMINS | C(SLOW), true},
    {SW_COMMAND_MEMORY, ADMINS | C(SLOW), true},
    {SW_COMMAND_OBJECT, ADMINS | C(SLOW), true},
    {SW_COMMAND_SLOWLOG, ADMINS | C(SLOW), true},
    {SW_COMMAND_SWAPDB, C(KEYSPACE) | C(DANGEROUS), false},
    {SW_COMMAND_TABLE, ADMINS | C(SLOW), true},
};

/* Commands of this server that replace commands of redis. A rule that forbids the command of redis
 * also forbids ours: "+@all -psync" forbids REPLICATE, which copies the table. */
static const struct {
    const char *redis, *ours;
} stand_ins[] = {
    {"psync", "replicate"},
    {"sync", "replicate"},
    {"migrate", "exportslots"},
    {"failover", "ha"},
    {"cluster|setslot", "cluster|move"},
    {"cluster|failover", "ha"},
    {"cluster|bumpepoch", "cluster|settopology"},
    {"cluster|set-config-epoch", "cluster|settopology"},
    {"cluster|addslots", "cluster|settopology"},
    {"cluster|addslotsrange", "cluster|settopology"},
    {"cluster|delslots", "cluster|settopology"},
    {"cluster|delslotsrange", "cluster|settopology"},
    {"cluster|flushslots", "cluster|settopology"},
    {"cluster|forget", "cluster|settopology"},
    {"cluster|meet", "cluster|settopology"},
    {"cluster|replicate", "cluster|settopology"},
    {"cluster|reset", "cluster|settopology"},
};

static enum sw_absence absence(const char *name, size_t size, int *stands_in);

static struct sw_catalog_command rows[SW_COMMAND_COUNT + SUBCOMMANDS] = {SW_COMMAND_MAP(ROW)};
static const struct sw_commands catalog = {rows, SW_COMMAND_COUNT + SUBCOMMANDS, absence,
                                           sw_place_name_is_allowed};
static bool has_subcommands[SW_COMMAND_COUNT]; /* in the list above */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void complete(void)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        uint32_t *categories = &rows[others[i].id].categories;
        *categories = others[i].categories | (others[i].replaces ? 0 : *categories);
    }
    memcpy(rows + SW_COMMAND_COUNT, subcommands, sizeof(subcommands));
    for (uint32_t i = 0; i < SW_COMMAND_COUNT; i++) {
        for (size_t j = 0; j < SUBCOMMANDS; j++) {
            has_subcommands[i] |= sw_catalog_is_within(&catalog, SW_COMMAND_COUNT + (uint32_t)j, i);
        }
    }
}

static enum sw_absence absence(const char *name, size_t size, int *stands_in)
{
    const char *bar = memchr(name, '|', size);
    const size_t command = bar != NULL ? (size_t)(bar - name) : 0;
    *stands_in = -1;
    for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++) {
        if (strlen(stand_ins[i].redis) == size &&
            strncasecmp(stand_ins[i].redis, name, size) == 0) {
            *stands_in = sw_catalog_find(&catalog, stand_ins[i].ours, strlen(stand_ins[i].ours));
        }
    }
    if (sw_unsupported_command_reason((const uint8_t *)name, size) != NULL) {
        return SW_ABSENCE_COMMAND;
    }
    return bar != NULL && command + 1 < size &&
                   sw_unsupported_command_reason((const uint8_t *)name, command) != NULL &&
                   !sw_unsupported_has_subcommands((const uint8_t *)name, command)
               ? SW_ABSENCE_ARGUMENT
               : SW_ABSENCE_UNKNOWN;
}

const struct sw_commands *sw_acl_catalog(void)
{
    pthread_once(&once, complete);
    return &catalog;
}

uint32_t sw_acl_row(const struct sw_command *command, const struct sw_resp_command *arguments)
{
    char name[64];
    pthread_once(&once, complete);
    if (!has_subcommands[command->id] || arguments->count < 2 ||
        arguments->arguments[1].size > SUBCOMMAND_BYTES) {
        return command->id;
    }
    int size =
        snprintf(name, sizeof(name), "%s|%.*s", command->name, (int)arguments->arguments[1].size,
                 (const char *)arguments->arguments[1].text);
    int row = sw_catalog_find(sw_acl_catalog(), name, (size_t)size);
    return row >= 0 ? (uint32_t)row : command->id;
}
