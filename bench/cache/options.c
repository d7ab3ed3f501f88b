/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_cachebench_options.
 */
#include "bench/cache/options.h"

#include <stdio.h>
#include <string.h>

#include "bench/cache/draw.h"
#include "bench/study/lists.h"

#define FIELD(name) SW_STUDY_FIELD(struct sw_cachebench_options, name)
#define LIST(name) SW_STUDY_LIST(struct sw_cachebench_options, name)

static const char *const experiment_names[] = {SW_CACHEBENCH_EXPERIMENT_MAP(SW_STUDY_MAP_TEXT)
                                                   NULL};
static const char *const experiment_abouts[] = {SW_CACHEBENCH_EXPERIMENT_MAP(SW_STUDY_MAP_WHAT)};
static const char *const operation_names[] = {SW_CACHEBENCH_OPERATION_MAP(SW_STUDY_MAP_TEXT) NULL};
static const char *const operation_abouts[] = {SW_CACHEBENCH_OPERATION_MAP(SW_STUDY_MAP_WHAT)};
static const char *const modes[] = {"memory", "throughput", NULL};

const char *sw_cachebench_experiment_name(enum sw_cachebench_experiment experiment)
{
    return experiment_names[experiment];
}

const char *sw_cachebench_operation_name(enum sw_cachebench_operation operation)
{
    return operation_names[operation];
}

/* Returns whether the options select the library. */
static bool is_wanted(const struct sw_cachebench_options *options,
                      const struct sw_cachebench_library *library)
{
    const bool is_left_out =
        (strncmp(library->name, "sherwood_memory", 15) == 0 && !options->modes[0]) ||
        (strncmp(library->name, "sherwood_throughput", 19) == 0 && !options->modes[1]) ||
        (library->on_device_only && options->on_host);
    return !is_left_out && (options->library_names[0] == '\0' ||
                            sw_study_list_has(options->library_names, library->name));
}

/* Sets options->libraries to the libraries that the options name. */
static void choose_libraries(struct sw_cachebench_options *options)
{
    int kept = 0;
    for (int l = 0; sw_cachebench_libraries[l] != NULL; l++) {
        if (is_wanted(options, sw_cachebench_libraries[l])) {
            options->libraries[kept++] = sw_cachebench_libraries[l];
        }
    }
}

static bool take_libraries(void *context, const char *text, char *why, size_t why_size)
{
    struct sw_cachebench_options *options = context;
    const char *names[SW_CACHEBENCH_LIBRARIES_MAX] = {NULL};
    bool wanted[SW_CACHEBENCH_LIBRARIES_MAX];
    (void)why;
    (void)why_size;
    for (int l = 0; sw_cachebench_libraries[l] != NULL; l++) {
        names[l] = sw_cachebench_libraries[l]->name;
    }
    return sw_study_parse_names(text, names, wanted) &&
           snprintf(options->library_names, sizeof(options->library_names), "%s", text) <
               (int)sizeof(options->library_names);
}

#define LOADS(text, field) \
    text, SW_STUDY_REALS, LIST(field), .least = 0.01, .most = 1, .is_filled = true

