/* SPDX-License-Identifier: MIT
 *
 * sherwood_hot.c - measures writes of distinct keys, writes that change one key by a tenth, half or
 * all of their operations, and writes of seven keys: engines robin_hood and cuckoo, with and
 * without answers.
 *
 * The keys are stored before, and keys, values and answers lie in host memory, as those of a client
 * do. A batch of several kinds also removes keys. It is measured last.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/sherwood.h"

#define HOT_SLOTS (1ULL << 24)
#define HOT_LOAD 0.4
#define HOT_MAX_LOAD 0.85
#define HOT_BATCH (1U << 20)
#define HOT_REPS_SHARE 4 /* a quarter of the repetitions, */
#define HOT_REPS_MIN 3   /* at least this number */
#define SMALL_OPERANDS 100

static const struct {
    const char *name;
    enum sw_op op;
    bool is_mixed; /* of SET, SUM, INCREMENT and DELETE */
    bool is_large; /* operands are any, so that INCREMENT overflows for some values */
} operations[] = {
    {"set", SW_SET, false, false},
    {"update", SW_SET_PRESENT, false, false},
    {"sum", SW_SUM, false, false},
    {"increment", SW_INCREMENT, false, false},
    {"increment_any", SW_INCREMENT, false, true},
    {"mixed", SW_SET, true, false},
};
/* The part of the operations that is on hot keys, and how many keys these are. */
static const struct hot_keys {
    const char *name;
    uint32_t percent;
    uint32_t count;
} hot_keys[] = {{"0", 0, 1}, {"10", 10, 1}, {"50", 50, 1}, {"100", 100, 1}, {"7_keys", 100, 7}};

/* Arrays of one batch, in I/O memory. */
struct arrays {
    void *keys;
    void *values;
    void *previous;
    uint8_t *ops;
    uint64_t *found;
};

struct hot {
    struct sw_timing_study study;
    struct sw_timing_library named;   /* the study's, with the name of the engine */
    struct sw_timing_options options; /* the study's, with fewer repetitions */
    struct sw_table *table;
    struct sw_queue *queue;
    struct arrays arrays;
    uint64_t entries; /* entry i has the key key_of(i) */
    uint32_t count;
    uint64_t draws;
};

