/* SPDX-License-Identifier: MIT
 *
 * test_info.c - INFO: its sections, and the fields that other programs read.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/resp/session.h"
#include "tests/server/distinct_stats.h"

#define WORDS_MAX 4

static struct sw_config config;
static struct sw_server_stats snapshot;

static void begin(void)
{
    fill_distinct_stats(&config, &snapshot);
}

TestSuite(info, .init = begin);

/* INFO with the words given (NULL ends them), valid until the next one. */
static char *render(const char *const words[WORDS_MAX])
{
    struct sw_resp_argument arguments[WORDS_MAX];
    static struct sw_text text;
    uint32_t count = 0;
    sw_text_fini(&text);
    for (; words[count] != NULL; count++) {
        arguments[count] = (struct sw_resp_argument){(const uint8_t *)words[count],
                                                     (uint32_t)strlen(words[count])};
    }
    sw_text_init(&text, 1 << 16);
    sw_info_render(&snapshot, arguments, count, &text);
    cr_assert_not(text.failed);
    sw_text_append(&text, "", 1);
    return text.data;
}

static char *render_all(void)
{
    return render((const char *const[WORDS_MAX]){"all"});
}

/* The value of a field; it must occur exactly once. The caller frees it. */
static char *field(const char *info, const char *name)
{
    char line[128];
    snprintf(line, sizeof(line), "\n%s:", name);
    const char *at = strstr(info, line);
    cr_assert_not_null(at, "no field %s", name);
    at += strlen(line);
    cr_assert_null(strstr(at, line), "%s occurs twice", name);
    return strndup(at, strcspn(at, "\r"));
}

static void expect(const char *info, const char *name, const char *wanted)
{
    char *value = field(info, name);
    cr_assert_str_eq(value, wanted, "%s is %s, not %s", name, value, wanted);
    free(value);
}

static void expect_number(const char *info, const char *name, uint64_t wanted)
{
    char number[32];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)wanted);
    expect(info, name, number);
}

Test(info, fields_that_tools_read)
{
    char *info = render_all();
    const struct sw_op_counters *get = &snapshot.stats.counters.by_class[SW_CLASS_GET];
    expect(info, "redis_version", SW_REDIS_VERSION);
    expect(info, "sherwood_version", SHERWOOD_VERSION);
    expect(info, "redis_mode", "standalone");
    expect(info, "role", "master");
    expect(info, "tcp_port", "7379");
    expect(info, "process_id", "4242");
    expect(info, "run_id", snapshot.run_id);
    expect(info, "uptime_in_seconds", "90061");
    expect(info, "uptime_in_days", "1");
    expect(info, "connected_clients", "5");
    expect(info, "blocked_clients", "1");
    expect(info, "maxclients", "10000");
    expect(info, "used_memory", "8392704");
    expect(info, "used_memory_human", "8.00M");
    expect(info, "used_memory_rss", "12345678");
    expect(info, "maxmemory_human", "0B");
    expect(info, "maxmemory_policy", "noeviction");
    expect(info, "loading", "0");
    expect(info, "rdb_bgsave_in_progress", "0");
    expect(info, "rdb_last_bgsave_time_sec", "-1");
    expect(info, "sherwood_data_dir_set", "0");
    expect(info, "aof_rewrite_in_progress", "0");
    expect(info, "cluster_enabled", "0");
    expect(info, "db0", "keys=256,expires=31,avg_ttl=0");
    expect(info, "used_cpu_user", "1.250000");
    expect(info, "used_cpu_sys", "0.500000");
    expect_number(info, "keyspace_hits", get->hits);
    expect_number(info, "keyspace_misses", get->misses);
    expect_number(info, "total_commands_processed", snapshot.counters.commands_processed);
    expect_number(info, "total_connections_received", snapshot.counters.connections_accepted);
    snapshot.counters.commands[SW_COMMAND_GET] = 1000;
    snapshot.counters.command_ns[SW_COMMAND_GET] = 12345678;
    info = render_all();
    expect(info, "cmdstat_get", "calls=1000,usec=12345,usec_per_call=12.35");
    expect_number(info, "evicted_keys", snapshot.stats.counters.evicted);
    expect_number(info, "evicted", snapshot.stats.counters.evicted);
    expect_number(info, "not_admitted", snapshot.stats.counters.not_admitted);
    expect(info, "engine", "robin_hood");
    expect(info, "value_format", "integer");
    expect(info, "backend", "cpu");
    expect(info, "load", "0.250000");
    expect(info, "max_load", "0.875000");
    expect(info, "capacity_slots", "1024");
    expect(info, "max_capacity_slots", "65536");
    expect(info, "occupied_max", "870");
    expect(info, "growths", "6");
    expect(info, "resizes", "8");
    expect(info, "resize_failures", "9");
    expect(info, "table_bytes", "3145728");
    expect(info, "table_unused_bytes", "5242880");
}

