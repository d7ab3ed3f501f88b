/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_cachebench_options.
 */
#include "bench/cache/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cache/draw.h"
#include "bench/cache/help.h"
#include "bench/timing/files.h"
#include "bench/timing/lists.h"

#define OFFERS_MAX 64

enum {
    OPTION_BACKEND = 256,
    OPTION_DEVICE,
    OPTION_EXPERIMENTS,
    OPTION_OPERATIONS,
    OPTION_LIBRARIES,
    OPTION_MODES,
    OPTION_DIMS,
    OPTION_LOADS,
    OPTION_CAPACITY,
    OPTION_FILL_CAPACITY,
    OPTION_FILL_DIM,
    OPTION_FILL_LOADS,
    OPTION_OFFERS,
    OPTION_BATCH,
    OPTION_HIT_RATIO,
    OPTION_WINDOW,
    OPTION_REPS,
    OPTION_SECONDS,
    OPTION_SEED,
    OPTION_QUICK,
    OPTION_COMMIT,
    OPTION_OUTPUT,
    OPTION_LIST,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"backend", required_argument, NULL, OPTION_BACKEND},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"experiments", required_argument, NULL, OPTION_EXPERIMENTS},
    {"operations", required_argument, NULL, OPTION_OPERATIONS},
    {"libraries", required_argument, NULL, OPTION_LIBRARIES},
    {"modes", required_argument, NULL, OPTION_MODES},
    {"dims", required_argument, NULL, OPTION_DIMS},
    {"loads", required_argument, NULL, OPTION_LOADS},
    {"capacity", required_argument, NULL, OPTION_CAPACITY},
    {"fill-capacity", required_argument, NULL, OPTION_FILL_CAPACITY},
    {"fill-dim", required_argument, NULL, OPTION_FILL_DIM},
    {"fill-loads", required_argument, NULL, OPTION_FILL_LOADS},
    {"offers", required_argument, NULL, OPTION_OFFERS},
    {"batch", required_argument, NULL, OPTION_BATCH},
    {"hit-ratio", required_argument, NULL, OPTION_HIT_RATIO},
    {"window", required_argument, NULL, OPTION_WINDOW},
    {"reps", required_argument, NULL, OPTION_REPS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"commit", required_argument, NULL, OPTION_COMMIT},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"list-libraries", no_argument, NULL, OPTION_LIST},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* --- values ----------------------------------------------------------------------------------- */

static bool parse_real(const char *text, double min, double max, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= min && *out <= max;
}

/* Takes the next name off a list with commas; NULL at its end. */
static const char *next_of(char **rest)
{
    return *rest == NULL ? NULL : strsep(rest, ",");
}

static bool copy_list(const char *text, char *copy, size_t size)
{
    return snprintf(copy, size, "%s", text) < (int)size;
}

/* Numbers from 1 to max. */
static bool parse_u32s(const char *text, uint32_t max, uint32_t *numbers, uint32_t *count)
{
    return sw_timing_parse_u32s(text, 1, max, numbers, SW_CACHEBENCH_LIST_MAX, count) && *count > 0;
}

static bool parse_dims(const char *text, struct sw_cachebench_options *options)
{
    return parse_u32s(text, SW_CACHEBENCH_DIM_MAX, options->dims, &options->dims_count);
}

static bool parse_loads(const char *text, bool ascending, double *loads, uint32_t *count)
{
    char copy[256];
    char *rest = copy;
    *count = 0;
    if (!copy_list(text, copy, sizeof(copy))) {
        return false;
    }
    for (const char *item; (item = next_of(&rest)) != NULL; (*count)++) {
        if (*count == SW_CACHEBENCH_LIST_MAX || !parse_real(item, 0.01, 1, &loads[*count]) ||
            (ascending && *count > 0 && loads[*count] <= loads[*count - 1])) {
            return false;
        }
    }
    return true;
}

static const char *experiment_name(int number)
{
    return sw_cachebench_experiment_name((enum sw_cachebench_experiment)number);
}

static const char *operation_name(int number)
{
    return sw_cachebench_operation_name((enum sw_cachebench_operation)number);
}

static const char *mode_name(int number)
{
    return number == 0 ? "memory" : "throughput";
}

static const char *library_name(int number)
{
    return sw_cachebench_libraries[number]->name;
}

