/* SPDX-License-Identifier: MIT
 *
 * measure.c - one call of each operation: times the call that launches and waits, then checks it.
 */
#include <math.h>

#include "bench/load/zipf.h"
#include "bench/rows/study.h"

/* The current call, and the destination of its time and answers. */
struct call {
    struct sw_rowbench *bench;
    uint64_t count;
    struct sw_study_took *took;
    unsigned long long *answers;
};

static bool draw(const struct call *call, const struct sw_rowbench_keys *keys)
{
    return call->bench->place->draw_keys(call->bench->arrays.keys, keys);
}

/* Returns keys of stored rows, all different. */
static struct sw_rowbench_keys of_stored(const struct call *call)
{
    return sw_rowbench_ask(call->bench, call->count, 0, 0, 0, call->bench->stored);
}

static bool get(const struct call *call)
{
    struct sw_rowbench *bench = call->bench;
    uint64_t absent =
        call->count - (uint64_t)llround(bench->options->hit_ratio * (double)call->count);
    uint64_t absent_from = SW_CACHEBENCH_ABSENT + bench->draws * call->count;
    struct sw_rowbench_keys keys =
        sw_rowbench_ask(bench, call->count, absent, absent_from, 0, bench->stored);
    return draw(call, &keys) &&
           sw_rowbench_look_up(bench, call->count, NULL, call->took, call->answers);
}

static bool get_skewed(const struct call *call)
{
    struct sw_rowbench *bench = call->bench;
    struct sw_load_zipf zipf;
    uint64_t random = sw_mix_64(bench->draws++, ~bench->options->seed);
    sw_load_zipf_init(&zipf, bench->stored, bench->options->skew);
    for (uint64_t j = 0; j < call->count; j++) {
        bench->host_keys[j] =
            sw_cachebench_key(sw_load_zipf_draw(&zipf, &random), bench->options->seed);
    }
    return bench->place->memory->copy(bench->arrays.keys, bench->host_keys,
                                      call->count * sizeof(*bench->host_keys)) &&
           sw_rowbench_look_up(bench, call->count, NULL, call->took, call->answers);
}

static bool set_stored(const struct call *call)
{
    struct sw_rowbench *bench = call->bench;
    struct sw_rowbench_keys keys = of_stored(call);
    return draw(call, &keys) &&
           sw_rowbench_store(bench, call->count, sw_rowbench_next_generation(bench), call->took) &&
           sw_rowbench_look_up(bench, call->count, NULL, NULL, call->answers);
}

/* Removes the newest keys and stores them again. `removing` or `storing` is timed. */
static bool replace_newest(const struct call *call, struct sw_study_took *removing,
                           struct sw_study_took *storing)
{
    struct sw_rowbench *bench = call->bench;
    struct sw_rowbench_keys keys =
        sw_rowbench_ask(bench, call->count, 0, 0, bench->stored - call->count, call->count);
    return draw(call, &keys) && sw_rowbench_store(bench, call->count, 0, removing) &&
           sw_rowbench_look_up(bench, call->count, NULL, NULL, call->answers) &&
           sw_rowbench_store(bench, call->count, sw_rowbench_next_generation(bench), storing) &&
           sw_rowbench_look_up(bench, call->count, NULL, NULL, call->answers);
}

/* Adds to the row of number 0 by `hot` operations, and to different rows by the others. Then
 * replaces what was added. */
static bool measure_add(const struct call *call, uint64_t hot)
{
    struct sw_rowbench *bench = call->bench;
    const struct sw_cachebench_arrays *arrays = &bench->arrays;
    struct sw_rowbench_keys keys =
        sw_rowbench_ask(bench, call->count, hot, 0, 1, bench->stored - 1);
    keys.hot = hot > 0;
    return draw(call, &keys) &&
           bench->place->draw_rows(arrays->values, arrays->keys, call->count, bench->dim, 0,
                                   bench->options->seed) &&
           bench->place->memory->fill(arrays->accumulate, 1, call->count) &&
           sw_rowbench_call(bench, SW_CACHEBENCH_ACCUM_OR_ASSIGN, call->count, call->took) &&
           sw_rowbench_look_up(bench, call->count, &keys, NULL, call->answers) &&
           sw_rowbench_store(bench, call->count, sw_rowbench_next_generation(bench), NULL);
}

bool sw_rowbench_measure(struct sw_rowbench *bench, enum sw_rowbench_operation operation,
                         struct sw_study_took *took,
                         unsigned long long answers[SW_ROWBENCH_ANSWERS])
{
    struct call call = {bench, bench->options->batch, took, answers};
    switch (operation) {
    case SW_ROWBENCH_GET:
        return get(&call);
    case SW_ROWBENCH_GET_SKEWED:
        return get_skewed(&call);
    case SW_ROWBENCH_SET_STORED:
        return set_stored(&call);
    case SW_ROWBENCH_SET_FRESH:
        return replace_newest(&call, NULL, took);
    case SW_ROWBENCH_DELETE:
        return replace_newest(&call, took, NULL);
    case SW_ROWBENCH_ADD:
        return measure_add(&call, 0);
    case SW_ROWBENCH_ADD_TENTH:
        return measure_add(&call, call.count / 10);
    default:
        return measure_add(&call, call.count / 2);
    }
}
