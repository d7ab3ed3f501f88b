/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_set.c - the cuckoo study's set on the CPU backend: every key is found or handed back,
 * whatever the chain bound and the size.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "bench/cuckoo/set/ops.h"
#include "tests/support/random.h"

TestSuite(cuckoo_set, .timeout = 60);

struct keys {
    uint64_t count;
    uint32_t *keys; /* distinct; key 0 is that of all ones; then `count` absent ones */
    uint32_t *found;
};

static struct keys draw(uint64_t count, uint64_t seed)
{
    struct keys drawn = {.count = count};
    uint64_t stir = seed * 0x9e3779b97f4a7c15ULL; /* else seeds would give the same set */
    drawn.keys = malloc(2 * count * sizeof(*drawn.keys));
    drawn.found = malloc((2 * count + 31) / 32 * sizeof(*drawn.found));
    for (uint64_t i = 0; i < 2 * count; i++) {
        uint32_t key = sw_mix_32((uint32_t)i, stir);
        drawn.keys[i] = key == UINT32_MAX ? sw_mix_32(0, stir) : key; /* they trade places */
    }
    drawn.keys[0] = UINT32_MAX;
    return drawn;
}

static void discard(struct keys *drawn)
{
    free(drawn->keys);
    free(drawn->found);
}

static struct sw_cset *open_set(uint32_t functions, uint64_t each, uint32_t chain_max,
                                uint32_t batch_max)
{
    struct sw_cset_config config;
    struct sw_cset *set;
    char reason[128] = "";
    sw_cset_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.functions = functions;
    config.cells_each = each;
    config.chain_max = chain_max;
    config.batch_max = batch_max;
    cr_assert_eq(sw_cset_open(&config, &set, reason, sizeof(reason)), SW_OK, "%s", reason);
    return set;
}

static struct sw_cset_facts facts_of(struct sw_cset *set)
{
    struct sw_cset_facts facts;
    sw_cset_facts(set, &facts);
    return facts;
}

/* What a look-up of all of them answered: the first `stored` must be there but for those marked in
 * `gone`. */
static void check_answers(const struct keys *drawn, uint64_t stored, const bool *gone)
{
    for (uint64_t i = 0; i < 2 * drawn->count; i++) {
        bool wanted = i < stored && (gone == NULL || !gone[i]);
        bool found = (drawn->found[i / 32] >> i % 32 & 1) != 0;
        cr_assert_eq(found, wanted, "key %" PRIu64 " of %" PRIu64 " stored: found %d", i, stored,
                     found);
    }
}

static void check_found(struct sw_cset *set, struct keys *drawn, uint64_t stored, const bool *gone)
{
    cr_assert_eq(sw_cset_find(set, drawn->keys, drawn->found, 2 * drawn->count), SW_OK);
    check_answers(drawn, stored, gone);
}

/* As many cells are not EMPTY as the set says it holds, without the key of all ones. */
static void check_cells(struct sw_cset *set, bool has_ones)
{
    struct sw_cset_facts facts = facts_of(set);
    uint32_t *cells = malloc(facts.cells * sizeof(*cells));
    uint64_t held = 0;
    cr_assert_eq(sw_cset_copy_cells(set, cells), SW_OK);
    for (uint64_t c = 0; c < facts.cells; c++) {
        held += cells[c] != SW_CSET_EMPTY;
    }
    free(cells);
    cr_assert_eq(held + has_ones, facts.occupied);
}

/* --- insert and look up ----------------------------------------------------------------------- */

Test(cuckoo_set, with_2_and_3_functions)
{
    for (uint32_t functions = 2; functions <= 3; functions++) {
        struct keys drawn = draw(10000, random_seed() + functions);
        struct sw_cset *set = open_set(functions, 12000, 200, 10000);
        uint64_t half = 4001;
        check_found(set, &drawn, 0, NULL);
        cr_assert_eq(sw_cset_insert(set, drawn.keys, half), SW_OK);
        check_found(set, &drawn, half, NULL);
        cr_assert_eq(sw_cset_insert(set, drawn.keys + half, drawn.count - half), SW_OK);
        check_found(set, &drawn, drawn.count, NULL);
        cr_expect_eq(facts_of(set).occupied, drawn.count);
        check_cells(set, true);
        cr_assert_eq(sw_cset_clear(set), SW_OK);
        check_found(set, &drawn, 0, NULL);
        cr_expect_eq(facts_of(set).occupied, 0);
        check_cells(set, false);
        sw_cset_close(set);
        discard(&drawn);
    }
}

Test(cuckoo_set, one_cell_an_array)
{
    struct keys drawn = draw(4, 5);
    struct sw_cset *set = open_set(3, 1, 8, 4);
    cr_assert_eq(sw_cset_insert(set, drawn.keys, 4), SW_OK); /* one of them aside */
    check_found(set, &drawn, 4, NULL);
    sw_cset_close(set);
    discard(&drawn);
}

/* --- rehash ----------------------------------------------------------------------------------- */

/* A bound that many choices of keys meet, but not all: rehashes happen, and end. The choices are
 * always the same: of others it may be that none meets it, or that one cannot be stored. */
