/* SPDX-License-Identifier: MIT
 *
 * test_dispatch.c - what table.c makes of an engine: which backend it takes, what it passes on, and
 * how it counts. The engine is a fake one: this file's sw_engine_find stands before the library's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/engine.h"
#include "table/table.h"
#include "tests/support/must.h"

TestSuite(dispatch, .timeout = 60);

/* --- the fake engine: takes GET, SET and CLEAR; evicts one entry a batch, hands one back -------
 */

static int fake_open(const struct sw_table_config *config, void **out, char *reason,
                     size_t reason_size)
{
    cr_assert_eq(config->value_bytes, 40);
    snprintf(reason, reason_size, "a fake");
    *out = malloc(1); /* a leak checker sees a table that is not closed */
    return SW_OK;
}

static int no_device(const struct sw_table_config *config, void **out, char *reason,
                     size_t reason_size)
{
    (void)config;
    *out = NULL;
    snprintf(reason, reason_size, "asleep");
    return SW_E_NODEVICE;
}

static int no_memory(const struct sw_table_config *config, void **out, char *reason,
                     size_t reason_size)
{
    (void)config;
    *out = NULL;
    snprintf(reason, reason_size, "too large");
    return SW_E_NOMEM;
}

static void fake_close(void *table)
{
    free(table);
}

static void fake_facts(void *table, struct sw_backend_facts *facts)
{
    (void)table;
    facts->bucket_slots = 128;
    facts->buckets = 3;
    facts->capacity_slots = 384;
    facts->max_capacity_slots = 384;
    facts->occupied_max = 384;
    facts->bytes_reserved = 12345;
}

static void *fake_io_alloc(void *table, size_t bytes)
{
    (void)table;
    return malloc(bytes);
}

static void fake_io_free(void *table, void *memory, size_t bytes)
{
    (void)table;
    (void)bytes;
    free(memory);
}

static int fake_queue_open(void *table, void **out)
{
    *out = table;
    return SW_OK;
}

static void fake_queue_close(void *queue)
{
    (void)queue;
}

static int fake_submit(void *queue, struct sw_batch *batch)
{
    (void)queue;
    batch->counters.inserted = 10;
    batch->counters.deleted = 2;
    batch->counters.evicted = 1;
    batch->counters.not_admitted = 5;
    batch->leftover_count = 1;
    return SW_OK;
}

static int fake_poll(void *queue, struct sw_batch *batch)
{
    (void)queue;
    return batch->status;
}

static int fake_check(void *table, char *violation, size_t violation_size)
{
    (void)table;
    snprintf(violation, violation_size, "all wrong");
    return SW_E_INVALID;
}

#define FAKE(kind, ...)                                                                          \
    {                                                                                            \
        .name = (kind), .operations = SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET),                   \
        .batch_kinds = 1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR, .open = fake_open,      \
        .close = fake_close, .facts = fake_facts, .io_alloc = fake_io_alloc,                     \
        .io_free = fake_io_free, .queue_open = fake_queue_open, .queue_close = fake_queue_close, \
        .submit = fake_submit, .poll = fake_poll, __VA_ARGS__                                    \
    }
static const struct sw_backend plain = FAKE("cpu", .check = NULL);
static const struct sw_backend with_check =
    FAKE("cpu", .check = fake_check, .leftovers_count = true);
static const struct sw_backend cuda_plain = FAKE("cuda", .check = NULL);
static const struct sw_backend cuda_asleep = {.name = "cuda", .open = no_device};
static const struct sw_backend cuda_small = {.name = "cuda", .open = no_memory};

static const struct sw_backend *cuda_present(void)
{
    return &cuda_plain;
}
static const struct sw_backend *cuda_without_device(void)
{
    return &cuda_asleep;
}
static const struct sw_backend *cuda_without_memory(void)
{
    return &cuda_small;
}
static const struct sw_backend *cuda_absent(void)
{
    return NULL;
}

/* By config.seed, which the fake has no other use for. */
enum { NO_CUDA, PRESENT, ASLEEP, SMALL, CHECKED, INVALID };
static const struct sw_engine_parts parts_by_seed[] = {
    {.name = "cache", .cpu = &plain, .cuda = cuda_absent},
    {.name = "cache", .cpu = &plain, .cuda = cuda_present},
    {.name = "cache", .cpu = &plain, .cuda = cuda_without_device},
    {.name = "cache", .cpu = &plain, .cuda = cuda_without_memory},
    {.name = "cache", .cpu = &with_check, .cuda = cuda_absent},
};

