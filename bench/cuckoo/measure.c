/* SPDX-License-Identifier: MIT
 *
 * measure.c - repetitions of an insert or a look-up: times the call that launches and waits, then
 * checks it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cuckoo/study.h"
#include "bench/study/report.h"

#define SOME_KEYS 4096

static const struct sw_cbench_library *library_of(const struct sw_cbench_subject *subject)
{
    return sw_cbench_library_of(subject->table);
}

bool sw_cbench_study_open(struct sw_cbench_study *study)
{
    uint64_t count = 1ULL << study->options->keys_log2;
    study->keys = study->place->memory->alloc(count * sizeof(*study->keys));
    study->queries = study->place->memory->alloc(count * sizeof(*study->queries));
    study->found = study->place->memory->alloc(count / 8 + sizeof(uint64_t));
    if (study->keys == NULL || study->queries == NULL || study->found == NULL) {
        fprintf(stderr, "cuckoo: no memory for %" PRIu64 " keys\n", count);
    } else if (study->place->draw_keys(study->keys, count, study->options->seed)) {
        return true;
    }
    sw_cbench_study_close(study);
    return false;
}

void sw_cbench_study_close(struct sw_cbench_study *study)
{
    study->place->memory->free(study->keys);
    study->place->memory->free(study->queries);
    study->place->memory->free(study->found);
    study->keys = NULL;
    study->queries = NULL;
    study->found = NULL;
}

void *sw_cbench_study_table(struct sw_cbench_study *study, const struct sw_cbench_wanted *wanted,
                            uint64_t stored, struct sw_cbench_subject *subject)
{
    char reason[256] = "";
    struct sw_cbench_facts facts;
    const struct sw_cbench_library *library = sw_cbench_library_of(wanted->table);
    subject->table = wanted->table;
    subject->functions = library->functions;
    subject->keys = stored;
    snprintf(subject->library, sizeof(subject->library), "%s", library->name);
    if (library->takes != NULL && !library->takes(study->options, wanted, reason, sizeof(reason))) {
        sw_cbench_report_none(study->report, subject, reason);
        return NULL;
    }
    void *table = library->open(study->options, study->place, wanted, reason, sizeof(reason));
    if (table == NULL) {
        fprintf(stderr, "cuckoo: %s: %s\n", subject->library, reason);
        sw_cbench_report_none(study->report, subject, reason);
        study->is_complete = false;
        return NULL;
    }
    library->facts(table, &facts);
    subject->cells = facts.cells;
    subject->slot_bits = facts.slot_bits;
    subject->bytes = facts.bytes;
    subject->load = (double)stored / (double)facts.cells;
    return table;
}

void sw_cbench_study_table_close(void *table, const struct sw_cbench_subject *subject)
{
    if (table != NULL) {
        library_of(subject)->close(table);
    }
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool settle(struct sw_cbench_study *study, const struct sw_cbench_library *library,
                   void *table, uint64_t count)
{
    return library->settle == NULL || library->settle(table, study->found, count);
}

/* Looks up the subject's keys in a new order each time; `misses` of the queries are absent keys. */
static bool ask(struct sw_cbench_study *study, const struct sw_cbench_subject *subject, void *table,
                uint64_t misses, struct sw_cbench_verdict *verdict)
{
    struct sw_cbench_order order =
        sw_cbench_order(subject->keys, misses, misses + study->series.count, study->options->seed);
    const struct sw_cbench_library *library = library_of(subject);
    return study->place->draw_queries(study->queries, &order) &&
           library->find(table, study->queries, study->found, subject->keys) &&
           settle(study, library, table, subject->keys) &&
           study->place->judge(study->found, &order, verdict);
}

/* Look-ups read the whole stash. So while the stash has entries, looks up only the first keys. */
static bool ask_some(struct sw_cbench_study *study, const struct sw_cbench_subject *subject,
                     void *table, struct sw_cbench_verdict *verdict)
{
    struct sw_cbench_subject some = *subject;
    some.keys = some.keys < SOME_KEYS ? some.keys : SOME_KEYS;
    return ask(study, &some, table, 0, verdict);
}

/* Checks an insert: the keys that are not found must be those that were handed back. */
static bool check_insert(struct sw_cbench_study *study, const struct sw_cbench_subject *subject,
                         void *table, struct sw_cbench_inserted *inserted,
                         struct sw_cbench_rep *rep)
{
    struct sw_cbench_verdict stored;
    struct sw_cbench_verdict absent = {0};
    bool asked = inserted->aside > 0 ? ask_some(study, subject, table, &stored)
                                     : ask(study, subject, table, 0, &stored) &&
                                           ask(study, subject, table, subject->keys, &absent);
    if (library_of(subject)->is_peer) {
        inserted->left = stored.missed; /* the table does not report it */
    }
    rep->left = inserted->left + inserted->aside;
    rep->missed = stored.missed > inserted->left ? stored.missed - inserted->left
                                                 : inserted->left - stored.missed;
    rep->phantom = absent.phantom;
    return asked;
}

