/* SPDX-License-Identifier: MIT
 *
 * measure_change.c - changes of stored keys: new values, removal, updates beside inserts.
 */
#include "bench/timing/measure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Updates beside inserts: the table begins at F - BESIDE_BELOW_F. F * slots / BESIDE_SHARE fresh
 * keys arrive; with F 1 they fill the table to F. */
#define BESIDE_BELOW_F 0.05
#define BESIDE_SHARE 20

static bool failed(const struct sw_timing_study *study, const char *what)
{
    fprintf(stderr, "timing: %s, %" PRIu32 "-bit slots, F %g: %s failed\n", study->library->name,
            study->slot_bits, study->load, what);
    return false;
}

/* Draws `wanted` different stored keys and remembers which of them a get finds. */
static bool choose(struct sw_timing_study *study, uint64_t wanted, struct sw_study_draw draw,
                   uint64_t *held)
{
    return sw_timing_draw_changes(&study->arrays, wanted, study->distinct, draw) &&
           sw_timing_study_ask(study, study->arrays.queries, wanted, NULL) &&
           sw_timing_remember_found(&study->arrays, wanted, held);
}

/* Counts the chosen keys that were found before and do not have their new value. */
static bool count_lost(struct sw_timing_study *study, uint64_t wanted, uint64_t *lost)
{
    return sw_timing_study_ask(study, study->arrays.queries, wanted, NULL) &&
           sw_timing_count_lost(&study->arrays, wanted, lost);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* With --found: compares the bits of the write of the chosen keys with what a get found before,
 * whose answers are still there. */
static bool check_bits(struct sw_timing_study *study, uint64_t batch, uint64_t held,
                       uint64_t *wrong)
{
    uint64_t found = held;
    bool has_bits = study->is_ours && study->options->found;
    bool done = !has_bits || (study->library->settle(study->table, study->arrays.answers, batch) &&
                              sw_timing_count_found(&study->arrays, batch, &found));
    *wrong = apart(found, held);
    return done;
}

/* A batch that changes stored keys: an upsert or a delete. */
struct change {
    const char *operation;
    enum sw_timing_operation drawn; /* numbers the draws */
    bool (*run)(struct sw_timing_study *study, uint64_t batch, struct sw_study_draw draw,
                struct sw_timing_rep *rep);
    uint64_t batch; /* keys; all of them if the table has fewer */
};

static bool measure(struct sw_timing_study *study, uint32_t configuration,
                    const struct change *change)
{
    struct sw_timing_series series;
    const uint64_t batch = change->batch < study->distinct ? change->batch : study->distinct;
    sw_timing_study_begin(study, &series, change->operation, batch);
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep;
        if ((!study->is_filled && !sw_timing_study_refill(study)) ||
            !change->run(study, batch,
                         sw_timing_study_draw(study, change->drawn, configuration, series.taken,
                                              SW_TIMING_PART_CHANGES),
                         &rep)) {
            return false;
        }
        sw_timing_series_take(&series, &rep);
    }
    sw_timing_study_end(study, &series);
    study->is_filled = false; /* the next operation that needs the table fills it again */
    return true;
}

/* --- new values ------------------------------------------------------------------------------- */

static bool upsert(struct sw_timing_study *study, uint64_t batch, struct sw_study_draw draw,
                   struct sw_timing_rep *rep)
{
    const struct sw_timing_arrays *arrays = &study->arrays;
    uint64_t held = 0;
    uint64_t before = 0;
    uint64_t after = 0;
    memset(rep, 0, sizeof(*rep));
    if (!choose(study, batch, draw, &held) || !sw_timing_study_size(study, &before)) {
        return false;
    }
    sw_study_span_begin(&rep->took);
    bool done = study->library->insert(study->table, arrays->queries, arrays->changed, batch);
    sw_study_span_end(&rep->took);
    if (!done) {
        return failed(study, "upsert");
    }
    if (!check_bits(study, batch, held, &rep->wrong) || !count_lost(study, batch, &rep->missed) ||
        !sw_timing_study_size(study, &after)) {
        return false;
    }
    rep->operations = batch;
    rep->has_check = true;
    rep->wrong += study->is_ours ? apart(before, after) : 0;
    /* A table that stored keys twice would fill up from one repetition to the next. */
    study->is_filled = after == before;
    return true;
}

