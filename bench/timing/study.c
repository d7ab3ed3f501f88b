/* SPDX-License-Identifier: MIT
 *
 * study.c - the steps that measurements are made of.
 */
#include "bench/timing/study.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define COUNT_MIN 64
#define REDRAWS 3
#define BLOCK_REPS_SHARE 4 /* a block size gets a quarter of the repetitions, */
#define BLOCK_REPS_MIN 3   /* at least this number */

struct sw_study_draw sw_timing_study_draw(const struct sw_timing_study *study,
                                          enum sw_timing_operation operation,
                                          uint32_t configuration, uint32_t rep,
                                          enum sw_timing_part part)
{
    uint64_t number = operation;
    number = number * SW_TIMING_LIST_MAX + study->load_index;
    number = number * 128 + configuration;
    number = number * 2048 + rep;
    number = number * 4 + (uint64_t)part;
    return (struct sw_study_draw){.seed = study->options->seed, .number = number};
}

uint64_t sw_timing_count(double load, uint64_t slots)
{
    uint64_t count = (uint64_t)(load * (double)slots);
    return count < COUNT_MIN ? COUNT_MIN : count;
}

uint64_t sw_timing_wanted_slots(const struct sw_timing_options *options)
{
    return 1ULL << options->capacity_log2;
}

static bool failed(const struct sw_timing_study *study, const char *what)
{
    fprintf(stderr, "timing: %s, %" PRIu32 "-bit slots, F %g: %s failed\n", study->library->name,
            study->slot_bits, study->load, what);
    return false;
}

/* --- the table -------------------------------------------------------------------------------- */

bool sw_timing_study_open(struct sw_timing_study *study)
{
    char reason[512] = "";
    struct sw_timing_wanted wanted = {
        .slot_bits = study->slot_bits,
        .slots = sw_timing_wanted_slots(study->options),
        .batch_ops = (uint32_t)sw_timing_wanted_slots(study->options),
        .block_size = study->block_size,
        .device = study->device,
        .found = study->options->found,
    };
    study->is_filled = false;
    study->table = study->library->open(&wanted, &study->slots, reason, sizeof(reason));
    if (study->table == NULL) {
        fprintf(stderr, "timing: %s, %" PRIu32 "-bit slots: no table: %s\n", study->library->name,
                study->slot_bits, reason);
    }
    return study->table != NULL;
}

void sw_timing_study_close(struct sw_timing_study *study)
{
    if (study->table != NULL) {
        study->library->close(study->table);
    }
    study->table = NULL;
    study->is_filled = false;
}

bool sw_timing_study_size(struct sw_timing_study *study, uint64_t *occupied)
{
    return study->library->size(study->table, occupied) || failed(study, "size");
}

const void *sw_timing_key_at(const struct sw_timing_study *study, uint64_t first)
{
    return (const char *)study->arrays.keys + first * study->arrays.key_bytes;
}

const void *sw_timing_value_at(const struct sw_timing_study *study, uint64_t first)
{
    return (const char *)study->arrays.values + first * study->arrays.key_bytes;
}

struct sw_timing_judge sw_timing_study_judge(const struct sw_timing_study *study, uint64_t written)
{
    return (struct sw_timing_judge){.written = written, .last = study->library->last_wins};
}

/* --- series ----------------------------------------------------------------------------------- */

struct sw_timing_subject sw_timing_study_subject(const struct sw_timing_study *study,
                                                 const char *operation, uint64_t batch)
{
    return (struct sw_timing_subject){
        .library = study->library->name,
        .operation = operation,
        .slot_bits = study->slot_bits,
        .load = study->load,
        .batch = batch,
    };
}

void sw_timing_study_say(const struct sw_timing_study *study, const char *operation,
                         const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "[%6.1f s] %-12s %3" PRIu32 " bits  F %-5g %-16s ",
            sw_study_clock() - study->started, study->library->name, study->slot_bits, study->load,
            operation);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

void sw_timing_study_begin(const struct sw_timing_study *study, struct sw_timing_series *series,
                           const char *operation, uint64_t batch)
{
    const struct sw_timing_options *options = study->options;
    uint32_t reps = options->reps;
    struct sw_timing_subject subject = sw_timing_study_subject(study, operation, batch);
    subject.block_size = study->block_size;
    if (study->block_size > 0 && reps > BLOCK_REPS_MIN) {
        reps /= BLOCK_REPS_SHARE;
        reps = reps < BLOCK_REPS_MIN ? BLOCK_REPS_MIN : reps;
    }
    sw_timing_series_begin(series, study->report, &subject, reps,
                           study->is_ours ? options->series_seconds : options->peer_seconds);
    series->started = study->started;
    series->slots = study->slots;
}

void sw_timing_study_end(struct sw_timing_study *study, struct sw_timing_series *series)
{
    if (!sw_timing_series_end(series) && study->is_ours) {
        study->is_correct = false;
    }
}

/* --- filling ---------------------------------------------------------------------------------- */

