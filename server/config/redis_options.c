/* SPDX-License-Identifier: MIT
 *
 * redis_options.c - the options of redis 7 that have no namesake here.
 */
#include "server/config/redis_options.h"

#include <string.h>
#include <strings.h>

/* Each row has names, separated by spaces. tests/integration/test_start_check.py compares them with
 * redis. */
static const struct {
    const char *names;
    struct sw_redis_option redis;
} rows[] = {
    {"maxclients", {"connections-max", NULL, 1}},
    {"timeout", {"idle-timeout-ms", "in milliseconds", 1000}},
    {"unixsocket", {"unix-socket", NULL, 0}},
    {"unixsocketperm", {"unix-socket-mode", NULL, 0}},
    {"dir", {"data-dir", NULL, 0}},
    {"io-threads", {"loops", NULL, 0}},
    {"loglevel", {"log-level", NULL, 0}},
    {"requirepass", {"requirepass-file", "a file with the password", 0}},
    {"masterauth", {"primary-password-file", "a file with the password", 0}},
    {"masteruser", {"primary-user", NULL, 0}},
    {"user aclfile", {"acl-file", "a file of such lines", 0}},
    {"rename-command", {"acl-file", "users there may be denied commands", 0}},
    {"slaveof", {"replicaof", NULL, 0}},
    {"repl-backlog-size", {"repl-backlog-bytes", NULL, 0}},
    {"min-replicas-to-write min-slaves-to-write min-replicas-max-lag min-slaves-max-lag",
     {"ha", "a shard acknowledges a write after members in sync have it", 0}},
    {"cluster-enabled", {"cluster-config", "a topology", 0}},
    {"cluster-config-file", {"cluster-state", NULL, 0}},
    {"tls-cert-file", {"tls-cert", NULL, 0}},
    {"tls-key-file", {"tls-key", "a key that is not encrypted", 0}},
    {"tls-key-file-pass", {"tls-key", "a key that is not encrypted", 0}},
    {"tls-ca-cert-file tls-ca-cert-dir", {"tls-ca", NULL, 0}},
    {"tls-protocols", {"tls-min-version", NULL, 0}},
    {"maxmemory", {"max-capacity", "the largest number of slots", 0}},
    {"maxmemory-policy", {"policy", "only engine = cache evicts", 0}},
    {"client-output-buffer-limit", {"output-bytes-max", NULL, 0}},
    {"client-query-buffer-limit maxmemory-clients", {"input-bytes-max", NULL, 0}},
    {"proto-max-bulk-len", {"resp-request-bytes-max", "the limit of a whole request", 0}},
    {"include", {NULL, "sherwoodd reads one file: copy the lines of the other file into it", 0}},
    {"daemonize supervised pidfile",
     {NULL, "sherwoodd stays in the foreground, and systemd or & starts it: remove it", 0}},
    {"logfile syslog-enabled syslog-ident syslog-facility crash-log-enabled",
     {NULL, "sherwoodd logs to stderr, and systemd stores the lines: remove it", 0}},
    {"dbfilename appendfilename appenddirname",
     {NULL, "sherwoodd chooses the names of its files in data-dir: remove it", 0}},
    {"loadmodule", {NULL, "sherwoodd has no modules: remove it", 0}},
    {"notify-keyspace-events", {NULL, "sherwoodd has no publish and subscribe: remove it", 0}},
    {"cluster-port cluster-announce-bus-port cluster-node-timeout cluster-link-sendbuf-limit",
     {NULL, "nodes do not talk to each other: remove it", 0}},
    {"acl-pubsub-default acllog-max-len active-defrag-cycle-max active-defrag-cycle-min "
     "active-defrag-ignore-bytes active-defrag-max-scan-fields active-defrag-threshold-lower "
     "active-defrag-threshold-upper active-expire-effort activedefrag activerehashing "
     "always-show-logo aof-disable-auto-gc aof-rewrite-incremental-fsync aof-timestamp-enabled "
     "aof-use-rdb-preamble aof_rewrite_cpulist bgsave_cpulist bind-source-addr bio_cpulist "
     "busy-reply-threshold cluster-allow-pubsubshard-when-down cluster-allow-reads-when-down "
     "cluster-allow-replica-migration cluster-announce-tls-port cluster-migration-barrier "
     "cluster-replica-no-failover cluster-replica-validity-factor cluster-slave-no-failover "
     "cluster-slave-validity-factor crash-memcheck-enabled disable-thp dynamic-hz "
     "enable-debug-command enable-module-command enable-protected-configs "
     "hash-max-listpack-entries hash-max-listpack-value hash-max-ziplist-entries "
     "hash-max-ziplist-value hll-sparse-max-bytes hz ignore-warnings io-threads-do-reads "
     "jemalloc-bg-thread latency-tracking-info-percentiles lazyfree-lazy-eviction "
     "lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del "
     "lazyfree-lazy-user-flush lfu-decay-time lfu-log-factor list-compress-depth "
     "list-max-listpack-size list-max-ziplist-size lua-time-limit maxmemory-eviction-tenacity "
     "maxmemory-samples no-appendfsync-on-rewrite oom-score-adj oom-score-adj-values "
     "proc-title-template propagation-error-behavior rdb-del-sync-files "
     "rdb-save-incremental-fsync rdbchecksum rdbcompression repl-backlog-ttl "
     "repl-disable-tcp-nodelay repl-diskless-load repl-diskless-sync repl-diskless-sync-delay "
     "repl-diskless-sync-max-replicas repl-ping-replica-period repl-ping-slave-period "
     "replica-announce-ip replica-announce-port replica-announced "
     "replica-ignore-disk-write-errors replica-ignore-maxmemory replica-lazy-flush "
     "replica-priority replica-read-only replica-serve-stale-data sanitize-dump-payload "
     "server_cpulist set-max-intset-entries set-max-listpack-entries set-max-listpack-value "
     "set-proc-title shutdown-on-sigint shutdown-on-sigterm shutdown-timeout slave-announce-ip "
     "slave-announce-port slave-ignore-maxmemory slave-lazy-flush slave-priority "
     "slave-read-only slave-serve-stale-data socket-mark-id stream-node-max-bytes "
     "stream-node-max-entries tcp-backlog tcp-keepalive tls-ciphers tls-ciphersuites "
     "tls-client-cert-file tls-client-key-file tls-client-key-file-pass tls-cluster "
     "tls-dh-params-file tls-prefer-server-ciphers tls-session-cache-size "
     "tls-session-cache-timeout tls-session-caching tracking-table-max-keys "
     "zset-max-listpack-entries zset-max-listpack-value zset-max-ziplist-entries "
     "zset-max-ziplist-value",
     {NULL, "sherwoodd has nothing like it: remove it", 0}},
};

static bool has_name(const char *names, const char *name)
{
    const size_t wanted = strlen(name);
    while (*names != '\0') {
        const size_t size = strcspn(names, " ");
        if (size == wanted && strncasecmp(names, name, size) == 0) {
            return true;
        }
        names += size + (names[size] == ' ');
    }
    return false;
}

bool sw_redis_option_find(const char *name, struct sw_redis_option *found)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (has_name(rows[i].names, name)) {
            *found = rows[i].redis;
            return true;
        }
    }
    return false;
}

void sw_redis_option_advise(const struct sw_redis_option *redis, bool is_flag, char *text,
                            size_t text_bytes)
{
    const struct sw_option *option = redis->option == NULL ? NULL : sw_option_find(redis->option);
    const char *note = redis->note == NULL ? "" : redis->note;
    if (option == NULL) {
        snprintf(text, text_bytes, "%s", note);
    } else if (is_flag) {
        snprintf(text, text_bytes, "write --%s %s%s%s", option->name, option->metavar,
                 note[0] == '\0' ? "" : ", ", note);
    } else {
        snprintf(text, text_bytes, "write '%s = %s' in [%s]%s%s", option->name, option->metavar,
                 option->section, note[0] == '\0' ? "" : ", ", note);
    }
}
