/* SPDX-License-Identifier: MIT
 *
 * test_config_engine.c - options of the engines: what they make of the table, which contradict each
 * other, and limits that fit the size of values.
 */
#include "tests/server/config_fixture.h"

static struct output output;

Test(config_engine, engines)
{
    struct sw_config config;
    struct sw_table_config table;
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "1K", "--loops", "3")), SW_CONFIG_RUN);
    sw_config_table(&config, &table);
    cr_assert_eq(table.submitters, 3);
    cr_assert_eq(table.engine, SW_ENGINE_ROBIN_HOOD);
    cr_assert_eq(table.hash_functions, 0);
    cr_assert_eq(table.value_bytes, 0);
    cr_assert_eq(sw_config_value_format(&config), SW_VALUE_INTEGER);
    cr_assert_eq(sw_config_stored_bytes(&config), 8);
    cr_assert_eq(load(&config, &output,
                      FLAGS("--engine", "cuckoo", "--hash-functions", "2", "--max-load", "0.4")),
                 SW_CONFIG_RUN, "%s", output.err);
    sw_config_table(&config, &table);
    cr_assert_eq(table.engine, SW_ENGINE_CUCKOO);
    cr_assert_eq(table.hash_functions, 2);
    cr_assert_eq(load(&config, &output,
                      FLAGS("--engine=cache", "--value-bytes=256", "--policy=epoch-lfu",
                            "--cache-mode=throughput")),
                 SW_CONFIG_RUN, "%s", output.err);
    sw_config_table(&config, &table);
    cr_assert_eq(table.engine, SW_ENGINE_CACHE);
    cr_assert_eq(table.value_bytes, 260, "the length is kept too");
    cr_assert_eq(table.cache_policy, SW_CACHE_EPOCH_LFU);
    cr_assert_eq(table.cache_mode, SW_CACHE_THROUGHPUT);
    cr_assert_eq(sw_config_value_format(&config), SW_VALUE_STRING);
    cr_assert_eq(load(&config, &output,
                      FLAGS("--engine=cache", "--value-bytes=1024", "--value-format=fixed")),
                 SW_CONFIG_RUN, "%s", output.err);
    sw_config_table(&config, &table);
    cr_assert_eq(table.value_bytes, 1024);
    cr_assert_eq(load(&config, &output, FLAGS("--engine", "cache")), SW_CONFIG_RUN);
    cr_assert_eq(sw_config_stored_bytes(&config), 64);
}

