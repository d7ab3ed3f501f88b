/* SPDX-License-Identifier: MIT
 *
 * measure_insert.c - inserts: into an empty table, and of a batch into a table that is nearly at F.
 */
#include "bench/timing/measure.h"

#include <inttypes.h>
#include <string.h>

/* A batch finds the table this share of its slots below F, or further below if it is larger. */
#define BELOW_F 0.01

bool sw_timing_measure_insert(struct sw_timing_study *study)
{
    struct sw_timing_series series;
    uint64_t count = sw_timing_count(study->load, sw_timing_wanted_slots(study->options));
    sw_timing_study_begin(study, &series, "insert", count);
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep;
        memset(&rep, 0, sizeof(rep));
        rep.operations = count;
        if (!sw_timing_study_draw_keys(study, count,
                                       sw_timing_study_draw(study, SW_TIMING_INSERT, 0,
                                                            series.taken, SW_TIMING_PART_KEYS)) ||
            !sw_timing_study_insert(study, &rep.took) || !sw_timing_study_verify(study, &rep)) {
            return false;
        }
        sw_timing_series_take(&series, &rep);
    }
    sw_timing_study_end(study, &series);
    return true;
}

/* Inserts fresh keys, which lie after the `before` stored ones. */
static bool insert_fresh(struct sw_timing_study *study, uint64_t before, uint64_t batch,
                         struct sw_study_draw draw, struct sw_timing_rep *rep)
{
    struct sw_timing_check check;
    uint64_t fresh_distinct = 0;
    if (!sw_timing_draw_fresh(&study->arrays, before, batch, study->distinct, draw,
                              &fresh_distinct)) {
        return false;
    }
    sw_study_span_begin(&rep->took);
    bool done = sw_timing_insert_fresh(study, sw_timing_key_at(study, before),
                                       sw_timing_value_at(study, before), batch);
    sw_study_span_end(&rep->took);
    if (!done) {
        fprintf(stderr, "timing: %s: insert of a batch failed\n", study->library->name);
        return false;
    }
    if (!sw_timing_study_size(study, &rep->occupied) ||
        !sw_timing_study_ask(study, sw_timing_key_at(study, before), batch, NULL) ||
        !sw_timing_check_keys(&study->arrays, before, batch,
                              sw_timing_study_judge(study, before + batch), &check)) {
        return false;
    }
    rep->operations = batch;
    rep->has_distinct = true;
    rep->distinct = study->distinct + fresh_distinct;
    rep->drops =
        (int64_t)(sw_timing_expected(study, before + batch, rep->distinct) - rep->occupied);
    uint64_t dropped = rep->drops > 0 ? (uint64_t)rep->drops : 0;
    rep->has_check = true;
    rep->missed = check.unfound > dropped ? check.unfound - dropped : 0;
    rep->wrong = check.wrong;
    return true;
}

/* Also checks the keys that were stored before the insert. */
static bool check_stored(struct sw_timing_study *study, uint64_t before, uint64_t written,
                         struct sw_timing_rep *rep)
{
    struct sw_timing_check check;
    if (!sw_timing_study_ask(study, study->arrays.keys, before, NULL) ||
        !sw_timing_check_keys(&study->arrays, 0, before, sw_timing_study_judge(study, written),
                              &check)) {
        return false;
    }
    rep->missed += check.unfound;
    rep->wrong += check.wrong;
    return true;
}

bool sw_timing_measure_insert_batch(struct sw_timing_study *study, uint32_t configuration)
{
    struct sw_timing_series series;
    uint64_t batch = study->options->insert_batches[configuration];
    uint64_t slots = sw_timing_wanted_slots(study->options);
    double share = (double)batch / (double)slots;
    double below = share > BELOW_F ? share : BELOW_F;
    if (below >= study->load) {
        fprintf(stderr, "timing: insert_batch of %" PRIu64 " is left out: more than F %g\n", batch,
                study->load);
        return true;
    }
    uint64_t before = sw_timing_count(study->load - below, slots);
    sw_timing_study_begin(study, &series, "insert_batch", batch);
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep;
        struct sw_study_took filling;
        memset(&rep, 0, sizeof(rep));
        if (!sw_timing_study_draw_keys(study, before,
                                       sw_timing_study_draw(study, SW_TIMING_INSERT_BATCH,
                                                            configuration, series.taken,
                                                            SW_TIMING_PART_KEYS)) ||
            !sw_timing_study_insert(study, &filling) ||
            !insert_fresh(study, before, batch,
                          sw_timing_study_draw(study, SW_TIMING_INSERT_BATCH, configuration,
                                               series.taken, SW_TIMING_PART_FRESH),
                          &rep) ||
            (study->is_ours && !check_stored(study, before, before + batch, &rep))) {
            return false;
        }
        study->is_filled = false;
        sw_timing_series_take(&series, &rep);
    }
    sw_timing_study_end(study, &series);
    return true;
}
