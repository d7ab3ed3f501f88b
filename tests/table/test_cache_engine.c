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
#include "tests/support/random.h"

TestSuite(cache_engine, .timeout = 120);

/* --- newcomers that are turned away ----------------------------------------------------------- */

#define OFFERS 40U   /* batches in flight */
#define OFFERED 200U /* keys of a batch */
#define WORDS ((OFFERED + 63) / 64)

struct offer {
    struct sw_batch batch;
    uint8_t *ops, *keys;
    uint64_t *found, *not_admitted;
    bool held[OFFERED];            /* the key is present */
    uint64_t turned_away, updated; /* how many must be */
};

struct cache {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct io_memory io;
    struct random random;
    void *values;
    struct offer offers[OFFERS];
    uint64_t next, present; /* a key that was never offered, and one that is present */
};

static void open_cache(struct cache *cache, const struct sw_table_config *config)
{
    memset(cache, 0, sizeof(*cache));
    cache->table = cache->io.table = must_create(config);
    cache->queue = must_queue(cache->table);
    cache->info = table_info(cache->table);
    cache->random = random_of(config->slot_bits);
    cache->values = io_array(&cache->io, (size_t)OFFERED * cache->info.value_bytes);
    uint8_t *ops = io_array(&cache->io, OFFERS * OFFERED);
    uint8_t *keys = io_array(&cache->io, (size_t)OFFERS * OFFERED * cache->info.key_bytes);
    uint64_t *found = io_array(&cache->io, OFFERS * WORDS * sizeof(*found));
    uint64_t *not_admitted = io_array(&cache->io, OFFERS * WORDS * sizeof(*not_admitted));
    for (uint32_t o = 0; o < OFFERS; o++) {
        cache->offers[o] = (struct offer){.ops = ops + o * OFFERED,
                                          .keys = keys + o * OFFERED * cache->info.key_bytes,
                                          .found = found + o * WORDS,
                                          .not_admitted = not_admitted + o * WORDS};
    }
}

static void close_cache(struct cache *cache)
{
    io_free(&cache->io);
    sw_queue_destroy(cache->queue);
    sw_table_destroy(cache->table);
}

static void set_key(const struct cache *cache, struct offer *offer, uint32_t i, uint64_t key)
{
    memcpy(offer->keys + (size_t)i * cache->info.key_bytes, &key, cache->info.key_bytes);
}

static bool bit_of(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

/* Runs `op` for keys [first, first + OFFERED), with values of zeros. */
static const struct offer *run_keys(struct cache *cache, enum sw_op op, uint64_t first)
{
    struct offer *offer = &cache->offers[0];
    struct sw_batch batch = {.op = op,
                             .count = OFFERED,
                             .keys = offer->keys,
                             .values = cache->values,
                             .found = offer->found};
    for (uint32_t i = 0; i < OFFERED; i++) {
        set_key(cache, offer, i, first + i);
    }
    must_run(cache->queue, &batch);
    return offer;
}

/* Fills the cache, then uses its entries twice more. */
static void fill_cache(struct cache *cache)
{
    const uint64_t capacity = cache->info.capacity_slots;
    cache->next = 1;
    for (uint64_t held = 0; held < capacity; cache->next += OFFERED) {
        cr_assert_lt(cache->next, 64 * capacity, "%llu entries in %llu slots",
                     (unsigned long long)held, (unsigned long long)capacity);
        run_keys(cache, SW_SET_ABSENT, cache->next);
        held = table_stats(cache->table).occupied;
    }
    for (int times = 0; times < 2; times++) {
        for (uint64_t key = 1; key < cache->next; key += OFFERED) {
            const struct offer *asked = run_keys(cache, SW_GET, key);
            for (uint32_t i = 0; i < OFFERED; i++) {
                cache->present = bit_of(asked->found, i) ? key + i : cache->present;
            }
        }
    }
}

/* Newcomers, and here and there the key that is present. Newcomers of a batch are distinct, so the
 * order of operations does not matter. */
static void draw_offer(struct cache *cache, struct offer *offer)
{
    static const uint8_t ops[] = {SW_SET, SW_SET_ABSENT, SW_SET_PRESENT, SW_GET};
    const uint32_t count = 1 + (uint32_t)random_below(&cache->random, OFFERED);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t op = offer->ops[i] = ops[random_below(&cache->random, sizeof(ops))];
        const bool held = offer->held[i] = random_below(&cache->random, 10) == 0;
        set_key(cache, offer, i, held ? cache->present : cache->next++);
        offer->turned_away += !held && (op == SW_SET || op == SW_SET_ABSENT);
        offer->updated += held && (op == SW_SET || op == SW_SET_PRESENT);
    }
    memset(offer->found, 0xA5, WORDS * sizeof(uint64_t));
    memset(offer->not_admitted, 0xA5, WORDS * sizeof(uint64_t));
    offer->batch = (struct sw_batch){.ops = offer->ops,
                                     .count = count,
                                     .keys = offer->keys,
                                     .values = cache->values,
                                     .found = offer->found,
                                     .not_admitted = offer->not_admitted};
}

static void check_offer(const struct offer *offer)
{
    const uint32_t count = offer->batch.count;
    for (uint32_t i = 0; i < count; i++) {
        const bool stays =
            offer->held[i] || (offer->ops[i] != SW_SET && offer->ops[i] != SW_SET_ABSENT);
        cr_assert_eq(bit_of(offer->found, i), offer->held[i], "operation %u", i);
        cr_assert_eq(bit_of(offer->not_admitted, i), !stays, "operation %u", i);
    }
    cr_assert(count % 64 == 0 ||
                  (offer->found[count / 64] | offer->not_admitted[count / 64]) >> count % 64 == 0,
              "unused bits");
    cr_assert_eq(offer->batch.counters.not_admitted, offer->turned_away);
    cr_assert_eq(offer->batch.counters.updated, offer->updated);
    cr_assert_eq(offer->batch.counters.inserted, 0);
}

/* Offers newcomers to a full cache, in batches that are in flight at once: each learns which of its
 * own were turned away. Scores are numbers of uses, so that of a newcomer is the lowest. */
static void turn_away(const struct sw_table_config *config)
{
    static struct cache cache;
    open_cache(&cache, config);
    fill_cache(&cache);
    for (uint32_t o = 0; o < OFFERS; o++) {
        draw_offer(&cache, &cache.offers[o]);
        cr_assert_eq(sw_batch_submit(cache.queue, &cache.offers[o].batch), SW_OK);
    }
    for (uint32_t o = 0; o < OFFERS; o++) {
        while (sw_batch_poll(cache.queue, &cache.offers[o].batch) == SW_PENDING) {
        }
        check_offer(&cache.offers[o]);
    }
    close_cache(&cache);
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
    config.rows_in = SW_ROWS_IN_GPU_HOST;
    must_refuse(&config, SW_E_INVALID, "gpu+host is for rows");
    config.rows_in = SW_ROWS_IN_GPU;
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
    cr_assert_eq(info.row_bytes_host == 0, config.rows_in != SW_ROWS_IN_HOST);
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