bool sw_timing_measure_upsert(struct sw_timing_study *study, uint32_t configuration)
{
    if (study->library->keeps_repeats) {
        fprintf(stderr, "timing: %s does not replace: upsert_at_F is left out\n",
                study->library->name);
        return true;
    }
    const struct change change = {"upsert_at_F", SW_TIMING_UPSERT, upsert,
                                  study->options->upsert_batches[configuration]};
    return measure(study, configuration, &change);
}

/* --- removal ---------------------------------------------------------------------------------- */

/* Checks a removal. Removed keys that are still found are wrong; other keys that are no longer
 * found are missed. */
static bool check_erased(struct sw_timing_study *study, uint64_t batch, uint64_t held,
                         struct sw_timing_rep *rep)
{
    uint64_t still = 0;
    uint64_t found = 0;
    if (!sw_timing_study_ask(study, study->arrays.queries, batch, NULL) ||
        !sw_timing_count_found(&study->arrays, batch, &still) ||
        !sw_timing_study_ask(study, study->arrays.sorted, study->distinct, NULL) ||
        !sw_timing_count_found(&study->arrays, study->distinct, &found)) {
        return false;
    }
    uint64_t others = study->found > held ? study->found - held : 0;
    uint64_t others_found = found > still ? found - still : 0;
    rep->has_check = true;
    rep->wrong += still;
    rep->missed = others > others_found ? others - others_found : 0;
    return true;
}

static bool erase(struct sw_timing_study *study, uint64_t batch, struct sw_study_draw draw,
                  struct sw_timing_rep *rep)
{
    uint64_t held = 0;
    uint64_t before = 0;
    uint64_t after = 0;
    memset(rep, 0, sizeof(*rep));
    if (!choose(study, batch, draw, &held) || !sw_timing_study_size(study, &before)) {
        return false;
    }
    study->is_filled = false;
    sw_study_span_begin(&rep->took);
    bool done = study->library->erase(study->table, study->arrays.queries, batch);
    sw_study_span_end(&rep->took);
    if (!done) {
        return failed(study, "delete");
    }
    if (!check_bits(study, batch, held, &rep->wrong) || !check_erased(study, batch, held, rep) ||
        !sw_timing_study_size(study, &after)) {
        return false;
    }
    rep->operations = batch;
    rep->wrong += study->is_ours ? apart(before, after + held) : 0;
    return true;
}

bool sw_timing_measure_delete(struct sw_timing_study *study, uint32_t configuration)
{
    const struct change change = {"delete", SW_TIMING_DELETE, erase,
                                  study->options->delete_batches[configuration]};
    return study->library->erase == NULL || measure(study, configuration, &change);
}

/* --- updates beside inserts ------------------------------------------------------------------- */

struct beside {
    uint64_t lost;         /* completed updates that are not found */
    uint64_t missed;       /* keys that were stored before, but are no longer found */
    uint64_t fresh_missed; /* fresh keys that are neither found nor dropped */
    uint64_t wrong;        /* fresh keys with a value never written */
    int64_t drops;
};

static bool launch_beside(struct sw_timing_study *study, uint64_t fresh)
{
    const struct sw_timing_arrays *arrays = &study->arrays;
    return study->library->insert_and_update(study->table, sw_timing_key_at(study, study->count),
                                             sw_timing_value_at(study, study->count), fresh,
                                             arrays->queries, arrays->changed, fresh) ||
           failed(study, "updates beside inserts");
}