static bool succeeded(int status, const char *what)
{
    if (status != SW_OK) {
        fprintf(stderr, "timing: hot: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

static uint64_t draw(struct hot *hot)
{
    return sw_timing_random((struct sw_study_draw){hot->options.seed, hot->draws++});
}

static void set_word(const struct hot *hot, void *array, uint32_t i, uint64_t word)
{
    if (hot->study.slot_bits == 64) {
        ((uint32_t *)array)[i] = (uint32_t)word;
    } else {
        ((uint64_t *)array)[i] = word;
    }
}

static uint64_t key_of(uint64_t number)
{
    return number * 0x9e3779b97f4a7c15ULL;
}

static bool fill(struct hot *hot)
{
    const struct arrays *arrays = &hot->arrays;
    for (uint64_t first = 0; first < hot->entries; first += hot->count) {
        for (uint32_t i = 0; i < hot->count; i++) {
            set_word(hot, arrays->keys, i, key_of(first + i));
            set_word(hot, arrays->values, i, i);
        }
        struct sw_batch batch = {
            .op = SW_SET, .count = hot->count, .keys = arrays->keys, .values = arrays->values};
        if (!succeeded(sw_batch_run(hot->queue, &batch), "filling the table")) {
            return false;
        }
    }
    return true;
}

static void draw_batch(struct hot *hot, size_t operation, const struct hot_keys *keys)
{
    static const uint8_t mix[] = {SW_SET, SW_SUM, SW_INCREMENT, SW_DELETE};
    const uint64_t start = draw(hot) % hot->entries;
    for (uint32_t i = 0; i < hot->count; i++) {
        const uint64_t random = draw(hot);
        const bool is_hot = (random >> 32) % 100 < keys->percent;
        const uint64_t offset = is_hot ? (random >> 48) % keys->count : i;
        const uint64_t value = operations[operation].is_large ? draw(hot) : random % SMALL_OPERANDS;
        set_word(hot, hot->arrays.keys, i, key_of((start + offset) % hot->entries));
        set_word(hot, hot->arrays.values, i, value);
        hot->arrays.ops[i] = mix[random >> 8 & (sizeof(mix) - 1)];
    }
}

/* Counts the operations whose key was absent. */
static uint64_t count_absent(const struct hot *hot)
{
    uint64_t absent = 0;
    for (uint32_t i = 0; i < hot->count; i++) {
        absent += (hot->arrays.found[i / 64] >> i % 64 & 1) == 0;
    }
    return absent;
}

static bool measure_rep(struct hot *hot, size_t operation, const struct hot_keys *keys,
                        bool answers, struct sw_timing_rep *rep)
{
    const struct arrays *arrays = &hot->arrays;
    const bool is_mixed = operations[operation].is_mixed;
    struct sw_table_stats stats;
    draw_batch(hot, operation, keys);
    struct sw_batch batch = {.op = operations[operation].op,
                             .ops = is_mixed ? arrays->ops : NULL,
                             .count = hot->count,
                             .keys = arrays->keys,
                             .values = arrays->values,
                             .previous = answers ? arrays->previous : NULL,
                             .found = answers ? arrays->found : NULL};
    memset(rep, 0, sizeof(*rep));
    const double begun = sw_study_clock();
    const int status = sw_batch_run(hot->queue, &batch);
    rep->took.seconds = sw_study_clock() - begun;
    rep->took.events = NAN;
    rep->operations = hot->count;
    sw_table_stats(hot->table, &stats);
    rep->has_check = !is_mixed; /* all others write stored keys */
    rep->missed = rep->has_check && answers ? count_absent(hot) : 0;
    rep->wrong = rep->has_check && stats.occupied != hot->entries;
    return succeeded(status, operations[operation].name);
}

static bool measure(struct hot *hot, size_t operation, const struct hot_keys *keys, bool answers)
{
    char name[64];
    struct sw_timing_series series;
    snprintf(name, sizeof(name), "hot_%s%s_%s", operations[operation].name,
             answers ? "_answers" : "", keys->name);
    sw_timing_study_begin(&hot->study, &series, name, hot->count);
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep;
        if (!measure_rep(hot, operation, keys, answers, &rep)) {
            return false;
        }
        sw_timing_series_take(&series, &rep);
    }
    sw_timing_study_end(&hot->study, &series);
    return true;
}

static bool measure_all(struct hot *hot)
{
    bool done = true;
    for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++) {
        for (int answers = 0; answers < 2; answers++) {
            for (size_t k = 0; k < sizeof(hot_keys) / sizeof(hot_keys[0]) && done; k++) {
                done = measure(hot, o, &hot_keys[k], answers != 0);
            }
        }
    }
    return done;
}

static void *open_array(struct hot *hot, size_t bytes)
{
    void *array = sw_io_alloc(hot->table, bytes);
    if (array != NULL) {
        memset(array, 0, bytes);
    }
    return array;
}

static bool open_parts(struct hot *hot, const struct sw_table_config *config)
{
    char reason[512] = "";
    struct arrays *arrays = &hot->arrays;
    const size_t words = hot->count * (hot->study.slot_bits / 16UL);
    if (sw_table_create(config, &hot->table, reason, sizeof(reason)) != SW_OK) {
        fprintf(stderr, "timing: hot: no table: %s\n", reason);
        return false;
    }
    if (!succeeded(sw_queue_create(hot->table, &hot->queue), "a queue")) {
        return false;
    }
    arrays->keys = open_array(hot, words);
    arrays->values = open_array(hot, words);
    arrays->previous = open_array(hot, words);
    arrays->ops = open_array(hot, hot->count);
    arrays->found = open_array(hot, hot->count / 8);
    const bool done = arrays->keys != NULL && arrays->values != NULL && arrays->previous != NULL &&
                      arrays->ops != NULL && arrays->found != NULL;
    if (!done) {
        fprintf(stderr, "timing: hot: no I/O memory\n");
    }
    return done;
}

static void close_parts(struct hot *hot)
{
    struct arrays *arrays = &hot->arrays;
    const size_t words = hot->count * (hot->study.slot_bits / 16UL);
    if (hot->table != NULL) {
        sw_io_free(hot->table, arrays->keys, words);
        sw_io_free(hot->table, arrays->values, words);
        sw_io_free(hot->table, arrays->previous, words);
        sw_io_free(hot->table, arrays->ops, hot->count);
        sw_io_free(hot->table, arrays->found, hot->count / 8);
    }
    sw_queue_destroy(hot->queue);
    sw_table_destroy(hot->table);
}

static bool measure_engine(struct sw_timing_study *study, enum sw_engine engine)
{
    struct sw_table_config config;
    struct hot hot = {.study = *study, .named = *study->library, .options = *study->options};
    hot.study.library = &hot.named;
    hot.study.options = &hot.options;
    hot.study.load = HOT_LOAD;
    hot.options.reps /= HOT_REPS_SHARE;
    hot.options.reps = hot.options.reps < HOT_REPS_MIN ? HOT_REPS_MIN : hot.options.reps;
    sw_timing_sherwood_config(study, &config);
    config.engine = engine;
    if (engine == SW_ENGINE_CUCKOO) {
        hot.named.name = "sherwood_cuckoo";
        config.hash_functions = 3;
    }
    config.max_load = HOT_MAX_LOAD;
    config.max_probe = 0;
    config.capacity_slots = config.capacity_slots < HOT_SLOTS ? config.capacity_slots : HOT_SLOTS;
    hot.count = HOT_BATCH;
    while (hot.count > HOT_LOAD * (double)config.capacity_slots / 2) {
        hot.count /= 2;
    }
    config.batch_ops_max = hot.count;
    hot.entries = (uint64_t)(HOT_LOAD * (double)config.capacity_slots) / hot.count * hot.count;
    const bool done = open_parts(&hot, &config) && fill(&hot) && measure_all(&hot);
    close_parts(&hot);
    study->is_correct = study->is_correct && hot.study.is_correct;
    return done;
}

bool sw_timing_measure_hot(struct sw_timing_study *study)
{
    return measure_engine(study, SW_ENGINE_ROBIN_HOOD) && measure_engine(study, SW_ENGINE_CUCKOO);
}
