/* SPDX-License-Identifier: MIT
 *
 * run.c - runs everything requested: rows of each size, each table, each load, each operation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rows/study.h"
#include "bench/study/report.h"

#define CEILING_REPS 5
#define UNIT 16

/* --- arrays ----------------------------------------------------------------------------------- */

static void close_arrays(struct sw_rowbench *bench)
{
    struct sw_cachebench_arrays *arrays = &bench->arrays;
    void *memory[] = {arrays->keys,       arrays->values,  arrays->values_out,
                      arrays->accumulate, arrays->results, arrays->bits};
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        bench->place->memory->free(memory[i]);
    }
    free(arrays->told);
    free(bench->host_keys);
    memset(arrays, 0, sizeof(*arrays));
}

static bool open_arrays(struct sw_rowbench *bench)
{
    const struct sw_study_place *memory = bench->place->memory;
    struct sw_cachebench_arrays *arrays = &bench->arrays;
    uint64_t room = bench->options->batch;
    arrays->room = room;
    arrays->keys = memory->alloc(room * sizeof(*arrays->keys));
    arrays->values = memory->alloc(room * bench->dim * sizeof(float));
    arrays->values_out = memory->alloc(room * bench->dim * sizeof(float));
    arrays->accumulate = memory->alloc(room);
    arrays->results = memory->alloc(room);
    arrays->bits = memory->alloc((room + 63) / 64 * sizeof(*arrays->bits));
    arrays->told = calloc(1, sizeof(*arrays->told));
    bench->host_keys = malloc(room * sizeof(*bench->host_keys));
    if (arrays->keys != NULL && arrays->values != NULL && arrays->values_out != NULL &&
        arrays->accumulate != NULL && arrays->results != NULL && arrays->bits != NULL &&
        arrays->told != NULL && bench->host_keys != NULL) {
        return true;
    }
    close_arrays(bench);
    return false;
}

/* --- what memory can do ----------------------------------------------------------------------- */

static bool measure_move(struct sw_rowbench *bench, struct sw_rowbench_moved *moved)
{
    double seconds[CEILING_REPS + 1]; /* the first repetition warms up */
    for (uint32_t r = 0; r <= CEILING_REPS; r++) {
        moved->draw = bench->draws++ * 0x2545f4914f6cdd1dULL;
        if (!bench->place->move(moved, &seconds[r])) {
            return false;
        }
    }
    double rate = (double)moved->count / sw_study_median(seconds + 1, CEILING_REPS);
    bench->ceilings[moved->move] = rate;
    sw_rowbench_report_ceiling(bench->report, moved->move, bench->dim * 4, moved->count, rate);
    return true;
}

/* Measures the ceilings over an arena of `capacity` rows. */
static bool measure_ceilings(struct sw_rowbench *bench, uint64_t capacity)
{
    const struct sw_study_place *memory = bench->place->memory;
    uint64_t count = bench->options->batch;
    struct sw_rowbench_moved moved = {
        .packed = bench->arrays.values,
        .rows = capacity,
        .count = count,
        .present = (uint64_t)llround(bench->options->hit_ratio * (double)count),
        .units = bench->dim * (uint32_t)sizeof(float) / UNIT,
    };
    size_t bytes = capacity * bench->dim * sizeof(float);
    const bool pinned = bench->options->rows_in != 0 && bench->place->alloc_pinned != NULL;
    moved.arena = pinned ? bench->place->alloc_pinned(bytes) : memory->alloc(bytes);
    bool done = moved.arena != NULL && memory->fill(moved.arena, 0, bytes) &&
                memory->fill(moved.packed, 0, count * bench->dim * sizeof(float));
    for (int move = 0; done && move < SW_ROWBENCH_MOVES; move++) {
        moved.move = (enum sw_rowbench_move)move;
        moved.hot = move == SW_ROWBENCH_SUM_HOT_TENTH  ? count / 10
                    : move == SW_ROWBENCH_SUM_HOT_HALF ? count / 2
                                                       : 0;
        done = measure_move(bench, &moved);
    }
    (pinned ? bench->place->free_pinned : memory->free)(moved.arena);
    return done;
}