Test(cuckoo_set, a_tiny_bound_forces_rehashes_and_loses_nothing)
{
    for (uint32_t functions = 2; functions <= 3; functions++) {
        uint64_t rehashes = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct keys drawn = draw(400, seed);
            struct sw_cset *set =
                open_set(functions, functions == 2 ? 480 : 240, functions == 2 ? 12 : 9, 400);
            int status = seed % 2 == 0 ? sw_cset_insert(set, drawn.keys, 400)
                                       : sw_cset_insert_and_find(set, drawn.keys, 400, drawn.keys,
                                                                 drawn.found, 2 * drawn.count);
            cr_assert_eq(status, SW_OK, "t %u, seed %" PRIu64, functions, seed);
            if (seed % 2 != 0) {
                check_answers(&drawn, 400, NULL);
            }
            check_found(set, &drawn, 400, NULL);
            check_cells(set, true);
            rehashes += facts_of(set).rehashes;
            sw_cset_close(set);
            discard(&drawn);
        }
        cr_expect_gt(rehashes, 0, "t %u: the bound is not tiny", functions);
    }
}

/* --- too small -------------------------------------------------------------------------------- */

/* Marks what was handed back: each key once, one of the first `stored`. */
static void mark_left(struct sw_cset *set, const struct keys *drawn, uint64_t stored, bool *gone)
{
    uint64_t left = facts_of(set).left;
    uint32_t *keys = malloc(left * sizeof(*keys));
    cr_assert_eq(sw_cset_take_left(set, keys), SW_OK);
    for (uint64_t l = 0; l < left; l++) {
        uint64_t i = 0;
        while (i < stored && drawn->keys[i] != keys[l]) {
            i++;
        }
        cr_assert_lt(i, stored, "a key was handed back that nobody inserted");
        cr_assert(!gone[i], "a key was handed back twice");
        gone[i] = true;
    }
    free(keys);
}

Test(cuckoo_set, too_small_a_set_is_reported_with_every_key_held)
{
    for (uint32_t functions = 2; functions <= 3; functions++) {
        struct keys drawn = draw(1000, random_seed() + functions);
        struct sw_cset *set = open_set(functions, 300, 100, 1000);
        bool *gone = calloc(1000, sizeof(*gone));
        cr_assert_eq(sw_cset_insert(set, drawn.keys, 1000), SW_E_FULL);
        struct sw_cset_facts facts = facts_of(set);
        cr_expect_geq(facts.left, 1000 - 300ULL * functions - 1);
        cr_expect_eq(facts.left + facts.occupied, 1000);
        cr_expect_eq(facts.rehashes, 16);

        /* nothing more is taken before those are fetched */
        cr_expect_eq(sw_cset_insert(set, drawn.keys, 1), SW_E_FULL);
        cr_expect_eq(facts_of(set).left, facts.left);

        mark_left(set, &drawn, 1000, gone);
        cr_expect_eq(facts_of(set).left, 0);
        check_found(set, &drawn, 1000, gone);
        check_cells(set, true);
        free(gone);
        sw_cset_close(set);
        discard(&drawn);
    }
}

Test(cuckoo_set, without_rehashes_what_meets_the_bound_is_handed_back)
{
    struct sw_cset_config config;
    struct sw_cset *set;
    struct keys drawn = draw(500, 9);
    bool *gone = calloc(500, sizeof(*gone));
    sw_cset_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.cells_each = 300;
    config.chain_max = 2;
    config.rehash_max = 0;
    cr_assert_eq(sw_cset_open(&config, &set, NULL, 0), SW_OK);
    cr_assert_eq(sw_cset_insert(set, drawn.keys, 500), SW_E_FULL);
    cr_expect_eq(facts_of(set).rehashes, 0);
    mark_left(set, &drawn, 500, gone);
    check_found(set, &drawn, 500, gone);
    free(gone);
    sw_cset_close(set);
    discard(&drawn);
}

/* --- refusals --------------------------------------------------------------------------------- */

Test(cuckoo_set, configurations_that_cannot_be)
{
    struct sw_cset_config good;
    sw_cset_config_init(&good);
    good.backend = SW_BACKEND_CPU;
    struct sw_cset_config bad[9];
    for (size_t b = 0; b < 9; b++) {
        bad[b] = good;
    }
    bad[0].functions = 1;
    bad[1].functions = 4;
    bad[2].cells_each = 0;
    bad[3].cells_each = (1ULL << 30) + 1;
    bad[4].chain_max = 0;
    bad[5].batch_max = 0;
    bad[6].insert_keys = 3;
    bad[7].block_size = 96;
    bad[8].block_size = 512;
    bad[8].find_keys = 2;
    for (size_t b = 0; b < 9; b++) {
        struct sw_cset *set = NULL;
        char reason[128] = "";
        cr_expect_eq(sw_cset_open(&bad[b], &set, reason, sizeof(reason)), SW_E_INVALID,
                     "number %zu", b);
        cr_expect_null(set);
        cr_expect_neq(reason[0], '\0');
    }
}

Test(cuckoo_set, a_batch_above_its_limit_is_refused)
{
    struct sw_cset *set = open_set(3, 100, 100, 10);
    uint32_t keys[11] = {0};
    cr_expect_eq(sw_cset_insert(set, keys, 11), SW_E_INVALID);
    sw_cset_close(set);
}
