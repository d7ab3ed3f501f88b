/* SPDX-License-Identifier: MIT
 *
 * test_row_numbers.c - INCREMENT_F32, INCREMENT_U64, DECREMENT_U64 and the like in batches that
 * repeat keys and mix them with other writes, beside a model that goes number by number.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(row_numbers, .timeout = 120);

enum { KEYS = 7, OPS = 300, WORDS_MAX = 24 };

struct world {
    struct fixture fixture;
    struct random random;
    uint32_t words, text_words; /* of 32 bits; of the numbers, and of the key string behind them */
    enum sw_element element;
    bool present[KEYS];
    uint32_t rows[KEYS][WORDS_MAX];
};

static uint32_t row_words(const struct world *world)
{
    return world->words + world->text_words;
}

static uint32_t *operand_at(const struct world *world, uint32_t i)
{
    return (uint32_t *)world->fixture.values + (size_t)i * row_words(world);
}

static uint32_t op_at(const struct sw_batch *batch, uint32_t i)
{
    return batch->ops == NULL ? (uint32_t)batch->op : batch->ops[i];
}

/* --- the model -------------------------------------------------------------------------------- */

static void model_float(uint32_t *number, uint32_t operand)
{
    float a, b;
    memcpy(&a, number, sizeof(a));
    memcpy(&b, &operand, sizeof(b));
    const double sum = (double)a + (double)b; /* rounded once more, to the same number */
    const float rounded = (float)sum;
    if (isfinite(rounded)) {
        memcpy(number, &rounded, sizeof(rounded));
    }
}

static void model_double(uint32_t *number, const uint32_t *operand)
{
    double a, b;
    memcpy(&a, number, sizeof(a));
    memcpy(&b, operand, sizeof(b));
    const long double sum = (long double)a + (long double)b;
    volatile double rounded = a + b;
    if (isfinite(rounded)) {
        cr_assert(fabsl(sum - (long double)rounded) <= fabsl(sum) * 0x1p-52L);
        memcpy(number, (const double *)&rounded, sizeof(rounded));
    }
}

static void model_signed(uint32_t *number, const uint32_t *operand)
{
    long long a, b, after;
    memcpy(&a, number, sizeof(a));
    memcpy(&b, operand, sizeof(b));
    if (!__builtin_saddll_overflow(a, b, &after)) {
        memcpy(number, &after, sizeof(after));
    }
}

static void model_integer(uint32_t op, uint32_t *number, const uint32_t *operand)
{
    const unsigned long long a = (uint64_t)number[1] << 32 | number[0];
    const unsigned long long b = (uint64_t)operand[1] << 32 | operand[0];
    unsigned long long after = 0;
    const bool overflows = op == SW_INCREMENT_U64 ? __builtin_uaddll_overflow(a, b, &after)
                                                  : __builtin_usubll_overflow(a, b, &after);
    number[0] = overflows ? number[0] : (uint32_t)after;
    number[1] = overflows ? number[1] : (uint32_t)(after >> 32);
}

static void apply(struct world *world, uint32_t op, uint64_t key, const uint32_t *operand)
{
    uint32_t *row = world->rows[key];
    const bool was = world->present[key];
    if (op == SW_GET || (!was && (op == SW_SET_PRESENT || op == SW_DECREMENT_U64))) {
        return;
    }
    world->present[key] = op != SW_DELETE;
    if (!was || op == SW_DELETE) {
        memset(row, 0, sizeof(world->rows[key]));
    }
    if (op == SW_SET || op == SW_SET_PRESENT) {
        memcpy(row, operand, world->words * sizeof(*row));
    }
    for (uint32_t w = 0; op == SW_INCREMENT_F32 && w < world->words; w++) {
        model_float(&row[w], operand[w]);
    }
    for (uint32_t w = 0; w < world->words; w += 2) {
        if (op == SW_INCREMENT_U64 || op == SW_DECREMENT_U64) {
            model_integer(op, &row[w], &operand[w]);
        } else if (op == SW_INCREMENT_F64) {
            model_double(&row[w], &operand[w]);
        } else if (op == SW_INCREMENT_I64) {
            model_signed(&row[w], &operand[w]);
        } else if (op == SW_ADD_U64) {
            uint64_t a, b;
            memcpy(&a, &row[w], sizeof(a));
            memcpy(&b, &operand[w], sizeof(b));
            a += b;
            memcpy(&row[w], &a, sizeof(a));
        }
    }
    if (op != SW_DELETE) {
        memcpy(row + world->words, operand + world->words, world->text_words * sizeof(*row));
    }
}

