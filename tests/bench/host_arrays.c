/* SPDX-License-Identifier: MIT
 *
 * host_arrays.c - bench/timing/keys.h and answers.h in host memory, so that the study's host code
 * can be tested without a GPU. The random words are other ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/timing/answers.h"

/* --- elements of either width ----------------------------------------------------------------- */

static uint64_t load(const void *array, uint32_t key_bytes, uint64_t index)
{
    return key_bytes == 4 ? ((const uint32_t *)array)[index] : ((const uint64_t *)array)[index];
}

static void store(void *array, uint32_t key_bytes, uint64_t index, uint64_t value)
{
    if (key_bytes == 4) {
        ((uint32_t *)array)[index] = (uint32_t)value;
    } else {
        ((uint64_t *)array)[index] = value;
    }
}

static uint64_t all_ones(const struct sw_timing_arrays *arrays)
{
    return arrays->key_bytes == 4 ? UINT32_MAX : UINT64_MAX;
}

/* --- memory ----------------------------------------------------------------------------------- */

void *sw_timing_alloc(size_t bytes)
{
    return malloc(bytes);
}

void sw_timing_free(void *memory)
{
    free(memory);
}

bool sw_timing_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}

bool sw_timing_arrays_open(struct sw_timing_arrays *arrays, uint32_t key_bytes, uint64_t room)
{
    memset(arrays, 0, sizeof(*arrays));
    arrays->key_bytes = key_bytes;
    arrays->room = room;
    arrays->keys = malloc(room * key_bytes);
    arrays->values = malloc(room * key_bytes);
    arrays->sorted = malloc(room * key_bytes);
    arrays->queries = malloc(room * key_bytes);
    arrays->origin = malloc(room * sizeof(uint32_t));
    arrays->answers = malloc(room * key_bytes);
    arrays->changed = malloc(room * key_bytes);
    arrays->held = malloc(room);
    for (uint64_t i = 0; i < room; i++) {
        store(arrays->values, key_bytes, i, i);
    }
    return true;
}

void sw_timing_arrays_close(struct sw_timing_arrays *arrays)
{
    free(arrays->keys);
    free(arrays->values);
    free(arrays->sorted);
    free(arrays->queries);
    free(arrays->origin);
    free(arrays->answers);
    free(arrays->changed);
    free(arrays->held);
    memset(arrays, 0, sizeof(*arrays));
}

/* --- draws ------------------------------------------------------------------------------------ */

/* splitmix64 (Sebastiano Vigna, public domain) */
static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static uint64_t state_of(struct sw_study_draw draw)
{
    uint64_t state = draw.seed;
    return next(&state) ^ draw.number * 0xd1342543de82ef95ULL;
}

/* 16 bits too few, so that keys repeat in tables of a few thousand slots. */
static uint64_t draw_key(const struct sw_timing_arrays *arrays, uint64_t *state)
{
    uint64_t mask = arrays->key_bytes == 4 ? 0xffffU : UINT64_MAX;
    return (next(state) & mask) + 1;
}

static int by_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t sort_and_unique(void *keys, uint32_t key_bytes, uint64_t count)
{
    uint64_t distinct = 0;
    qsort(keys, count, key_bytes, key_bytes == 4 ? by_u32 : by_u64);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = load(keys, key_bytes, i);
        if (i == 0 || key != load(keys, key_bytes, distinct - 1)) {
            store(keys, key_bytes, distinct++, key);
        }
    }
    return distinct;
}

bool sw_study_equal(const void *a, const void *b, size_t bytes, bool *equal)
{
    *equal = memcmp(a, b, bytes) == 0;
    return true;
}

bool sw_timing_draw_keys(struct sw_timing_arrays *arrays, uint64_t count, struct sw_study_draw draw,
                         uint64_t *distinct)
{
    uint64_t state = state_of(draw);
    for (uint64_t i = 0; i < count; i++) {
        store(arrays->keys, arrays->key_bytes, i, draw_key(arrays, &state));
    }
    memcpy(arrays->sorted, arrays->keys, count * arrays->key_bytes);
    *distinct = sort_and_unique(arrays->sorted, arrays->key_bytes, count);
    return true;
}

static uint64_t draw_absent(const struct sw_timing_arrays *arrays, uint64_t distinct,
                            uint64_t *state)
{
    uint64_t key;
    uint32_t narrow;
    const void *found;
    do {
        key = draw_key(arrays, state);
        narrow = (uint32_t)key;
        found = arrays->key_bytes == 4 ? bsearch(&narrow, arrays->sorted, distinct, 4, by_u32)
                                       : bsearch(&key, arrays->sorted, distinct, 8, by_u64);
    } while (found != NULL);
    return key;
}

