/* SPDX-License-Identifier: MIT
 *
 * test_capacity.c - how many slots a table has and may grow to, where the options are auto.
 */
#include <stdlib.h>

#include "server/observe/gpu.h"
#include "table/table.h"
#include "tests/server/config_fixture.h"

#define GIB (1ULL << 30)

static struct output output;

/* The capacity and max-capacity of these flags in `memory`. */
static struct sw_config fitted(struct sw_config_memory memory, const char *const flags[])
{
    struct sw_config config;
    cr_assert_eq(load(&config, &output, flags), SW_CONFIG_RUN, "%s", output.err);
    config.capacity =
        (config.derived & SW_DERIVED_CAPACITY) != 0 ? SW_CONFIG_AUTO : config.capacity;
    config.max_capacity =
        (config.derived & SW_DERIVED_MAX_CAPACITY) != 0 ? SW_CONFIG_AUTO : config.max_capacity;
    sw_config_fit_table(&config, &memory);
    return config;
}
#define IN(bytes) ((struct sw_config_memory){bytes, bytes, bytes, bytes})

static uint64_t bytes_at(const struct sw_config *config, uint64_t slots)
{
    struct sw_table_config table;
    sw_config_table(config, &table);
    table.capacity_slots = slots;
    table.max_capacity_slots = 0;
    return sw_table_config_bytes(&table);
}

/* For every kind of values the first slots and values, and growth, keep their bounds. Growth uses
 * its bound: twice the slots would exceed it. */
Test(capacity, follows_the_bytes_of_values)
{
    static const char *const kinds[][ARGUMENTS_MAX] = {
        {"--key-bits", "64"},
        {"--key-bits", "32"},
        {"--value-bytes", "4"},
        {"--value-bytes", "256"},
        {"--value-bytes", "512", "--value-type", "f32"},
        {"--value-bytes", "4096"},
        {"--value-bytes", "60", "--value-type", "string", "--resp-keys", "hash",
         "--resp-key-text-bytes", "30"},
        {"--engine", "cache"},
        {"--engine", "cache", "--value-bytes", "256"},
        {"--engine", "cuckoo"},
    };
    const uint64_t memories[] = {GIB, 8 * GIB, 64 * GIB, 1024 * GIB};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (size_t m = 0; m < sizeof(memories) / sizeof(memories[0]); m++) {
            const struct sw_config config = fitted(IN(memories[m]), kinds[i]);
            const uint64_t first = bytes_at(&config, config.capacity);
            cr_assert_leq(config.capacity, 16 << 20);
            cr_assert_geq(config.capacity, 64 << 10);
            cr_assert_leq(first, (640ULL << 20) + (40 << 20), "kind %zu takes %llu", i,
                          (unsigned long long)first);
            cr_assert_leq(first, memories[m] / 4 + (40 << 20), "kind %zu of %llu", i,
                          (unsigned long long)memories[m]);
            if (config.engine != SW_ENGINE_ROBIN_HOOD) {
                cr_assert_eq(config.max_capacity, 0);
                continue;
            }
            cr_assert_gt(config.max_capacity, config.capacity);
            cr_assert_eq(config.max_capacity % config.capacity, 0);
            cr_assert_leq(bytes_at(&config, config.max_capacity), memories[m] / 2);
            cr_assert(bytes_at(&config, 2 * config.max_capacity) * 3 / 2 > memories[m] / 2 ||
                          config.max_capacity >= 1ULL << 30,
                      "kind %zu stops at %llu of %llu", i, (unsigned long long)config.max_capacity,
                      (unsigned long long)memories[m]);
        }
    }
}

/* An explicit value holds, and the other one follows it. */
Test(capacity, explicit_values_hold)
{
    struct sw_config config = fitted(IN(8 * GIB), FLAGS("--capacity", "1000"));
    cr_assert_eq(config.capacity, 1000);
    cr_assert_eq(config.max_capacity, 1000ULL << 17, "%llu",
                 (unsigned long long)config.max_capacity);
    config = fitted(IN(8 * GIB), FLAGS("--max-capacity", "0"));
    cr_assert_eq(config.max_capacity, 0);
    cr_assert_eq(config.capacity, 16 << 20);
    config = fitted(IN(8 * GIB), FLAGS("--capacity", "2G"));
    cr_assert_eq(config.max_capacity, 0, "there is no memory to grow into");
    config = fitted(IN(8 * GIB), FLAGS("--max-capacity", "1M"));
    cr_assert_eq(config.capacity, 1 << 20);
    config = fitted(IN(8 * GIB), FLAGS("--max-probe", "64"));
    cr_assert_eq(config.max_capacity, 0, "a probe cap that is met often");
    config = fitted(IN(8 * GIB), FLAGS("--value-bytes", "4096", "--rows-max", "1K"));
    cr_assert_eq(config.max_capacity, 128ULL << 20, "few rows leave memory for slots: %llu",
                 (unsigned long long)config.max_capacity);
}

