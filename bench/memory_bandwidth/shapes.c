/* SPDX-License-Identifier: MIT
 *
 * shapes.c - repetitions of gets and inserts by each shape, and the best number of keys in flight.
 */
#include "bench/memory_bandwidth/shapes.h"

#include <inttypes.h>

#include "bench/study/report.h"

enum kind { GET, GET_ABSENT, INSERT, KINDS };

static const char *const names[KINDS] = {"get", "get_miss100", "insert"};

struct run {
    const struct sw_bandwidth_options *options;
    struct sw_bandwidth_report *report;
    struct sw_bandwidth_shaped table;
    double load;
    uint64_t wrong;
};

static uint64_t operations(const struct run *run, enum kind kind)
{
    return kind == INSERT ? SW_BANDWIDTH_SHAPED_INSERTS : run->table.count;
}

/* *rate receives operations a second. An insert begins with the table as it was built. */
static bool measure(struct run *run, uint32_t shape, enum kind kind, double *rate)
{
    double rates[SW_BANDWIDTH_REPS_MAX];
    const struct sw_bandwidth_shape about = sw_bandwidth_shape_at(shape);
    for (uint32_t number = 0; number <= run->options->reps; number++) { /* 0 warms up */
        double seconds = 0;
        bool done =
            kind != INSERT
                ? sw_bandwidth_shaped_get(&run->table, shape, kind == GET, &seconds, &run->wrong)
                : sw_bandwidth_shaped_build(&run->table, about.slots) &&
                      sw_bandwidth_shaped_insert(&run->table, shape, &seconds, &run->wrong);
        if (!done) {
            return false;
        }
        if (number > 0) {
            rates[number - 1] = (double)operations(run, kind) / seconds;
            sw_bandwidth_report_shape(run->report, &about, names[kind], run->table.slot_bits,
                                      run->load, number, operations(run, kind), seconds);
        }
    }
    *rate = sw_study_median(rates, run->options->reps);
    return true;
}

/* Shapes from `first` on that differ in the keys in flight alone; only gets have these. */
static bool measure_best(struct run *run, uint32_t first, uint32_t end, enum kind kind)
{
    const struct sw_bandwidth_shape about = sw_bandwidth_shape_at(first);
    char library[32];
    double best = 0;
    uint32_t best_keys = 0;
    snprintf(library, sizeof(library), "slots_%" PRIu32 "_threads_%" PRIu32, about.slots,
             about.lanes);
    for (uint32_t s = first; s < (kind == INSERT ? first + 1 : end); s++) {
        double rate = 0;
        if (sw_bandwidth_shape_fits(s, run->table.slot_bits) && !measure(run, s, kind, &rate)) {
            return false;
        }
        if (rate > best) {
            best = rate;
            best_keys = sw_bandwidth_shape_at(s).keys;
        }
    }
    const struct sw_bandwidth_subject subject = {
        .library = library,
        .operation = names[kind],
        .slot_bits = run->table.slot_bits,
        .load = run->load,
        .batch = kind == INSERT ? operations(run, kind) : 0,
    };
    sw_bandwidth_report_summary(run->report, &subject, "gops", best * 1e-9, "Gops/s");
    if (kind != INSERT) {
        sw_bandwidth_report_summary(run->report, &subject, "keys_in_flight", best_keys, "");
    }
    fprintf(stderr, "%s, %" PRIu32 "-bit slots, F %g: %s %.2f G/s\n", library, subject.slot_bits,
            run->load, names[kind], best * 1e-9);
    return true;
}

static bool measure_all(struct run *run)
{
    uint32_t end = 0;
    for (uint32_t first = 0; first < sw_bandwidth_shapes(); first = end) {
        const struct sw_bandwidth_shape about = sw_bandwidth_shape_at(first);
        for (end = first; end < sw_bandwidth_shapes(); end++) {
            const struct sw_bandwidth_shape next = sw_bandwidth_shape_at(end);
            if (next.slots != about.slots || next.lanes != about.lanes) {
                break;
            }
        }
        if (!sw_bandwidth_shaped_build(&run->table, about.slots) ||
            !measure_best(run, first, end, GET) || !measure_best(run, first, end, GET_ABSENT) ||
            !measure_best(run, first, end, INSERT)) {
            return false;
        }
    }
    return true;
}

bool sw_bandwidth_measure_shapes(const struct sw_bandwidth_options *options,
                                 struct sw_bandwidth_report *report, bool *is_correct)
{
    bool done = true;
    uint64_t draws = 0;
    for (uint32_t bits = 64; bits <= 128; bits += 64) {
        for (uint32_t l = 0; l < options->loads_count && done; l++) {
            struct run run = {.options = options, .report = report, .load = options->loads[l]};
            const struct sw_study_draw draw = {options->seed, ++draws};
            if (run.load >= 1) {
                continue;
            }
            done = sw_bandwidth_shaped_open(&run.table, bits, 1ULL << options->capacity_log2,
                                            run.load, draw) &&
                   measure_all(&run);
            sw_bandwidth_shaped_close(&run.table);
            *is_correct = *is_correct && run.wrong == 0;
        }
    }
    return done;
}