bool sw_timing_study_draw_keys(struct sw_timing_study *study, uint64_t count,
                               struct sw_study_draw draw)
{
    study->is_filled = false;
    study->count = count;
    if (!study->library->clear(study->table)) {
        return failed(study, "clear");
    }
    for (int t = 0; t <= REDRAWS; t++) {
        if (!sw_timing_draw_keys(&study->arrays, count, draw, &study->distinct)) {
            return false;
        }
        if (study->distinct <= study->slots) {
            return true;
        }
        draw.seed += 0x9e3779b97f4a7c15ULL; /* another stream of the same length */
    }
    fprintf(stderr, "timing: %" PRIu64 " draws gave more different keys than %" PRIu64 " slots\n",
            count, study->slots);
    return false;
}

bool sw_timing_insert_fresh(struct sw_timing_study *study, const void *keys, const void *values,
                            uint64_t count)
{
    const struct sw_timing_library *library = study->library;
    return library->insert_fresh != NULL ? library->insert_fresh(study->table, keys, values, count)
                                         : library->insert(study->table, keys, values, count);
}

uint64_t sw_timing_expected(const struct sw_timing_study *study, uint64_t offered,
                            uint64_t distinct)
{
    return study->library->keeps_repeats ? offered : distinct;
}

bool sw_timing_study_insert(struct sw_timing_study *study, struct sw_study_took *took)
{
    sw_study_span_begin(took);
    bool done =
        sw_timing_insert_fresh(study, study->arrays.keys, study->arrays.values, study->count);
    sw_study_span_end(took);
    study->is_filled = done;
    return done || failed(study, "insert");
}

bool sw_timing_study_ask(struct sw_timing_study *study, const void *keys, uint64_t count,
                         struct sw_study_took *took)
{
    struct sw_study_took unwanted = {0};
    const struct sw_timing_library *library = study->library;
    if (!sw_timing_poison(&study->arrays, count)) {
        return false;
    }
    took = took == NULL ? &unwanted : took;
    void *channel = library->channel != NULL ? library->channel(study->table) : NULL;
    if (channel != NULL) {
        sw_study_span_begin_channel(took, channel);
    } else {
        sw_study_span_begin(took);
    }
    bool done = library->get(study->table, keys, study->arrays.answers, count);
    sw_study_span_end(took);
    done = done &&
           (library->settle == NULL || library->settle(study->table, study->arrays.answers, count));
    return done || failed(study, "get");
}

bool sw_timing_study_verify(struct sw_timing_study *study, struct sw_timing_rep *rep)
{
    struct sw_timing_check check;
    if (!sw_timing_study_ask(study, study->arrays.keys, study->count, NULL) ||
        !sw_timing_check_keys(&study->arrays, 0, study->count,
                              sw_timing_study_judge(study, study->count), &check) ||
        !sw_timing_study_size(study, &rep->occupied)) {
        return false;
    }
    if (check.present != study->count) {
        return failed(study, "the check of every answer");
    }
    study->found = study->distinct;
    if (check.unfound > 0 &&
        (!sw_timing_study_ask(study, study->arrays.sorted, study->distinct, NULL) ||
         !sw_timing_count_found(&study->arrays, study->distinct, &study->found))) {
        return false;
    }
    uint64_t unfound = study->distinct - study->found;
    rep->has_distinct = true;
    rep->distinct = study->distinct;
    rep->drops =
        (int64_t)(sw_timing_expected(study, study->count, study->distinct) - rep->occupied);
    uint64_t dropped = rep->drops > 0 ? (uint64_t)rep->drops : 0;
    rep->has_check = true;
    rep->missed = unfound > dropped ? unfound - dropped : 0;
    rep->wrong = check.wrong;
    study->forgotten = rep->missed == 0 ? check.unfound : dropped;
    return true;
}

bool sw_timing_study_fill(struct sw_timing_study *study, uint64_t count, struct sw_study_draw draw)
{
    struct sw_timing_rep rep;
    memset(&rep, 0, sizeof(rep));
    if (!sw_timing_study_draw_keys(study, count, draw) ||
        !sw_timing_study_insert(study, &rep.took) || !sw_timing_study_verify(study, &rep)) {
        return false;
    }
    if (rep.drops != 0 || rep.missed != 0 || rep.wrong != 0) {
        fprintf(stderr,
                "timing: %s, %" PRIu32 "-bit slots, filled to F %g: drops %" PRId64
                ", missed %" PRIu64 ", wrong %" PRIu64 "\n",
                study->library->name, study->slot_bits, study->load, rep.drops, rep.missed,
                rep.wrong);
        study->is_correct = study->is_correct && !study->is_ours;
    }
    return true;
}

bool sw_timing_study_refill(struct sw_timing_study *study)
{
    struct sw_study_took took;
    if (!study->library->clear(study->table)) {
        return failed(study, "clear");
    }
    return sw_timing_study_insert(study, &took);
}