static bool check_beside(struct sw_timing_study *study, uint64_t fresh, uint64_t fresh_distinct,
                         struct beside *result)
{
    struct sw_timing_check check;
    uint64_t found = 0;
    uint64_t occupied = 0;
    if (!count_lost(study, fresh, &result->lost) ||
        !sw_timing_study_ask(study, sw_timing_key_at(study, study->count), fresh, NULL) ||
        !sw_timing_check_keys(&study->arrays, study->count, fresh,
                              sw_timing_study_judge(study, study->count + fresh), &check) ||
        !sw_timing_study_ask(study, study->arrays.sorted, study->distinct, NULL) ||
        !sw_timing_count_found(&study->arrays, study->distinct, &found) ||
        !sw_timing_study_size(study, &occupied)) {
        return false;
    }
    result->drops = (int64_t)(study->distinct + fresh_distinct - occupied);
    uint64_t dropped = result->drops > 0 ? (uint64_t)result->drops : 0;
    result->missed = study->found > found ? study->found - found : 0;
    result->fresh_missed = check.unfound > dropped ? check.unfound - dropped : 0;
    result->wrong = check.wrong;
    return true;
}

static void report_beside(struct sw_timing_study *study, const char *operation, uint64_t fresh,
                          const struct beside *result)
{
    struct sw_timing_report *report = study->report;
    struct sw_timing_subject subject = sw_timing_study_subject(study, operation, 2 * fresh);
    sw_timing_report_summary(report, &subject, "lost_updates", (double)result->lost, "keys");
    sw_timing_report_summary(report, &subject, "missed", (double)result->missed, "keys");
    sw_timing_report_summary(report, &subject, "fresh_missed", (double)result->fresh_missed,
                             "keys");
    sw_timing_report_summary(report, &subject, "wrong", (double)result->wrong, "keys");
    sw_timing_report_summary(report, &subject, "drops", (double)result->drops, "keys");
    sw_timing_study_say(study, operation,
                        "%" PRIu64 " of each: lost %" PRIu64 ", missed %" PRIu64
                        ", fresh missed %" PRIu64 ", wrong %" PRIu64 ", drops %" PRId64 "\n",
                        fresh, result->lost, result->missed, result->fresh_missed, result->wrong,
                        result->drops);
    if (study->is_ours && (result->lost != 0 || result->missed != 0 || result->fresh_missed != 0 ||
                           result->wrong != 0 || result->drops != 0)) {
        study->is_correct = false;
    }
}

bool sw_timing_measure_beside(struct sw_timing_study *study, const char *operation)
{
    uint64_t slots = sw_timing_wanted_slots(study->options);
    uint64_t fresh = sw_timing_count(study->load / BESIDE_SHARE, slots);
    uint64_t fresh_distinct = 0;
    uint64_t held = 0;
    struct beside result;
    memset(&result, 0, sizeof(result));
    if (study->library->insert_and_update == NULL) {
        struct sw_timing_subject subject = sw_timing_study_subject(study, operation, 0);
        sw_timing_report_summary(study->report, &subject, "lost_updates", NAN, "keys");
        return true;
    }
    if (study->load <= 2 * BESIDE_BELOW_F) {
        fprintf(stderr, "timing: %s is left out at F %g: too low\n", operation, study->load);
        return true;
    }
    if (!sw_timing_study_fill(
            study, sw_timing_count(study->load - BESIDE_BELOW_F, slots),
            sw_timing_study_draw(study, SW_TIMING_BESIDE, 0, 0, SW_TIMING_PART_KEYS)) ||
        !sw_timing_draw_fresh(
            &study->arrays, study->count, fresh, study->distinct,
            sw_timing_study_draw(study, SW_TIMING_BESIDE, 0, 0, SW_TIMING_PART_FRESH),
            &fresh_distinct) ||
        !choose(study, fresh,
                sw_timing_study_draw(study, SW_TIMING_BESIDE, 0, 0, SW_TIMING_PART_CHANGES),
                &held) ||
        !launch_beside(study, fresh) || !check_beside(study, fresh, fresh_distinct, &result)) {
        return false;
    }
    study->is_filled = false;
    report_beside(study, operation, fresh, &result);
    return true;
}