/* Slots on a device, rows in host memory; a device that does not report its memory. */
Test(capacity, devices)
{
    const struct sw_config_memory apart = {64 * GIB, 8 * GIB, 64 * GIB, 8 * GIB};
    struct sw_config config = fitted(apart, FLAGS("--value-bytes", "64"));
    cr_assert_eq(config.max_capacity, 128ULL << 20, "%llu",
                 (unsigned long long)config.max_capacity);
    const struct sw_config_memory silent = {64 * GIB, 0, 0, 0};
    config = fitted(silent, FLAGS("--value-bytes", "64"));
    cr_assert_eq(config.max_capacity, 0);
    cr_assert_eq(config.capacity, 8 << 20);
    cr_assert_eq(sw_gpu_memory_least("libno-such-library.so.1"), SW_GPU_UNKNOWN);
}

/* The forms in which the two are shown: what is in effect, and what was asked for. */
Test(capacity, shown)
{
    struct sw_config config;
    const struct sw_option *option = sw_option_find("max-capacity");
    char value[SW_OPTION_VALUE_BYTES];
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "4M")), SW_CONFIG_RUN);
    sw_option_format_asked(option, &config, value, sizeof(value));
    cr_assert_str_eq(value, "auto");
    sw_option_format(option, &config, false, value, sizeof(value));
    cr_assert_gt(strtoull(value, NULL, 10), 4 << 20);
    sw_option_format_asked(sw_option_find("capacity"), &config, value, sizeof(value));
    cr_assert_str_eq(value, "4M");
}

Test(capacity, max_capacity)
{
    struct sw_config config;
    struct sw_table_config table;
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "1K", "--max-capacity", "0")),
                 SW_CONFIG_RUN);
    sw_config_table(&config, &table);
    cr_assert_eq(table.max_capacity_slots, 0, "0: it does not grow");
    cr_assert_eq(load(&config, &output, FLAGS("--max-capacity", "2M")), SW_CONFIG_RUN, "%s",
                 output.err);
    cr_assert_eq(config.capacity, 2 << 20, "a capacity that was not asked for is no larger");
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "1K", "--max-capacity", "1K")),
                 SW_CONFIG_RUN, "%s", output.err);
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "1K", "--max-capacity", "1T")),
                 SW_CONFIG_RUN, "%s", output.err);
    sw_config_table(&config, &table);
    cr_assert_eq(table.capacity_slots, 1024);
    cr_assert_eq(table.max_capacity_slots, 1ULL << 40);
    cr_assert_eq(load(&config, &output,
                      FLAGS("--capacity", "1K", "--max-capacity", "64K", "--check-config")),
                 SW_CONFIG_EXIT);
    cr_assert_not_null(strstr(output.out, "\nmax-capacity = 64K\n"), "%s", output.out);
    cr_assert_not_null(strstr(output.out, "\n# at max-capacity: "), "%s", output.out);
    cr_assert_null(strstr(output.out, "cannot grow"), "%s", output.out);
}

/* More than any machine has: allowed, because it may never be needed, but with a warning. */
Test(capacity, max_capacity_beyond_the_memory)
{
    struct sw_config config;
    uint64_t bytes = 1, installed = 0;
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "1K", "--max-capacity", "0")),
                 SW_CONFIG_RUN);
    cr_assert_not(sw_config_outgrows_memory(&config, &bytes, &installed));
    cr_assert_eq(bytes, 0);
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "1K", "--max-capacity", "64K")),
                 SW_CONFIG_RUN);
    cr_assert_not(sw_config_outgrows_memory(&config, &bytes, &installed));
    cr_assert_gt(bytes, 64 * 1024 * 16);
    cr_assert_eq(load(&config, &output, FLAGS("--capacity", "1K", "--max-capacity", "1T")),
                 SW_CONFIG_RUN);
    cr_assert(sw_config_outgrows_memory(&config, &bytes, &installed));
    cr_assert_gt(bytes, 1ULL << 44);
    cr_assert_eq(
        load(&config, &output, FLAGS("--capacity", "1K", "--max-capacity", "1T", "--check-config")),
        SW_CONFIG_EXIT);
    cr_assert_not_null(
        strstr(output.out, "\n# in host memory it cannot grow so far: this machine has "), "%s",
        output.out);
    cr_assert_eq(load(&config, &output,
                      FLAGS("--max-capacity", "1T", "--backend", "cuda", "--check-config")),
                 SW_CONFIG_EXIT);
    cr_assert_null(strstr(output.out, "cannot grow"), "the device's memory is not known here");
}
