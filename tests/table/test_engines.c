/* SPDX-License-Identifier: MIT
 *
 * test_engines.c - configurations that do not suit an engine, and the engines of this build.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/config.h"
#include "table/engine.h"
#include "tests/support/must.h"

TestSuite(engines, .timeout = 60);

#define ENGINES 3

static struct sw_table_config config_of(int engine)
{
    struct sw_table_config config = cpu_config(1 << 12, 256);
    config.engine = (enum sw_engine)engine;
    return config;
}

static void refused(const struct sw_table_config *config, const char *word)
{
    char reason[512] = "untouched";
    struct sw_table *table = (struct sw_table *)reason;
    cr_assert_eq(sw_table_config_check(config, reason, sizeof(reason)), SW_E_INVALID,
                 "engine %d: %s", (int)config->engine, word);
    cr_assert_not_null(strstr(reason, word), "\"%s\" says nothing of \"%s\"", reason, word);
    cr_assert_eq(sw_table_config_check(config, NULL, 0), SW_E_INVALID);
    cr_assert_eq(sw_table_create(config, &table, reason, sizeof(reason)), SW_E_INVALID);
    cr_assert_null(table);
    cr_assert_not_null(strstr(reason, word), "\"%s\" says nothing of \"%s\"", reason, word);
}

#define SPOIL(name, code)                            \
    static void name(struct sw_table_config *config) \
    {                                                \
        code;                                        \
    }
SPOIL(grows, config->max_capacity_slots = config->capacity_slots + 1)
SPOIL(max_probe, config->max_probe = 8)
SPOIL(bulk, config->tuning.bulk = SW_CHOICE_NEVER)
SPOIL(hints, config->tuning.hints = SW_CHOICE_ALWAYS)
SPOIL(functions, config->hash_functions = 3)
SPOIL(bytes, config->value_bytes = 64)
SPOIL(mode, config->cache_mode = SW_CACHE_THROUGHPUT)
SPOIL(policy, config->cache_policy = SW_CACHE_LFU)

#define ROBIN_HOOD (1U << SW_ENGINE_ROBIN_HOOD)
#define CUCKOO (1U << SW_ENGINE_CUCKOO)
#define CACHE (1U << SW_ENGINE_CACHE)

Test(engines, fields_of_other_engines)
{
    const struct {
        void (*spoil)(struct sw_table_config *);
        uint32_t owners;
        const char *word;
    } fields[] = {
        {grows, ROBIN_HOOD | CACHE, "maximum capacity"},
        {max_probe, ROBIN_HOOD | CUCKOO, "max_probe"},
        {bulk, ROBIN_HOOD, "bulk"},
        {hints, ROBIN_HOOD, "hints"},
        {functions, CUCKOO, "hash functions"},
        {bytes, ROBIN_HOOD | CACHE, "value_bytes"},
        {mode, CACHE, "cache mode"},
        {policy, CACHE, "cache policy"},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        for (int engine = 0; engine < ENGINES; engine++) {
            struct sw_table_config config = config_of(engine);
            cr_assert_eq(sw_table_config_check(&config, NULL, 0), SW_OK);
            fields[i].spoil(&config);
            if ((fields[i].owners >> engine & 1) != 0) {
                cr_assert_eq(sw_table_config_check(&config, NULL, 0), SW_OK, "%s, engine %d",
                             fields[i].word, engine);
            } else {
                refused(&config, fields[i].word);
            }
        }
    }
}

Test(engines, wrong_values)
{
    struct sw_table_config config = config_of(SW_ENGINE_CUCKOO);
    config.hash_functions = 1;
    refused(&config, "2 or 3");
    config.hash_functions = 4;
    refused(&config, "2 or 3");

    const uint32_t wrong_bytes[] = {1, 2, 3, 5, 62, 1023, 1028, UINT32_MAX - 3};
    for (size_t i = 0; i < sizeof(wrong_bytes) / sizeof(wrong_bytes[0]); i++) {
        config = config_of(SW_ENGINE_CACHE);
        config.value_bytes = wrong_bytes[i];
        refused(&config, "4 to 1024");
    }
    config = config_of(SW_ENGINE_CACHE);
    config.cache_mode = (enum sw_cache_mode)2;
    refused(&config, "memory or throughput");
    config = config_of(SW_ENGINE_CACHE);
    config.cache_policy = (enum sw_cache_policy)5;
    refused(&config, "custom");
    for (int engine = 0; engine < ENGINES; engine++) {
        config = config_of(engine);
        config.batch_ops_max = (1U << 28) + 1;
        refused(&config, "268435456");
        config = config_of(engine);
        config.slot_bits = 96;
        refused(&config, "64 or 128");
        config = config_of(engine);
        config.capacity_slots = (1ULL << 56) + 1;
        refused(&config, "2^56");
        config = config_of(engine);
        config.backend = (enum sw_backend_kind)3;
        refused(&config, "backend");
    }
    config = config_of(ENGINES);
    refused(&config, "robin_hood, cuckoo or cache");
    config.engine = (enum sw_engine)(1U << 30);
    refused(&config, "robin_hood, cuckoo or cache");
}

Test(engines, size_of_values)
{
    struct sw_table_config config = config_of(SW_ENGINE_CACHE);
    cr_assert_eq(sw_config_value_bytes(&config), 8);
    config.slot_bits = 64;
    cr_assert_eq(sw_config_value_bytes(&config), 4);
    for (config.value_bytes = 4; config.value_bytes <= 1024; config.value_bytes += 4) {
        cr_assert_eq(sw_table_config_check(&config, NULL, 0), SW_OK);
        cr_assert_eq(sw_config_value_bytes(&config), config.value_bytes);
    }
}

/* Every engine says what it can. */
Test(engines, of_this_build)
{
    static const char *const names[ENGINES] = {"robin_hood", "cuckoo", "cache"};
    for (int engine = 0; engine < ENGINES; engine++) {
        struct sw_table_config config = config_of(engine);
        const struct sw_engine_parts *parts;
        struct sw_table *table;
        char reason[512] = "";
        int found = sw_engine_find(&config, &parts, reason, sizeof(reason));
        int status = sw_table_create(&config, &table, reason, sizeof(reason));
        cr_assert_eq(found, status, "%s: %s", names[engine], reason);
        cr_assert_eq(status, SW_OK, "%s: %s", names[engine], reason);
        cr_assert_str_eq(parts->name, names[engine]);
        const struct sw_table_info info = table_info(table);
        cr_assert_eq(info.engine, config.engine);
        cr_assert_str_eq(info.engine_name, names[engine]);
        cr_assert_str_eq(info.backend_name, "cpu");
        cr_assert_eq(info.operations, parts->cpu->operations);
        cr_assert_eq(info.operations >> SW_GET & 1, 1);
        cr_assert_lt(info.operations, SW_OPS_ONE(SW_OP_END));
        cr_assert_eq((info.operations >> SW_PEEK & 1) != 0, config.engine == SW_ENGINE_CACHE);
        cr_assert_eq(info.batch_kinds, parts->cpu->batch_kinds & ~(1U << SW_BATCH_EPOCH));
        cr_assert_eq(info.batch_kinds >> SW_BATCH_OPERATIONS & 1, 1);
        cr_assert_lt(info.batch_kinds, 1U << SW_BATCH_KIND_COUNT);
        cr_assert_eq(info.value_bytes, 8);
        cr_assert_eq(info.capacity_slots, info.buckets * info.bucket_slots);
        cr_assert_geq(info.capacity_slots, config.capacity_slots);
        cr_assert_geq(info.max_capacity_slots, info.capacity_slots);
        sw_table_destroy(table);
    }
}