/* --- batches ---------------------------------------------------------------------------------- */

static uint32_t draw_word(struct world *world, uint32_t w)
{
    static const uint32_t floats[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7f7fffff,
                                      0xff7fffff, 0x3f800000, 0x00000001, 0x7fc00001, 0x4b800000};
    const uint64_t chance = random_below(&world->random, 16);
    if (world->element == SW_ELEMENT_F32) {
        return chance < 10 ? floats[chance]
                           : 0x3f000000 + (uint32_t)random_below(&world->random, 1 << 24);
    }
    if (world->element == SW_ELEMENT_F64 && w % 2 == 1) { /* the high word */
        static const uint32_t ends[] = {0x7fefffff, 0xffefffff, 0x7ff00000, 0xfff80001, 0};
        return chance < 5 ? ends[chance]
                          : 0x3fe00000 + (uint32_t)random_below(&world->random, 1 << 24);
    }
    if (world->element == SW_ELEMENT_I64) { /* half of the high words are near an end */
        return w % 2 == 0 || chance < 8 ? (uint32_t)random_next(&world->random)
                                        : 0x7ffffffe + (uint32_t)chance % 4;
    }
    return chance < 4 ? UINT32_MAX : w % 2 == 1 && chance < 12 ? 0 : (uint32_t)chance;
}

static uint32_t draw_op(struct world *world)
{
    static const uint8_t floats[] = {SW_GET,           SW_SET,           SW_INCREMENT_F32,
                                     SW_INCREMENT_F32, SW_INCREMENT_F32, SW_SET_PRESENT,
                                     SW_INCREMENT_F32, SW_DELETE};
    static const uint8_t integers[] = {SW_GET,           SW_SET,     SW_INCREMENT_U64,
                                       SW_DECREMENT_U64, SW_ADD_U64, SW_INCREMENT_U64,
                                       SW_DECREMENT_U64, SW_DELETE};
    static const uint8_t signed_ones[] = {SW_GET,           SW_SET,     SW_INCREMENT_I64,
                                          SW_INCREMENT_I64, SW_ADD_U64, SW_INCREMENT_I64,
                                          SW_SET_PRESENT,   SW_DELETE};
    static const uint8_t doubles[] = {SW_GET,           SW_SET,         SW_INCREMENT_F64,
                                      SW_INCREMENT_F64, SW_SET_PRESENT, SW_INCREMENT_F64,
                                      SW_INCREMENT_F64, SW_DELETE};
    const uint8_t *ops = world->element == SW_ELEMENT_F64   ? doubles
                         : world->element == SW_ELEMENT_F32 ? floats
                         : world->element == SW_ELEMENT_I64 ? signed_ones
                                                            : integers;
    return ops[random_below(&world->random, 8)];
}

static void draw_batch(struct world *world, struct sw_batch *batch)
{
    struct fixture *fixture = &world->fixture;
    struct random *random = &world->random;
    const uint64_t keys = 1 + random_below(random, KEYS);
    const bool is_uniform = random_below(random, 3) == 0;
    *batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                               .op = (enum sw_op)draw_op(world),
                               .ops = is_uniform ? NULL : fixture->ops,
                               .count = 1 + (uint32_t)random_below(random, OPS),
                               .keys = fixture->keys,
                               .values = fixture->values,
                               .previous = random_below(random, 4) > 0 ? fixture->previous : NULL,
                               .found = fixture->found};
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint64_t key = random_below(random, keys);
        fixture->ops[i] = (uint8_t)draw_op(world);
        fixture_store(fixture, fixture->keys, i, key);
        for (uint32_t w = 0; w < world->words; w++) {
            operand_at(world, i)[w] = draw_word(world, w);
        }
        for (uint32_t w = 0; w < world->text_words; w++) { /* a length of 16 bits, then letters */
            operand_at(world, i)[world->words + w] = w == 0 ? 0x61610004 : 0x61 + (uint32_t)key;
        }
    }
}

