/* SPDX-License-Identifier: MIT
 *
 * sherwood_sets.c - measures a key set beside pairs with the same keys: a get of all keys, deletes
 * of stored keys, and inserts of the deleted keys, which are fresh then. The set answers which keys
 * were found, and which inserted keys are new; pairs answer the values.
 *
 * The two tables take turns. Their maximum load is 0.96, and the probe cap follows. No delete
 * leaves holes, because an insert would close them first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/measure.h"
#include "bench/timing/sherwood.h"

#define SETS_LOAD_MAX 0.95
#define SETS_MAX_LOAD 0.96

enum { SIDES = 2 };
enum step { STEP_GET, STEP_DELETE, STEP_INSERT, STEPS };

static const char *const operations[SIDES][STEPS] = {{"set_get", "set_delete", "set_insert"},
                                                     {"pair_get", "pair_delete", "pair_insert"}};

struct side {
    struct sw_timing_study study; /* shares the arrays */
    struct sw_timing_series series[STEPS];
};

static bool open_side(const struct sw_timing_study *study, bool is_set, struct side *side)
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
        sw_timing_study_subject(&side->study, operations[is_set ? 0 : 1][STEP_GET], 0);
    sw_timing_report_summary(
        study->report, &subject, "slot_bytes",
        (double)sw_table_raw_bytes(sw_timing_sherwood_table(side->study.table)) /
            (double)info.capacity_slots,
        "bytes");
    return true;
}

/* Runs a step: on the chosen keys in `queries`, or a get of all keys. */
static bool run(struct side *side, enum step step, uint64_t batch, struct sw_timing_rep *rep)
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
static bool check(struct side *side, const void *keys, uint64_t count, uint64_t found,
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

static bool take_turn(struct side *side, uint32_t configuration, uint64_t batch)
{
    struct sw_timing_study *study = &side->study;
    const struct sw_timing_arrays *arrays = &study->arrays;
    if (!sw_timing_draw_changes(&study->arrays, batch, study->distinct,
                                sw_timing_study_draw(study, SW_TIMING_SETS, configuration,
                                                     side->series[STEP_GET].taken,
                                                     SW_TIMING_PART_CHANGES))) {
        return false;
    }
    for (int step = 0; step < STEPS; step++) {
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

/* Draws the keys of this load and inserts them into both tables. */
static bool fill(struct side *sides, uint32_t load_index)
{
    struct sw_study_took took;
    for (int s = 0; s < SIDES; s++) {
        struct sw_timing_study *study = &sides[s].study;
        study->load = study->options->loads[load_index];
        study->load_index = load_index;
        if (!sw_timing_study_draw_keys(
                study, sw_timing_count(study->load, sw_timing_wanted_slots(study->options)),
                sw_timing_study_draw(study, SW_TIMING_INSERT, 0, 0, SW_TIMING_PART_KEYS)) ||
            !sw_timing_study_insert(study, &took)) {
            return false;
        }
    }
    return true;
}

bool sw_timing_measure_sets(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    struct side sides[SIDES];
    memset(sides, 0, sizeof(sides));
    bool done = open_side(study, true, &sides[0]) && open_side(study, false, &sides[1]);
    for (uint32_t l = 0; l < options->loads_count && done; l++) {
        if (options->loads[l] > SETS_LOAD_MAX) {
            continue;
        }
        done = fill(sides, l);
        for (uint32_t d = 0; d < options->delete_batches_count && done; d++) {
            done = measure(sides, d);
        }
    }
    for (int s = 0; s < SIDES; s++) {
        sw_timing_sherwood_close_side(study, &sides[s].study);
    }
    return done;
}
