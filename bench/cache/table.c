/* SPDX-License-Identifier: MIT
 *
 * table.c - opens, fills and reads a cache under test, and keeps a model of its contents.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cache/study.h"
#include "bench/study/order.h"
#include "bench/study/report.h"

#define POISON 0xEE
#define FILL_TOLERANCE 0.001 /* share of the capacity: a fill has reached its load within this */
#define LOAD_TOLERANCE 0.01  /* share of the capacity: a load may drift by this */
#define FILL_TIMES_MAX 2     /* multiple of the capacity: a fill offers no more */

/* --- arrays ----------------------------------------------------------------------------------- */

bool sw_cachebench_arrays_open(struct sw_cachebench_study *study, uint64_t room, uint32_t dim,
                               bool custom)
{
    const struct sw_cachebench_place *place = study->place;
    struct sw_cachebench_arrays *arrays = &study->arrays;
    size_t value_bytes = dim * sizeof(float);
    memset(arrays, 0, sizeof(*arrays));
    arrays->room = room;
    arrays->keys = place->memory->alloc(room * sizeof(*arrays->keys));
    arrays->values = place->memory->alloc(room * value_bytes);
    arrays->scores = custom ? place->memory->alloc(room * sizeof(*arrays->scores)) : NULL;
    arrays->accumulate = place->memory->alloc(room);
    arrays->values_out = place->memory->alloc(room * value_bytes);
    arrays->places = place->memory->alloc(room * sizeof(*arrays->places));
    arrays->results = place->memory->alloc(room);
    arrays->evicted_keys = place->memory->alloc(room * sizeof(*arrays->evicted_keys));
    arrays->evicted_values = place->memory->alloc(room * value_bytes);
    arrays->evicted_scores = place->memory->alloc(room * sizeof(*arrays->evicted_scores));
    arrays->evicted_count = place->memory->alloc(sizeof(*arrays->evicted_count));
    arrays->bits = place->memory->alloc((room + 63) / 64 * sizeof(*arrays->bits));
    arrays->told = calloc(1, sizeof(*arrays->told));
    if (arrays->keys != NULL && arrays->values != NULL && (!custom || arrays->scores != NULL) &&
        arrays->accumulate != NULL && arrays->values_out != NULL && arrays->places != NULL &&
        arrays->results != NULL && arrays->evicted_keys != NULL && arrays->evicted_values != NULL &&
        arrays->evicted_scores != NULL && arrays->evicted_count != NULL && arrays->bits != NULL &&
        arrays->told != NULL) {
        return true;
    }
    sw_cachebench_arrays_close(study);
    study->is_complete = false;
    return false;
}

void sw_cachebench_arrays_close(struct sw_cachebench_study *study)
{
    struct sw_cachebench_arrays *arrays = &study->arrays;
    void *memory[] = {arrays->keys,           arrays->values,        arrays->scores,
                      arrays->accumulate,     arrays->values_out,    arrays->places,
                      arrays->results,        arrays->evicted_keys,  arrays->evicted_values,
                      arrays->evicted_scores, arrays->evicted_count, arrays->bits};
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        study->place->memory->free(memory[i]);
    }
    free(arrays->told);
    memset(arrays, 0, sizeof(*arrays));
}

bool sw_cachebench_poison(struct sw_cachebench_table *table, uint64_t count)
{
    const struct sw_cachebench_place *place = table->study->place;
    const struct sw_cachebench_arrays *arrays = &table->study->arrays;
    return place->memory->fill(arrays->results, POISON, count) &&
           place->memory->fill(arrays->bits, POISON, (count + 63) / 64 * sizeof(*arrays->bits)) &&
           place->memory->fill(arrays->values_out, POISON, count * table->dim * sizeof(float)) &&
           place->memory->fill(arrays->places, 0, count * sizeof(*arrays->places));
}

/* --- queries ---------------------------------------------------------------------------------- */

struct sw_cachebench_query sw_cachebench_sequence(const struct sw_cachebench_table *table,
                                                  uint64_t first, uint64_t count)
{
    struct sw_cachebench_query query = {
        .count = count,
        .fresh = count,
        .fresh_from = first,
        .window = 1,
        .seed = table->study->options->seed,
    };
    return query;
}

