/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo.c - the cuckoo set and maps of table/cuckoo/standalone.h on the CPU backend: every
 * key is found or handed back, whatever the chain bound and the size.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table/cuckoo/ops.h"
#include "tests/support/random.h"

TestSuite(cuckoo, .timeout = 60);

static const uint32_t kinds[] = {32, 64, 128};

/* Arrays of words of 32 or 64 bits. */
static uint64_t word_of(const void *array, uint32_t bits, uint64_t i)
{
    return bits == 128 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static void word_set(void *array, uint32_t bits, uint64_t i, uint64_t word)
{
    if (bits == 128) {
        ((uint64_t *)array)[i] = word;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)word;
    }
}

static uint64_t value_of(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15ULL >> 7;
}

struct keys {
    uint32_t bits;
    uint64_t count;
    void *keys; /* distinct; key 0 is that of all ones; then `count` absent ones */
    void *values;
    void *answers;
    uint32_t *found;
};

static struct keys draw(uint32_t bits, uint64_t count, uint64_t seed)
{
    struct keys drawn = {.bits = bits, .count = count};
    uint64_t stir = seed * 0x9e3779b97f4a7c15ULL; /* else seeds would give the same set */
    drawn.keys = malloc(2 * count * sizeof(uint64_t));
    drawn.values = malloc(2 * count * sizeof(uint64_t));
    drawn.answers = malloc(2 * count * sizeof(uint64_t));
    drawn.found = malloc((2 * count + 31) / 32 * sizeof(uint32_t));
    for (uint64_t i = 0; i < 2 * count; i++) {
        uint64_t key = bits == 128 ? sw_mix_64(i, stir) : sw_mix_32((uint32_t)i, stir);
        uint64_t ones = bits == 128 ? UINT64_MAX : UINT32_MAX;
        uint64_t first = bits == 128 ? sw_mix_64(0, stir) : sw_mix_32(0, stir);
        key = i == 0 ? ones : key == ones ? first : key; /* they trade places */
        word_set(drawn.keys, bits, i, key);
        word_set(drawn.values, bits, i, value_of(key));
    }
    return drawn;
}

static void discard(struct keys *drawn)
{
    free(drawn->keys);
    free(drawn->values);
    free(drawn->answers);
    free(drawn->found);
}

static struct sw_cuckoo *open_table(uint32_t bits, uint32_t functions, uint64_t each,
                                    uint32_t chain_max, uint32_t batch_max)
{
    struct sw_cuckoo_config config;
    struct sw_cuckoo *table;
    char reason[128] = "";
    sw_cuckoo_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.cell_bits = bits;
    config.functions = functions;
    config.cells_each = each;
    config.chain_max = chain_max;
    config.batch_max = batch_max;
    cr_assert_eq(sw_cuckoo_open(&config, &table, reason, sizeof(reason)), SW_OK, "%s", reason);
    return table;
}

static struct sw_cuckoo_facts facts_of(struct sw_cuckoo *table)
{
    struct sw_cuckoo_facts facts;
    sw_cuckoo_facts(table, &facts);
    return facts;
}

/* Looks all of them up; the first `stored` must be there but for those marked in `gone`. */
static void check_found(struct sw_cuckoo *table, struct keys *drawn, uint64_t stored,
                        const bool *gone)
{
    memset(drawn->answers, 0xAB, 2 * drawn->count * sizeof(uint64_t));
    cr_assert_eq(sw_cuckoo_find(table, drawn->keys, drawn->answers, drawn->found, 2 * drawn->count),
                 SW_OK);
    for (uint64_t i = 0; i < 2 * drawn->count; i++) {
        bool wanted = i < stored && (gone == NULL || !gone[i]);
        bool found = (drawn->found[i / 32] >> i % 32 & 1) != 0;
        cr_assert_eq(found, wanted, "key %" PRIu64 " of %" PRIu64 " stored: found %d", i, stored,
                     found);
        if (drawn->bits != 32) {
            uint64_t value = wanted ? word_of(drawn->values, drawn->bits, i) : 0;
            cr_assert_eq(word_of(drawn->answers, drawn->bits, i), value, "value of key %" PRIu64,
                         i);
        }
    }
}

/* As many cells are not EMPTY as the table says it holds, without the key of all ones. */
static void check_cells(struct sw_cuckoo *table, uint32_t bits, bool has_side)
{
    struct sw_cuckoo_facts facts = facts_of(table);
    uint32_t words = bits / 32;
    uint32_t *cells = malloc(facts.cells * (bits / 8));
    uint64_t held = 0;
    cr_assert_eq(sw_cuckoo_copy_cells(table, cells), SW_OK);
    for (uint64_t c = 0; c < facts.cells; c++) {
        const uint32_t *key = cells + c * words + (bits == 128 ? 2 : words - 1);
        held += key[0] != UINT32_MAX || (bits == 128 && key[1] != UINT32_MAX);
    }
    free(cells);
    cr_assert_eq(held + has_side, facts.occupied);
}

/* --- hashing ---------------------------------------------------------------------------------- */

