/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_concurrent.c - several threads insert into the same cuckoo arrays, as the threads of
 * a GPU do. Meant to be run under ThreadSanitizer too.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/cuckoo/cuckoo.h"
#include "table/mix.h"

TestSuite(cuckoo_concurrent, .timeout = 120);

#define THREADS 4
#define KEYS_EACH 5000U
#define KEYS (THREADS * KEYS_EACH)

/* One body for each kind of cell: threads insert, then every key is looked for. */
#define CONCURRENT(suffix, word_type, mix)                                                        \
    struct inserter_##suffix {                                                                    \
        struct sw_cuckoo_view_##suffix view;                                                      \
        uint32_t first;                                                                           \
        uint32_t left_count;                                                                      \
        word_type left[KEYS_EACH];                                                                \
    };                                                                                            \
    static void *insert_all_##suffix(void *context)                                               \
    {                                                                                             \
        struct inserter_##suffix *self = context;                                                 \
        for (uint32_t i = self->first; i < self->first + KEYS_EACH; i++) {                        \
            word_type key = mix(i, 3);                                                            \
            struct sw_cuckoo_cell_##suffix carried =                                              \
                sw_cuckoo_cell_of_##suffix(key, (word_type)(key + 1));                            \
            if (!sw_cuckoo_insert_##suffix(&self->view, &carried)) {                              \
                self->left[self->left_count++] = carried.key;                                     \
            }                                                                                     \
        }                                                                                         \
        return NULL;                                                                              \
    }                                                                                             \
    static bool was_left_##suffix(const struct inserter_##suffix *inserters, word_type key)       \
    {                                                                                             \
        uint32_t times = 0;                                                                       \
        for (uint32_t t = 0; t < THREADS; t++) {                                                  \
            for (uint32_t l = 0; l < inserters[t].left_count; l++) {                              \
                times += inserters[t].left[l] == key;                                             \
            }                                                                                     \
        }                                                                                         \
        cr_assert_leq(times, 1, "a key is in two hands");                                         \
        return times == 1;                                                                        \
    }                                                                                             \
    static uint32_t run_##suffix(struct sw_cuckoo_shape shape)                                    \
    {                                                                                             \
        uint64_t bytes = sw_cuckoo_cells(&shape) * sizeof(struct sw_cuckoo_cell_##suffix);        \
        struct sw_cuckoo_view_##suffix view = {.cells = aligned_alloc(64, (bytes / 64 + 1) * 64), \
                                               .shape = shape};                                   \
        struct inserter_##suffix *inserters = calloc(THREADS, sizeof(*inserters));                \
        pthread_t threads[THREADS];                                                               \
        uint32_t left = 0;                                                                        \
        memset(view.cells, 0xFF, bytes);                                                          \
        for (uint32_t t = 0; t < THREADS; t++) {                                                  \
            inserters[t].view = view;                                                             \
            inserters[t].first = t * KEYS_EACH;                                                   \
            cr_assert_eq(pthread_create(&threads[t], NULL, insert_all_##suffix, &inserters[t]),   \
                         0);                                                                      \
        }                                                                                         \
        for (uint32_t t = 0; t < THREADS; t++) {                                                  \
            pthread_join(threads[t], NULL);                                                       \
        }                                                                                         \
        for (uint32_t i = 0; i < KEYS; i++) {                                                     \
            word_type key = mix(i, 3);                                                            \
            struct sw_cuckoo_cell_##suffix cell;                                                  \
            uint32_t held = 0;                                                                    \
            for (uint32_t f = 0; f < shape.functions && held == 0; f++) {                         \
                held = sw_cuckoo_look_in_##suffix(&view, &key, 1, &cell, 1, f);                   \
            }                                                                                     \
            bool handed_back = was_left_##suffix(inserters, key);                                 \
            cr_assert_neq(held != 0, handed_back, "key %u is %s", i,                              \
                          held != 0 ? "in a cell and in a hand" : "lost");                        \
            struct sw_cuckoo_cell_##suffix whole =                                                \
                sw_cuckoo_cell_of_##suffix(key, (word_type)(key + 1));                            \
            cr_assert(held == 0 || memcmp(&cell, &whole, sizeof(cell)) == 0);                     \
            left += handed_back;                                                                  \
        }                                                                                         \
        free(inserters);                                                                          \
        free(view.cells);                                                                         \
        return left;                                                                              \
    }

CONCURRENT(s64, uint32_t, sw_mix_32)
CONCURRENT(s128, uint64_t, sw_mix_64)

static struct sw_cuckoo_shape shape_of(uint32_t functions, uint32_t chain_max, double load)
{
    struct sw_cuckoo_shape shape = {.functions = functions, .chain_max = chain_max};
    shape.each = (uint64_t)(KEYS / load / functions);
    for (uint32_t i = 0; i < SW_CUCKOO_FUNCTIONS_MAX; i++) {
        shape.seeds[i] = sw_cuckoo_seed_of(0, i);
    }
    return shape;
}

Test(cuckoo_concurrent, nothing_is_lost_between_threads)
{
    for (uint32_t functions = 2; functions <= 3; functions++) {
        struct sw_cuckoo_shape shape = shape_of(functions, 400, functions == 2 ? 0.4 : 0.8);
        cr_expect_eq(run_s64(shape), 0);
        cr_expect_eq(run_s128(shape), 0);
    }
}

/* Chains meet their bound all the time: every key is in a cell or in one hand. */
Test(cuckoo_concurrent, what_meets_the_bound_is_in_one_hand)
{
    for (uint32_t functions = 2; functions <= 3; functions++) {
        struct sw_cuckoo_shape shape = shape_of(functions, 6, 0.9);
        cr_expect_gt(run_s64(shape), 0);
        cr_expect_gt(run_s128(shape), 0);
    }
}
