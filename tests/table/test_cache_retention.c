/* SPDX-License-Identifier: MIT
 *
 * test_cache_retention.c - how well a cache keeps what it should: as many keys as slots, each with
 * a score of its own. With two buckets a key hardly any is lost; with one, some are.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "table/cache/cache.h"

TestSuite(cache_retention, .timeout = 120);

#define CAPACITY (1U << 20)

struct outcome {
    double first;    /* load at which somebody had to leave or stay out */
    double retained; /* of the keys, at the end */
};

static struct outcome fill(enum sw_cache_mode mode, uint64_t seed)
{
    struct sw_cache_config config = {.backend = SW_BACKEND_CPU,
                                     .capacity = CAPACITY,
                                     .value_bytes = 4,
                                     .mode = mode,
                                     .policy = SW_CACHE_CUSTOM,
                                     .seed = seed};
    struct sw_cache *cache;
    uint64_t *keys = malloc(CAPACITY * sizeof(*keys));
    uint64_t *scores = malloc(CAPACITY * sizeof(*scores));
    uint8_t *results = malloc(CAPACITY);
    uint64_t size;
    cr_assert_eq(sw_cache_create(&config, &cache, NULL, 0), SW_OK);
    for (uint32_t i = 0; i < CAPACITY; i++) {
        keys[i] = i;
        scores[i] = (uint32_t)(i * 2654435761U);
    }
    struct sw_cache_batch batch = {.op = SW_CACHE_INSERT_OR_ASSIGN,
                                   .count = CAPACITY,
                                   .keys = keys,
                                   .values = scores, /* any bytes */
                                   .scores = scores,
                                   .results = results};
    cr_assert_eq(sw_cache_submit(cache, &batch, NULL), SW_OK);
    uint32_t first = 0;
    while (first < CAPACITY && results[first] == SW_CACHE_INSERTED) {
        first++;
    }
    cr_assert_eq(sw_cache_size(cache, &size), SW_OK);
    sw_cache_destroy(cache);
    free(keys);
    free(scores);
    free(results);
    return (struct outcome){(double)first / CAPACITY, (double)size / CAPACITY};
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
