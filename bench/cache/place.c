/* SPDX-License-Identifier: MIT
 *
 * place.c - the cache study's arrays in host memory.
 */
#include "bench/cache/place.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

static bool host_choose(int device)
{
    (void)device;
    return true;
}

static void host_describe(int device, FILE *out)
{
    (void)device;
    (void)out;
}

static void *host_alloc(size_t bytes)
{
    void *memory = aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
    if (memory == NULL) {
        fprintf(stderr, "cache: no memory for %zu bytes\n", bytes);
    }
    return memory;
}

static bool host_fill(void *memory, int byte, size_t bytes)
{
    memset(memory, byte, bytes);
    return true;
}

static bool host_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}

static bool host_draw(const struct sw_cachebench_arrays *arrays,
                      const struct sw_cachebench_draw *draw)
{
    const struct sw_cachebench_query *query = &draw->query;
    for (uint64_t j = 0; j < query->count; j++) {
        uint64_t number = sw_cachebench_number(query, j);
        arrays->keys[j] = sw_cachebench_key(number, query->seed);
        arrays->accumulate[j] = !sw_cachebench_is_fresh(query, j);
        if (draw->scores != SW_CACHEBENCH_SCORES_NONE) {
            arrays->scores[j] = sw_cachebench_score(draw->scores, number, query->seed);
        }
        for (uint32_t w = 0; w < draw->dim; w++) {
            arrays->values[j * draw->dim + w] = sw_cachebench_word(number, w, draw->generation);
        }
    }
    return true;
}

static bool host_expand(uint8_t *results, const uint64_t *bits, uint64_t count)
{
    for (uint64_t j = 0; j < count; j++) {
        results[j] = bits[j / 64] >> (j % 64) & 1;
    }
    return true;
}

static uint32_t generation_of(const uint8_t *model, uint64_t number)
{
    return number < SW_CACHEBENCH_ABSENT ? model[number] : 0;
}

static enum sw_cachebench_answer judge_one(const struct sw_cachebench_arrays *arrays,
                                           const uint8_t *model,
                                           const struct sw_cachebench_judged *judged, uint64_t j)
{
    uint64_t number = sw_cachebench_number(&judged->query, j);
    uint32_t generation = generation_of(model, number);
    enum sw_cachebench_answer answer =
        sw_cachebench_presence(judged, number, generation, arrays->results[j]);
    if (answer != SW_CACHEBENCH_FOUND || judged->seen == SW_CACHEBENCH_SEEN_RESULTS) {
        return answer;
    }
    const float *value = judged->seen == SW_CACHEBENCH_SEEN_PLACES
                             ? arrays->places[j]
                             : arrays->values_out + j * judged->dim;
    if (value == NULL) {
        return SW_CACHEBENCH_WRONG;
    }
    for (uint32_t w = 0; w < judged->dim; w++) {
        if (value[w] != sw_cachebench_expected(judged, j, number, w, generation)) {
            return SW_CACHEBENCH_WRONG;
        }
    }
    return answer;
}

static bool host_judge(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                       const struct sw_cachebench_judged *judged,
                       struct sw_cachebench_verdict *verdict)
{
    for (uint64_t j = 0; j < judged->query.count; j++) {
        verdict->of[judge_one(arrays, model, judged, j)]++;
    }
    return true;
}

static bool host_judge_evicted(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                               uint64_t numbers, uint32_t dim, uint64_t seed,
                               struct sw_cachebench_verdict *verdict)
{
    for (uint64_t j = 0; j < *arrays->evicted_count; j++) {
        uint64_t number = sw_cachebench_number_of(arrays->evicted_keys[j], seed);
        uint32_t generation = number < numbers ? model[number] : 0;
        enum sw_cachebench_answer answer =
            generation == 0 ? SW_CACHEBENCH_PHANTOM : SW_CACHEBENCH_FOUND;
        for (uint32_t w = 0; w < dim && answer == SW_CACHEBENCH_FOUND; w++) {
            if (arrays->evicted_values[j * dim + w] != sw_cachebench_word(number, w, generation)) {
                answer = SW_CACHEBENCH_WRONG;
            }
        }
        verdict->of[answer]++;
    }
    return true;
}

static bool host_note(uint8_t *model, const struct sw_cachebench_note *note)
{
    for (uint64_t j = 0; j < note->query.count; j++) {
        uint64_t number = sw_cachebench_number(&note->query, j);
        bool is_fresh = sw_cachebench_is_fresh(&note->query, j);
        if (is_fresh ? note->fresh : note->window) {
            model[number] = (uint8_t)(is_fresh ? note->fresh_generation : note->window_generation);
        }
    }
    return true;
}

const struct sw_cachebench_place sw_cachebench_host = {
    .name = "cpu",
    .choose = host_choose,
    .describe = host_describe,
    .alloc = host_alloc,
    .free = free,
    .fill = host_fill,
    .copy = host_copy,
    .expand = host_expand,
    .draw = host_draw,
    .judge = host_judge,
    .judge_evicted = host_judge_evicted,
    .note = host_note,
};