struct sw_cachebench_query sw_cachebench_ask(struct sw_cachebench_table *table, uint64_t count,
                                             uint64_t fresh, uint64_t fresh_from, uint64_t window)
{
    struct sw_cachebench_query query = sw_cachebench_sequence(table, fresh_from, fresh);
    uint64_t drawn = sw_mix_64(table->study->draws++, ~query.seed);
    window = window < table->next ? window : table->next;
    uint64_t hits = count - fresh < window ? count - fresh : window;
    if (window > 0) {
        query.count = fresh + hits;
        query.window = window;
        query.from = table->next - window;
        struct sw_study_order order = sw_study_order_draw(window, drawn);
        query.start = order.start;
        query.step = order.step;
    }
    return query;
}

uint64_t sw_cachebench_window(const struct sw_cachebench_table *table)
{
    return table->capacity / SW_CACHEBENCH_WINDOW_PART;
}

uint64_t sw_cachebench_sure_from(const struct sw_cachebench_table *table)
{
    uint64_t window = sw_cachebench_window(table);
    if (!table->has_evicted) {
        return 0;
    }
    if (table->scores != SW_CACHEBENCH_SCORES_NONE) {
        return UINT64_MAX;
    }
    return table->next > window ? table->next - window : 0;
}

bool sw_cachebench_draw_call(struct sw_cachebench_table *table,
                             const struct sw_cachebench_query *query, uint32_t generation)
{
    struct sw_cachebench_draw draw = {
        .query = *query,
        .dim = table->dim,
        .generation = generation,
        .scores = table->scores,
    };
    return table->study->place->draw(&table->study->arrays, &draw);
}

/* --- the cache -------------------------------------------------------------------------------- */

bool sw_cachebench_table_open(struct sw_cachebench_study *study,
                              const struct sw_cachebench_library *library,
                              const struct sw_cachebench_subject *subject,
                              enum sw_cachebench_scores scores, uint64_t numbers_max,
                              struct sw_cachebench_table *table)
{
    char reason[256] = "there is no memory for the model";
    struct sw_cachebench_wanted wanted = {
        .on_host = study->options->on_host,
        .device = study->options->device,
        .capacity = subject->capacity,
        .dim = subject->dim,
        .room = (uint32_t)study->arrays.room,
        .custom = scores != SW_CACHEBENCH_SCORES_NONE,
    };
    memset(table, 0, sizeof(*table));
    table->study = study;
    table->library = library;
    table->dim = subject->dim;
    table->scores = scores;
    table->numbers_max = numbers_max;
    table->model = study->place->memory->alloc(numbers_max);
    if (table->model != NULL) {
        table->cache = library->open(&wanted, reason, sizeof(reason));
    }
    if (table->cache == NULL) {
        sw_cachebench_report_none(study->report, subject, reason);
        study->is_complete = false;
        study->place->memory->free(table->model);
        return false;
    }
    table->capacity = library->capacity(table->cache);
    return true;
}

void sw_cachebench_table_close(struct sw_cachebench_table *table)
{
    table->library->close(table->cache);
    table->study->place->memory->free(table->model);
}

bool sw_cachebench_table_clear(struct sw_cachebench_table *table)
{
    table->next = 0;
    table->live = 0;
    table->size = 0;
    table->touched = 0;
    table->has_evicted = false;
    return table->library->clear(table->cache) &&
           table->study->place->memory->fill(table->model, 0, table->numbers_max);
}

/* Converts a table's answers to the form that other libraries use. */
static bool translate(struct sw_cachebench_table *table, enum sw_cachebench_operation operation,
                      uint64_t count)
{
    const struct sw_cachebench_place *place = table->study->place;
    const struct sw_cachebench_arrays *arrays = &table->study->arrays;
    switch (operation) {
    case SW_CACHEBENCH_FIND:
    case SW_CACHEBENCH_CONTAINS:
    case SW_CACHEBENCH_FIND_OR_INSERT:
        return place->expand(arrays->results, arrays->bits, count);
    case SW_CACHEBENCH_INSERT_AND_EVICT:
        return place->memory->copy(arrays->evicted_count, arrays->told, sizeof(*arrays->told));
    default:
        return true;
    }
}

