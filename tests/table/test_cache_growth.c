/* SPDX-License-Identifier: MIT
 *
 * test_cache_growth.c - a table's cache of another size: it grows before half of it is held, and
 * RESIZE gives it any size, where those of the lowest scores leave if there is no room.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/cache/cache_backend.h"
#include "table/mix.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(cache_growth, .timeout = 60);

enum { OPS = 500, VALUE = 16 };

struct trial {
    struct sw_table *table;
    struct sw_queue *queue;
    uint64_t seed;
    struct {
        uint64_t keys[OPS], scores[OPS], scores_out[OPS], found[(OPS + 63) / 64];
        _Alignas(16) uint8_t values[OPS * VALUE], previous[OPS * VALUE];
    } * io;
    uint64_t evicted;
    bool custom; /* the policy: scores are the caller's */
};

static struct sw_table_config config_of(enum sw_cache_mode mode, uint64_t capacity,
                                        uint64_t capacity_max)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.engine = SW_ENGINE_CACHE;
    config.value_bytes = VALUE;
    config.cache_mode = mode;
    config.cache_policy = SW_CACHE_CUSTOM;
    config.capacity_slots = capacity;
    config.max_capacity_slots = capacity_max;
    config.batch_ops_max = OPS;
    tested_tune(&config);
    tested_place(&config);
    return config;
}

static void open_trial(struct trial *trial, struct sw_table_config config)
{
    memset(trial, 0, sizeof(*trial));
    trial->custom = config.cache_policy == SW_CACHE_CUSTOM;
    trial->seed = random_seed();
    trial->table = must_create(&config);
    trial->queue = must_queue(trial->table);
    trial->io = sw_io_alloc(trial->table, sizeof(*trial->io));
    cr_assert_not_null(trial->io);
}

static void close_trial(struct trial *trial)
{
    char violation[256] = "";
    cr_expect_eq(sw_table_check(trial->table, violation, sizeof(violation)), SW_OK, "%s",
                 violation);
    sw_io_free(trial->table, trial->io, sizeof(*trial->io));
    sw_queue_destroy(trial->queue);
    sw_table_destroy(trial->table);
}

/* No two keys have the same score. */
static uint64_t score_of(const struct trial *trial, uint64_t key)
{
    return sw_mix_64(key, trial->seed);
}

static void make(struct trial *trial, uint64_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        trial->io->keys[i] = first + i;
        trial->io->scores[i] = score_of(trial, first + i);
        memset(trial->io->values + (size_t)i * VALUE, (int)((first + i) % 251), VALUE);
    }
}

static void insert(struct trial *trial, uint64_t first, uint32_t count)
{
    make(trial, first, count);
    struct sw_batch batch = {.op = SW_SET,
                             .count = count,
                             .keys = trial->io->keys,
                             .values = trial->io->values,
                             .scores = trial->custom ? trial->io->scores : NULL};
    must_run(trial->queue, &batch);
    trial->evicted += batch.counters.evicted;
}

/* How many of the keys are there, all of them as they were stored; *lowest receives their lowest
 * score. */
static uint64_t count_held(struct trial *trial, uint64_t first, uint32_t count, uint64_t *lowest)
{
    uint64_t held = 0;
    make(trial, first, count);
    struct sw_batch batch = {.op = SW_PEEK,
                             .count = count,
                             .keys = trial->io->keys,
                             .previous = trial->io->previous,
                             .found = trial->io->found,
                             .scores_out = trial->io->scores_out};
    must_run(trial->queue, &batch);
    for (uint32_t i = 0; i < count; i++) {
        if (trial->io->found[i / 64] >> (i % 64) & 1) {
            held++;
            *lowest = trial->io->scores[i] < *lowest ? trial->io->scores[i] : *lowest;
            cr_assert(!trial->custom || trial->io->scores_out[i] == trial->io->scores[i]);
            cr_assert_arr_eq(trial->io->previous + (size_t)i * VALUE,
                             trial->io->values + (size_t)i * VALUE, VALUE);
        }
    }
    return held;
}