static double ceiling_of(const struct sw_rowbench *bench, enum sw_rowbench_operation operation)
{
    switch (operation) {
    case SW_ROWBENCH_GET:
        return bench->ceilings[SW_ROWBENCH_GATHER];
    case SW_ROWBENCH_SET_STORED:
    case SW_ROWBENCH_SET_FRESH:
        return bench->ceilings[SW_ROWBENCH_SCATTER];
    case SW_ROWBENCH_ADD:
        return bench->ceilings[SW_ROWBENCH_SUM];
    case SW_ROWBENCH_ADD_TENTH:
        return bench->ceilings[SW_ROWBENCH_SUM_HOT_TENTH];
    case SW_ROWBENCH_ADD_HALF:
        return bench->ceilings[SW_ROWBENCH_SUM_HOT_HALF];
    default:
        return 0; /* the call moves no rows, or rows in caches */
    }
}

/* --- series ----------------------------------------------------------------------------------- */

/* Returns whether every answer is right. A table that evicts may miss stored keys. */
static bool is_right(const struct sw_rowbench *bench,
                     const unsigned long long answers[SW_ROWBENCH_ANSWERS])
{
    return answers[SW_ROWBENCH_PHANTOM] == 0 && answers[SW_ROWBENCH_WRONG] == 0 &&
           (!bench->library->is_table || answers[SW_ROWBENCH_MISSED] == 0);
}

static bool take_reps(struct sw_rowbench *bench, const struct sw_rowbench_subject *subject,
                      struct sw_rowbench_series *series)
{
    double begun = sw_study_clock();
    for (uint32_t r = 0; r <= bench->options->reps; r++) {
        struct sw_study_took took = {0};
        if (!sw_rowbench_measure(bench, subject->operation, &took, series->answers)) {
            return false;
        }
        if (r > 0) {
            series->seconds[series->count++] = took.seconds;
            if (!isnan(took.events)) {
                series->events[series->events_count++] = took.events;
            }
            sw_rowbench_report_rep(bench->report, subject, series, &took);
        }
        if (series->count >= 2 && sw_study_clock() - begun > bench->options->seconds) {
            break;
        }
    }
    return true;
}

static bool measure_series(struct sw_rowbench *bench, struct sw_rowbench_subject *subject)
{
    struct sw_rowbench_series *series = calloc(1, sizeof(*series));
    bool done = series != NULL && take_reps(bench, subject, series);
    if (done) {
        sw_rowbench_report_series(bench->report, subject, series);
        bench->is_correct = bench->is_correct && is_right(bench, series->answers);
    } else {
        sw_rowbench_report_none(bench->report, subject, "failed: see the lines above");
    }
    free(series);
    return done;
}

/* Returns whether the library can run the operation. A peer defines no result for calls that repeat
 * a key. */
static bool can(const struct sw_rowbench *bench, enum sw_rowbench_operation operation)
{
    return bench->library->is_table ||
           (operation != SW_ROWBENCH_ADD_TENTH && operation != SW_ROWBENCH_ADD_HALF);
}

static bool measure_load(struct sw_rowbench *bench, double load)
{
    unsigned long long answers[SW_ROWBENCH_ANSWERS] = {0};
    struct sw_rowbench_subject subject = {
        .library = bench->library->name,
        .value_bytes = bench->dim * (uint32_t)sizeof(float),
        .load = load,
        .batch = bench->options->batch,
        .capacity = bench->capacity,
    };
    bool done = sw_rowbench_fill(bench, (uint64_t)(load * (double)bench->capacity));
    for (int o = 0; done && o < SW_ROWBENCH_OPERATIONS; o++) {
        subject.operation = (enum sw_rowbench_operation)o;
        subject.ceiling = ceiling_of(bench, subject.operation);
        if (bench->options->operations[o] && !can(bench, subject.operation)) {
            sw_rowbench_report_none(bench->report, &subject, "it has no order of repeated keys");
        } else if (bench->options->operations[o]) {
            done = measure_series(bench, &subject);
        }
    }
    done = done && sw_rowbench_audit(bench, answers);
    if (done && !is_right(bench, answers)) {
        fprintf(stderr,
                "rows: the table does not hold what it must: missed %llu, phantom %llu, "
                "wrong %llu\n",
                answers[SW_ROWBENCH_MISSED], answers[SW_ROWBENCH_PHANTOM],
                answers[SW_ROWBENCH_WRONG]);
        bench->is_correct = false;
    }
    return done;
}

