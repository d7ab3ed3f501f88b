/* SPDX-License-Identifier: MIT
 *
 * acl_catalog.c - which categories commands are in, as redis 7 has them.
 */
#include "server/resp/acl_catalog.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define C(name) SW_CATEGORY_##name
#define ADMINS (C(ADMIN) | C(DANGEROUS))

/* Of each row of command_map.h. */
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
#define ROW(id, name, arity, keys, group, effect, speed, in_multi, how, summary) \
    {name, GROUP_##group | EFFECT_##effect | C(speed)},

static const struct sw_catalog_command subcommands[] = {
    {"acl|cat", C(SLOW)},
    {"acl|deluser", ADMINS | C(SLOW)},
    {"acl|dryrun", ADMINS | C(SLOW)},
    {"acl|genpass", C(SLOW)},
    {"acl|getuser", ADMINS | C(SLOW)},
    {"acl|help", C(SLOW)},
    {"acl|list", ADMINS | C(SLOW)},
    {"acl|load", ADMINS | C(SLOW)},
    {"acl|log", ADMINS | C(SLOW)},
    {"acl|save", ADMINS | C(SLOW)},
    {"acl|setuser", ADMINS | C(SLOW)},
    {"acl|users", ADMINS | C(SLOW)},
    {"acl|whoami", C(SLOW)},
    {"client|caching", C(SLOW) | C(CONNECTION)},
    {"client|getname", C(SLOW) | C(CONNECTION)},
    {"client|getredir", C(SLOW) | C(CONNECTION)},
    {"client|help", C(SLOW) | C(CONNECTION)},
    {"client|id", C(SLOW) | C(CONNECTION)},
    {"client|info", C(SLOW) | C(CONNECTION)},
    {"client|kill", ADMINS | C(SLOW) | C(CONNECTION)},
    {"client|list", ADMINS | C(SLOW) | C(CONNECTION)},
    {"client|no-evict", ADMINS | C(SLOW) | C(CONNECTION)},
    {"client|no-touch", C(SLOW) | C(CONNECTION)},
    {"client|pause", ADMINS | C(SLOW) | C(CONNECTION)},
    {"client|reply", C(SLOW) | C(CONNECTION)},
    {"client|setinfo", C(SLOW) | C(CONNECTION)},
    {"client|setname", C(SLOW) | C(CONNECTION)},
    {"client|tracking", C(SLOW) | C(CONNECTION)},
    {"client|trackinginfo", C(SLOW) | C(CONNECTION)},
    {"client|unblock", ADMINS | C(SLOW) | C(CONNECTION)},
    {"client|unpause", ADMINS | C(SLOW) | C(CONNECTION)},
    {"cluster|count-failure-reports", ADMINS | C(SLOW)},
    {"cluster|countkeysinslot", C(SLOW)},
    {"cluster|getkeysinslot", C(SLOW)},
    {"cluster|help", C(SLOW)},
    {"cluster|info", C(SLOW)},
    {"cluster|keyslot", C(SLOW)},
    {"cluster|links", C(SLOW)},
    {"cluster|myid", C(SLOW)},
    {"cluster|myshardid", C(SLOW)},
    {"cluster|nodes", C(SLOW)},
    {"cluster|settopology", ADMINS | C(SLOW)},
    {"cluster|shards", C(SLOW)},
    {"cluster|slots", C(SLOW)},
    {"command|count", C(SLOW) | C(CONNECTION)},
    {"command|docs", C(SLOW) | C(CONNECTION)},
    {"command|getkeys", C(SLOW) | C(CONNECTION)},
    {"command|help", C(SLOW) | C(CONNECTION)},
    {"command|info", C(SLOW) | C(CONNECTION)},
    {"command|list", C(SLOW) | C(CONNECTION)},
    {"config|get", ADMINS | C(SLOW)},
    {"config|help", C(SLOW)},
    {"config|resetstat", ADMINS | C(SLOW)},
    {"config|rewrite", ADMINS | C(SLOW)},
    {"config|set", ADMINS | C(SLOW)},
    {"latency|doctor", ADMINS | C(SLOW)},
    {"latency|graph", ADMINS | C(SLOW)},
    {"latency|help", C(SLOW)},
    {"latency|histogram", ADMINS | C(SLOW)},
    {"latency|history", ADMINS | C(SLOW)},
    {"latency|latest", ADMINS | C(SLOW)},
    {"latency|reset", ADMINS | C(SLOW)},
    {"memory|help", C(SLOW)},
    {"memory|usage", C(READ) | C(SLOW)},
    {"object|encoding", C(KEYSPACE) | C(READ) | C(SLOW)},
    {"object|help", C(KEYSPACE) | C(SLOW)},
    {"slowlog|get", ADMINS | C(SLOW)},
    {"slowlog|help", C(SLOW)},
    {"slowlog|len", ADMINS | C(SLOW)},
    {"slowlog|reset", ADMINS | C(SLOW)},
};
#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))
static_assert(SW_COMMAND_COUNT + SUBCOMMANDS <= SW_CATALOG_COMMANDS_MAX,
              "rules have a bit for each");

/* Categories that do not follow from the row, as redis has them. Those of a command whose
 * subcommands are in the list above replace what the row says. */
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
};

static struct sw_catalog_command rows[SW_COMMAND_COUNT + SUBCOMMANDS] = {SW_COMMAND_MAP(ROW)};
static const struct sw_catalog catalog = {rows, SW_COMMAND_COUNT + SUBCOMMANDS};
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

const struct sw_catalog *sw_acl_catalog(void)
{
    pthread_once(&once, complete);
    return &catalog;
}

uint32_t sw_acl_row(const struct sw_command *command, const struct sw_resp_command *arguments)
{
    char name[64];
    pthread_once(&once, complete);
    if (!has_subcommands[command->id] || arguments->count < 2 ||
        arguments->arguments[1].size > SW_COMMAND_NAME_BYTES) {
        return command->id;
    }
    int size =
        snprintf(name, sizeof(name), "%s|%.*s", command->name, (int)arguments->arguments[1].size,
                 (const char *)arguments->arguments[1].text);
    int row = sw_catalog_find(sw_acl_catalog(), name, (size_t)size);
    return row >= 0 ? (uint32_t)row : command->id;
}
