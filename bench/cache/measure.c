/* SPDX-License-Identifier: MIT
 *
 * measure.c - one call of an operation: times the call that launches and waits, then checks it
 * against the model.
 */
#include <math.h>
#include <string.h>

#include "bench/cache/study.h"
#include "bench/study/report.h"

/* The current call. */
struct call {
    struct sw_cachebench_table *table;
    enum sw_cachebench_operation operation;
    struct sw_cachebench_query query;
    uint32_t generation; /* generation of the values that it writes */
    struct sw_cachebench_rep *rep;
};

static bool inserts(enum sw_cachebench_operation operation)
{
    return operation == SW_CACHEBENCH_INSERT_OR_ASSIGN ||
           operation == SW_CACHEBENCH_INSERT_AND_EVICT ||
           operation == SW_CACHEBENCH_FIND_OR_INSERT || operation == SW_CACHEBENCH_ACCUM_OR_ASSIGN;
}

static uint32_t next_generation(struct sw_cachebench_study *study)
{
    return 2 + (uint32_t)(study->draws++ % (SW_CACHEBENCH_GENERATIONS - 1));
}

/* --- before ----------------------------------------------------------------------------------- */

static void choose_keys(struct call *call, uint64_t count)
{
    struct sw_cachebench_table *table = call->table;
    const struct sw_cachebench_options *options = table->study->options;
    uint64_t window = sw_cachebench_window(table);
    window = options->window > 0 && options->window < window ? options->window : window;
    uint64_t fresh = count - (uint64_t)llround(options->hit_ratio * (double)count);
    uint64_t absent = SW_CACHEBENCH_ABSENT + table->study->draws * options->batch;
    call->query = sw_cachebench_ask(table, count, fresh,
                                    inserts(call->operation) ? table->next : absent, window);
    call->generation = next_generation(table->study);
}

static bool prepare(struct call *call)
{
    struct sw_cachebench_table *table = call->table;
    struct sw_cachebench_arrays *arrays = &table->study->arrays;
    bool in_place = call->operation == SW_CACHEBENCH_FIND_OR_INSERT && table->library->in_place;
    return sw_cachebench_draw_call(table, &call->query, call->generation) &&
           sw_cachebench_poison(table, call->query.count) &&
           (!in_place ||
            table->study->place->memory->copy(arrays->values_out, arrays->values,
                                              call->query.count * table->dim * sizeof(float)));
}

/* --- after ------------------------------------------------------------------------------------ */

static bool judge(struct call *call, enum sw_cachebench_seen seen)
{
    struct sw_cachebench_study *study = call->table->study;
    struct sw_cachebench_judged judged = {
        .query = call->query,
        .seen = seen,
        .dim = call->table->dim,
        .sure_from = sw_cachebench_sure_from(call->table),
    };
    return study->place->judge(&study->arrays, call->table->model, &judged, &call->rep->verdict);
}

static uint64_t hits_of(const struct call *call)
{
    return call->query.count - call->query.fresh;
}

/* Stores this generation in the model for the keys of the window and for the fresh keys. */
static bool note(struct call *call, bool window, bool fresh)
{
    struct sw_cachebench_table *table = call->table;
    struct sw_cachebench_note noted = {
        .query = call->query,
        .window = window,
        .window_generation = call->operation == SW_CACHEBENCH_ERASE ? 0 : call->generation,
        .fresh = fresh,
        .fresh_generation = call->generation,
    };
    table->touched += call->query.count;
    if (fresh) {
        table->next += call->query.fresh;
        table->live += call->query.fresh;
    }
    if (call->operation == SW_CACHEBENCH_ERASE) {
        table->live -= hits_of(call);
    }
    return table->study->place->note(table->model, &noted) &&
           sw_cachebench_table_count(table, &call->rep->verdict);
}

static bool check(struct call *call, uint32_t added)
{
    return sw_cachebench_check_find(call->table, &call->query, added, NULL, &call->rep->verdict);
}