static int resize(struct trial *trial, uint64_t capacity, uint64_t *now)
{
    struct sw_batch batch = {.kind = SW_BATCH_RESIZE, .capacity = capacity};
    int status = sw_batch_run(trial->queue, &batch);
    if (status == SW_OK) {
        cr_assert_neq(batch.write_sequence, 0);
        trial->evicted += batch.counters.evicted;
        *now = batch.capacity;
    }
    return status;
}

Test(cache_growth, before_half_of_it_is_held)
{
    for (int mode = SW_CACHE_MEMORY; mode <= SW_CACHE_THROUGHPUT; mode++) {
        struct trial trial;
        uint64_t lowest = UINT64_MAX;
        open_trial(&trial, config_of((enum sw_cache_mode)mode, 256, 20000));
        cr_assert_eq(table_info(trial.table).max_capacity_slots, 20096);
        for (uint64_t key = 0; key < 10000; key += OPS) {
            uint64_t before = table_info(trial.table).capacity_slots;
            insert(&trial, key, OPS);
            uint64_t after = table_info(trial.table).capacity_slots;
            cr_assert_geq(after, 2 * (key + OPS) < 20096 ? 2 * (key + OPS) : 20096);
            cr_assert(after == before || before < 2 * (key + OPS), "not before it must");
        }
        cr_expect_eq(trial.evicted, 0);
        for (uint64_t key = 0; key < 10000; key += OPS) {
            cr_assert_eq(count_held(&trial, key, OPS, &lowest), OPS);
        }
        cr_expect_eq(table_info(trial.table).capacity_slots, 20096);
        cr_expect_eq(table_stats(trial.table).grown, 6, "to 1024, 2048, 4096, 8192, 16384, 20096");
        for (uint64_t key = 10000; key < 30000; key += OPS) { /* no further */
            insert(&trial, key, OPS);
        }
        cr_expect_eq(table_info(trial.table).capacity_slots, 20096);
        cr_expect_gt(table_stats(trial.table).counters.evicted +
                         table_stats(trial.table).counters.not_admitted,
                     0);
        close_trial(&trial);
    }
}

Test(cache_growth, reads_and_deletes_do_not_make_it_grow)
{
    struct trial trial;
    uint64_t lowest = UINT64_MAX;
    open_trial(&trial, config_of(SW_CACHE_MEMORY, 256, 4096));
    cr_assert_eq(count_held(&trial, 0, OPS, &lowest), 0);
    struct sw_batch batch = {.op = SW_DELETE, .count = OPS, .keys = trial.io->keys};
    must_run(trial.queue, &batch);
    cr_expect_eq(table_info(trial.table).capacity_slots, 256);
    close_trial(&trial);
}

/* In one bucket the entries that stay are known: those with the highest scores. */
Test(cache_growth, a_smaller_one_keeps_the_highest_scores)
{
    struct trial trial;
    uint64_t lowest = UINT64_MAX, now = 0;
    open_trial(&trial, config_of(SW_CACHE_THROUGHPUT, 4096, 0));
    insert(&trial, 0, OPS);
    cr_assert_eq(resize(&trial, 1, &now), SW_OK);
    cr_expect_eq(now, 128);
    cr_expect_eq(table_info(trial.table).capacity_slots, 128);
    cr_expect_eq(trial.evicted, OPS - 128);
    cr_expect_eq(table_stats(trial.table).occupied, 128);
    cr_assert_eq(count_held(&trial, 0, OPS, &lowest), 128);
    uint32_t higher = 0;
    for (uint64_t key = 0; key < OPS; key++) {
        higher += score_of(&trial, key) >= lowest;
    }
    cr_expect_eq(higher, 128);
    close_trial(&trial);
}