/* --- series ----------------------------------------------------------------------------------- */

static void record_repetition(struct sw_cbench_study *study,
                              const struct sw_cbench_subject *subject,
                              const struct sw_cbench_rep *rep, bool is_warm_up)
{
    bool is_right = rep->missed == 0 && rep->phantom == 0;
    study->is_correct = study->is_correct && (is_right || library_of(subject)->is_peer);
    if (!is_warm_up) {
        study->series.reps[study->series.count++] = *rep;
    }
}

static void end(struct sw_cbench_study *study, const struct sw_cbench_subject *subject, bool done)
{
    const struct sw_cbench_series *series = &study->series;
    fprintf(stderr, "[%6.1f s] %-8s %-5s %-10s ", sw_study_clock() - study->started,
            sw_cbench_experiment_name(subject->experiment), subject->x, subject->library);
    if (!done || series->count == 0) {
        fprintf(stderr, "failed\n");
        sw_cbench_report_none(study->report, subject, "failed: see the log");
        study->is_complete = false;
        return;
    }
    sw_cbench_report_series(study->report, subject, &study->series);
    if (series->left == 0) {
        fprintf(stderr, "%10.3f M/s  %10.4f ms +- %.4f",
                (double)sw_cbench_operations(subject) * 1e-6 / series->mean, series->mean * 1e3,
                series->deviation * 1e3);
    } else {
        fprintf(stderr, "did not end: %" PRIu64 " keys left over, %10.4f ms", series->left,
                series->mean * 1e3);
    }
    fprintf(stderr, ", missed %" PRIu64 ", phantom %" PRIu64 "\n", series->missed, series->phantom);
}

void sw_cbench_measure_insert(struct sw_cbench_study *study,
                              const struct sw_cbench_subject *subject, void *table)
{
    const struct sw_cbench_library *library = library_of(subject);
    bool done = true;
    memset(&study->series, 0, sizeof(study->series));
    for (uint32_t r = 0; r <= study->options->reps && done; r++) {
        struct sw_cbench_rep rep = {0};
        struct sw_cbench_inserted inserted = {0};
        done = library->clear(table);
        sw_study_span_begin(&rep.took);
        done = done && library->insert(table, study->keys, subject->keys, &inserted);
        sw_study_span_end(&rep.took);
        done = done && check_insert(study, subject, table, &inserted, &rep);
        if (done) {
            record_repetition(study, subject, &rep, r == 0);
        }
    }
    end(study, subject, done);
}

void sw_cbench_measure_find(struct sw_cbench_study *study, const struct sw_cbench_subject *subject,
                            void *table, uint32_t tenths)
{
    const struct sw_cbench_library *library = library_of(subject);
    bool done = true;
    struct sw_cbench_order order = sw_cbench_order(subject->keys, subject->keys * tenths / 10,
                                                   1000 + tenths, study->options->seed);
    memset(&study->series, 0, sizeof(study->series));
    done = study->place->draw_queries(study->queries, &order);
    for (uint32_t r = 0; r <= study->options->reps && done; r++) {
        struct sw_cbench_rep rep = {0};
        struct sw_cbench_verdict verdict;
        sw_study_span_begin(&rep.took);
        done = library->find(table, study->queries, study->found, subject->keys);
        sw_study_span_end(&rep.took);
        done = done && settle(study, library, table, subject->keys) &&
               study->place->judge(study->found, &order, &verdict);
        if (done) {
            rep.missed = verdict.missed;
            rep.phantom = verdict.phantom;
            record_repetition(study, subject, &rep, r == 0);
        }
    }
    end(study, subject, done);
}

void sw_cbench_measure_both(struct sw_cbench_study *study, const struct sw_cbench_subject *subject,
                            void *table)
{
    const struct sw_cbench_library *library = library_of(subject);
    bool done = true;
    struct sw_cbench_order order =
        sw_cbench_order(subject->keys, subject->keys / 2, 2000, study->options->seed);
    memset(&study->series, 0, sizeof(study->series));
    for (uint32_t r = 0; r <= study->options->reps && done; r++) {
        struct sw_cbench_rep rep = {0};
        struct sw_cbench_inserted inserted = {0};
        struct sw_cbench_verdict verdict;
        done = library->clear(table) && study->place->draw_queries(study->queries, &order);
        sw_study_span_begin(&rep.took);
        done = done && library->insert_and_find(table, study->keys, subject->keys, &inserted,
                                                study->queries, study->found, subject->keys);
        sw_study_span_end(&rep.took);
        done = done && settle(study, library, table, subject->keys) &&
               study->place->judge(study->found, &order, &verdict) &&
               check_insert(study, subject, table, &inserted, &rep);
        if (done) {
            /* if the insert left keys over, Sherwood's tables did not run the look-ups */
            rep.missed += rep.left == 0 ? verdict.missed : 0;
            rep.phantom += rep.left == 0 ? verdict.phantom : 0;
            record_repetition(study, subject, &rep, r == 0);
        }
    }
    end(study, subject, done);
}
