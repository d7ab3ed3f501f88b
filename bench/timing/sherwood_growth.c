/* SPDX-License-Identifier: MIT
 *
 * sherwood_growth.c - measures how a table at load 0.9 moves to arrays of twice the slots, and
 * back.
 *
 * The table is as a daemon would have it: a maximum load of 0.95, and the probe cap that follows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/study/pass.h"
#include "bench/timing/sherwood.h"

#define GROWTH_LOAD 0.9
#define GROWTH_MAX_LOAD 0.95
/* Keys drawn, as a share of the slots: enough for GROWTH_LOAD different ones. */
#define GROWTH_DRAWN 0.97

struct growth {
    struct sw_timing_study study;
    uint64_t entries; /* sorted[0, entries), with the values 0, 1, 2, .. */
    double first;     /* seconds of the first growth, which maps the memory of the larger arrays */
};

static bool open_table(const struct sw_timing_study *study, struct growth *growth)
{
    struct sw_table_config config;
    sw_timing_sherwood_config(study, &config);
    config.max_load = GROWTH_MAX_LOAD;
    config.max_probe = 0;
    config.max_capacity_slots = 2 * config.capacity_slots;
    return sw_timing_sherwood_open_side(study, &config, &growth->study);
}

static bool fill(struct growth *growth)
{
    struct sw_timing_study *study = &growth->study;
    const struct sw_timing_arrays *arrays = &study->arrays;
    uint64_t slots = sw_timing_wanted_slots(study->options);
    growth->entries = sw_timing_count(GROWTH_LOAD, slots);
    if (!sw_timing_study_draw_keys(
            study, sw_timing_count(GROWTH_DRAWN, slots),
            sw_timing_study_draw(study, SW_TIMING_GROWTH, 0, 0, SW_TIMING_PART_KEYS))) {
        return false;
    }
    if (study->distinct < growth->entries) {
        fprintf(stderr, "timing: growth: only %" PRIu64 " different keys were drawn\n",
                study->distinct);
        return false;
    }
    return study->library->insert(study->table, arrays->sorted, arrays->values, growth->entries);
}

/* Gets every key, and counts the entries. */
static bool check(struct growth *growth, struct sw_timing_rep *rep)
{
    struct sw_timing_study *study = &growth->study;
    uint64_t found = 0;
    bool equal = false;
    if (!sw_timing_study_ask(study, study->arrays.sorted, growth->entries, NULL) ||
        !sw_timing_count_found(&study->arrays, growth->entries, &found) ||
        !sw_study_equal(study->arrays.answers, study->arrays.values,
                        growth->entries * study->arrays.key_bytes, &equal) ||
        !sw_timing_study_size(study, &rep->occupied)) {
        return false;
    }
    rep->operations = growth->entries;
    rep->has_distinct = true;
    rep->distinct = growth->entries;
    rep->drops = (int64_t)(growth->entries - rep->occupied);
    rep->has_check = true;
    rep->missed = growth->entries - found;
    rep->wrong = rep->missed == 0 && !equal;
    return true;
}

static bool resize(struct growth *growth, uint64_t capacity, struct sw_timing_series *series)
{
    struct sw_batch batch;
    struct sw_timing_rep rep;
    memset(&batch, 0, sizeof(batch));
    memset(&rep, 0, sizeof(rep));
    batch.kind = SW_BATCH_RESIZE;
    batch.capacity = capacity;
    sw_study_span_begin(&rep.took);
    int status = sw_study_batch_run(sw_timing_sherwood_queue(growth->study.table), &batch);
    sw_study_span_end(&rep.took);
    if (status != SW_OK || batch.capacity != capacity) {
        fprintf(stderr, "timing: sherwood: resize to %" PRIu64 " slots gave %" PRIu64 ": %s\n",
                capacity, batch.capacity, sw_status_text(status));
        return false;
    }
    if (growth->first == 0) {
        growth->first = rep.took.seconds;
    }
    if (!check(growth, &rep)) {
        return false;
    }
    sw_timing_series_take(series, &rep);
    return true;
}

static void end(struct growth *growth, struct sw_timing_series *series)
{
    sw_timing_study_end(&growth->study, series);
    double *seconds = series->seconds; /* sorted by the end of the series */
    double median = sw_study_median(seconds, series->count);
    sw_timing_report_summary(series->report, &series->subject, "time_ms", median * 1e3, "ms");
    sw_timing_report_summary(series->report, &series->subject, "time_ms_min", seconds[0] * 1e3,
                             "ms");
    sw_timing_report_summary(series->report, &series->subject, "time_ms_max",
                             seconds[series->count - 1] * 1e3, "ms");
}

/* Grows and shrinks in turn, so both series end together. */
static bool measure(struct growth *growth)
{
    struct sw_timing_series up;
    struct sw_timing_series down;
    uint64_t slots = growth->study.slots;
    growth->study.load = GROWTH_LOAD;
    sw_timing_study_begin(&growth->study, &up, "growth", growth->entries);
    sw_timing_study_begin(&growth->study, &down, "shrink", growth->entries);
    down.budget = 2 * up.budget; /* its time includes the growths */
    while (sw_timing_series_more(&up)) {
        if (!resize(growth, 2 * slots, &up)) {
            return false;
        }
        (void)sw_timing_series_more(&down);
        if (!resize(growth, slots, &down)) {
            return false;
        }
    }
    (void)sw_timing_series_more(&down); /* reports a warm-up that has no successor */
    sw_timing_report_summary(up.report, &up.subject, "time_ms_first", growth->first * 1e3, "ms");
    end(growth, &up);
    end(growth, &down);
    return true;
}

bool sw_timing_measure_growth(struct sw_timing_study *study)
{
    struct growth growth = {0};
    bool done = open_table(study, &growth) && fill(&growth) && measure(&growth);
    sw_timing_sherwood_close_side(study, &growth.study);
    return done;
}
