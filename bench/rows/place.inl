/* SPDX-License-Identifier: MIT
 *
 * place.inl - draws keys and rows, judges answers and keeps the model, on the host (place.c) or the
 * device (device_place.cu).
 */
#include "bench/rows/place.h"

#include <string.h>

#include "bench/study/each.h"

struct sw_rowbench_drawn {
    uint64_t *keys;
    struct sw_rowbench_keys drawn;
};

SW_HD static inline void draw_key(const struct sw_rowbench_drawn *drawn, uint64_t j)
{
    uint64_t number = sw_rowbench_number(&drawn->drawn, j);
    drawn->keys[j] = sw_cachebench_key(number, drawn->drawn.query.seed);
}
SW_STUDY_EACH(draw_key, struct sw_rowbench_drawn)

static bool draw_keys(uint64_t *keys, const struct sw_rowbench_keys *drawn)
{
    struct sw_rowbench_drawn work;
    memset(&work, 0, sizeof(work));
    work.keys = keys;
    work.drawn = *drawn;
    return draw_key_each(&work, drawn->query.count);
}

/* The arguments of the functions below; each uses some of them. */
struct sw_rowbench_work {
    const uint64_t *keys;
    float *rows;
    uint8_t *bytes; /* the model, or results */
    const uint64_t *bits;
    uint32_t dim;
    uint32_t generation;
    uint64_t seed;
};

SW_HD static inline void draw_word(const struct sw_rowbench_work *work, uint64_t i)
{
    uint64_t number = sw_cachebench_number_of(work->keys[i / work->dim], work->seed);
    uint32_t word = (uint32_t)(i % work->dim);
    work->rows[i] = work->generation == 0 ? sw_rowbench_operand(number, word)
                                          : sw_cachebench_word(number, word, work->generation);
}
SW_STUDY_EACH(draw_word, struct sw_rowbench_work)

static bool draw_rows(float *rows, const uint64_t *keys, uint64_t count, uint32_t dim,
                      uint32_t generation, uint64_t seed)
{
    struct sw_rowbench_work work;
    memset(&work, 0, sizeof(work));
    work.keys = keys;
    work.rows = rows;
    work.dim = dim;
    work.generation = generation;
    work.seed = seed;
    return draw_word_each(&work, count * dim);
}

SW_HD static inline void expand_one(const struct sw_rowbench_work *work, uint64_t j)
{
    work->bytes[j] = work->bits[j / 64] >> (j % 64) & 1;
}
SW_STUDY_EACH(expand_one, struct sw_rowbench_work)

static bool expand(uint8_t *results, const uint64_t *bits, uint64_t count)
{
    struct sw_rowbench_work work;
    memset(&work, 0, sizeof(work));
    work.bytes = results;
    work.bits = bits;
    return expand_one_each(&work, count);
}

SW_HD static inline void note_one(const struct sw_rowbench_work *work, uint64_t j)
{
    work->bytes[sw_cachebench_number_of(work->keys[j], work->seed)] = (uint8_t)work->generation;
}
SW_STUDY_EACH(note_one, struct sw_rowbench_work)

static bool note(uint8_t *model, const uint64_t *keys, uint64_t count, uint32_t generation,
                 uint64_t seed)
{
    struct sw_rowbench_work work;
    memset(&work, 0, sizeof(work));
    work.keys = keys;
    work.bytes = model;
    work.generation = generation;
    work.seed = seed;
    return note_one_each(&work, count);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Judges the presence of a row with its first float. */
SW_HD static inline int judge_word(const struct sw_rowbench_judged *judged, uint64_t i)
{
    uint64_t j = i / judged->dim;
    uint32_t word = (uint32_t)(i % judged->dim);
    uint64_t number = sw_cachebench_number_of(judged->keys[j], judged->seed);
    uint32_t generation = number < judged->numbers ? judged->model[number] : 0;
    bool found = judged->results[j] == 1;
    if (found != (generation != 0) || judged->results[j] > 1) {
        return word > 0 ? SW_ROWBENCH_RIGHT : found ? SW_ROWBENCH_PHANTOM : SW_ROWBENCH_MISSED;
    }
    float expected = 0;
    if (found) {
        uint64_t times = judged->adds ? (number == judged->hot ? judged->hot_times : 1) : 0;
        expected = sw_cachebench_word(number, word, generation) +
                   (float)times * sw_rowbench_operand(number, word);
    }
    bool is_free = !found && !judged->zeroes_absent;
    return is_free || judged->rows[i] == expected ? SW_ROWBENCH_RIGHT : SW_ROWBENCH_WRONG;
}
SW_STUDY_TALLY(judge_word, struct sw_rowbench_judged, SW_ROWBENCH_ANSWERS)

static bool judge(const struct sw_rowbench_judged *judged, uint64_t count,
                  unsigned long long counts[SW_ROWBENCH_ANSWERS])
{
    return judge_word_tally(judged, count * judged->dim, counts);
}
