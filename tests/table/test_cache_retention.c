/* SPDX-License-Identifier: MIT
 *
 * test_cache_retention.c - the share of keys that a cache keeps: one key for each slot, each with a
 * score of its own. With two buckets a key it loses hardly any key; with one it loses some.
 */
#include <criterion/criterion.h>

#include "tests/support/cache_config.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"

TestSuite(cache_retention, .timeout = 120);

#define CAPACITY (1U << 20)
#define PART 1024U /* keys of a batch */

struct outcome {
    double first;    /* load before the batch in which somebody first had to leave or stay out */
    double retained; /* of the keys, at the end */
};

static struct outcome fill(enum sw_cache_mode mode, uint64_t seed)
{
    struct sw_table_config config = cache_config(128, 4, mode, SW_CACHE_CUSTOM);
    config.capacity_slots = CAPACITY;
    config.batch_ops_max = CAPACITY;
    config.seed = seed;
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    struct io_memory io = {.table = table};
    uint64_t *keys = io_array(&io, CAPACITY * sizeof(*keys));
    uint64_t *scores = io_array(&io, CAPACITY * sizeof(*scores));
    for (uint32_t i = 0; i < CAPACITY; i++) {
        keys[i] = i;
        scores[i] = (uint32_t)(i * 2654435761U);
    }
    uint32_t first = CAPACITY;
    for (uint32_t i = 0; i < CAPACITY; i += PART) {
        struct sw_batch batch = {.op = SW_SET,
                                 .count = PART,
                                 .keys = keys + i,
                                 .values = scores, /* any bytes */
                                 .scores = scores + i};
        must_run(queue, &batch);
        bool undisputed = batch.counters.evicted + batch.counters.not_admitted == 0;
        first = undisputed || i > first ? first : i;
    }
    const struct sw_table_stats stats = table_stats(table);
    io_free(&io);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
    return (struct outcome){(double)first / CAPACITY, (double)stats.occupied / CAPACITY};
}

Test(cache_retention, two_buckets)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct outcome outcome = fill(SW_CACHE_MEMORY, seed);
        cr_assert_gt(outcome.first, 0.97, "seed %llu: the first left at load %f",
                     (unsigned long long)seed, outcome.first);
        cr_assert_geq(outcome.retained, 0.9975, "seed %llu: %f", (unsigned long long)seed,
                      outcome.retained);
    }
}

Test(cache_retention, one_bucket)
{
    struct outcome outcome = fill(SW_CACHE_THROUGHPUT, 1);
    cr_assert_gt(outcome.first, 0.6);
    cr_assert_geq(outcome.retained, 0.96);
}
