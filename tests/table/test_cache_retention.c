/* SPDX-License-Identifier: MIT
 *
 * test_cache_retention.c - the share of keys that a cache keeps: one key for each slot, each with a
 * score of its own. With two buckets a key it loses hardly any key; with one it loses some.
 */
#include <criterion/criterion.h>

#include "tests/support/cache_config.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/tested.h"

TestSuite(cache_retention, .timeout = 120);

#define CAPACITY (1U << 20)
#define PART 1024U /* keys of a batch */
/* Share of the keys that a GPU may keep less than the CPU backend, which takes keys in array order.
 * On a GPU groups wait for the locks of contended buckets, and so tend to come late. */
#define TOLERANCE 0.0003

struct outcome {
    double first;    /* load before the batch in which somebody first had to leave or stay out */
    double retained; /* of the keys, at the end */
};

static struct outcome fill(struct sw_table_config config)
{
    config.capacity_slots = CAPACITY;
    config.batch_ops_max = CAPACITY;
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    struct io_memory io = {.table = table};
    uint64_t *keys = io_array(&io, CAPACITY * sizeof(*keys));
    uint64_t *scores = io_array(&io, CAPACITY * sizeof(*scores));
    for (uint32_t i = 0; i < CAPACITY; i++) {
        keys[i] = i;
        scores[i] = (uint32_t)(i * 2654435761U);
    }
    const bool takes_scores = config.cache_policy == SW_CACHE_CUSTOM;
    uint32_t first = CAPACITY;
    for (uint32_t i = 0; i < CAPACITY; i += PART) {
        struct sw_batch batch = {.op = SW_SET,
                                 .count = PART,
                                 .keys = keys + i,
                                 .values = scores, /* any bytes */
                                 .scores = takes_scores ? scores + i : NULL};
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

/* On CUDA in each way of writing, which keeps about what the CPU keeps. */
static void check(enum sw_cache_mode mode, enum sw_cache_policy policy, uint64_t seed,
                  struct outcome least)
{
    struct sw_table_config config = cache_config(128, 4, mode, policy);
    const bool on_cuda = config.backend == SW_BACKEND_CUDA;
    const int last = !on_cuda                      ? SW_CACHE_WRITING_AUTO
                     : mode == SW_CACHE_THROUGHPUT ? SW_CACHE_WRITING_LONG_ROWS
                                                   : SW_CACHE_WRITING_SHORT_ROWS;
    config.seed = seed;
    config.backend = SW_BACKEND_CPU;
    config.tuning = (struct sw_table_tuning){0};
    const struct outcome right = fill(config);
    cr_assert_gt(right.first, least.first, "seed %llu", (unsigned long long)seed);
    cr_assert_geq(right.retained, least.retained, "seed %llu", (unsigned long long)seed);
    config.backend = tested_backend();
    for (int writing = SW_CACHE_WRITING_LOCKS; writing <= last; writing++) {
        if (!tested_now((uint32_t)writing, (uint32_t)last + 1)) {
            continue;
        }
        config.tuning.cache_writing = (enum sw_cache_writing)writing;
        const struct outcome got = fill(config);
        cr_assert_geq(got.retained, right.retained - TOLERANCE, "writing %d", writing);
        cr_assert(mode != SW_CACHE_MEMORY || got.first > least.first, "writing %d: %f", writing,
                  got.first);
    }
}

Test(cache_retention, two_buckets)
{
    const struct outcome least = {0.97, 0.9975};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check(SW_CACHE_MEMORY, SW_CACHE_CUSTOM, seed, least);
    }
    check(SW_CACHE_MEMORY, SW_CACHE_LRU, 1, least);
}

Test(cache_retention, one_bucket)
{
    const struct outcome least = {0.6, 0.96};
    check(SW_CACHE_THROUGHPUT, SW_CACHE_CUSTOM, 1, least);
    check(SW_CACHE_THROUGHPUT, SW_CACHE_LRU, 1, least);
}
