/* SPDX-License-Identifier: MIT
 *
 * sherwood_tunings.c - compares two tables that differ in one choice: gets of both in turn.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/measure.h"
#include "bench/timing/sherwood.h"

#define SIDES 2
#define FULL 0.99

struct side {
    const char *operation;
    struct sw_table_tuning tuning;
    struct sw_timing_study study; /* shares the arrays */
    struct sw_timing_series series;
};

static bool open_side(const struct sw_timing_study *study, struct side *side)
{
    struct sw_table_config config;
    sw_timing_sherwood_config(study, &config);
    config.tuning = side->tuning;
    return sw_timing_sherwood_open_side(study, &config, &side->study);
}

/* Fills both tables with the same keys, which lie in shared arrays. */
static bool fill_sides(struct side *sides, double load, uint32_t load_index)
{
    for (int s = 0; s < SIDES; s++) {
        struct sw_timing_study *study = &sides[s].study;
        uint64_t count = sw_timing_count(load, sw_timing_wanted_slots(study->options));
        study->load = load;
        study->load_index = load_index;
        if (!sw_timing_study_fill(
                study, count,
                sw_timing_study_draw(study, SW_TIMING_INSERT, 0, 0, SW_TIMING_PART_KEYS))) {
            return false;
        }
        sw_timing_study_begin(study, &sides[s].series, sides[s].operation, count);
    }
    return true;
}

static bool ask_side(struct side *side, enum sw_timing_operation operation)
{
    struct sw_timing_study *study = &side->study;
    struct sw_timing_check check;
    struct sw_timing_rep rep;
    memset(&rep, 0, sizeof(rep));
    if (!sw_timing_draw_queries(&study->arrays, study->count, study->count, study->distinct, 0,
                                sw_timing_study_draw(study, operation, 0, side->series.taken,
                                                     SW_TIMING_PART_QUERIES)) ||
        !sw_timing_study_ask(study, study->arrays.queries, study->count, &rep.took) ||
        !sw_timing_check_queries(&study->arrays, study->count,
                                 sw_timing_study_judge(study, study->count), &check)) {
        return false;
    }
    rep.operations = study->count;
    rep.has_check = true;
    rep.missed = check.unfound;
    rep.wrong = check.wrong;
    uint64_t hits = sw_timing_sherwood_hits(study->table);
    if (!side->tuning.without_probe_counts && hits != check.present - check.unfound) {
        fprintf(stderr, "timing: sherwood counted %" PRIu64 " hits of %" PRIu64 " found\n", hits,
                check.present - check.unfound);
        rep.wrong++;
    }
    sw_timing_series_take(&side->series, &rep);
    return true;
}

/* Gets from both in turn, so that other changes of the machine affect both. */
static bool ask_sides(struct side *sides, enum sw_timing_operation operation)
{
    bool more[SIDES] = {true, true};
    while (more[0] || more[1]) {
        for (int s = 0; s < SIDES; s++) {
            more[s] = more[s] && sw_timing_series_more(&sides[s].series);
            if (more[s] && !ask_side(&sides[s], operation)) {
                return false;
            }
        }
    }
    return true;
}

/* Reports by how many percent one side is faster, in its own row. */
static void report_gain(const struct sw_timing_study *study, struct side *sides, int faster,
                        const char *operation)
{
    double gain = sw_timing_series_gops(&sides[faster].series) /
                  sw_timing_series_gops(&sides[1 - faster].series);
    double percent = (gain - 1) * 100;
    struct sw_timing_subject subject = sides[0].series.subject;
    subject.operation = operation;
    sw_timing_report_summary(study->report, &subject, "percent", percent, "%");
    sw_timing_study_say(&sides[0].study, operation, "%.2f %%\n", percent);
}

/* Draws of 64 bits do not repeat: at F 1 such a table has no free slot. */
static bool is_full(const struct sw_timing_study *study, double load)
{
    return study->slot_bits == 128 && load > FULL;
}