static int count_libraries(void)
{
    int count = 0;
    while (sw_cachebench_libraries[count] != NULL) {
        count++;
    }
    return count;
}

/* --- libraries -------------------------------------------------------------------------------- */

static void keep_libraries(struct sw_cachebench_options *options, const bool *wanted)
{
    int kept = 0;
    for (int l = 0; sw_cachebench_libraries[l] != NULL && kept + 1 < SW_CACHEBENCH_LIBRARIES_MAX;
         l++) {
        if (wanted[l]) {
            options->libraries[kept++] = sw_cachebench_libraries[l];
        }
    }
    options->libraries[kept] = NULL;
}

static bool parse_libraries(const char *text, struct sw_cachebench_options *options)
{
    bool wanted[SW_CACHEBENCH_LIBRARIES_MAX];
    if (!sw_timing_parse_names(text, library_name, count_libraries(), wanted)) {
        return false;
    }
    keep_libraries(options, wanted);
    return true;
}

static void drop_library(struct sw_cachebench_options *options,
                         const struct sw_cachebench_library *library)
{
    int kept = 0;
    for (int l = 0; options->libraries[l] != NULL; l++) {
        if (options->libraries[l] != library) {
            options->libraries[kept++] = options->libraries[l];
        }
    }
    options->libraries[kept] = NULL;
}

/* --- the command line ------------------------------------------------------------------------- */

static void set_defaults(struct sw_cachebench_options *options)
{
    bool all[SW_CACHEBENCH_LIBRARIES_MAX];
    memset(options, 0, sizeof(*options));
    memset(all, true, sizeof(all));
    keep_libraries(options, all);
    memset(options->experiments, true, sizeof(options->experiments));
    memset(options->operations, true, sizeof(options->operations));
    parse_dims("8,32,64", options);
    parse_loads("0.50,0.75,1.00", false, options->loads, &options->loads_count);
    parse_loads("0.25,0.50,0.75,0.90,0.95,1.00", true, options->fill_loads,
                &options->fill_loads_count);
    options->fill_capacity = 1ULL << 20;
    options->fill_dim = 64;
    options->batch = 1ULL << 20;
    options->hit_ratio = 0.6;
    parse_u32s("1,4", OFFERS_MAX, options->offers, &options->offers_count);
    options->reps = 5;
    options->seconds = 4;
    options->seed = 1;
    sw_timing_name_folder(options->output, sizeof(options->output), "cache");
}

static void set_quick(struct sw_cachebench_options *options)
{
    parse_dims("64", options);
    parse_loads("0.50,1.00", false, options->loads, &options->loads_count);
    options->capacity = 8ULL << 20;
    options->reps = 2;
}

static bool parse_modes(struct sw_cachebench_options *options, const char *text)
{
    bool modes[2];
    if (!sw_timing_parse_names(text, mode_name, 2, modes)) {
        return false;
    }
    if (!modes[0]) {
        drop_library(options, &sw_cachebench_sherwood_memory);
    }
    if (!modes[1]) {
        drop_library(options, &sw_cachebench_sherwood_throughput);
    }
    return true;
}

static bool parse_text(char *out, size_t size, const char *text)
{
    return snprintf(out, size, "%s", text) < (int)size;
}

/* What is chosen; false if the value is not one of the option's. */
static bool take_choice(struct sw_cachebench_options *options, int option, const char *text)
{
    switch (option) {
    case OPTION_BACKEND:
        options->on_host = strcmp(text, "cpu") == 0;
        return options->on_host || strcmp(text, "cuda") == 0;
    case OPTION_EXPERIMENTS:
        return sw_timing_parse_names(text, experiment_name, SW_CACHEBENCH_EXPERIMENTS,
                                     options->experiments);
    case OPTION_OPERATIONS:
        return sw_timing_parse_names(text, operation_name, SW_CACHEBENCH_OPERATIONS,
                                     options->operations);
    case OPTION_LIBRARIES:
        return parse_libraries(text, options);
    case OPTION_MODES:
        return parse_modes(options, text);
    case OPTION_DIMS:
        return parse_dims(text, options);
    case OPTION_LOADS:
        return parse_loads(text, false, options->loads, &options->loads_count);
    case OPTION_FILL_LOADS:
        return parse_loads(text, true, options->fill_loads, &options->fill_loads_count);
    case OPTION_COMMIT:
        return parse_text(options->commit, sizeof(options->commit), text);
    case OPTION_OUTPUT:
        return parse_text(options->output, sizeof(options->output), text);
    default:
        set_quick(options);
        return true;
    }
}