static const struct sw_study_option rows[] = {
    {"experiments", SW_STUDY_NAMES, FIELD(experiments), .words = experiment_names,
     .about = experiment_abouts, .help = "experiments to run (all) of"},
    {"operations", SW_STUDY_NAMES, FIELD(operations), .words = operation_names,
     .about = operation_abouts, .help = "operations of the experiment operations (all) of"},
    {"libraries", SW_STUDY_OTHER, .take = take_libraries,
     .help = "of those that --list-libraries prints (all)"},
    {"modes", SW_STUDY_NAMES, FIELD(modes), .words = modes, .usual = "memory,throughput",
     .help = "modes of Sherwood's cache"},
    {"dims", SW_STUDY_U32S, LIST(dims), .min = 1, .max = SW_CACHEBENCH_DIM_MAX, .is_filled = true,
     .usual = "8,32,64", .quick = "64", .help = "floats of a value"},
    {LOADS("loads", loads), .usual = "0.50,0.75,1.00", .quick = "0.50,1.00",
     .help = "load factors of the experiment operations"},
    {"capacity", SW_STUDY_U64, FIELD(capacity), .min = 1024, .max = 1ULL << 30, .quick = "8M",
     .help = "entries; K, M, G are powers of 1024 (128M, for dims above 32 64M)"},
    {"fill-capacity", SW_STUDY_U64, FIELD(fill_capacity), .min = 1024, .max = 1ULL << 24,
     .usual = "1M", .help = "entries in fill and retention"},
    {"fill-dim", SW_STUDY_U32, FIELD(fill_dim), .min = 1, .max = SW_CACHEBENCH_DIM_MAX,
     .usual = "64", .help = "floats of a value in fill and retention"},
    {LOADS("fill-loads", fill_loads), .usual = "0.25,0.50,0.75,0.90,0.95,1.00",
     .help = "load factors of fill, ascending"},
    {"offers", SW_STUDY_U32S, LIST(offers), .min = 1, .max = 64, .is_filled = true, .usual = "1,4",
     .help = "retention offers N times the capacity"},
    {"batch", SW_STUDY_U64, FIELD(batch), .min = 1, .max = 1ULL << 24, .usual = "1M",
     .help = "operations a call"},
    {"hit-ratio", SW_STUDY_REAL, FIELD(hit_ratio), .most = 1, .usual = "0.6",
     .help = "part of a call's keys that are present"},
    {"window", SW_STUDY_U64, FIELD(window), .min = 1, .max = 1ULL << 30,
     .help = "they are drawn from the N newest keys (a quarter of the capacity)"},
    {"reps", SW_STUDY_U32, FIELD(reps), .min = 1, .max = SW_CACHEBENCH_REPS_MAX, .usual = "5",
     .quick = "2", .help = "timed repetitions, after one that warms up"},
    {"seconds", SW_STUDY_REAL, FIELD(seconds), .most = 1e6, .usual = "4",
     .help = "a series that takes longer ends after its second repetition"},
    SW_STUDY_BACKEND_ROW("where the caches lie"),
    SW_STUDY_DEVICE_ROW,
    SW_STUDY_SEED_ROW,
    {"quick", SW_STUDY_FLAG, FIELD(quick),
     .help = "where these are not given: dims 64, loads 0.50,1.00, capacity 8M,\n2 repetitions"},
    SW_STUDY_COMMIT_ROW,
    SW_STUDY_OUTPUT_ROW("cache"),
    {"list-libraries", SW_STUDY_FLAG, FIELD(lists_libraries),
     .help = "prints the libraries that this program has, one a line"},
};

static const struct sw_study_command command = {
    .name = "cache",
    .usage = "[options]",
    .about =
        "Measures Sherwood's cache of values of floats in both modes, and HierarchicalKV where\n"
        "it was built in. Every answer is checked.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

/* HierarchicalKV reserves the three highest keys. Returns whether the study never draws one of them
 * with this seed. */
static bool seed_fits(uint64_t seed)
{
    for (uint64_t key = UINT64_MAX; key > UINT64_MAX - 3; key--) {
        if (sw_cachebench_number_of(key, seed) < 2 * SW_CACHEBENCH_ABSENT) {
            return false;
        }
    }
    return true;
}

/* Returns an error text if valid options contradict each other, else NULL. */
static const char *contradiction(const struct sw_cachebench_options *options)
{
    for (uint32_t l = 1; l < options->fill_loads_count; l++) {
        if (options->fill_loads[l] <= options->fill_loads[l - 1]) {
            return "--fill-loads must ascend";
        }
    }
    if (options->libraries[0] == NULL) {
        return "no library is left";
    }
    if (options->capacity > 0 && options->capacity / SW_CACHEBENCH_WINDOW_PART < options->batch) {
        return "--capacity must be at least 4 times --batch";
    }
    if (!seed_fits(options->seed)) {
        return "--seed draws a key that a library reserves: take another one";
    }
    return NULL;
}

enum sw_study_parsed sw_cachebench_options_parse(struct sw_cachebench_options *options, int argc,
                                                 char **argv)
{
    memset(options, 0, sizeof(*options));
    memset(options->experiments, true, sizeof(options->experiments));
    memset(options->operations, true, sizeof(options->operations));
    enum sw_study_parsed parsed = sw_study_options(&command, options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed;
    }
    choose_libraries(options);
    for (size_t l = 0; options->lists_libraries && sw_cachebench_libraries[l] != NULL; l++) {
        printf("%s\n", sw_cachebench_libraries[l]->name);
    }
    const char *wrong = options->lists_libraries ? NULL : contradiction(options);
    if (wrong != NULL) {
        fprintf(stderr, "cache: %s; see --help\n", wrong);
        return SW_STUDY_WRONG;
    }
    return options->lists_libraries ? SW_STUDY_DONE : SW_STUDY_RUN;
}