/* The bytes that an engine reports for its slots are the bytes that a table reserves, except the
 * scratch, which does not depend on the capacity. */
Test(engines, bytes)
{
    for (int engine = 0; engine < ENGINES; engine++) {
        uint64_t said[2], reserved[2];
        for (int i = 0; i < 2; i++) {
            struct sw_table_config config = config_of(engine);
            char reason[512] = "";
            config.capacity_slots <<= 4 * i;
            cr_assert_eq(sw_table_config_check(&config, reason, sizeof(reason)), SW_OK, "%s",
                         reason);
            struct sw_table *table = must_create(&config);
            const struct sw_table_info info = table_info(table);
            sw_table_destroy(table);
            said[i] = sw_table_config_bytes(&config);
            reserved[i] = info.bytes_reserved;
            cr_assert_geq(said[i], info.capacity_slots * config.slot_bits / 8);
            cr_assert_leq(said[i], reserved[i]);
        }
        cr_assert_eq(reserved[1] - reserved[0], said[1] - said[0], "engine %d", engine);
    }
}

/* The check without a table refuses what sw_table_create refuses, with the same sentence. */
Test(engines, check_refuses_as_create_does)
{
    for (int engine = 0; engine < ENGINES; engine++) {
        struct sw_table_config config = config_of(engine);
        struct sw_table *table;
        char said[512] = "";
        char reason[512] = "";
        config.slot_bits = 96;
        cr_assert_eq(sw_table_config_check(&config, said, sizeof(said)), SW_E_INVALID);
        cr_assert_eq(sw_table_create(&config, &table, reason, sizeof(reason)), SW_E_INVALID);
        cr_assert_str_eq(said, reason);
        cr_assert_neq(said[0], '\0');
        cr_assert_eq(sw_table_config_check(&config, NULL, 0), SW_E_INVALID);
        cr_assert_eq(sw_table_config_bytes(&config), 0);
    }
}

Test(engines, robin_hood_does_everything)
{
    struct sw_table_config config = config_of(SW_ENGINE_ROBIN_HOOD);
    struct sw_table_info info;
    struct sw_table *table = must_create(&config);
    sw_table_info(table, &info);
    const uint64_t expires = SW_OPS_EXPIRE, others = SW_OPS_INTEGERS | SW_OPS_PAIR;
    cr_assert_eq(info.operations, others | expires);
    cr_assert_eq(info.batch_kinds, 15 | 1U << SW_BATCH_SWEEP);
    sw_table_destroy(table);
    config.stash_slots = 0; /* what is handed back would leave its time */
    table = must_create(&config);
    sw_table_info(table, &info);
    cr_assert_eq(info.operations, others);
    cr_assert_eq(info.batch_kinds, 15);
    sw_table_destroy(table);
}