/* Rows are values of the robin_hood engine: bytes, numbers or strings. */
Test(config_engine, rows)
{
    static const struct {
        const char *bytes, *type;
        enum sw_value_format format;
        uint32_t stored, dimension;
    } rows[] = {
        {"4096", "bytes", SW_VALUE_FIXED, 4096, 1}, {"60", "string", SW_VALUE_STRING, 64, 1},
        {"256", "f32", SW_VALUE_FIXED, 256, 64},    {"256", "bf16", SW_VALUE_FIXED, 256, 128},
        {"16", "u64", SW_VALUE_FIXED, 16, 2},       {"24", "i64", SW_VALUE_FIXED, 24, 3},
        {"8", "f64", SW_VALUE_FIXED, 8, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        struct sw_table_config table;
        cr_assert_eq(load(&config, &output,
                          FLAGS("--capacity", "1K", "--value-bytes", rows[i].bytes, "--value-type",
                                rows[i].type, "--rows-max", "500")),
                     SW_CONFIG_RUN, "%s", output.err);
        sw_config_table(&config, &table);
        cr_assert_eq(table.engine, SW_ENGINE_ROBIN_HOOD);
        cr_assert_eq(table.value_bytes, rows[i].stored);
        cr_assert_eq(table.rows_max, 500);
        cr_assert_eq(sw_config_value_format(&config), rows[i].format);
        cr_assert_eq(sw_config_dimension(&config), rows[i].dimension);
    }
}

/* --check-config prints the memory that the table needs, for every engine. */
Test(config_engine, check_config_prints_the_memory)
{
    static const struct {
        const char *flags[8];
        const char *line;
    } rows[] = {
        /* 16 bytes a slot, and twice the entries of a batch of 1 Mi for the stash */
        {{"--check-config", "--capacity", "64M", "--stash", "64"}, "# table: 1056.0 MiB; I/O"},
        /* 16 bytes a cell, all of them twice; the stash likewise */
        {{"--check-config", "--engine", "cuckoo", "--capacity", "48M", "--stash", "64"},
         "# table: 1568.0 MiB; I/O"},
        /* 18 bytes and a value of 44 a slot, 16 bytes each 128 slots */
        {{"--check-config", "--engine=cache", "--capacity", "64M", "--value-bytes", "44",
          "--value-format=fixed"},
         "# table: 3976.0 MiB; I/O"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        cr_assert_eq(load(&config, &output, rows[i].flags), SW_CONFIG_EXIT, "%s", output.err);
        cr_assert_eq(strncmp(output.out, rows[i].line, strlen(rows[i].line)), 0, "%.80s",
                     output.out);
    }
}

/* Default limits: fewer operations if values are large or memory is small, otherwise the usual
 * number. Every reply fits the limit of unsent bytes. */
Test(config_engine, limits_fit_the_values)
{
    static const char *const bytes[] = {"4", "60", "256", "1020"};
    static const char *const arenas[] = {"1M", "16M", "256M", "1T"};
    static const char *const outputs[] = {"64K", "4M", "64M", "1T"};
    for (size_t at = 0; at < 64; at++) {
        const char *arena = arenas[at / 4 % 4];
        struct sw_config config;
        cr_assert_eq(
            load(&config, &output,
                 FLAGS("--engine", "cache", "--value-bytes", bytes[at % 4], "--arena-bytes", arena,
                       "--resp-request-bytes-max", "256K", "--output-bytes-pause", "4K",
                       "--output-bytes-max", outputs[at / 16])),
            SW_CONFIG_RUN, "%s bytes, arena %s: %s", bytes[at % 4], arena, output.err);
        uint64_t value = sw_config_stored_bytes(&config), answer = value - 4 + 9;
        uint64_t frame = config.frame_ops_max * (8 + 2 * value);
        cr_assert_leq(frame, config.arena_bytes / 2);
        cr_assert_geq(config.frame_ops_max, 64);
        uint64_t share = config.arena_bytes / 2 < 1 << 30 ? config.arena_bytes / 2 : 1 << 30;
        cr_assert(config.frame_ops_max == 1 << 20 ||
                      (config.frame_ops_max + 64) * (8 + 2 * value + 1) + 8192 > share,
                  "%u keys a frame", config.frame_ops_max);
        cr_assert_leq(config.round_ops_max * (8 + 2 * value), 32 << 20);
        cr_assert_geq(config.resp_arguments_max, 8);
        cr_assert_leq(config.resp_arguments_max, config.round_ops_max);
        cr_assert_leq((config.resp_arguments_max - 1) * answer, config.output_bytes_max);
    }
    struct sw_config config;
    cr_assert_eq(load(&config, &output, FLAGS("--engine", "cache", "--value-bytes", "4")),
                 SW_CONFIG_RUN);
    cr_assert_eq(config.frame_ops_max, 1 << 20);
    cr_assert_eq(config.round_ops_max, 128 << 10);
    cr_assert_eq(config.resp_arguments_max, 128 << 10);
    cr_assert_eq(load(&config, &output, FLAGS("--arena-bytes", "16M", "--output-bytes-max", "2M")),
                 SW_CONFIG_RUN);
    cr_assert_eq(config.frame_ops_max, 335424);
    cr_assert_eq(config.round_ops_max, 128 << 10);
    cr_assert_eq(config.resp_arguments_max, 74898);
}

/* Limits that are given are kept, or refused with a reason. */
Test(config_engine, stated_limits_are_kept)
{
    struct sw_config config;
    cr_assert_eq(load(&config, &output,
                      FLAGS("--engine", "cache", "--value-bytes", "1020", "--round-ops-max", "128K",
                            "--frame-ops-max", "128K", "--arena-bytes", "512M",
                            "--resp-arguments-max", "60K")),
                 SW_CONFIG_RUN, "%s", output.err);
    cr_assert_eq(config.round_ops_max, 128 << 10);
    cr_assert_eq(config.frame_ops_max, 128 << 10);
    cr_assert_eq(config.resp_arguments_max, 60 << 10);
}

struct refusal {
    const char *flags[9];
    const char *error;
};

/* Expects that each row's flags are refused by one line that contains its text. */
static void expect_refusals(const struct refusal *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sw_config config;
        cr_assert_eq(load(&config, &output, rows[i].flags), SW_CONFIG_ERROR, "row %zu", i);
        cr_assert_not_null(strstr(output.err, rows[i].error), "row %zu: %s", i, output.err);
        cr_assert_eq(strchr(output.err, '\n') - output.err, (long)strlen(output.err) - 1);
    }
}

Test(config_engine, contradictions)
{
    static const struct refusal rows[] = {
        {{"--engine", "robin"}, "engine: 'robin' is not one of robin_hood cuckoo cache"},
        {{"--value-format", "fixed"},
         "value-format is not an option of the robin_hood engine: leave it out, or choose the "
         "cache engine"},
        {{"--engine", "cuckoo", "--policy", "lfu"}, "policy is not an option of the cuckoo engine"},
        {{"--engine", "cache", "--hash-functions", "2"},
         "hash-functions is not an option of the cache engine: leave it out, or choose the cuckoo"},
        {{"--cache-mode", "throughput"}, "cache-mode is not an option of the robin_hood engine"},
        {{"--engine", "cache", "--default-ttl", "60"},
         "default-ttl is not an option of the cache engine: leave it out, or choose the "
         "robin_hood"},
        {{"--policy", "lru"}, "policy is not an option of the robin_hood engine"},
        {{"--engine", "cache", "--stash", "64K"}, "stash is not an option of the cache engine"},
        {{"--value-format", "fixed"}, "value-format is not an option of the robin_hood engine"},
        {{"--engine", "cuckoo", "--max-capacity", "32M"},
         "max-capacity is not an option of the cuckoo engine: leave it out, or choose the "
         "robin_hood"},
        {{"--engine", "cache", "--max-probe", "9"},
         "max-probe is not an option of the cache engine"},
        {{"--engine", "cache", "--max-load", "0.5"},
         "max-load is not an option of the cache engine"},
        {{"--engine", "cache", "--stash", "128"}, "stash is not an option of the cache engine"},
        {{"--engine", "cache", "--value-bytes", "1020", "--frame-ops-max", "128K"},
         "arena-bytes 268435456 cannot hold one frame of frame-ops-max 131072 keys, 1024 bytes a "
         "value, and its reply: raise it to 269502464, or lower frame-ops-max to 130497"},
        {{"--engine", "cache", "--value-bytes", "1020", "--frame-ops-max", "2M", "--arena-bytes",
          "8G"},
         "a frame of frame-ops-max 2097152 keys, 1024 bytes a value, has more than 1073741824 "
         "bytes: lower frame-ops-max to 521992"},
        {{"--engine", "cache", "--value-bytes", "1020", "--round-ops-max", "1M"},
         "a batch of round-ops-max 1048576 operations, 1024 bytes a value, takes 2155872256 bytes, "
         "and 536870912 is the most: lower round-ops-max to 261123"},
        {{"--engine", "cache", "--value-bytes", "1020", "--round-ops-max", "128K",
          "--resp-arguments-max", "128K"},
         "output-bytes-max 67108864 is smaller than the longest reply to an MGET of "
         "resp-arguments-max 131072: raise it to "},
        {{"--engine", "cuckoo", "--capacity", "1", "--max-load", "0.3"},
         "a cuckoo table of 3 slots holds no key at a load of 0.3: raise the capacity"},
        {{"--engine", "cuckoo", "--hash-functions", "4"}, "hash-functions: '4' is not one of 2 3"},
        {{"--engine", "cuckoo", "--hash-functions", "2"},
         "a cuckoo table of 2 functions holds a load of at most 0.45, not 0.85"},
        {{"--engine", "cache", "--value-bytes", "10"},
         "value-bytes 10 is not a multiple of 4: 12 would be"},
        {{"--engine", "cache", "--value-bytes", "1024"},
         "value-bytes 1024 is too many: strings have at most 1020, for their length takes 4 more"},
        {{"--engine", "cache", "--value-bytes", "1028"},
         "value-bytes 1028 is too many: strings have at most 1020, for their length takes 4 more"},
    };
    expect_refusals(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(config_engine, rows_that_are_refused)
{
    static const struct refusal rows[] = {
        {{"--value-bytes", "4100"}, "value-bytes: '4100' is not a whole number from 0 to 4096"},
        {{"--value-bytes", "4096", "--value-type", "string"},
         "value-bytes 4096 is too many: strings have at most 4092, for their length takes 4 more "
         "(value-type bytes has 4096)"},
        {{"--value-bytes", "12", "--value-type", "u64"},
         "value-bytes 12 is not a multiple of the 8 bytes of a u64"},
        {{"--value-bytes", "20", "--value-type", "i64"},
         "value-bytes 20 is not a multiple of the 8 bytes of a i64"},
        {{"--value-type", "f32"}, "value-type needs rows"},
        {{"--rows-max", "9"}, "rows-max needs rows"},
        {{"--rows-in", "host"}, "rows-in needs rows"},
        {{"--value-bytes", "64", "--rows-in", "both"},
         "rows-in: 'both' is not one of gpu host gpu+host"},
        {{"--rows-gpu-bytes", "1G"}, "rows-gpu-bytes needs rows"},
        {{"--engine", "cache", "--rows-in", "gpu+host"}, "gpu+host is for rows"},
        {{"--value-bytes", "64", "--rows-gpu-bytes", "1G"}, "rows-in gpu+host"},
    };
    expect_refusals(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Texts need 64 bits and no cluster: without resp-keys, the form is the widest that there is. */
Test(config_engine, default_form_of_keys)
{
    static const struct {
        const char *flags[6];
        enum sw_resp_keys form;
    } rows[] = {{{NULL}, SW_RESP_KEYS_AUTO},
                {{"--key-bits", "64", "--engine", "cache"}, SW_RESP_KEYS_AUTO},
                {{"--key-bits", "32"}, SW_RESP_KEYS_DECIMAL},
                {{"--cluster-config", "c.json"}, SW_RESP_KEYS_DECIMAL},
                {{"--cluster-state", "c.json"}, SW_RESP_KEYS_DECIMAL},
                {{"--cluster-config", "c.json", "--resp-keys", "raw"}, SW_RESP_KEYS_RAW},
                {{"--key-bits", "32", "--resp-keys", "raw"}, SW_RESP_KEYS_RAW},
                {{"--resp-keys", "auto"}, SW_RESP_KEYS_AUTO},
                {{"--resp-keys", "decimal"}, SW_RESP_KEYS_DECIMAL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        cr_assert_eq(load(&config, &output, rows[i].flags), SW_CONFIG_RUN, "row %zu: %s", i,
                     output.err);
        cr_expect_eq(config.resp_keys, rows[i].form, "row %zu", i);
    }
}

Test(config_engine, forms_of_keys_that_are_refused)
{
    static const struct {
        const char *flags[6];
        const char *error;
    } rows[] = {
        {{"--key-bits", "32", "--resp-keys", "auto"},
         "resp-keys auto needs key-bits 64, because hashes of 32 bits collide too often; "
         "choose --key-bits 64, or --resp-keys decimal or raw"},
        {{"--resp-keys", "hash", "--key-bits", "32"}, "resp-keys hash needs key-bits 64"},
        {{"--value-bytes", "64", "--resp-key-text-bytes", "30"}, "add --resp-keys hash"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        cr_expect_eq(load(&config, &output, rows[i].flags), SW_CONFIG_ERROR, "row %zu", i);
        cr_expect_not_null(strstr(output.err, rows[i].error), "row %zu: %s", i, output.err);
    }
}

/* An option in a file counts as given, even with its default value. */
Test(config_engine, a_file_chooses_the_form_of_keys)
{
    char path[] = "/tmp/sherwood-keys-XXXXXX";
    static const char lines[] = "[table]\nresp-keys = auto\n";
    struct sw_config config;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, lines, sizeof(lines) - 1), (ssize_t)sizeof(lines) - 1);
    close(fd);
    cr_expect_eq(load(&config, &output, FLAGS("--config", path)), SW_CONFIG_RUN);
    cr_expect_eq(config.resp_keys, SW_RESP_KEYS_AUTO);
    cr_expect_eq(load(&config, &output, FLAGS("--config", path, "--key-bits", "32")),
                 SW_CONFIG_ERROR);
    cr_expect_not_null(strstr(output.err, "resp-keys auto needs key-bits 64"), "%s", output.err);
    unlink(path);
}
