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

/* Asserts that the keys from `first` on are of table t. */
static void of_table(const struct sw_load_workload *workload, uint32_t tables, uint32_t t,
                     const uint64_t *keys, uint32_t count)
{
    const struct sw_load_workload own = sw_load_workload_of_table(workload, tables, t);
    for (uint32_t k = 0; k < count; k++) {
        uint64_t i = 0;
        while (i < own.keys && sw_load_key(&own, i) != keys[k]) {
            i++;
        }
        cr_assert_lt(i, own.keys, "key %u is not of table %u", k, t);
    }
}

Test(prefill, frames_of_several_tables)
{
    enum { TABLES = 4, EACH = 25 };
    const struct sw_load_workload workload = {
        .seed = 3, .keys = 400, .key_bytes = 8, .value_bytes = 8};
    for (int i = 0; i < 4; i++) {
        struct sw_load_distribution distribution;
        struct sw_load_prefill prefill;
        const struct sw_load_prefill_plan plan = {.workload = &workload,
                                                  .distribution = &distribution,
                                                  .random = 77,
                                                  .frames = 2 * TABLES,
                                                  .frame = TABLES * EACH,
                                                  .frame_min = TABLES * EACH,
                                                  .tables = TABLES,
                                                  .by_segments = i / 2};
        sw_load_distribution_init(&distribution, i % 2 ? SW_LOAD_UNIFORM : SW_LOAD_SEQUENTIAL, 0,
                                  workload.keys / TABLES);
        cr_assert(sw_load_prefill_init(&prefill, &plan));
        for (uint32_t f = 0; f < plan.frames; f++) {
            const struct sw_load_prefilled *frame = sw_load_prefill_take(&prefill);
            const uint64_t *keys = frame->keys;
            cr_assert_eq(frame->table, plan.by_segments ? 0 : f % TABLES);
            cr_assert_eq(sw_load_count_wrong(&workload, keys, frame->values, plan.frame), 0);
            for (uint32_t t = 0; t < TABLES; t++) {
                of_table(&workload, TABLES, plan.by_segments ? t : frame->table, keys + t * EACH,
                         EACH);
            }
        }
        sw_load_prefill_fini(&prefill);
    }
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
        const struct sw_load_prefill_plan plan = {
            .workload = &workload,
            .distribution = &distribution,
            .random = 77,
            .frames = FRAMES,
            .frame = FRAME,
            .frame_min = FRAME,
        };
        const void *first_keys = NULL;
        sw_load_distribution_init(&distribution, kinds[i % 4], 0.99, KEYS);
        cr_assert(sw_load_prefill_init(&prefill, &plan));
        for (uint32_t f = 0; f < FRAMES; f++) {
            const struct sw_load_prefilled *frame = sw_load_prefill_take(&prefill);
            const void *keys = frame->keys, *values = frame->values;
            cr_assert_eq(frame->count, FRAME);
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
        cr_assert_eq(sw_load_prefill_take(&prefill)->keys, first_keys,
                     "the first again behind the last");
        cr_assert_eq(prefill.bytes, sw_load_prefill_bytes(&workload, FRAMES, FRAME));
        sw_load_prefill_fini(&prefill);
        sw_load_prefill_fini(&prefill);
        free(known);
    }
}

/* Each frame has its own number of keys and, in a mix, its own operation. */
Test(prefill, sizes_and_operations_are_drawn)
{
    const struct sw_load_workload workload = {
        .seed = 3, .first = 1000, .keys = KEYS, .key_bytes = 4, .value_bytes = 4};
    const struct sw_load_mix mix = {.weights = {[SW_LOAD_MIX_GET] = 1, [SW_LOAD_MIX_DELETE] = 1},
                                    .total = 2};
    struct sw_load_distribution distribution;
    struct sw_load_prefill prefill;
    sw_load_distribution_init(&distribution, SW_LOAD_UNIFORM, 0, KEYS);
    const struct sw_load_prefill_plan plan = {.workload = &workload,
                                              .distribution = &distribution,
                                              .mix = &mix,
                                              .random = 5,
                                              .frames = 400,
                                              .frame = 100,
                                              .frame_min = 2};
    cr_assert(sw_load_prefill_init(&prefill, &plan));
    uint32_t least = UINT32_MAX, most = 0, gets = 0;
    for (uint32_t f = 0; f < plan.frames; f++) {
        const struct sw_load_prefilled *frame = sw_load_prefill_take(&prefill);
        cr_assert(frame->operation == SW_LOAD_MIX_GET || frame->operation == SW_LOAD_MIX_DELETE);
        gets += frame->operation == SW_LOAD_MIX_GET;
        least = frame->count < least ? frame->count : least;
        most = frame->count > most ? frame->count : most;
    }
    cr_assert(least >= 2 && least < 10 && most > 90 && most <= 100, "%u to %u", least, most);
    cr_assert(gets > 120 && gets < 280, "%u", gets);
    sw_load_prefill_fini(&prefill);
}

/* A frame for each unit of the keys, in their order. */
Test(prefill, all_frames_of_the_keys)
{
    const struct sw_load_workload workload = {
        .seed = 3, .first = 77, .keys = KEYS, .key_bytes = 8, .value_bytes = 8};
    struct sw_load_prefill prefill;
    cr_assert(sw_load_prefill_all(&prefill, &workload, FRAME));
    cr_assert_eq(prefill.frames, (KEYS + FRAME - 1) / FRAME);
    for (uint64_t i = 0; i < KEYS; i++) {
        const struct sw_load_prefilled *frame = &prefill.each[i / FRAME];
        const uint64_t key = sw_load_element(frame->keys, 8, i % FRAME);
        cr_assert_eq(key, sw_load_key(&workload, i));
        cr_assert_eq(sw_load_element(frame->values, 8, i % FRAME), sw_load_value(&workload, key));
    }
    sw_load_prefill_fini(&prefill);
}