static bool take(struct sw_cachebench_options *options, int option, const char *text)
{
    uint32_t device = 0;
    bool valid;
    switch (option) {
    case OPTION_DEVICE:
        valid = sw_timing_parse_u32(text, 0, 1023, &device);
        options->device = (int)device;
        return valid;
    case OPTION_CAPACITY:
        return sw_timing_parse_u64(text, 1024, 1ULL << 30, &options->capacity);
    case OPTION_FILL_CAPACITY:
        return sw_timing_parse_u64(text, 1024, 1ULL << 24, &options->fill_capacity);
    case OPTION_FILL_DIM:
        return sw_timing_parse_u32(text, 1, SW_CACHEBENCH_DIM_MAX, &options->fill_dim);
    case OPTION_OFFERS:
        return parse_u32s(text, OFFERS_MAX, options->offers, &options->offers_count);
    case OPTION_BATCH:
        return sw_timing_parse_u64(text, 1, 1ULL << 24, &options->batch);
    case OPTION_HIT_RATIO:
        return parse_real(text, 0, 1, &options->hit_ratio);
    case OPTION_WINDOW:
        return sw_timing_parse_u64(text, 1, 1ULL << 30, &options->window);
    case OPTION_REPS:
        return sw_timing_parse_u32(text, 1, SW_CACHEBENCH_REPS_MAX, &options->reps);
    case OPTION_SECONDS:
        return parse_real(text, 0, 1e6, &options->seconds);
    case OPTION_SEED:
        return sw_timing_parse_u64(text, 0, UINT64_MAX, &options->seed);
    default:
        return take_choice(options, option, text);
    }
}

/* HierarchicalKV keeps the three highest keys for itself: none may be a number's that is drawn. */
static bool seed_fits(uint64_t seed)
{
    for (uint64_t key = UINT64_MAX; key > UINT64_MAX - 3; key--) {
        if (sw_cachebench_number_of(key, seed) < 2 * SW_CACHEBENCH_ABSENT) {
            return false;
        }
    }
    return true;
}

enum sw_cachebench_parsed sw_cachebench_options_parse(struct sw_cachebench_options *options,
                                                      int argc, char **argv)
{
    int option;
    int index = 0;
    set_defaults(options);
    optind = 1;
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == OPTION_HELP || option == OPTION_LIST) {
            option == OPTION_HELP ? sw_cachebench_print_help() : sw_cachebench_print_libraries();
            return SW_CACHEBENCH_DONE;
        }
        if (option == '?') {
            return SW_CACHEBENCH_WRONG_LINE; /* getopt has said why */
        }
        if (!take(options, option, optarg)) {
            fprintf(stderr, "cache: --%s does not take %s; see --help\n", long_options[index].name,
                    optarg);
            return SW_CACHEBENCH_WRONG_LINE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "cache: there is no argument %s; see --help\n", argv[optind]);
        return SW_CACHEBENCH_WRONG_LINE;
    }
    for (int l = 0; options->on_host && sw_cachebench_libraries[l] != NULL; l++) {
        if (sw_cachebench_libraries[l]->on_device_only) {
            drop_library(options, sw_cachebench_libraries[l]);
        }
    }
    if (options->libraries[0] == NULL) {
        fprintf(stderr, "cache: no library is left; see --help\n");
        return SW_CACHEBENCH_WRONG_LINE;
    }
    if (options->capacity > 0 && options->capacity / SW_CACHEBENCH_WINDOW_PART < options->batch) {
        fprintf(stderr, "cache: --capacity must be at least %d times --batch\n",
                SW_CACHEBENCH_WINDOW_PART);
        return SW_CACHEBENCH_WRONG_LINE;
    }
    if (!seed_fits(options->seed)) {
        fprintf(stderr, "cache: --seed draws a key that a library reserves: take another one\n");
        return SW_CACHEBENCH_WRONG_LINE;
    }
    return SW_CACHEBENCH_RUN;
}
