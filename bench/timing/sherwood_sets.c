/* SPDX-License-Identifier: MIT
 *
 * sherwood_sets.c - measures a key set beside pairs with the same keys: a get of all keys, deletes
 * of stored keys, and inserts of the deleted keys, which are fresh then. The set answers which keys
 * were found, and which inserted keys are new; pairs answer the values.
 *
 * The two tables take turns. Their maximum load is 0.96, and the probe cap follows. No delete
 * leaves holes, because an insert would close them first.
 */
#include <string.h>

#include "bench/timing/sherwood_sides.h"

#define SETS_LOAD_MAX 0.95
#define SETS_MAX_LOAD 0.96

enum step { STEP_GET, STEP_DELETE, STEP_INSERT };

static bool open_side(const struct sw_timing_study *study, bool is_set, struct sw_timing_side *side)
{
    struct sw_table_config config;
    struct sw_table_info info;
    sw_timing_sherwood_config(study, &config);
    config.max_load = SETS_MAX_LOAD;
    config.max_probe = 0;
    config.is_set = is_set;
    config.tuning.holes = SW_CHOICE_NEVER;
    if (!sw_timing_sherwood_open_side(study, &config, &side->study)) {
        return false;
    }
    sw_table_info(sw_timing_sherwood_table(side->study.table), &info);
    const struct sw_timing_subject subject =
        sw_timing_study_subject(&side->study, is_set ? "set_get" : "pair_get", 0);
    sw_timing_report_summary(
        study->report, &subject, "slot_bytes",
        (double)sw_table_raw_bytes(sw_timing_sherwood_table(side->study.table)) /
            (double)info.capacity_slots,
        "bytes");
    return true;
}

/* Runs a step: on the chosen keys in `queries`, or a get of all keys. */
static bool run(struct sw_timing_side *side, enum step step, uint64_t batch,
                struct sw_timing_rep *rep)
{
    struct sw_timing_study *study = &side->study;
    const struct sw_timing_library *library = study->library;
    const struct sw_timing_arrays *arrays = &study->arrays;
    memset(rep, 0, sizeof(*rep));
    rep->operations = step == STEP_GET ? study->count : batch;
    rep->has_check = true;
    sw_study_span_begin(&rep->took);
    const bool done = step == STEP_GET
                          ? library->get(study->table, arrays->keys, arrays->answers, study->count)
                      : step == STEP_DELETE
                          ? library->erase(study->table, arrays->queries, batch)
                          : library->insert(study->table, arrays->queries, arrays->changed, batch);
    sw_study_span_end(&rep->took);
    return done;
}

/* Compares what a get of the keys finds with `found`, and the entries with `occupied`. */
static bool check(struct sw_timing_side *side, const void *keys, uint64_t count, uint64_t found,
                  uint64_t occupied, struct sw_timing_rep *rep)
{
    struct sw_timing_study *study = &side->study;
    if (!study->library->get(study->table, keys, study->arrays.answers, count) ||
        !sw_timing_study_size(study, &rep->occupied)) {
        return false;
    }
    rep->missed = sw_timing_sherwood_hits(study->table) != found;
    rep->wrong = rep->occupied != occupied;
    return true;
}

static bool take_turn(struct sw_timing_side *side, uint32_t configuration, uint64_t batch)
{
    struct sw_timing_study *study = &side->study;
    const struct sw_timing_arrays *arrays = &study->arrays;
    if (!sw_timing_draw_changes(&study->arrays, batch, study->distinct,
                                sw_timing_study_draw(study, SW_TIMING_SETS, configuration,
                                                     side->series[STEP_GET].taken,
                                                     SW_TIMING_PART_CHANGES))) {
        return false;
    }
    for (int step = 0; step < SW_TIMING_STEPS; step++) {
        struct sw_timing_rep rep;
        (void)sw_timing_series_more(&side->series[step]);
        const uint64_t gone = step == STEP_DELETE ? batch : 0;
        if (!run(side, (enum step)step, batch, &rep) ||
            !(step == STEP_GET
                  ? check(side, arrays->keys, study->count, study->count, study->distinct, &rep)
                  : check(side, arrays->queries, batch, batch - gone, study->distinct - gone,
                          &rep))) {
            return false;
        }
        sw_timing_series_take(&side->series[step], &rep);
    }
    return true;
}

/* Draws the keys of this load and inserts them. */
static bool fill(struct sw_timing_side *side, uint32_t load_index)
{
    struct sw_timing_study *study = &side->study;
    struct sw_study_took took;
    study->load = study->options->loads[load_index];
    study->load_index = load_index;
    return sw_timing_study_draw_keys(
               study, sw_timing_count(study->load, sw_timing_wanted_slots(study->options)),
               sw_timing_study_draw(study, SW_TIMING_INSERT, 0, 0, SW_TIMING_PART_KEYS)) &&
           sw_timing_study_insert(study, &took);
}

bool sw_timing_measure_sets(struct sw_timing_study *study)
{
    static const struct sw_timing_turns turns = {
        .operations = {{"set_get", "set_delete", "set_insert"},
                       {"pair_get", "pair_delete", "pair_insert"}},
        .load_max = SETS_LOAD_MAX,
        .fill = fill,
        .take = take_turn};
    struct sw_timing_side sides[SW_TIMING_SIDES];
    memset(sides, 0, sizeof(sides));
    const bool is_open = open_side(study, true, &sides[0]) && open_side(study, false, &sides[1]);
    return sw_timing_take_turns(&turns, study, sides, is_open);
}
