/* SPDX-License-Identifier: MIT
 *
 * table.c - the current table: calls, filling, looking up, and the model of what it holds.
 */
#include <string.h>

#include "bench/rows/study.h"
#include "bench/study/order.h"
#include "bench/study/report.h"

#define POISON 0xEE

struct sw_rowbench_keys sw_rowbench_ask(struct sw_rowbench *bench, uint64_t count, uint64_t fresh,
                                        uint64_t fresh_from, uint64_t from, uint64_t window)
{
    uint64_t seed = bench->options->seed;
    struct sw_study_order order = sw_study_order_draw(window, sw_mix_64(bench->draws++, ~seed));
    struct sw_rowbench_keys keys = {.query = {
                                        .count = count,
                                        .fresh = fresh,
                                        .fresh_from = fresh_from,
                                        .window = window,
                                        .from = from,
                                        .start = order.start,
                                        .step = order.step,
                                        .seed = seed,
                                    }};
    return keys;
}

uint32_t sw_rowbench_next_generation(struct sw_rowbench *bench)
{
    return 1 + (uint32_t)(bench->draws++ % SW_CACHEBENCH_GENERATIONS);
}

bool sw_rowbench_call(struct sw_rowbench *bench, enum sw_cachebench_operation operation,
                      uint64_t count, struct sw_study_took *took)
{
    struct sw_study_took unwanted = {0};
    took = took == NULL ? &unwanted : took;
    sw_study_span_begin(took);
    bool done = bench->library->call(bench->table, operation, &bench->arrays, count);
    sw_study_span_end(took);
    return done;
}

bool sw_rowbench_store(struct sw_rowbench *bench, uint64_t count, uint32_t generation,
                       struct sw_study_took *took)
{
    const struct sw_rowbench_place *place = bench->place;
    const struct sw_cachebench_arrays *arrays = &bench->arrays;
    uint64_t seed = bench->options->seed;
    enum sw_cachebench_operation operation =
        generation == 0 ? SW_CACHEBENCH_ERASE : SW_CACHEBENCH_INSERT_OR_ASSIGN;
    return (generation == 0 ||
            place->draw_rows(arrays->values, arrays->keys, count, bench->dim, generation, seed)) &&
           sw_rowbench_call(bench, operation, count, took) &&
           place->note(bench->model, arrays->keys, count, generation, seed);
}

static bool poison(struct sw_rowbench *bench, uint64_t count)
{
    const struct sw_study_place *memory = bench->place->memory;
    const struct sw_cachebench_arrays *arrays = &bench->arrays;
    return memory->fill(arrays->results, POISON, count) &&
           memory->fill(arrays->bits, POISON, (count + 63) / 64 * sizeof(*arrays->bits)) &&
           memory->fill(arrays->values_out, POISON, count * bench->dim * sizeof(float));
}

bool sw_rowbench_look_up(struct sw_rowbench *bench, uint64_t count,
                         const struct sw_rowbench_keys *added, struct sw_study_took *took,
                         unsigned long long answers[SW_ROWBENCH_ANSWERS])
{
    const struct sw_cachebench_arrays *arrays = &bench->arrays;
    struct sw_rowbench_judged judged = {
        .keys = arrays->keys,
        .results = arrays->results,
        .rows = arrays->values_out,
        .model = bench->model,
        .numbers = bench->capacity,
        .dim = bench->dim,
        .zeroes_absent = bench->library->is_table,
        .adds = added != NULL,
        .hot = added != NULL && added->hot ? added->query.fresh_from : UINT64_MAX,
        .hot_times = added != NULL ? added->query.fresh : 0,
        .seed = bench->options->seed,
    };
    return poison(bench, count) && sw_rowbench_call(bench, SW_CACHEBENCH_FIND, count, took) &&
           (!bench->library->is_table ||
            bench->place->expand(arrays->results, arrays->bits, count)) &&
           bench->place->judge(&judged, count, answers);
}

/* The numbers first, first + 1, .. */
static bool draw_sequence(struct sw_rowbench *bench, uint64_t first, uint64_t count)
{
    struct sw_rowbench_keys keys = sw_rowbench_ask(bench, count, count, first, 0, 1);
    return bench->place->draw_keys(bench->arrays.keys, &keys);
}

static uint64_t piece(const struct sw_rowbench *bench, uint64_t first, uint64_t end)
{
    uint64_t rest = end - first;
    return rest < bench->options->batch ? rest : bench->options->batch;
}

bool sw_rowbench_fill(struct sw_rowbench *bench, uint64_t to)
{
    while (bench->stored < to) {
        uint64_t count = piece(bench, bench->stored, to);
        if (!draw_sequence(bench, bench->stored, count) ||
            !sw_rowbench_store(bench, count, 1, NULL)) {
            return false;
        }
        bench->stored += count;
    }
    return true;
}

bool sw_rowbench_audit(struct sw_rowbench *bench, unsigned long long answers[SW_ROWBENCH_ANSWERS])
{
    uint64_t held = 0;
    for (uint64_t first = 0; first < bench->stored;) {
        uint64_t count = piece(bench, first, bench->stored);
        if (!draw_sequence(bench, first, count) ||
            !sw_rowbench_look_up(bench, count, NULL, NULL, answers)) {
            return false;
        }
        first += count;
    }
    if (!bench->library->size(bench->table, &held)) {
        return false;
    }
    answers[SW_ROWBENCH_PHANTOM] += held > bench->stored ? held - bench->stored : 0;
    return true;
}
