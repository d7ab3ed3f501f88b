/* SPDX-License-Identifier: MIT
 *
 * absent.c - the commands and subcommands of redis 7 that this server does not have, grouped by
 * reason.
 */
#include "server/resp/absent.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Each row has a reason and the names that it applies to, in lower case and separated by spaces.
 * Subcommands are written as in COMMAND LIST: "client|kill". */
static const struct {
    const char *reason;
    const char *names;
} groups[] = {
    {"there are no hashes, whose fields would expire, in this server",
     "hexpire hexpireat hexpiretime hpersist hpexpire hpexpireat hpexpiretime hpttl "
     "httl"},
    {"a value is read and written whole, but for GETRANGE and SETRANGE",
     "substr lcs bitcount bitfield bitfield_ro bitop bitpos "
     "getbit setbit"},
    {"there is one database, 0", "move swapdb"},
    {"a value has no serialised form", "dump migrate restore restore-asking"},
    {"there are no lists in this server",
     "blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos "
     "lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx sort sort_ro"},
    {"there are no hashes in this server",
     "hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield "
     "hscan hset hsetnx hstrlen hvals"},
    {"there are no sets in this server",
     "sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers "
     "smismember smove spop srandmember srem sscan sunion sunionstore"},
    {"there are no sorted sets in this server",
     "bzmpop bzpopmax bzpopmin zadd zcard zcount zdiff zdiffstore zincrby zinter "
     "zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember "
     "zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex "
     "zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore "
     "zrevrank zscan zscore zunion zunionstore"},
    {"there are no streams in this server",
     "xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread "
     "xreadgroup xrevrange xsetid xtrim xgroup|create xgroup|createconsumer "
     "xgroup|delconsumer xgroup|destroy xgroup|help xgroup|setid xinfo|consumers "
     "xinfo|groups xinfo|help xinfo|stream"},
    {"there are no places on a map in this server",
     "geoadd geodist geohash geopos georadius georadius_ro georadiusbymember "
     "georadiusbymember_ro geosearch geosearchstore"},
    {"there is no HyperLogLog in this server", "pfadd pfcount pfdebug pfmerge pfselftest"},
    {"there is no publish and subscribe in this server",
     "psubscribe publish pubsub punsubscribe spublish ssubscribe subscribe "
     "sunsubscribe unsubscribe pubsub|channels pubsub|help pubsub|numpat "
     "pubsub|numsub pubsub|shardchannels pubsub|shardnumsub"},
    {"there are no scripts in this server: SET key token NX PX ms takes a lock, DELEX key IFEQ "
     "token "
     "gives it back, and INCREX key UBOUND n EX seconds ENX limits a rate",
     "eval eval_ro evalsha evalsha_ro fcall fcall_ro function script "
     "function|delete function|dump function|flush function|help function|kill "
     "function|list function|load function|restore function|stats script|debug "
     "script|exists script|flush script|help script|kill script|load"},
    {"replicas come by REPLICATE, and REPLICAOF makes one", "failover psync replconf sync"},
    {"there are no modules in this server",
     "module module|help module|list module|load module|loadex module|unload"},
    {"a server that is in use is not debugged by its clients", "debug"},
    {"this server draws no pictures", "lolwut"},
    {"COMMAND GETKEYS has the keys, COMMAND INFO the flags", "command|getkeysandflags"},
    {"slots are not moved by this server: a topology says whose they are, and CLUSTER SETTOPOLOGY "
     "brings another",
     "cluster|setslot cluster|failover cluster|bumpepoch cluster|set-config-epoch"},
    {"the topology comes from cluster-config or by CLUSTER SETTOPOLOGY",
     "cluster|addslots cluster|addslotsrange cluster|delslots cluster|delslotsrange "
     "cluster|flushslots cluster|forget cluster|meet cluster|replicate cluster|reset "
     "cluster|saveconfig"},
    {"CLUSTER NODES and SHARDS show which replicas a shard has", "cluster|replicas cluster|slaves"},
    {"this server draws no pictures: LATENCY HISTORY has the figures", "latency|graph"},
    {"the table's memory is reserved when it is made: INFO memory has its size",
     "memory|doctor memory|malloc-stats memory|purge memory|stats"},
    {"what a key was used for is not shown", "object|freq object|idletime object|refcount"},
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

const char *sw_absent_reason(const uint8_t *name, size_t size)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (is_listed(groups[i].names, name, size)) {
            return groups[i].reason;
        }
    }
    return NULL;
}

bool sw_absent_has_subcommands(const uint8_t *name, size_t size)
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

const char *sw_absent_subcommand_reason(const char *command, const struct sw_resp_argument *word)
{
    char name[64];
    size_t size = (size_t)snprintf(name, sizeof(name), "%s|%.*s", command,
                                   (int)(word->size < sizeof(name) ? word->size : sizeof(name)),
                                   (const char *)word->text);
    return size < sizeof(name) ? sw_absent_reason((const uint8_t *)name, size) : NULL;
}