bool sw_timing_draw_fresh(struct sw_timing_arrays *arrays, uint64_t first, uint64_t count,
                          uint64_t distinct, struct sw_study_draw draw, uint64_t *fresh_distinct)
{
    uint64_t state = state_of(draw);
    uint32_t bytes = arrays->key_bytes;
    for (uint64_t i = 0; i < count; i++) {
        store(arrays->keys, bytes, first + i, draw_absent(arrays, distinct, &state));
    }
    memcpy(arrays->queries, (char *)arrays->keys + first * bytes, count * bytes);
    *fresh_distinct = sort_and_unique(arrays->queries, bytes, count);
    return true;
}

bool sw_timing_draw_queries(struct sw_timing_arrays *arrays, uint64_t wanted, uint64_t stored,
                            uint64_t distinct, uint32_t miss_percent, struct sw_study_draw draw)
{
    struct sw_study_order order = sw_study_order_draw(stored, sw_timing_random(draw));
    uint64_t state = state_of(draw);
    for (uint64_t i = 0; i < wanted; i++) {
        bool misses = next(&state) % 100 < miss_percent;
        uint64_t origin = (i * order.step + order.start) % stored;
        uint64_t key = misses ? draw_absent(arrays, distinct, &state)
                              : load(arrays->keys, arrays->key_bytes, origin);
        store(arrays->queries, arrays->key_bytes, i, key);
        arrays->origin[i] = misses ? SW_TIMING_ABSENT : (uint32_t)origin;
    }
    return true;
}

bool sw_timing_draw_changes(struct sw_timing_arrays *arrays, uint64_t wanted, uint64_t distinct,
                            struct sw_study_draw draw)
{
    struct sw_study_order order = sw_study_order_draw(distinct, sw_timing_random(draw));
    uint64_t generation = 1 + draw.number % SW_TIMING_GENERATIONS;
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t place = (i * order.step + order.start) % distinct;
        store(arrays->queries, arrays->key_bytes, i,
              load(arrays->sorted, arrays->key_bytes, place));
        store(arrays->changed, arrays->key_bytes, i, generation << SW_TIMING_INDEX_BITS | i);
    }
    return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

bool sw_timing_poison(struct sw_timing_arrays *arrays, uint64_t count)
{
    memset(arrays->answers, 0xff, count * arrays->key_bytes);
    return true;
}

bool sw_timing_mark_absent(void *answers, uint32_t key_bytes, const uint64_t *found, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if ((found[i / 64] >> (i % 64) & 1) == 0) {
            store(answers, key_bytes, i, UINT64_MAX);
        }
    }
    return true;
}

static bool check(struct sw_timing_arrays *arrays, const uint32_t *origins, uint64_t first,
                  uint64_t count, struct sw_timing_judge judge, struct sw_timing_check *result)
{
    memset(result, 0, sizeof(*result));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t origin = origins == NULL ? first + i : origins[i];
        uint64_t answer = load(arrays->answers, arrays->key_bytes, i);
        bool found = answer != all_ones(arrays);
        if (origins != NULL && origin == SW_TIMING_ABSENT) {
            result->wrong += found;
            continue;
        }
        result->present++;
        result->unfound += !found;
        result->wrong += found && (answer >= judge.written || (judge.last && answer < origin) ||
                                   load(arrays->keys, arrays->key_bytes, answer) !=
                                       load(arrays->keys, arrays->key_bytes, origin));
    }
    return true;
}

bool sw_timing_check_queries(struct sw_timing_arrays *arrays, uint64_t count,
                             struct sw_timing_judge judge, struct sw_timing_check *result)
{
    return check(arrays, arrays->origin, 0, count, judge, result);
}

bool sw_timing_check_keys(struct sw_timing_arrays *arrays, uint64_t first, uint64_t count,
                          struct sw_timing_judge judge, struct sw_timing_check *result)
{
    return check(arrays, NULL, first, count, judge, result);
}

bool sw_timing_remember_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found)
{
    *found = 0;
    for (uint64_t i = 0; i < count; i++) {
        arrays->held[i] = load(arrays->answers, arrays->key_bytes, i) != all_ones(arrays);
        *found += arrays->held[i];
    }
    return true;
}

bool sw_timing_count_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found)
{
    *found = 0;
    for (uint64_t i = 0; i < count; i++) {
        *found += load(arrays->answers, arrays->key_bytes, i) != all_ones(arrays);
    }
    return true;
}

bool sw_timing_count_lost(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *lost)
{
    *lost = 0;
    for (uint64_t i = 0; i < count; i++) {
        *lost += arrays->held[i] != 0 && load(arrays->answers, arrays->key_bytes, i) !=
                                             load(arrays->changed, arrays->key_bytes, i);
    }
    return true;
}