/* Writes new values to the keys of the window, whether they are present or not. */
static bool restore(struct call *call)
{
    struct call again = *call;
    again.operation = SW_CACHEBENCH_INSERT_OR_ASSIGN;
    again.generation = next_generation(call->table->study);
    again.query.count = hits_of(call);
    again.query.fresh = 0;
    if (again.query.count == 0) {
        return true;
    }
    call->table->live += call->operation == SW_CACHEBENCH_ERASE ? again.query.count : 0;
    return sw_cachebench_draw_call(call->table, &again.query, again.generation) &&
           sw_cachebench_call(call->table, again.operation, again.query.count, NULL) &&
           note(&again, true, false) && check(&again, 0);
}

/* Checks that each evicted entry was stored, and that their number is the number of missing
 * entries. */
static bool check_evicted(struct call *call, uint64_t size_before)
{
    struct sw_cachebench_table *table = call->table;
    struct sw_cachebench_study *study = table->study;
    struct sw_cachebench_verdict left = {{0}};
    uint64_t count = 0;
    uint64_t before = size_before + call->query.fresh;
    if (!study->place->memory->copy(&count, study->arrays.evicted_count, sizeof(count))) {
        return false;
    }
    if (count > study->arrays.room) {
        fprintf(stderr, "cache: %llu entries left in a call of %llu\n", (unsigned long long)count,
                (unsigned long long)call->query.count);
        return false;
    }
    if (!study->place->judge_evicted(&study->arrays, table->model, table->next + call->query.fresh,
                                     table->dim, study->options->seed, &left) ||
        !note(call, true, true)) {
        return false;
    }
    uint64_t after = table->size + count;
    unsigned long long *wrong = &call->rep->verdict.of[SW_CACHEBENCH_WRONG];
    *wrong += left.of[SW_CACHEBENCH_WRONG] + (before < after ? after - before : before - after);
    call->rep->verdict.of[SW_CACHEBENCH_PHANTOM] += left.of[SW_CACHEBENCH_PHANTOM];
    return check(call, 0);
}

static bool check_call(struct call *call, uint64_t size_before)
{
    switch (call->operation) {
    case SW_CACHEBENCH_FIND:
        return judge(call, SW_CACHEBENCH_SEEN_VALUES);
    case SW_CACHEBENCH_FIND_PLACES:
        return judge(call, SW_CACHEBENCH_SEEN_PLACES);
    case SW_CACHEBENCH_CONTAINS:
        return judge(call, SW_CACHEBENCH_SEEN_RESULTS);
    case SW_CACHEBENCH_INSERT_AND_EVICT:
        return check_evicted(call, size_before);
    case SW_CACHEBENCH_FIND_OR_INSERT:
        if (call->table->library->is_table) {
            return judge(call, SW_CACHEBENCH_SEEN_VALUES) && note(call, false, true) &&
                   check(call, 0);
        }
        return note(call, false, true) && judge(call, SW_CACHEBENCH_SEEN_VALUES_UNMARKED) &&
               check(call, 0);
    case SW_CACHEBENCH_ACCUM_OR_ASSIGN:
        return note(call, false, true) && check(call, call->generation) && restore(call);
    case SW_CACHEBENCH_ERASE:
        return note(call, true, false) && check(call, 0) && restore(call);
    default:
        return note(call, true, inserts(call->operation)) && check(call, 0);
    }
}

bool sw_cachebench_measure(struct sw_cachebench_table *table,
                           enum sw_cachebench_operation operation, uint64_t count, double load,
                           struct sw_cachebench_rep *rep)
{
    struct call call = {.table = table, .operation = operation, .rep = rep};
    memset(rep, 0, sizeof(*rep));
    if (!sw_cachebench_table_fill(table, load, count)) {
        return false;
    }
    choose_keys(&call, count);
    rep->load = (double)table->size / (double)table->capacity;
    rep->batch = call.query.count;
    uint64_t size_before = table->size;
    if (!prepare(&call)) {
        return false;
    }
    bool done = sw_cachebench_call(table, operation, rep->batch, &rep->took);
    return done && check_call(&call, size_before);
}
