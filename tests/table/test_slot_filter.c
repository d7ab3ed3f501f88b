/* SPDX-License-Identifier: MIT
 *
 * test_slot_filter.c - reads with a filter tell the first key that lies in another slot, and answer
 * for all keys as others do; a backend without filters refuses them.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "table/slot_filter.h"
#include "tests/support/table_fixture.h"

TestSuite(slot_filter, .timeout = 60);

#define ROUNDS 60
#define BATCHES_MAX 5

/* CLUSTER KEYSLOT as redis computes it, bit by bit. */
static uint32_t slot_of(const char *text, size_t size)
{
    const char *open = memchr(text, '{', size);
    const char *close = open != NULL ? memchr(open, '}', size - (size_t)(open - text)) : NULL;
    uint32_t crc = 0;
    if (close != NULL && close > open + 1) {
        size = (size_t)(close - open) - 1;
        text = open + 1;
    }
    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)(uint8_t)text[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc << 1 ^ ((crc & 0x8000) != 0 ? 0x1021U : 0U)) & 0xffffU;
        }
    }
    return crc % SW_FILTER_SLOTS;
}

static bool passes(const struct sw_slot_filter *filter, uint64_t key, uint32_t key_bytes)
{
    char text[32];
    size_t size = (size_t)snprintf(text, sizeof(text), "%" PRIu64, key);
    if (filter->raw) {
        memcpy(text, &key, sizeof(key));
        size = key_bytes;
    }
    const uint32_t slot = slot_of(text, size);
    return (filter->slots[slot / 64] >> slot % 64 & 1) != 0;
}

/* A key of any number of digits; some have braces among their bytes. */
static uint64_t draw_key(const struct fixture *fixture, struct random *random)
{
    uint64_t key = random_next(random) >> random_below(random, 64);
    if (random_below(random, 4) == 0) {
        for (uint32_t i = 0; i < 3; i++) {
            const uint64_t at = 8 * random_below(random, fixture->info.key_bytes);
            const uint64_t byte = random_below(random, 2) != 0 ? '{' : '}';
            key = (key & ~(0xffULL << at)) | byte << at;
        }
    }
    return key & fixture->key_max;
}

/* Nearly all slots, so that the first key outside is not always one of the first. */
static void draw_filter(struct sw_slot_filter *filter, struct random *random)
{
    memset(filter->slots, 0xff, sizeof(filter->slots));
    filter->raw = random_below(random, 2) != 0;
    const uint64_t without = random_below(random, 3) == 0 ? 0 : random_below(random, 60);
    for (uint64_t i = 0; i < without; i++) {
        const uint64_t slot = random_below(random, SW_FILTER_SLOTS);
        filter->slots[slot / 64] &= ~(1ULL << slot % 64);
    }
    if (random_below(random, 5) == 0) {
        memset(filter->slots, 0, sizeof(filter->slots));
    }
}

static void check_answer(struct fixture *fixture, const struct sw_batch *batch)
{
    uint32_t first = batch->count;
    for (uint32_t i = batch->count; i-- > 0;) {
        const uint64_t key = fixture_load(fixture, batch->keys, i);
        uint64_t value = 0;
        const bool present = oracle_get(fixture->oracle, key, &value);
        cr_assert_eq(fixture_load_value(fixture, batch->previous, i), present ? value : 0);
        if (batch->filter != NULL && !passes(batch->filter, key, fixture->info.key_bytes)) {
            first = i;
        }
    }
    cr_assert(batch->filter == NULL || batch->first_outside == first,
              "key %u of %u is the first outside, not %u", first, batch->count,
              batch->first_outside);
}

/* Several reads at once: some have no filter, others share one. */
static void run_round(struct fixture *fixture, struct random *random)
{
    struct sw_slot_filter filters[2];
    struct sw_batch batches[BATCHES_MAX];
    uint32_t used = 0;
    draw_filter(&filters[0], random);
    draw_filter(&filters[1], random);
    for (uint32_t b = 0; b < BATCHES_MAX; b++) {
        const uint64_t which = random_below(random, 3);
        const uint32_t most = (fixture->ops_max - used) / (BATCHES_MAX - b);
        const size_t at = (size_t)used * fixture->info.key_bytes;
        batches[b] = (struct sw_batch){
            .kind = SW_BATCH_OPERATIONS,
            .op = SW_GET,
            .count = (uint32_t)random_below(random, most + 1),
            .keys = (uint8_t *)fixture->keys + at,
            .previous = (uint8_t *)fixture->previous + (size_t)used * fixture->info.value_bytes,
            .filter = which < 2 ? &filters[which] : NULL,
        };
        for (uint32_t i = 0; i < batches[b].count; i++) {
            fixture_store(fixture, fixture->keys, used + i, draw_key(fixture, random));
        }
        used += batches[b].count;
    }
    for (uint32_t b = 0; b < BATCHES_MAX; b++) {
        cr_assert_eq(sw_batch_submit(fixture->queue, &batches[b]), SW_OK);
    }
    for (uint32_t b = 0; b < BATCHES_MAX; b++) {
        int status;
        do {
            status = sw_batch_poll(fixture->queue, &batches[b]);
        } while (status == SW_PENDING);
        cr_assert_eq(status, SW_OK);
        check_answer(fixture, &batches[b]);
    }
}

static void run_all(uint32_t slot_bits)
{
    struct random random = random_of(slot_bits);
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    struct sw_slot_filter filter = {.raw = false};
    fixture_open(&fixture, &config);
    for (uint32_t i = 0; i < 1000; i++) {
        fixture_set(&fixture, i, SW_SET, draw_key(&fixture, &random), i + 1);
    }
    cr_assert_eq(fixture_run(&fixture, 1000, 0), SW_OK);
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = 1,
                             .keys = fixture.keys,
                             .values = fixture.values,
                             .filter = &filter};
    cr_assert_eq(sw_batch_submit(fixture.queue, &batch), SW_E_INVALID, "a write has a filter");
    if (fixture.info.filters_slots) {
        for (uint32_t round = 0; round < ROUNDS; round++) {
            run_round(&fixture, &random);
        }
    } else {
        batch.op = SW_GET;
        batch.values = NULL;
        cr_assert_eq(sw_batch_submit(fixture.queue, &batch), SW_E_INVALID);
    }
    fixture_close(&fixture);
}

Test(slot_filter, slots_of_64_bits)
{
    run_all(64);
}

Test(slot_filter, slots_of_128_bits)
{
    run_all(128);
}
