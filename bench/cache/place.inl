/* SPDX-License-Identifier: MIT
 *
 * place.inl - draws keys and values, judges answers and keeps the model, on the host (place.c) or
 * the device (device_place.cu).
 */
#include "bench/cache/place.h"

#include <string.h>

#include "bench/study/each.h"

/* The arguments of the functions below; each uses some of them. */
struct sw_cachebench_work {
    struct sw_cachebench_arrays arrays;
    struct sw_cachebench_draw draw;
    struct sw_cachebench_judged judged;
    struct sw_cachebench_note note;
    uint8_t *model;
    uint64_t numbers; /* numbers in the model */
    uint32_t dim;
    uint64_t seed;
};

/* --- keys and values -------------------------------------------------------------------------- */

SW_HD static inline void draw_one(const struct sw_cachebench_work *work, uint64_t j)
{
    const struct sw_cachebench_arrays *arrays = &work->arrays;
    const struct sw_cachebench_draw *draw = &work->draw;
    uint64_t number = sw_cachebench_number(&draw->query, j);
    arrays->keys[j] = sw_cachebench_key(number, draw->query.seed);
    arrays->accumulate[j] = !sw_cachebench_is_fresh(&draw->query, j);
    if (draw->scores != SW_CACHEBENCH_SCORES_NONE) {
        arrays->scores[j] = sw_cachebench_score(draw->scores, number, draw->query.seed);
    }
    for (uint32_t w = 0; w < draw->dim; w++) {
        arrays->values[j * draw->dim + w] = sw_cachebench_word(number, w, draw->generation);
    }
}
SW_STUDY_EACH(draw_one, struct sw_cachebench_work)

static bool draw(const struct sw_cachebench_arrays *arrays, const struct sw_cachebench_draw *drawn)
{
    struct sw_cachebench_work work;
    memset(&work, 0, sizeof(work));
    work.arrays = *arrays;
    work.draw = *drawn;
    return draw_one_each(&work, drawn->query.count);
}

struct sw_cachebench_expanded {
    uint8_t *results;
    const uint64_t *bits;
};

SW_HD static inline void expand_one(const struct sw_cachebench_expanded *expanded, uint64_t j)
{
    expanded->results[j] = expanded->bits[j / 64] >> (j % 64) & 1;
}
SW_STUDY_EACH(expand_one, struct sw_cachebench_expanded)

static bool expand(uint8_t *results, const uint64_t *bits, uint64_t count)
{
    struct sw_cachebench_expanded expanded = {results, bits};
    return expand_one_each(&expanded, count);
}

/* --- answers ---------------------------------------------------------------------------------- */

SW_HD static inline int judge_one(const struct sw_cachebench_work *work, uint64_t j)
{
    const struct sw_cachebench_arrays *arrays = &work->arrays;
    const struct sw_cachebench_judged *judged = &work->judged;
    uint64_t number = sw_cachebench_number(&judged->query, j);
    uint32_t generation = number < SW_CACHEBENCH_ABSENT ? work->model[number] : 0;
    int answer = sw_cachebench_presence(judged, number, generation, arrays->results[j]);
    if (answer != SW_CACHEBENCH_FOUND || judged->seen == SW_CACHEBENCH_SEEN_RESULTS) {
        return answer;
    }
    const float *value = judged->seen == SW_CACHEBENCH_SEEN_PLACES
                             ? (const float *)arrays->places[j]
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
SW_STUDY_TALLY(judge_one, struct sw_cachebench_work, SW_CACHEBENCH_ANSWERS)

static bool judge(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                  const struct sw_cachebench_judged *judged, struct sw_cachebench_verdict *verdict)
{
    struct sw_cachebench_work work;
    memset(&work, 0, sizeof(work));
    work.arrays = *arrays;
    work.model = (uint8_t *)model; /* only reads it */
    work.judged = *judged;
    return judge_one_tally(&work, judged->query.count, verdict->of);
}

SW_HD static inline int judge_evicted_one(const struct sw_cachebench_work *work, uint64_t j)
{
    uint64_t number = sw_cachebench_number_of(work->arrays.evicted_keys[j], work->seed);
    uint32_t generation = number < work->numbers ? work->model[number] : 0;
    if (generation == 0) {
        return SW_CACHEBENCH_PHANTOM;
    }
    for (uint32_t w = 0; w < work->dim; w++) {
        if (work->arrays.evicted_values[j * work->dim + w] !=
            sw_cachebench_word(number, w, generation)) {
            return SW_CACHEBENCH_WRONG;
        }
    }
    return SW_CACHEBENCH_FOUND;
}
SW_STUDY_TALLY(judge_evicted_one, struct sw_cachebench_work, SW_CACHEBENCH_ANSWERS)

/* The number of evicted entries lies beside the arrays. */
static bool judge_evicted_in(const struct sw_study_place *memory,
                             const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                             uint64_t numbers, uint32_t dim, uint64_t seed,
                             struct sw_cachebench_verdict *verdict)
{
    struct sw_cachebench_work work;
    uint64_t count = 0;
    memset(&work, 0, sizeof(work));
    work.arrays = *arrays;
    work.model = (uint8_t *)model; /* only reads it */
    work.numbers = numbers;
    work.dim = dim;
    work.seed = seed;
    return memory->copy(&count, arrays->evicted_count, sizeof(count)) &&
           judge_evicted_one_tally(&work, count, verdict->of);
}

/* --- the model -------------------------------------------------------------------------------- */

SW_HD static inline void note_one(const struct sw_cachebench_work *work, uint64_t j)
{
    const struct sw_cachebench_note *note = &work->note;
    bool is_fresh = sw_cachebench_is_fresh(&note->query, j);
    if (is_fresh ? note->fresh : note->window) {
        work->model[sw_cachebench_number(&note->query, j)] =
            (uint8_t)(is_fresh ? note->fresh_generation : note->window_generation);
    }
}
SW_STUDY_EACH(note_one, struct sw_cachebench_work)

static bool note(uint8_t *model, const struct sw_cachebench_note *noted)
{
    struct sw_cachebench_work work;
    memset(&work, 0, sizeof(work));
    work.model = model;
    work.note = *noted;
    return note_one_each(&work, noted->query.count);
}
