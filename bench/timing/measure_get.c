/* SPDX-License-Identifier: MIT
 *
 * measure_get.c - gets: one for each inserted key, and batches of different sizes.
 */
#include "bench/timing/measure.h"

#include <inttypes.h>
#include <string.h>

/* A call that would take longer than CALL_BUDGETS times the budget of its series gets fewer keys. A
 * trial call of TRIAL_OPS keys predicts the time. */
#define CALL_BUDGETS 2.0
#define TRIAL_OPS (1ULL << 20)

/* Draws queries and gets them. */
static bool ask_drawn(struct sw_timing_study *study, uint64_t wanted, uint32_t miss_percent,
                      struct sw_study_draw draw, struct sw_timing_rep *rep)
{
    struct sw_timing_check check;
    memset(rep, 0, sizeof(*rep));
    if (!sw_timing_draw_queries(&study->arrays, wanted, study->count, study->distinct, miss_percent,
                                draw) ||
        !sw_timing_study_ask(study, study->arrays.queries, wanted, &rep->took) ||
        !sw_timing_check_queries(&study->arrays, wanted, sw_timing_study_judge(study, study->count),
                                 &check)) {
        return false;
    }
    rep->operations = wanted;
    rep->has_check = true;
    rep->missed = check.unfound > study->forgotten ? check.unfound - study->forgotten : 0;
    rep->wrong = check.wrong;
    return true;
}

/* Chooses the number of queries of a call: one for each inserted key, or fewer if that would take
 * too long. */
static bool choose_count(struct sw_timing_study *study, uint32_t miss_percent, double budget,
                         uint64_t *wanted)
{
    struct sw_timing_rep rep;
    *wanted = study->count;
    if (*wanted <= TRIAL_OPS) {
        return true;
    }
    if (!ask_drawn(
            study, TRIAL_OPS, miss_percent,
            sw_timing_study_draw(study, SW_TIMING_GET, miss_percent, 2047, SW_TIMING_PART_QUERIES),
            &rep)) {
        return false;
    }
    double affordable = TRIAL_OPS * CALL_BUDGETS * budget / rep.took.seconds;
    if (affordable < (double)*wanted) {
        *wanted = affordable < TRIAL_OPS ? TRIAL_OPS : (uint64_t)affordable;
        fprintf(stderr,
                "timing: %s: %" PRIu64 " queries a call only, %" PRIu64
                " took %.1f ms in a trial\n",
                study->library->name, *wanted, (uint64_t)TRIAL_OPS, rep.took.seconds * 1e3);
    }
    return true;
}

bool sw_timing_measure_get(struct sw_timing_study *study, uint32_t miss_percent)
{
    struct sw_timing_series series;
    char operation[32] = "get";
    uint64_t wanted = 0;
    if (miss_percent > 0) {
        snprintf(operation, sizeof(operation), "get_miss%" PRIu32, miss_percent);
    }
    sw_timing_study_begin(study, &series, operation, 0);
    if (!choose_count(study, miss_percent, series.budget, &wanted)) {
        return false;
    }
    series.subject.batch = wanted;
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep;
        if (!ask_drawn(study, wanted, miss_percent,
                       sw_timing_study_draw(study, SW_TIMING_GET, miss_percent, series.taken,
                                            SW_TIMING_PART_QUERIES),
                       &rep)) {
            return false;
        }
        sw_timing_series_take(&series, &rep);
    }
    sw_timing_study_end(study, &series);
    return true;
}

bool sw_timing_measure_get_batches(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    for (uint32_t b = 0; b < options->get_batches_count; b++) {
        struct sw_timing_series series;
        uint64_t batch = options->get_batches[b];
        if (batch > study->arrays.room) {
            fprintf(stderr, "timing: get_batch of %" PRIu64 " is left out: more than the slots\n",
                    batch);
            continue;
        }
        sw_timing_study_begin(study, &series, "get_batch", batch);
        while (sw_timing_series_more(&series)) {
            struct sw_timing_rep rep;
            if (!ask_drawn(study, batch, 0,
                           sw_timing_study_draw(study, SW_TIMING_GET_BATCH, b, series.taken,
                                                SW_TIMING_PART_QUERIES),
                           &rep)) {
                return false;
            }
            sw_timing_series_take(&series, &rep);
        }
        sw_timing_study_end(study, &series);
    }
    return true;
}
