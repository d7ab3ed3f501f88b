/* SPDX-License-Identifier: MIT
 *
 * unsupported_commands.c - the commands and subcommands of redis 7 that this server does not have,
 * grouped by reason.
 */
#include "server/resp/unsupported_commands.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Each row has a reason and the names that it applies to, in lower case and separated by spaces.
 * Subcommands are written as in COMMAND LIST: "client|kill". */
static const struct {
    const char *reason;
    const char *names;
} groups[] = {
    {"this server has no hashes, so it has no fields that expire",
     "hexpire hexpireat hexpiretime hpersist hpexpire hpexpireat hpexpiretime hpttl "
     "httl"},
    {"only GETRANGE and SETRANGE read or write parts of a value",
     "substr lcs bitcount bitfield bitfield_ro bitop bitpos "
     "getbit setbit"},
    {"a key stays in its table: use COPY key key DB n, then DEL key", "move"},
    {"this server does not serialise single keys: read the value with GET, and write it with SET",
     "dump migrate restore restore-asking"},
    {"this server has no lists",
     "blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos "
     "lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx sort sort_ro"},
    {"this server has no hashes",
     "hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield "
     "hscan hset hsetnx hstrlen hvals"},
    {"this server has no sets",
     "sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers "
     "smismember smove spop srandmember srem sscan sunion sunionstore"},
    {"this server has no sorted sets",
     "bzmpop bzpopmax bzpopmin zadd zcard zcount zdiff zdiffstore zincrby zinter "
     "zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember "
     "zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex "
     "zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore "
     "zrevrank zscan zscore zunion zunionstore"},
    {"this server has no streams",
     "xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread "
     "xreadgroup xrevrange xsetid xtrim xgroup|create xgroup|createconsumer "
     "xgroup|delconsumer xgroup|destroy xgroup|help xgroup|setid xinfo|consumers "
     "xinfo|groups xinfo|help xinfo|stream"},
    {"this server has no geospatial indexes",
     "geoadd geodist geohash geopos georadius georadius_ro georadiusbymember "
     "georadiusbymember_ro geosearch geosearchstore"},
    {"this server has no HyperLogLog", "pfadd pfcount pfdebug pfmerge pfselftest"},
    {"this server has no publish and subscribe",
     "psubscribe publish pubsub punsubscribe spublish ssubscribe subscribe "
     "sunsubscribe unsubscribe pubsub|channels pubsub|help pubsub|numpat "
     "pubsub|numsub pubsub|shardchannels pubsub|shardnumsub"},
    {"this server has no scripts: SET key token NX PX ms acquires a lock, DELEX key IFEQ token "
     "releases it, and INCREX key UBOUND n EX seconds ENX limits a rate",
     "eval eval_ro evalsha evalsha_ro fcall fcall_ro function script "
     "function|delete function|dump function|flush function|help function|kill "
     "function|list function|load function|restore function|stats script|debug "
     "script|exists script|flush script|help script|kill script|load"},
    {"replicas of this server use REPLICATE: send REPLICAOF to make a server a replica",
     "failover psync replconf sync"},
    {"this server has no modules",
     "module module|help module|list module|load module|loadex module|unload"},
    {"this server has no debugging commands: see INFO, SLOWLOG and LATENCY", "debug"},
    {"this server has no LOLWUT: INFO server shows the version", "lolwut"},
    {"use COMMAND GETKEYS for the keys and COMMAND INFO for the flags", "command|getkeysandflags"},
    {"the topology assigns slots to nodes: use CLUSTER MOVE TAKE to move slots, or CLUSTER "
     "SETTOPOLOGY",
     "cluster|setslot cluster|failover cluster|bumpepoch cluster|set-config-epoch"},
    {"the topology assigns nodes and slots: change it with --cluster-config or CLUSTER SETTOPOLOGY",
     "cluster|addslots cluster|addslotsrange cluster|delslots cluster|delslotsrange "
     "cluster|flushslots cluster|forget cluster|meet cluster|replicate cluster|reset "
     "cluster|saveconfig"},
    {"use CLUSTER NODES or CLUSTER SHARDS, which list the replicas of each shard",
     "cluster|replicas cluster|slaves"},
    {"this server has no graphs: use LATENCY HISTORY", "latency|graph"},
    {"this server has no statistics of its allocator: INFO memory shows the size of the table",
     "memory|doctor memory|malloc-stats memory|purge memory|stats"},
    {"this server does not show how often or when a key was used",
     "object|freq object|idletime object|refcount"},
};

/* Is the name, in any case, one of `names`? */
static bool is_listed(const char *names, const uint8_t *name, size_t size)
{
    while (*names != '\0') {
        size_t length = strcspn(names, " ");
        if (length == size && strncasecmp(names, (const char *)name, size) == 0) {
            return true;
        }
        names += length;
        names += *names == ' ';
    }
    return false;
}

const char *sw_unsupported_command_reason(const uint8_t *name, size_t size)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (is_listed(groups[i].names, name, size)) {
            return groups[i].reason;
        }
    }
    return NULL;
}

bool sw_unsupported_has_subcommands(const uint8_t *name, size_t size)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        const char *at = groups[i].names;
        while (*at != '\0') {
            size_t length = strcspn(at, " ");
            if (length > size && at[size] == '|' &&
                strncasecmp(at, (const char *)name, size) == 0) {
                return true;
            }
            at += length;
            at += *at == ' ';
        }
    }
    return false;
}

const char *sw_unsupported_subcommand_reason(const char *command,
                                             const struct sw_resp_argument *word)
{
    char name[64];
    size_t size = (size_t)snprintf(name, sizeof(name), "%s|%.*s", command,
                                   (int)(word->size < sizeof(name) ? word->size : sizeof(name)),
                                   (const char *)word->text);
    return size < sizeof(name) ? sw_unsupported_command_reason((const uint8_t *)name, size) : NULL;
}