static bool compare(struct sw_timing_study *study, struct side *sides,
                    enum sw_timing_operation operation)
{
    const struct sw_timing_options *options = study->options;
    bool done = open_side(study, &sides[0]) && open_side(study, &sides[1]);
    for (uint32_t l = 0; l < options->loads_count && done; l++) {
        /* where a get takes seconds, its counters are no matter */
        if (operation == SW_TIMING_COUNTERS && is_full(study, options->loads[l])) {
            continue;
        }
        done = fill_sides(sides, options->loads[l], l) && ask_sides(sides, operation);
        for (int s = 0; s < SIDES && done; s++) {
            sw_timing_study_end(&sides[s].study, &sides[s].series);
        }
        if (done) {
            report_gain(study, sides, operation == SW_TIMING_COUNTERS ? 1 : 0,
                        operation == SW_TIMING_COUNTERS ? "counters_cost" : "hints_gain");
        }
    }
    for (int s = 0; s < SIDES; s++) {
        sw_timing_sherwood_close_side(study, &sides[s].study);
    }
    return done;
}

static bool compare_hints(struct sw_timing_study *study)
{
    struct side sides[SIDES];
    memset(sides, 0, sizeof(sides));
    sides[0].operation = "get_hints";
    sides[0].tuning.hints = SW_CHOICE_ALWAYS;
    sides[1].operation = "get_no_hints";
    sides[1].tuning.hints = SW_CHOICE_NEVER;
    return compare(study, sides, SW_TIMING_HINTS);
}

static bool compare_counters(struct sw_timing_study *study)
{
    struct side sides[SIDES];
    memset(sides, 0, sizeof(sides));
    sides[0].operation = "get_counters";
    sides[1].operation = "get_no_counters";
    sides[1].tuning.without_probe_counts = true;
    return compare(study, sides, SW_TIMING_COUNTERS);
}

/* The library's insert_and_update may stream a batch as large as this through the whole table. Here
 * every fresh key finds its place by itself, while the others are updated. */
static bool measure_beside_alone(struct sw_timing_study *study)
{
    const struct sw_timing_options *options = study->options;
    struct side side;
    memset(&side, 0, sizeof(side));
    side.operation = "insert_and_update_cas";
    side.tuning.bulk = SW_CHOICE_NEVER;
    bool done = open_side(study, &side);
    for (uint32_t l = 0; l < options->loads_count && done; l++) {
        side.study.load_index = l;
        side.study.load = options->loads[l];
        /* into the last free slots entries would move over thousands of buckets each */
        if (!is_full(study, options->loads[l])) {
            done = sw_timing_measure_beside(&side.study, side.operation);
        }
    }
    sw_timing_sherwood_close_side(study, &side.study);
    return done;
}

bool sw_timing_measure_tunings(struct sw_timing_study *study)
{
    const bool *wanted = study->options->operations;
    bool done = !wanted[SW_TIMING_BESIDE] || measure_beside_alone(study);
    done = (!wanted[SW_TIMING_HINTS] || compare_hints(study)) && done;
    return (!wanted[SW_TIMING_COUNTERS] || compare_counters(study)) && done;
}

bool sw_timing_measure_sherwood(struct sw_timing_study *study)
{
    const bool *wanted = study->options->operations;
    bool done = sw_timing_measure_tunings(study);
    done = (!wanted[SW_TIMING_GROWTH] || sw_timing_measure_growth(study)) && done;
    done = (!wanted[SW_TIMING_HOLES] || sw_timing_measure_holes(study)) && done;
    done = (!wanted[SW_TIMING_SETS] || sw_timing_measure_sets(study)) && done;
    done = (!wanted[SW_TIMING_HOT] || sw_timing_measure_hot(study)) && done;
    return (!wanted[SW_TIMING_PINNED] || sw_timing_measure_pinned(study)) && done;
}
