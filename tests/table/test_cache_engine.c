/* SPDX-License-Identifier: MIT
 *
 * test_cache_engine.c - the cache behind table.h: newcomers that a full cache turns away, what it
 * refuses, what it reports. test_cache_scores.c compares it with the model.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/cache/cache_backend.h"
#include "tests/support/cache_config.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"

TestSuite(cache_engine, .timeout = 120);

/* --- newcomers that are turned away ----------------------------------------------------------- */

#define OFFERED 200U /* keys of a batch */

struct offer {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct io_memory io;
    uint8_t *keys;
    void *values;
    uint64_t *found, *not_admitted;
};

static void open_offer(struct offer *offer, const struct sw_table_config *config)
{
    memset(offer, 0, sizeof(*offer));
    offer->table = offer->io.table = must_create(config);
    offer->queue = must_queue(offer->table);
    offer->info = table_info(offer->table);
    offer->keys = io_array(&offer->io, (size_t)OFFERED * offer->info.key_bytes);
    offer->values = io_array(&offer->io, (size_t)OFFERED * offer->info.value_bytes);
    offer->found = io_array(&offer->io, (OFFERED + 63) / 64 * sizeof(uint64_t));
    offer->not_admitted = io_array(&offer->io, (OFFERED + 63) / 64 * sizeof(uint64_t));
}

static void close_offer(struct offer *offer)
{
    io_free(&offer->io);
    sw_queue_destroy(offer->queue);
    sw_table_destroy(offer->table);
}

/* Runs `op` for keys [first, first + OFFERED), with values of zeros. */
static struct sw_counters run_keys(struct offer *offer, enum sw_op op, uint64_t first)
{
    struct sw_batch batch = {.op = op,
                             .count = OFFERED,
                             .keys = offer->keys,
                             .values = offer->values,
                             .found = offer->found,
                             .not_admitted = offer->not_admitted};
    for (uint64_t i = 0; i < OFFERED; i++) {
        const uint64_t key = first + i;
        memcpy(offer->keys + i * offer->info.key_bytes, &key, offer->info.key_bytes);
    }
    must_run(offer->queue, &batch);
    return batch.counters;
}

/* Runs `op` for keys that are absent, and expects that all are turned away, or none. */
static void offer_newcomers(struct offer *offer, enum sw_op op, uint64_t first, bool turned_away)
{
    const struct sw_counters counters = run_keys(offer, op, first);
    cr_assert_eq(counters.not_admitted, turned_away ? OFFERED : 0, "op %d", (int)op);
    for (uint32_t i = 0; i < OFFERED; i++) {
        cr_assert_eq(offer->found[i / 64] >> i % 64 & 1, 0, "op %d, key %u", (int)op, i);
        cr_assert_eq(offer->not_admitted[i / 64] >> i % 64 & 1, turned_away, "op %d, key %u",
                     (int)op, i);
    }
}

/* Fills a cache, uses its entries twice more, and offers newcomers. Keys of a batch are distinct,
 * so the order of operations does not matter. */
static void turn_away(const struct sw_table_config *config)
{
    struct offer offer;
    uint64_t next = 1;
    open_offer(&offer, config);
    const uint64_t capacity = offer.info.capacity_slots;
    for (uint64_t held = 0; held < capacity; next += OFFERED) {
        cr_assert_lt(next, 64 * capacity, "%llu entries in %llu slots", (unsigned long long)held,
                     (unsigned long long)capacity);
        run_keys(&offer, SW_SET_ABSENT, next);
        held = table_stats(offer.table).occupied;
    }
    for (int times = 0; times < 2; times++) {
        for (uint64_t key = 1; key < next; key += OFFERED) {
            run_keys(&offer, SW_GET, key);
        }
    }
    offer_newcomers(&offer, SW_SET_ABSENT, next, true);
    offer_newcomers(&offer, SW_SET, next, true);
    offer_newcomers(&offer, SW_GET, next, false);
    offer_newcomers(&offer, SW_SET_PRESENT, next, false);
    close_offer(&offer);
}

Test(cache_engine, newcomers_that_are_turned_away)
{
    const struct sw_table_config narrow = cache_config(64, 20, SW_CACHE_MEMORY, SW_CACHE_LFU);
    const struct sw_table_config wide =
        cache_config(128, 20, SW_CACHE_THROUGHPUT, SW_CACHE_EPOCH_LFU);
    turn_away(&narrow);
    turn_away(&wide);
}

/* --- what it refuses and reports -------------------------------------------------------------- */

Test(cache_engine, refuses)
{
    struct sw_table_config config = cache_config(128, 64, SW_CACHE_MEMORY, SW_CACHE_LRU);
    config.value_bytes = 1028;
    must_refuse(&config, SW_E_INVALID, "4 to 1024");
    config.value_bytes = 64;
    config.cache_mode = (enum sw_cache_mode)(SW_CACHE_THROUGHPUT + 1);
    must_refuse(&config, SW_E_INVALID, "memory or throughput");
    config.cache_mode = SW_CACHE_MEMORY;
    config.cache_policy = (enum sw_cache_policy)(SW_CACHE_CUSTOM + 1);
    must_refuse(&config, SW_E_INVALID, "custom");
    config.cache_policy = SW_CACHE_LRU;
    config.capacity_slots = 0;
    must_refuse(&config, SW_E_INVALID, "slots");
    config.capacity_slots = 1ULL << 45;
    must_refuse(&config, SW_E_NOMEM, "memory");
}

Test(cache_engine, tells_what_it_is)
{
    struct sw_table_config config = cache_config(128, 64, SW_CACHE_MEMORY, SW_CACHE_LFU);
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    struct io_memory io = {.table = table};
    uint64_t *words = io_array(&io, 80);
    const struct sw_table_info info = table_info(table);
    cr_assert_str_eq(info.engine_name, "cache");
    cr_assert_eq(info.operations, SW_CACHE_ALL_OPERATIONS);
    cr_assert_eq(info.batch_kinds,
                 (SW_CACHE_ALL_KINDS & ~(1U << SW_BATCH_EPOCH)) | 1U << SW_BATCH_RESIZE);
    cr_assert_eq(info.cache_policy, SW_CACHE_LFU);
    cr_assert_eq(info.value_bytes, 64);
    cr_assert_eq(info.bucket_slots, 128);
    cr_assert_eq(info.max_load, 1.0);
    cr_assert_eq(info.stash_slots, 0);
    cr_assert_eq(info.capacity_slots, 768);
    struct sw_batch batch = {.op = SW_SUM, .count = 1, .keys = words, .values = words + 2};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_E_UNSUPPORTED);
    struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = 1024};
    cr_assert_eq(sw_batch_run(queue, &resize), SW_E_INVALID);
    io_free(&io);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}