/* --- tables ----------------------------------------------------------------------------------- */

static bool open_table(struct sw_rowbench *bench, uint64_t capacity)
{
    char reason[256] = "there is no memory for the model";
    struct sw_cachebench_wanted wanted = {
        .on_host = bench->options->on_host,
        .device = bench->options->device,
        .capacity = capacity,
        .dim = bench->dim,
        .room = (uint32_t)bench->options->batch,
        .rows_in = bench->options->rows_in,
        .rows_gpu_bytes = bench->options->rows_gpu_bytes,
    };
    bench->stored = 0;
    bench->model = bench->place->memory->alloc(2 * capacity);
    bench->table =
        bench->model == NULL || !bench->place->memory->fill(bench->model, 0, 2 * capacity)
            ? NULL
            : bench->library->open(&wanted, reason, sizeof(reason));
    if (bench->table == NULL) {
        fprintf(stderr, "rows: %s: %s\n", bench->library->name, reason);
        bench->place->memory->free(bench->model);
        return false;
    }
    bench->capacity = bench->library->capacity(bench->table);
    return true;
}

/* Returns whether the library is measured. A library that keeps values only in device memory is
 * measured only if Sherwood also keeps all rows there. */
static bool is_measured(const struct sw_rowbench *bench,
                        const struct sw_cachebench_library *library)
{
    return !library->on_device_only || (!bench->options->on_host && bench->options->rows_in == 0);
}

static bool measure_library(struct sw_rowbench *bench, uint64_t capacity)
{
    bool done = open_table(bench, capacity);
    if (!done) {
        return false;
    }
    for (uint32_t l = 0; done && l < bench->options->loads_count; l++) {
        done = measure_load(bench, bench->options->loads[l]);
    }
    bench->library->close(bench->table);
    bench->place->memory->free(bench->model);
    return done;
}

static bool measure_size(struct sw_rowbench *bench, uint32_t value_bytes)
{
    uint64_t capacity = sw_rowbench_capacity(bench->options, value_bytes);
    bench->dim = value_bytes / (uint32_t)sizeof(float);
    if (!open_arrays(bench)) {
        return false;
    }
    bool done = measure_ceilings(bench, capacity);
    for (int l = 0; done && bench->libraries[l] != NULL; l++) {
        bench->library = bench->libraries[l];
        if (is_measured(bench, bench->library)) {
            done = measure_library(bench, capacity);
        }
    }
    close_arrays(bench);
    return done;
}

static uint32_t count_series(const struct sw_rowbench *bench)
{
    uint32_t operations = 0;
    uint32_t libraries = 0;
    for (int o = 0; o < SW_ROWBENCH_OPERATIONS; o++) {
        operations += bench->options->operations[o];
    }
    for (int l = 0; bench->libraries[l] != NULL; l++) {
        libraries += is_measured(bench, bench->libraries[l]);
    }
    return operations * libraries * bench->options->loads_count * bench->options->value_bytes_count;
}

/* A failure with one row size does not stop the measurement of the other sizes. */
void sw_rowbench_run(struct sw_rowbench *bench)
{
    bench->report->series_max = count_series(bench);
    for (uint32_t v = 0; v < bench->options->value_bytes_count; v++) {
        if (!measure_size(bench, bench->options->value_bytes[v])) {
            bench->is_complete = false;
        }
    }
}