int sw_engine_find(const struct sw_table_config *config, const struct sw_engine_parts **parts,
                   char *reason, size_t reason_size)
{
    *parts = NULL;
    if (config->seed == INVALID) {
        snprintf(reason, reason_size, "no fake like that");
        return SW_E_INVALID;
    }
    *parts = &parts_by_seed[config->seed];
    return SW_OK;
}

static int create(uint64_t seed, enum sw_backend_kind kind, struct sw_table **table, char *reason,
                  size_t reason_size)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.engine = SW_ENGINE_CACHE;
    config.backend = kind;
    config.value_bytes = 40;
    config.batch_ops_max = 100;
    config.stash_slots = 0; /* which asks for room for left-overs of Robin Hood alone */
    config.seed = seed;
    return sw_table_create(&config, table, reason, reason_size);
}

/* --- which backend ---------------------------------------------------------------------------- */

static void takes(uint64_t seed, enum sw_backend_kind wanted, enum sw_backend_kind expected,
                  const char *why)
{
    struct sw_table *table;
    char reason[512] = "";
    cr_assert_eq(create(seed, wanted, &table, reason, sizeof(reason)), SW_OK, "%s", reason);
    const struct sw_table_info info = table_info(table);
    cr_assert_eq(info.backend, expected);
    cr_assert_str_eq(info.backend_name, expected == SW_BACKEND_CPU ? "cpu" : "cuda");
    cr_assert_str_eq(info.backend_reason, why);
    sw_table_destroy(table);
}

static void fails(uint64_t seed, enum sw_backend_kind wanted, int expected, const char *word)
{
    struct sw_table *table = (struct sw_table *)&seed;
    char reason[512] = "";
    cr_assert_eq(create(seed, wanted, &table, reason, sizeof(reason)), expected, "%s", reason);
    cr_assert_null(table);
    cr_assert_not_null(strstr(reason, word), "\"%s\" says nothing of \"%s\"", reason, word);
}

Test(dispatch, choice_of_the_backend)
{
    for (uint64_t seed = NO_CUDA; seed <= SMALL; seed++) {
        takes(seed, SW_BACKEND_CPU, SW_BACKEND_CPU, "chosen by configuration; a fake");
    }
    takes(NO_CUDA, SW_BACKEND_AUTO, SW_BACKEND_CPU, "this build has no CUDA backend; a fake");
    takes(PRESENT, SW_BACKEND_AUTO, SW_BACKEND_CUDA, "a fake");
    takes(PRESENT, SW_BACKEND_CUDA, SW_BACKEND_CUDA, "a fake");
    takes(ASLEEP, SW_BACKEND_AUTO, SW_BACKEND_CPU, "no CUDA device replied: asleep; a fake");
    fails(NO_CUDA, SW_BACKEND_CUDA, SW_E_NOTBUILT, "engine cache");
    fails(ASLEEP, SW_BACKEND_CUDA, SW_E_NODEVICE, "asleep");
    fails(SMALL, SW_BACKEND_CUDA, SW_E_NOMEM, "too large");
    fails(SMALL, SW_BACKEND_AUTO, SW_E_NOMEM, "too large");
    fails(INVALID, SW_BACKEND_CPU, SW_E_INVALID, "no fake like that");
}

Test(dispatch, info)
{
    struct sw_table *table;
    cr_assert_eq(create(NO_CUDA, SW_BACKEND_CPU, &table, NULL, 0), SW_OK);
    const struct sw_table_info info = table_info(table);
    cr_assert_eq(info.engine, SW_ENGINE_CACHE);
    cr_assert_str_eq(info.engine_name, "cache");
    cr_assert_eq(info.operations, SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET));
    cr_assert_eq(info.batch_kinds, 1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR);
    cr_assert_eq(info.key_bytes, 8);
    cr_assert_eq(info.value_bytes, 40);
    cr_assert_eq(info.bucket_slots, 128);
    cr_assert_eq(info.buckets, 3);
    cr_assert_eq(info.max_probe, 0);
    cr_assert_eq(info.capacity_slots, 384);
    cr_assert_eq(info.max_capacity_slots, 384);
    cr_assert_eq(info.occupied_max, 384);
    cr_assert_eq(info.bytes_reserved, 12345);
    sw_table_destroy(table);
}

/* --- batches ---------------------------------------------------------------------------------- */

static uint64_t keys[100];
static uint8_t values[100][40];
static uint8_t ops[100];