bool sw_cachebench_call(struct sw_cachebench_table *table, enum sw_cachebench_operation operation,
                        uint64_t count, struct sw_study_took *took)
{
    struct sw_study_took unwanted = {0};
    took = took == NULL ? &unwanted : took;
    sw_study_span_begin(took);
    bool done = table->library->call(table->cache, operation, &table->study->arrays, count);
    sw_study_span_end(took);
    return done && (!table->library->is_table || translate(table, operation, count));
}

bool sw_cachebench_table_insert(struct sw_cachebench_table *table, uint64_t count,
                                struct sw_study_took *took)
{
    struct sw_cachebench_query query = sw_cachebench_sequence(table, table->next, count);
    struct sw_cachebench_note note = {.query = query, .fresh = true, .fresh_generation = 1};
    if (!sw_cachebench_draw_call(table, &query, 1)) {
        return false;
    }
    bool done = sw_cachebench_call(table, SW_CACHEBENCH_INSERT_OR_ASSIGN, count, took);
    table->next += count;
    table->live += count;
    return done && table->study->place->note(table->model, &note);
}

bool sw_cachebench_table_count(struct sw_cachebench_table *table,
                               struct sw_cachebench_verdict *verdict)
{
    if (!table->library->size(table->cache, &table->size)) {
        return false;
    }
    table->has_evicted = table->has_evicted || table->size < table->live;
    if (verdict != NULL && table->size > table->live) {
        verdict->of[SW_CACHEBENCH_WRONG] += table->size - table->live;
    }
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The cache evicts some entries before it reaches the load, so offers the rest again and again. */
static bool refill(struct sw_cachebench_table *table, double load)
{
    uint64_t target = (uint64_t)(load * (double)table->capacity);
    uint64_t tolerance = (uint64_t)(FILL_TOLERANCE * (double)table->capacity);
    uint64_t batch = least(table->study->options->batch, table->study->arrays.room);
    bool done = sw_cachebench_table_clear(table);
    while (done && table->next < target) {
        done = sw_cachebench_table_insert(table, least(batch, target - table->next), NULL);
    }
    done = done && sw_cachebench_table_count(table, NULL);
    while (done && table->size + tolerance < target &&
           table->next < FILL_TIMES_MAX * table->capacity) {
        done = sw_cachebench_table_insert(table, least(batch, target - table->size), NULL) &&
               sw_cachebench_table_count(table, NULL);
    }
    return done;
}

bool sw_cachebench_table_fill(struct sw_cachebench_table *table, double load, uint64_t count)
{
    double away = fabs((double)table->size / (double)table->capacity - load);
    if (table->next > 0 && away <= LOAD_TOLERANCE &&
        table->touched + count <= sw_cachebench_window(table) &&
        table->next + count <= table->numbers_max) {
        return true;
    }
    return refill(table, load);
}

bool sw_cachebench_check_find(struct sw_cachebench_table *table,
                              const struct sw_cachebench_query *query, uint32_t added,
                              struct sw_study_took *took, struct sw_cachebench_verdict *verdict)
{
    struct sw_cachebench_study *study = table->study;
    struct sw_cachebench_judged judged = {
        .query = *query,
        .seen = SW_CACHEBENCH_SEEN_VALUES,
        .dim = table->dim,
        .added = added,
        .sure_from = sw_cachebench_sure_from(table),
    };
    if (!sw_cachebench_poison(table, query->count)) {
        return false;
    }
    bool done = sw_cachebench_call(table, SW_CACHEBENCH_FIND, query->count, took);
    return done && study->place->judge(&study->arrays, table->model, &judged, verdict);
}

bool sw_cachebench_table_audit(struct sw_cachebench_table *table,
                               struct sw_cachebench_verdict *verdict)
{
    uint64_t room = table->study->arrays.room;
    uint64_t before = verdict->of[SW_CACHEBENCH_FOUND];
    bool done = sw_cachebench_table_count(table, verdict);
    for (uint64_t first = 0; first < table->next && done; first += room) {
        struct sw_cachebench_query query =
            sw_cachebench_sequence(table, first, least(room, table->next - first));
        done = sw_cachebench_draw_call(table, &query, 1) &&
               sw_cachebench_check_find(table, &query, 0, NULL, verdict);
    }
    uint64_t found = verdict->of[SW_CACHEBENCH_FOUND] - before;
    verdict->of[SW_CACHEBENCH_MISSED] +=
        found < table->size ? table->size - found : found - table->size;
    return done;
}
