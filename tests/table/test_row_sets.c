/* SPDX-License-Identifier: MIT
 *
 * test_row_sets.c - large batches of SETs without answers, which a backend may carry out in any
 * order as long as the result is the same: if a batch has a row more than once, the last one stays,
 * whole.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(row_sets, .timeout = 120);

#define KEYS 900U
#define OPS 3000U

/* The words of a row: those of another one differ. */
static uint32_t word_of(uint32_t mark, uint32_t word)
{
    return mark * 0x9e3779b1U + word;
}

/* Compares each key's row with its mark; 0: the key must be absent. */
static void compare(struct fixture *fixture, const uint32_t *marks, uint32_t words)
{
    struct sw_batch batch = fixture_batch(fixture, SW_GET, KEYS);
    for (uint32_t k = 0; k < KEYS; k++) {
        fixture_store(fixture, fixture->keys, k, k);
    }
    must_run(fixture->queue, &batch);
    for (uint32_t k = 0; k < KEYS; k++) {
        const uint32_t *row = (const uint32_t *)fixture->previous + (size_t)k * words;
        cr_assert_eq(fixture->found[k / 64] >> (k % 64) & 1, marks[k] != 0, "key %u", k);
        for (uint32_t w = 0; marks[k] != 0 && w < words; w++) {
            cr_assert_eq(row[w], word_of(marks[k], w), "key %u, word %u", k, w);
        }
    }
}

/* Some batches have new keys, all of them or few; of some many operations are on one key. */
static void sets(uint32_t slot_bits, uint32_t value_bytes)
{
    static uint32_t marks[KEYS];
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    struct random random = random_of(5 * slot_bits + value_bytes);
    struct fixture fixture;
    const uint32_t words = value_bytes / 4;
    const uint32_t most = value_bytes < 1000 ? OPS : OPS / 8;
    uint32_t mark = 0, keys = 1 + (uint32_t)random_below(&random, KEYS);
    config.value_bytes = value_bytes;
    config.batch_ops_max = OPS;
    config.capacity_slots = 4 * KEYS;
    tested_place(&config);
    fixture_open(&fixture, &config);
    memset(marks, 0, sizeof(marks));
    for (uint32_t step = 0; step < 20; step += tested_share()) {
        const uint32_t hot = (uint32_t)random_below(&random, 3); /* of four operations */
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_SET,
                                 .count = 1 + (uint32_t)random_below(&random, most),
                                 .keys = fixture.keys,
                                 .values = fixture.values};
        keys = random_below(&random, 4) == 0 ? KEYS : keys;
        for (uint32_t i = 0; i < batch.count; i++) {
            const bool is_hot = random_below(&random, 4) < hot;
            const uint32_t key = is_hot ? 0 : (uint32_t)random_below(&random, keys);
            fixture_store(&fixture, fixture.keys, i, key);
            marks[key] = ++mark;
            for (uint32_t w = 0; w < words; w++) {
                ((uint32_t *)fixture.values)[(size_t)i * words + w] = word_of(mark, w);
            }
        }
        must_run(fixture.queue, &batch);
        compare(&fixture, marks, words);
    }
    must_check(fixture.table);
    fixture_close(&fixture);
}

Test(row_sets, the_last_one_stays)
{
    tested_with_rows(sets);
}
