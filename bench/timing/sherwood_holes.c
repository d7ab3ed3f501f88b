/* SPDX-License-Identifier: MIT
 *
 * sherwood_holes.c - measures deletes that leave holes beside deletes that move other entries, and
 * what both cost afterwards: a get of all keys, and the insert of the deleted keys. That insert
 * closes the holes first.
 *
 * Two tables with the same keys take turns. Their maximum load is 0.96, and the probe cap follows,
 * because only a table with a small cap has holes.
 */
#include <string.h>

#include "bench/timing/sherwood_sides.h"

#define HOLES_LOAD_MAX 0.95
#define HOLES_MAX_LOAD 0.96

enum step { STEP_DELETE, STEP_GET, STEP_INSERT };

static bool open_side(const struct sw_timing_study *study, enum sw_choice holes,
                      struct sw_timing_side *side)
{
    struct sw_table_config config;
    sw_timing_sherwood_config(study, &config);
    config.max_load = HOLES_MAX_LOAD;
    config.max_probe = 0;
    config.tuning.holes = holes;
    return sw_timing_sherwood_open_side(study, &config, &side->study);
}

/* Times a step, on the chosen keys in `queries`. */
static bool run(struct sw_timing_side *side, enum step step, uint64_t batch,
                struct sw_timing_rep *rep)
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
static bool check(struct sw_timing_side *side, enum step step, uint64_t batch, uint64_t gone,
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

static bool take_turn(struct sw_timing_side *side, uint32_t configuration, uint64_t batch)
{
    struct sw_timing_study *study = &side->study;
    if (!sw_timing_draw_changes(&study->arrays, batch, study->distinct,
                                sw_timing_study_draw(study, SW_TIMING_HOLES, configuration,
                                                     side->series[STEP_DELETE].taken,
                                                     SW_TIMING_PART_CHANGES))) {
        return false;
    }
    for (int step = 0; step < SW_TIMING_STEPS; step++) {
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

static bool fill(struct sw_timing_side *side, uint32_t load_index)
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
    static const struct sw_timing_turns turns = {
        .operations = {{"delete_holes", "get_after_holes", "insert_after_holes"},
                       {"delete_moves", "get_after_moves", "insert_after_moves"}},
        .load_max = HOLES_LOAD_MAX,
        .fill = fill,
        .take = take_turn};
    struct sw_timing_side sides[SW_TIMING_SIDES];
    memset(sides, 0, sizeof(sides));
    const bool is_open = open_side(study, SW_CHOICE_ALWAYS, &sides[0]) &&
                         open_side(study, SW_CHOICE_NEVER, &sides[1]);
    return sw_timing_take_turns(&turns, study, sides, is_open);
}