Test(cuckoo, xxhash_is_xxh32)
{
    /* XXH32 of "abcd" and "abcdefgh", from the reference implementation */
    cr_expect_eq(sw_xxh32_of_4(0x64636261U, 0), 0xa3643705U);
    cr_expect_eq(sw_xxh32_of_8(0x6867666564636261ULL, 0), 0x0bb3c6bbU);
    cr_expect_eq(sw_xxh32_of_4(0x64636261U, 0x9E3779B1U), 0x0a7e979cU);
    cr_expect_eq(sw_xxh32_of_8(0x6867666564636261ULL, 0x9E3779B1U), 0x5e035064U);
}

Test(cuckoo, places_lie_in_their_array)
{
    struct sw_cuckoo_shape shape = {.each = 1000003, .functions = 3};
    for (uint32_t number = 0; number < 3; number++) {
        sw_cuckoo_reseed(&shape, number);
        cr_expect_eq(shape.is_first, number == 0);
        for (uint32_t i = 0; i < 3; i++) {
            cr_expect_eq(sw_cuckoo_place_of(&shape, 0, i), i * shape.each);
            cr_expect_eq(sw_cuckoo_place_of(&shape, UINT32_MAX, i), (i + 1) * shape.each - 1);
            for (uint32_t j = 0; j < i; j++) {
                cr_expect_neq(shape.seeds[i], shape.seeds[j]);
            }
        }
    }
}

Test(cuckoo, chain_bound)
{
    cr_expect_eq(sw_cuckoo_chain_bound(0.2, 1 << 24), 5);
    cr_expect_eq(sw_cuckoo_chain_bound(1.0, 1 << 24), 24);
    cr_expect_eq(sw_cuckoo_chain_bound(19.2, 1 << 24), 461);
    cr_expect_eq(sw_cuckoo_chain_bound(0.2, 1), 1);
    cr_expect_eq(sw_cuckoo_chain_bound(0.2, 0), 1);
}

/* --- insert and look up ----------------------------------------------------------------------- */

static void insert_and_find(uint32_t bits, uint32_t functions)
{
    uint64_t seed = random_seed() + bits + functions;
    struct keys drawn = draw(bits, 10000, seed);
    struct sw_cuckoo *table = open_table(bits, functions, 12000, 200, 10000);
    uint64_t half = 4001;
    cr_log_info("bits %u, t %u, seed %" PRIu64 "\n", bits, functions, seed);
    check_found(table, &drawn, 0, NULL);
    cr_assert_eq(sw_cuckoo_insert(table, drawn.keys, drawn.values, half), SW_OK);
    check_found(table, &drawn, half, NULL);
    cr_assert_eq(sw_cuckoo_insert(table, (char *)drawn.keys + half * (bits == 128 ? 8 : 4),
                                  (char *)drawn.values + half * (bits == 128 ? 8 : 4),
                                  drawn.count - half),
                 SW_OK);
    check_found(table, &drawn, drawn.count, NULL);
    cr_expect_eq(facts_of(table).occupied, drawn.count);
    check_cells(table, bits, true);
    cr_assert_eq(sw_cuckoo_clear(table), SW_OK);
    check_found(table, &drawn, 0, NULL);
    cr_expect_eq(facts_of(table).occupied, 0);
    check_cells(table, bits, false);
    sw_cuckoo_close(table);
    discard(&drawn);
}

Test(cuckoo, sets_and_maps_with_2_and_3_functions)
{
    for (size_t k = 0; k < 3; k++) {
        insert_and_find(kinds[k], 2);
        insert_and_find(kinds[k], 3);
    }
}

Test(cuckoo, one_cell_an_array)
{
    struct keys drawn = draw(32, 4, 5);
    struct sw_cuckoo *table = open_table(32, 3, 1, 8, 4);
    cr_assert_eq(sw_cuckoo_insert(table, drawn.keys, NULL, 4), SW_OK); /* one of them aside */
    check_found(table, &drawn, 4, NULL);
    sw_cuckoo_close(table);
    discard(&drawn);
}

/* --- rehash ----------------------------------------------------------------------------------- */

/* A bound that many choices of keys meet, but not all: rehashes happen, and end. The choices are
 * always the same: of others it may be that none meets it, or that one cannot be stored. */
Test(cuckoo, a_tiny_bound_forces_rehashes_and_loses_nothing)
{
    for (size_t k = 0; k < 3; k++) {
        for (uint32_t functions = 2; functions <= 3; functions++) {
            uint64_t rehashes = 0;
            for (uint64_t seed = 1; seed <= 20; seed++) {
                struct keys drawn = draw(kinds[k], 400, seed);
                struct sw_cuckoo *table = open_table(
                    kinds[k], functions, functions == 2 ? 480 : 240, functions == 2 ? 12 : 9, 400);
                cr_assert_eq(sw_cuckoo_insert(table, drawn.keys, drawn.values, 400), SW_OK,
                             "bits %u, t %u, seed %" PRIu64, kinds[k], functions, seed);
                check_found(table, &drawn, 400, NULL);
                check_cells(table, kinds[k], true);
                rehashes += facts_of(table).rehashes;
                sw_cuckoo_close(table);
                discard(&drawn);
            }
            cr_expect_gt(rehashes, 0, "bits %u, t %u: the bound is not tiny", kinds[k], functions);
        }
    }
}

