/* SPDX-License-Identifier: MIT
 *
 * sherwood_holes.c - measures deletes that leave holes beside deletes that move other entries, and
 * what both cost afterwards: a get of all keys, and the insert of the deleted keys. That insert
 * closes the holes first.
 *
 * Two tables with the same keys take turns. Their maximum load is 0.96, and the probe cap follows,
 * because only a table with a small cap has holes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/measure.h"
#include "bench/timing/sherwood.h"

#define HOLES_LOAD_MAX 0.95
#define HOLES_MAX_LOAD 0.96

enum { SIDES = 2 };
enum step { STEP_DELETE, STEP_GET, STEP_INSERT, STEPS };

static const char *const operations[SIDES][STEPS] = {
    {"delete_holes", "get_after_holes", "insert_after_holes"},
    {"delete_moves", "get_after_moves", "insert_after_moves"}};

struct side {
    struct sw_timing_study study; /* shares the arrays */
    struct sw_timing_series series[STEPS];
};

static bool open_side(const struct sw_timing_study *study, enum sw_choice holes, struct side *side)
{
    struct sw_table_config config;
    sw_timing_sherwood_config(study, &config);
    config.max_load = HOLES_MAX_LOAD;
    config.max_probe = 0;
    config.tuning.holes = holes;
    return sw_timing_sherwood_open_side(study, &config, &side->study);
}

/* Times a step, on the chosen keys in `queries`. */
static bool run(struct side *side, enum step step, uint64_t batch, struct sw_timing_rep *rep)
{
    struct sw_timing_study *study = &side->study;
    const struct sw_timing_arrays *arrays = &study->arrays;
    memset(rep, 0, sizeof(*rep));
    rep->operations = step == STEP_GET ? study->count : batch;
    rep->has_check = true;
    if (step == STEP_GET) {
        return sw_timing_study_ask(study, arrays->keys, study->count, &rep->took);
    }
    sw_study_span_begin(&rep->took);
    const bool done =
        step == STEP_DELETE
            ? study->library->erase(study->table, arrays->queries, batch)
            : study->library->insert(study->table, arrays->queries, arrays->changed, batch);
    sw_study_span_end(&rep->took);
    return done;
}

/* Counts the chosen keys that are found, and the entries: after a delete no chosen key may be
 * found, and `gone` entries are absent; after an insert all are present. */
static bool check(struct side *side, enum step step, uint64_t batch, uint64_t gone,
                  struct sw_timing_rep *rep)
{
    struct sw_timing_study *study = &side->study;
    uint64_t found = 0;
    if (step == STEP_GET) {
        return true;
    }
    if (!sw_timing_study_ask(study, study->arrays.queries, batch, NULL) ||
        !sw_timing_count_found(&study->arrays, batch, &found) ||
        !sw_timing_study_size(study, &rep->occupied)) {
        return false;
    }
    rep->wrong = step == STEP_DELETE ? found : rep->occupied != study->distinct;
    rep->missed = step == STEP_DELETE ? rep->occupied != study->distinct - gone : batch - found;
    return true;
}

static bool take_turn(struct side *side, uint32_t configuration, uint64_t batch)
{
    struct sw_timing_study *study = &side->study;
    if (!sw_timing_draw_changes(&study->arrays, batch, study->distinct,
                                sw_timing_study_draw(study, SW_TIMING_HOLES, configuration,
                                                     side->series[STEP_DELETE].taken,
                                                     SW_TIMING_PART_CHANGES))) {
        return false;
    }
    for (int step = 0; step < STEPS; step++) {
        struct sw_timing_rep rep;
        (void)sw_timing_series_more(&side->series[step]);
        if (!run(side, (enum step)step, batch, &rep) ||
            !check(side, (enum step)step, batch, batch, &rep)) {
            return false;
        }
        sw_timing_series_take(&side->series[step], &rep);
    }
    return true;
}

static bool measure(struct side *sides, uint32_t configuration)
{
    uint64_t batch = sides[0].study.options->delete_batches[configuration];
    batch = batch < sides[0].study.distinct / 2 ? batch : sides[0].study.distinct / 2;
    for (int s = 0; s < SIDES; s++) {
        for (int step = 0; step < STEPS; step++) {
            sw_timing_study_begin(&sides[s].study, &sides[s].series[step], operations[s][step],
                                  batch);
        }
    }
    const uint32_t turns = sides[0].study.options->reps + 1; /* the first warms up */
    for (uint32_t turn = 0; turn < turns; turn++) {
        for (int s = 0; s < SIDES; s++) {
            if (!take_turn(&sides[s], configuration, batch)) {
                return false;
            }
        }
    }
    for (int s = 0; s < SIDES; s++) {
        for (int step = 0; step < STEPS; step++) {
            sw_timing_study_end(&sides[s].study, &sides[s].series[step]);
        }
    }
    return true;
}

static bool fill(struct side *side, uint32_t load_index)
{
    struct sw_timing_study *study = &side->study;
    study->load = study->options->loads[load_index];
    study->load_index = load_index;
    return sw_timing_study_fill(
        study, sw_timing_count(study->load, sw_timing_wanted_slots(study->options)),
        sw_timing_study_draw(study, SW_TIMING_INSERT, 0, 0, SW_TIMING_PART_KEYS));
}

bool sw_timing_measure_holes(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    struct side sides[SIDES];
    memset(sides, 0, sizeof(sides));
    bool done = open_side(study, SW_CHOICE_ALWAYS, &sides[0]) &&
                open_side(study, SW_CHOICE_NEVER, &sides[1]);
    for (uint32_t l = 0; l < options->loads_count && done; l++) {
        if (options->loads[l] > HOLES_LOAD_MAX) {
            continue;
        }
        done = fill(&sides[0], l) && fill(&sides[1], l);
        for (uint32_t d = 0; d < options->delete_batches_count && done; d++) {
            done = measure(sides, d);
        }
    }
    for (int s = 0; s < SIDES; s++) {
        sw_timing_sherwood_close_side(study, &sides[s].study);
    }
    return done;
}