static void run_batch(struct world *world)
{
    struct sw_batch batch;
    draw_batch(world, &batch);
    cr_assert_eq(sw_batch_run(world->fixture.queue, &batch), SW_OK);
    for (uint32_t i = 0; i < batch.count; i++) {
        const uint64_t key = fixture_load(&world->fixture, batch.keys, i);
        const uint32_t *row = (const uint32_t *)batch.previous + (size_t)i * row_words(world);
        cr_assert_eq(batch.found[i / 64] >> (i % 64) & 1, world->present[key], "operation %u", i);
        cr_assert(!world->present[key] || batch.previous == NULL ||
                      memcmp(row, world->rows[key], row_words(world) * sizeof(*row)) == 0,
                  "the row before operation %u (op %u)", i, op_at(&batch, i));
        apply(world, op_at(&batch, i), key, operand_at(world, i));
    }
}

static void check_rows(struct world *world)
{
    struct fixture *fixture = &world->fixture;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_GET,
                             .count = KEYS,
                             .keys = fixture->keys,
                             .values = fixture->values,
                             .previous = fixture->previous,
                             .found = fixture->found};
    memset(fixture->values, 0, KEYS * (size_t)row_words(world) * 4);
    for (uint32_t k = 0; k < KEYS; k++) {
        fixture_store(fixture, fixture->keys, k, k);
    }
    cr_assert_eq(sw_batch_run(fixture->queue, &batch), SW_OK);
    for (uint32_t k = 0; k < KEYS; k++) {
        const uint32_t *row = (const uint32_t *)fixture->previous + (size_t)k * row_words(world);
        cr_assert_eq(fixture->found[0] >> k & 1, world->present[k], "key %u", k);
        cr_assert(!world->present[k] ||
                      memcmp(row, world->rows[k], row_words(world) * sizeof(*row)) == 0,
                  "the row of key %u", k);
    }
}

static void run_world(uint32_t slot_bits, uint32_t words, uint32_t text_words,
                      enum sw_element element)
{
    static struct world world;
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    memset(&world, 0, sizeof(world));
    config.value_bytes = (words + text_words) * 4;
    config.key_text_bytes = text_words * 4;
    config.batch_ops_max = OPS;
    tested_place(&config);
    world.words = words;
    world.text_words = text_words;
    world.element = element;
    world.random = random_of(slot_bits + words + text_words + element);
    fixture_open(&world.fixture, &config);
    for (uint32_t step = 0; step < 40; step += tested_share()) {
        run_batch(&world);
        check_rows(&world);
    }
    fixture_close(&world.fixture);
}

Test(row_numbers, of_floats)
{
    run_world(64, 1, 0, SW_ELEMENT_F32);
    run_world(128, 3, 0, SW_ELEMENT_F32);
    run_world(128, 20, 0, SW_ELEMENT_F32);
    run_world(128, 1, 4, SW_ELEMENT_F32);
}

Test(row_numbers, of_doubles)
{
    run_world(64, 2, 0, SW_ELEMENT_F64);
    run_world(128, 22, 0, SW_ELEMENT_F64);
    run_world(128, 2, 2, SW_ELEMENT_F64);
}

Test(row_numbers, of_integers)
{
    run_world(64, 2, 0, SW_ELEMENT_U64);
    run_world(128, 4, 0, SW_ELEMENT_U64);
    run_world(128, 22, 0, SW_ELEMENT_U64);
    run_world(128, 2, 2, SW_ELEMENT_U64);
}

Test(row_numbers, of_signed_integers)
{
    run_world(64, 2, 0, SW_ELEMENT_I64);
    run_world(128, 22, 0, SW_ELEMENT_I64);
    run_world(128, 2, 2, SW_ELEMENT_I64);
}