/* --- too small -------------------------------------------------------------------------------- */

/* Marks what was handed back: each key once, one of the first `stored`, with its value. */
static void mark_left(struct sw_cuckoo *table, const struct keys *drawn, uint64_t stored,
                      bool *gone)
{
    uint64_t left = facts_of(table).left;
    void *keys = malloc(left * sizeof(uint64_t));
    void *values = malloc(left * sizeof(uint64_t));
    cr_assert_eq(sw_cuckoo_take_left(table, keys, values), SW_OK);
    for (uint64_t l = 0; l < left; l++) {
        uint64_t key = word_of(keys, drawn->bits, l);
        uint64_t i = 0;
        while (i < stored && word_of(drawn->keys, drawn->bits, i) != key) {
            i++;
        }
        cr_assert_lt(i, stored, "a key was handed back that nobody inserted");
        cr_assert(!gone[i], "a key was handed back twice");
        if (drawn->bits != 32) {
            cr_assert_eq(word_of(values, drawn->bits, l), word_of(drawn->values, drawn->bits, i));
        }
        gone[i] = true;
    }
    free(keys);
    free(values);
}

static void overfill(uint32_t bits, uint32_t functions)
{
    struct keys drawn = draw(bits, 1000, random_seed() + bits);
    struct sw_cuckoo *table = open_table(bits, functions, 300, 100, 1000);
    bool *gone = calloc(1000, sizeof(*gone));
    cr_assert_eq(sw_cuckoo_insert(table, drawn.keys, drawn.values, 1000), SW_E_FULL);
    struct sw_cuckoo_facts facts = facts_of(table);
    cr_expect_geq(facts.left, 1000 - 300ULL * functions - 1);
    cr_expect_eq(facts.left + facts.occupied, 1000);
    cr_expect_eq(facts.rehashes, 16);

    /* nothing more is taken before those are fetched */
    cr_expect_eq(sw_cuckoo_insert(table, drawn.keys, drawn.values, 1), SW_E_FULL);
    cr_expect_eq(facts_of(table).left, facts.left);

    mark_left(table, &drawn, 1000, gone);
    cr_expect_eq(facts_of(table).left, 0);
    check_found(table, &drawn, 1000, gone);
    check_cells(table, bits, true);
    free(gone);
    sw_cuckoo_close(table);
    discard(&drawn);
}

Test(cuckoo, too_small_a_table_is_reported_with_every_key_held)
{
    for (size_t k = 0; k < 3; k++) {
        overfill(kinds[k], 2);
        overfill(kinds[k], 3);
    }
}

Test(cuckoo, without_rehashes_what_meets_the_bound_is_handed_back)
{
    struct sw_cuckoo_config config;
    struct sw_cuckoo *table;
    struct keys drawn = draw(64, 500, 9);
    bool *gone = calloc(500, sizeof(*gone));
    sw_cuckoo_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.cell_bits = 64;
    config.cells_each = 300;
    config.chain_max = 2;
    config.rehash_max = 0;
    cr_assert_eq(sw_cuckoo_open(&config, &table, NULL, 0), SW_OK);
    cr_assert_eq(sw_cuckoo_insert(table, drawn.keys, drawn.values, 500), SW_E_FULL);
    cr_expect_eq(facts_of(table).rehashes, 0);
    mark_left(table, &drawn, 500, gone);
    check_found(table, &drawn, 500, gone);
    free(gone);
    sw_cuckoo_close(table);
    discard(&drawn);
}

/* --- refusals --------------------------------------------------------------------------------- */

Test(cuckoo, configurations_that_cannot_be)
{
    struct sw_cuckoo_config good;
    sw_cuckoo_config_init(&good);
    good.backend = SW_BACKEND_CPU;
    struct sw_cuckoo_config bad[8];
    for (size_t b = 0; b < 8; b++) {
        bad[b] = good;
    }
    bad[0].cell_bits = 16;
    bad[1].functions = 1;
    bad[2].functions = 4;
    bad[3].cells_each = 0;
    bad[4].cells_each = (1ULL << 30) + 1;
    bad[5].chain_max = 0;
    bad[6].batch_max = 0;
    bad[7].insert_keys = 3;
    for (size_t b = 0; b < 8; b++) {
        struct sw_cuckoo *table = NULL;
        char reason[128] = "";
        cr_expect_eq(sw_cuckoo_open(&bad[b], &table, reason, sizeof(reason)), SW_E_INVALID,
                     "number %zu", b);
        cr_expect_null(table);
        cr_expect_neq(reason[0], '\0');
    }
}

Test(cuckoo, a_batch_above_its_limit_is_refused)
{
    struct sw_cuckoo *table = open_table(64, 3, 100, 100, 10);
    uint32_t keys[11] = {0};
    cr_expect_eq(sw_cuckoo_insert(table, keys, keys, 11), SW_E_INVALID);
    cr_expect_eq(sw_cuckoo_insert(table, keys, NULL, 1), SW_E_INVALID); /* a map needs values */
    sw_cuckoo_close(table);
}