Test(info, a_cache_says_what_leaves)
{
    static const struct {
        enum sw_cache_policy policy;
        const char *name;
    } rows[] = {{SW_CACHE_LRU, "allkeys-lru"},
                {SW_CACHE_LFU, "allkeys-lfu"},
                {SW_CACHE_EPOCH_LRU, "allkeys-lru"},
                {SW_CACHE_EPOCH_LFU, "allkeys-lfu"}};
    config.engine = SW_ENGINE_CACHE;
    snapshot.info.engine = SW_ENGINE_CACHE;
    snapshot.info.engine_name = "cache";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        config.policy = rows[i].policy;
        char *info = render_all();
        expect(info, "maxmemory_policy", rows[i].name);
        expect(info, "engine", "cache");
        expect(info, "value_format", "string");
    }
}

Test(info, every_line_is_a_title_a_field_or_blank)
{
    snapshot.info.backend_reason = "a reason";
    char *info = render_all();
    unsigned lines = 0;
    for (char *at = info; *at != '\0'; lines++) {
        size_t size = strcspn(at, "\r\n");
        cr_assert_eq(strncmp(at + size, "\r\n", 2), 0, "line %u does not end in CRLF", lines);
        cr_assert(size == 0 || strncmp(at, "# ", 2) == 0 || memchr(at, ':', size) != NULL,
                  "line %u: %.*s", lines, (int)size, at);
        at += size + 2;
    }
    cr_assert_gt(lines, 80);
}

Test(info, no_keys_no_database)
{
    snapshot.stats.occupied = 0;
    char *info = render((const char *const[WORDS_MAX]){"keyspace"});
    cr_assert_str_eq(info, "# Keyspace\r\n");
}

Test(info, commands_never_called_are_not_listed)
{
    snapshot.counters.commands[SW_COMMAND_GET] = 0;
    char *info = render_all();
    cr_assert_null(strstr(info, "cmdstat_get:"));
    cr_assert_not_null(strstr(info, "cmdstat_set:"));
}

static unsigned titles(const char *info)
{
    unsigned count = 0;
    for (const char *at = info; (at = strstr(at, "# ")) != NULL; at++) {
        count++;
    }
    return count;
}

Test(info, sections_are_chosen)
{
    static const struct {
        const char *words[WORDS_MAX];
        unsigned titles;
        const char *has, *lacks;
    } rows[] = {
        {{NULL}, 11, "# Sherwood", "# Commandstats"},
        {{"default"}, 11, "# Server", "# Commandstats"},
        {{"ALL"}, 13, "# Commandstats", "# Nothing"},
        {{"everything"}, 13, "# Errorstats", "# Nothing"},
        {{"tables"}, 1, "table0:name=", "# Keyspace"},
        {{"server"}, 1, "redis_version:", "# Clients"},
        {{"SeRvEr"}, 1, "redis_version:", "# Clients"},
        {{"cluster", "keyspace"}, 2, "\r\n\r\n# Keyspace\r\n", "# Server"},
        {{"keyspace", "cluster"}, 2, "\r\n\r\n# Keyspace\r\n", "# Server"},
        {{"cluster", "cluster"}, 1, "cluster_enabled:0", "# Server"},
        {{"commandstats", "default"}, 12, "# Commandstats", "# Nothing"},
        {{"nosuch"}, 0, "", "#"},
        {{"nosuch", "cpu"}, 1, "# CPU", "# Server"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *info = render(rows[i].words);
        cr_assert_eq(titles(info), rows[i].titles, "row %zu: %s", i, info);
        cr_assert_not_null(strstr(info, rows[i].has), "row %zu", i);
        cr_assert_null(strstr(info, rows[i].lacks), "row %zu", i);
    }
}