static int submit(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = sw_batch_submit(queue, batch);
    return status == SW_OK ? sw_batch_poll(queue, batch) : status;
}

Test(dispatch, operations_the_engine_lacks)
{
    struct sw_table *table;
    struct sw_queue *queue;
    uint32_t good = 0;
    cr_assert_eq(create(NO_CUDA, SW_BACKEND_CPU, &table, NULL, 0), SW_OK);
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    for (uint32_t op = 0; op < 10; op++) {
        bool has = op == SW_GET || op == SW_SET;
        struct sw_batch batch = {
            .op = (enum sw_op)op, .count = 100, .keys = keys, .values = values};
        cr_assert_eq(submit(queue, &batch), has ? SW_OK : SW_E_UNSUPPORTED, "op %u", op);
        memset(ops, SW_SET, sizeof(ops));
        ops[op * 9] = (uint8_t)op; /* one among others is enough */
        batch.ops = ops;
        cr_assert_eq(submit(queue, &batch), has ? SW_OK : SW_E_UNSUPPORTED, "ops %u", op);
        good += has ? 2 : 0;
    }
    ops[99] = SW_OP_END; /* a batch that contradicts the rules is that first of all */
    ops[98] = SW_DELETE;
    struct sw_batch wrong = {.ops = ops, .count = 100, .keys = keys, .values = values};
    cr_assert_eq(submit(queue, &wrong), SW_E_INVALID);
    for (uint32_t kind = SW_BATCH_CLEAR; kind <= SW_BATCH_RESIZE; kind++) {
        bool has = kind == SW_BATCH_CLEAR;
        struct sw_batch batch = {
            .kind = (enum sw_batch_kind)kind, .count = 1, .scan.keys = keys, .scan.values = values};
        cr_assert_eq(submit(queue, &batch), has ? SW_OK : SW_E_UNSUPPORTED, "kind %u", kind);
        good += has;
    }
    struct sw_batch unknown = {.kind = (enum sw_batch_kind)SW_BATCH_KIND_COUNT};
    cr_assert_eq(submit(queue, &unknown), SW_E_INVALID);
    unknown.kind = (enum sw_batch_kind)33; /* 33 mod 32 is a kind */
    cr_assert_eq(submit(queue, &unknown), SW_E_INVALID);
    const struct sw_table_stats stats = table_stats(table);
    cr_assert_eq(stats.batches, good);
    cr_assert_eq(stats.counters.inserted, 10 * (uint64_t)good, "what was refused reached no one");
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

static void counts(uint64_t seed, uint64_t expected)
{
    struct sw_table *table;
    struct sw_queue *queue;
    cr_assert_eq(create(seed, SW_BACKEND_CPU, &table, NULL, 0), SW_OK);
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    for (int i = 0; i < 3; i++) {
        struct sw_batch batch = {.op = SW_SET, .count = 100, .keys = keys, .values = values};
        cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    }
    const struct sw_table_stats stats = table_stats(table);
    cr_assert_eq(stats.counters.evicted, 3);
    cr_assert_eq(stats.counters.not_admitted, 15);
    cr_assert_eq(stats.occupied, expected);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

Test(dispatch, entries)
{
    counts(NO_CUDA, 3 * (10 - 2 - 1));
    counts(CHECKED, 3 * (10 - 2 - 1 - 1));
}

Test(dispatch, audit_and_copy)
{
    struct sw_table *table;
    char violation[64] = "untouched";
    cr_assert_eq(create(NO_CUDA, SW_BACKEND_CPU, &table, NULL, 0), SW_OK);
    cr_assert_eq(sw_table_check(table, violation, sizeof(violation)), SW_E_UNSUPPORTED);
    cr_assert_str_eq(violation, "");
    cr_assert_eq(sw_table_check(table, NULL, 0), SW_E_UNSUPPORTED);
    cr_assert_eq(sw_table_raw_bytes(table), 0);
    cr_assert_eq(sw_table_raw_copy(table, violation), SW_E_UNSUPPORTED);
    sw_table_destroy(table);

    cr_assert_eq(create(CHECKED, SW_BACKEND_CPU, &table, NULL, 0), SW_OK);
    cr_assert_eq(sw_table_check(table, violation, sizeof(violation)), SW_E_INVALID);
    cr_assert_str_eq(violation, "all wrong");
    cr_assert_eq(sw_table_check(table, NULL, 0), SW_E_INVALID);
    sw_table_destroy(table);
}
