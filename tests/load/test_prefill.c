/* SPDX-License-Identifier: MIT
 *
 * test_prefill.c - frames drawn before a run: what is in them, where they lie, their turns.
 */
#include "bench/load/prefill.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 5000
#define FRAME 1500
#define FRAMES 3

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The keys of the run, sorted. */
static uint64_t *all_keys(const struct sw_load_workload *workload)
{
    uint64_t *keys = malloc(KEYS * sizeof(*keys));
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = sw_load_key(workload, i);
    }
    qsort(keys, KEYS, sizeof(*keys), by_number);
    return keys;
}

Test(prefill, keys_of_the_run_with_their_values)
{
    static const enum sw_load_distribution_kind kinds[] = {SW_LOAD_UNIFORM, SW_LOAD_ZIPF,
                                                           SW_LOAD_LATEST, SW_LOAD_SEQUENTIAL};
    for (uint32_t i = 0; i < 4 * 4; i++) {
        const struct sw_load_workload workload = {
            .seed = 3, .keys = KEYS, .key_bytes = i / 4 % 2 ? 4 : 8, .value_bytes = i / 8 ? 4 : 8};
        struct sw_load_distribution distribution;
        struct sw_load_prefill prefill;
        uint64_t *known = all_keys(&workload);
        void *first_keys = NULL, *keys, *values;
        sw_load_distribution_init(&distribution, kinds[i % 4], 0.99, KEYS);
        cr_assert(sw_load_prefill_init(&prefill, &workload, &distribution, 77, FRAMES, FRAME));
        for (uint32_t f = 0; f < FRAMES; f++) {
            sw_load_prefill_take(&prefill, &keys, &values);
            cr_assert_eq((uintptr_t)keys % 4096 + (uintptr_t)values % 4096, 0);
            first_keys = f == 0 ? keys : first_keys;
            cr_assert(f == 0 || memcmp(keys, first_keys, FRAME * workload.key_bytes) != 0);
            for (uint32_t k = 0; k < FRAME; k++) {
                uint64_t key = sw_load_element(keys, workload.key_bytes, k);
                cr_assert(bsearch(&key, known, KEYS, sizeof(key), by_number), "case %u", i);
                cr_assert_eq(sw_load_element(values, workload.value_bytes, k),
                             sw_load_value(&workload, key));
                if (kinds[i % 4] == SW_LOAD_SEQUENTIAL) {
                    cr_assert_eq(key, sw_load_key(&workload, (77 + f * FRAME + k) % KEYS));
                }
            }
        }
        sw_load_prefill_take(&prefill, &keys, &values);
        cr_assert_eq(keys, first_keys, "the first again behind the last");
        cr_assert_eq(prefill.bytes, sw_load_prefill_bytes(&workload, FRAMES, FRAME));
        sw_load_prefill_fini(&prefill);
        sw_load_prefill_fini(&prefill);
        free(known);
    }
}
