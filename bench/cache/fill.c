/* SPDX-License-Identifier: MIT
 *
 * fill.c - fills a cache from load to load, with rising scores: the keys between two loads in one
 * call, then a look-up of all keys so far. Also finds the load at which the cache evicts its first
 * entry. Then the same with LRU, whose rates show what scores of the caller cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cache/study.h"

#define FIRST_EVICTION_STEPS 1024 /* calls for one capacity of keys */

/* Two series for each load. */
struct fill {
    struct sw_cachebench_table table;
    bool is_lru;
    struct sw_cachebench_subject subject;
    struct sw_cachebench_series insert[SW_CACHEBENCH_LIST_MAX];
    struct sw_cachebench_series find[SW_CACHEBENCH_LIST_MAX];
    uint64_t inserted[SW_CACHEBENCH_LIST_MAX]; /* keys of the call for each load */
    uint64_t found[SW_CACHEBENCH_LIST_MAX];
};

static struct sw_cachebench_subject named(const struct fill *fill, const char *operation,
                                          double load, uint64_t batch)
{
    struct sw_cachebench_subject subject = fill->subject;
    snprintf(subject.operation, sizeof(subject.operation), "%s%s", operation,
             fill->is_lru ? "_lru" : "");
    subject.load = load;
    subject.batch = batch;
    return subject;
}

/* Fills from the last load to this one. The look-up must find the number of keys that the cache
 * holds. */
static bool step(struct fill *fill, uint32_t l, bool is_warm_up)
{
    struct sw_cachebench_table *table = &fill->table;
    struct sw_cachebench_report *report = table->study->report;
    double load = table->study->options->fill_loads[l];
    uint64_t target = (uint64_t)(load * (double)table->capacity);
    struct sw_cachebench_rep rep = {.load = (double)table->size / (double)table->capacity};
    if (target <= table->next) {
        return true;
    }
    rep.batch = target - table->next;
    if (!sw_cachebench_table_insert(table, rep.batch, &rep.took) ||
        !sw_cachebench_table_count(table, &rep.verdict)) {
        return false;
    }
    struct sw_cachebench_subject insert = named(fill, "fill_insert", load, rep.batch);
    sw_cachebench_report_rep(report, &insert, &fill->insert[l], &rep, is_warm_up);
    fill->inserted[l] = rep.batch;

    struct sw_cachebench_query query = sw_cachebench_ask(table, target, 0, 0, target);
    memset(&rep, 0, sizeof(rep));
    rep.batch = query.count;
    rep.load = (double)table->size / (double)table->capacity;
    if (!sw_cachebench_draw_call(table, &query, 1) ||
        !sw_cachebench_check_find(table, &query, 0, &rep.took, &rep.verdict)) {
        return false;
    }
    uint64_t found = rep.verdict.of[SW_CACHEBENCH_FOUND] + rep.verdict.of[SW_CACHEBENCH_WRONG];
    rep.verdict.of[SW_CACHEBENCH_MISSED] +=
        found < table->size ? table->size - found : found - table->size;
    struct sw_cachebench_subject find = named(fill, "fill_find", load, rep.batch);
    sw_cachebench_report_rep(report, &find, &fill->find[l], &rep, is_warm_up);
    fill->found[l] = rep.batch;
    return true;
}

static bool repeat(struct fill *fill)
{
    const struct sw_cachebench_options *options = fill->table.study->options;
    bool done = true;
    for (uint32_t r = 0; r <= options->reps && done; r++) {
        done = sw_cachebench_table_clear(&fill->table);
        for (uint32_t l = 0; l < options->fill_loads_count && done; l++) {
            done = step(fill, l, r == 0);
        }
    }
    return done;
}

static void report_loads(struct fill *fill)
{
    struct sw_cachebench_study *study = fill->table.study;
    for (uint32_t l = 0; l < study->options->fill_loads_count; l++) {
        double load = study->options->fill_loads[l];
        if (fill->insert[l].count > 0) {
            struct sw_cachebench_subject insert =
                named(fill, "fill_insert", load, fill->inserted[l]);
            struct sw_cachebench_subject find = named(fill, "fill_find", load, fill->found[l]);
            bool inserted = sw_cachebench_report_series(study->report, &insert, &fill->insert[l]);
            bool found = sw_cachebench_report_series(study->report, &find, &fill->find[l]);
            study->is_correct = study->is_correct && inserted && found;
        }
    }
}

/* Inserts by small calls until the cache holds fewer entries than were inserted. */
static bool first_eviction(struct fill *fill, double *load)
{
    struct sw_cachebench_table *table = &fill->table;
    uint64_t count = table->capacity / FIRST_EVICTION_STEPS;
    bool done = sw_cachebench_table_clear(table);
    while (done && !table->has_evicted && table->next < 2 * table->capacity) {
        *load = (double)table->size / (double)table->capacity;
        done = sw_cachebench_table_insert(table, count, NULL) &&
               sw_cachebench_table_count(table, NULL);
    }
    return done;
}

static void measure(struct fill *fill)
{
    struct sw_cachebench_study *study = fill->table.study;
    struct sw_cachebench_subject whole = named(fill, "fill", 0, 0);
    double load = 0;
    bool done = repeat(fill);
    report_loads(fill);
    if (done) {
        sw_cachebench_report_figure(study->report, &whole, "final_load",
                                    (double)fill->table.size / (double)fill->table.capacity, "");
        done = first_eviction(fill, &load);
    }
    if (done) {
        sw_cachebench_report_figure(study->report, &whole, "first_eviction_load", load, "");
    } else {
        sw_cachebench_report_none(study->report, &whole, "failed: see the log");
        study->is_complete = false;
    }
}

static void measure_library(struct sw_cachebench_study *study,
                            const struct sw_cachebench_library *library, bool is_lru,
                            struct fill *fill)
{
    const struct sw_cachebench_options *options = study->options;
    memset(fill, 0, sizeof(*fill));
    fill->is_lru = is_lru;
    fill->subject.experiment = "fill";
    fill->subject.library = library->name;
    fill->subject.dim = options->fill_dim;
    fill->subject.capacity = options->fill_capacity;
    struct sw_cachebench_subject opening = named(fill, "fill", 0, 0);
    if (sw_cachebench_table_open(study, library, &opening,
                                 is_lru ? SW_CACHEBENCH_SCORES_NONE : SW_CACHEBENCH_SCORES_RISING,
                                 3 * options->fill_capacity, &fill->table)) {
        measure(fill);
        sw_cachebench_table_close(&fill->table);
    }
}

/* Measures all libraries with scores of the caller, or with LRU. */
static bool measure_libraries(struct sw_cachebench_study *study, bool is_lru, struct fill *fill)
{
    const struct sw_cachebench_options *options = study->options;
    /* a library may round the capacity up to whole buckets */
    if (!sw_cachebench_arrays_open(study, options->fill_capacity + 1024, options->fill_dim,
                                   !is_lru)) {
        return false;
    }
    for (int l = 0; options->libraries[l] != NULL; l++) {
        measure_library(study, options->libraries[l], is_lru, fill);
    }
    sw_cachebench_arrays_close(study);
    return true;
}

void sw_cachebench_do_fill(struct sw_cachebench_study *study)
{
    struct fill *fill = malloc(sizeof(*fill));
    if (fill == NULL || !measure_libraries(study, false, fill) ||
        !measure_libraries(study, true, fill)) {
        study->is_complete = false;
    }
    free(fill);
}