static void any_size(struct sw_table_config config)
{
    const int rounds = tested_share() == 1 ? 60 : 10;
    struct random random = random_of(config.cache_policy);
    struct trial trial;
    open_trial(&trial, config);
    uint64_t offered = 0, turned_away = 0;
    for (int i = 0; i < rounds; i++) {
        uint64_t lowest = UINT64_MAX, now = 0, held = 0;
        uint64_t wanted = 1 + random_below(&random, 30000);
        insert(&trial, offered, OPS);
        offered += OPS;
        cr_assert_eq(resize(&trial, wanted, &now), SW_OK);
        cr_assert(now >= wanted && now < wanted + 256);
        cr_assert_eq(table_info(trial.table).capacity_slots, now);
        if (i % 10 == 9) {
            for (uint64_t key = 0; key < offered; key += OPS) {
                held += count_held(&trial, key, OPS, &lowest);
            }
            turned_away = table_stats(trial.table).counters.not_admitted;
            cr_assert_eq(held + trial.evicted + turned_away, offered);
            cr_assert_eq(table_stats(trial.table).occupied, held);
        }
    }
    cr_expect_eq(table_stats(trial.table).resized, (uint64_t)rounds);
    close_trial(&trial);
}

Test(cache_growth, any_size)
{
    for (uint32_t round = 0; round < 10; round++) {
        struct sw_table_config config =
            config_of(round % 2 == 0 ? SW_CACHE_MEMORY : SW_CACHE_THROUGHPUT, 1024, 100000);
        config.cache_policy = (enum sw_cache_policy)(round / 2);
        if (tested_now(round, 10)) {
            any_size(config);
        }
    }
}

/* A scan meets what is there all the time, whatever becomes of the slots meanwhile. */
Test(cache_growth, scans_across_changes)
{
    enum { KEYS = 4000 };
    static uint8_t seen[KEYS];
    struct random random = {random_seed()};
    struct trial trial;
    uint64_t now;
    open_trial(&trial, config_of(SW_CACHE_MEMORY, 16384, 100000));
    for (uint64_t key = 0; key < KEYS; key += OPS) {
        insert(&trial, key, OPS);
    }
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = 100,
                            .scan.keys = trial.io->keys,
                            .scan.values = trial.io->values};
    unsigned calls = 0;
    do {
        must_run(trial.queue, &scan);
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            seen[trial.io->keys[i]] = 1;
        }
        if (calls++ % 10 == 9 && calls < 100) {
            cr_assert_eq(resize(&trial, 12000 + random_below(&random, 50000), &now), SW_OK);
        }
    } while (scan.scan.cursor != 0);
    cr_expect_gt(calls, 100);
    for (uint64_t key = 0; key < KEYS; key++) {
        cr_expect_eq(seen[key], 1, "key %llu", (unsigned long long)key);
    }
    /* a place that somebody chooses, for a key at random: only behind the last slots there may be
     * none */
    uint32_t good = 0;
    for (uint64_t place = 0; place < 100000; place += 9999) {
        scan.scan.cursor = place;
        do { /* the slots that one call looks at may all be empty */
            must_run(trial.queue, &scan);
        } while (scan.scan.got == 0 && scan.scan.cursor != 0);
        good += scan.scan.got > 0;
    }
    cr_expect_geq(good, 9);
    cr_expect_eq(trial.evicted, 0);
    close_trial(&trial);
}

Test(cache_growth, what_is_refused)
{
    struct trial trial;
    uint64_t now = 0;
    struct sw_table_config config = config_of(SW_CACHE_MEMORY, 1024, 0);
    open_trial(&trial, config);
    cr_expect_eq(resize(&trial, 1025, &now), SW_E_INVALID);
    cr_expect_eq(resize(&trial, 1024, &now), SW_OK);
    cr_expect_eq(resize(&trial, 0, &now), SW_OK);
    cr_expect_eq(now, 256);
    close_trial(&trial);
    /* more than there is memory for: it stays as it was, and entries are evicted */
    config.max_capacity_slots = 1ULL << 46;
    open_trial(&trial, config);
    cr_expect_eq(resize(&trial, 1ULL << 45, &now), SW_E_NOMEM);
    cr_expect_eq(table_stats(trial.table).resize_failed, 1);
    cr_expect_eq(table_info(trial.table).capacity_slots, 1024);
    close_trial(&trial);
}
