/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_timing_options.
 */
#include "bench/timing/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    OPTION_CAPACITY_LOG2 = 256,
    OPTION_SLOT_BITS,
    OPTION_F,
    OPTION_MISS,
    OPTION_REPS,
    OPTION_INSERT_REPS,
    OPTION_BATCH_LOG2,
    OPTION_MAX_PROBE,
    OPTION_SEED,
    OPTION_DEVICE,
    OPTION_OUTPUT,
    OPTION_QUICK,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"capacity-log2", required_argument, NULL, OPTION_CAPACITY_LOG2},
    {"slot-bits", required_argument, NULL, OPTION_SLOT_BITS},
    {"F", required_argument, NULL, OPTION_F},
    {"miss", required_argument, NULL, OPTION_MISS},
    {"reps", required_argument, NULL, OPTION_REPS},
    {"insert-reps", required_argument, NULL, OPTION_INSERT_REPS},
    {"batch-log2", required_argument, NULL, OPTION_BATCH_LOG2},
    {"max-probe", required_argument, NULL, OPTION_MAX_PROBE},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static void print_help(const char *program)
{
    printf(
        "usage: %s [options]\n"
        "\n"
        "Measures insert and get of Sherwood's table with keys in device memory, and the rates of\n"
        "memory beside them. Writes raw.csv, ceilings.csv, summary.csv and run_info.txt.\n"
        "\n"
        "  --capacity-log2 N   2^N slots, 10..31 (27)\n"
        "  --slot-bits LIST    64, 128 or 64,128: width of a slot (64)\n"
        "  --F LIST            keys offered / slots, above 0, at most 1 (0.5,0.75,0.85,0.95)\n"
        "  --miss LIST         percent of the keys of a get that are not stored (0,50,100)\n"
        "  --reps N            timed repetitions of each get and each ceiling, 1..1000 (16)\n"
        "  --insert-reps N     timed repetitions of each insert, 1..1000 (4)\n"
        "  --batch-log2 N      2^N operations a batch, 6..24 (24)\n"
        "  --max-probe N       probe cap in buckets (1048576: never met)\n"
        "  --seed N            of the keys (1)\n"
        "  --device N          CUDA device (0)\n"
        "  --output FOLDER     where the files go (output/<time>/timing)\n"
        "  --quick             F 0.5,0.85, miss 0,100, 4 repetitions of get, 1 of insert, where\n"
        "                      these are not given: about 10 s\n"
        "  --help\n"
        "\n"
        "Lists are separated by commas. Exit status: 0; 1 if something failed or a check found a\n"
        "key lost or a value wrong; 2 if the command line is wrong.\n",
        program);
}

static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min ||
        value > max) {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;
    if (!parse_number(text, min, max, &value)) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* Calls take(context, item) for each item of a list. */
static bool each_item(const char *text, bool (*take)(struct sw_timing_options *, const char *),
                      struct sw_timing_options *options)
{
    char copy[512];
    char *rest = copy;
    int length = snprintf(copy, sizeof(copy), "%s", text);
    if (length <= 0 || (size_t)length >= sizeof(copy)) {
        return false;
    }
    while (rest != NULL) {
        const char *item = strsep(&rest, ",");
        if (!take(options, item)) {
            return false;
        }
    }
    return true;
}

static bool take_slot_bits(struct sw_timing_options *options, const char *item)
{
    uint32_t bits = 0;
    if (options->slot_bits_count == 2 || !parse_u32(item, 64, 128, &bits) || bits % 64 != 0) {
        return false;
    }
    options->slot_bits[options->slot_bits_count++] = bits;
    return true;
}

static bool take_load(struct sw_timing_options *options, const char *item)
{
    char *end = NULL;
    double load = strtod(item, &end);
    if (options->loads_count == SW_TIMING_LIST_MAX || end == item || *end != '\0' ||
        !(load > 0.0 && load <= 1.0)) {
        return false;
    }
    options->loads[options->loads_count++] = load;
    return true;
}

static bool take_miss(struct sw_timing_options *options, const char *item)
{
    uint32_t percent = 0;
    if (options->misses_count == SW_TIMING_LIST_MAX || !parse_u32(item, 0, 100, &percent)) {
        return false;
    }
    options->misses[options->misses_count++] = percent;
    return true;
}

static bool set_option(struct sw_timing_options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_CAPACITY_LOG2:
        return parse_u32(value, 10, 31, &options->capacity_log2);
    case OPTION_SLOT_BITS:
        options->slot_bits_count = 0;
        return each_item(value, take_slot_bits, options);
    case OPTION_F:
        options->loads_count = 0;
        return each_item(value, take_load, options);
    case OPTION_MISS:
        options->misses_count = 0;
        return each_item(value, take_miss, options);
    case OPTION_REPS:
        return parse_u32(value, 1, SW_TIMING_REPS_MAX, &options->reps);
    case OPTION_INSERT_REPS:
        return parse_u32(value, 1, SW_TIMING_REPS_MAX, &options->insert_reps);
    case OPTION_BATCH_LOG2:
        return parse_u32(value, 6, 24, &options->batch_log2);
    case OPTION_MAX_PROBE:
        return parse_u32(value, 1, UINT32_MAX, &options->max_probe);
    case OPTION_SEED:
        return parse_number(value, 0, UINT64_MAX, &options->seed);
    case OPTION_DEVICE:
        return parse_u32(value, 0, 1023, &options->device);
    case OPTION_OUTPUT:
        return value[0] != '\0' && snprintf(options->output, sizeof(options->output), "%s", value) <
                                       (int)sizeof(options->output);
    default:
        return false;
    }
}

/* Fills in what was not given. */
static void set_defaults(struct sw_timing_options *options, bool quick)
{
    if (options->slot_bits_count == 0) {
        take_slot_bits(options, "64");
    }
    if (options->loads_count == 0) {
        each_item(quick ? "0.5,0.85" : "0.5,0.75,0.85,0.95", take_load, options);
    }
    if (options->misses_count == 0) {
        each_item(quick ? "0,100" : "0,50,100", take_miss, options);
    }
    if (options->reps == 0) {
        options->reps = quick ? 4 : 16;
    }
    if (options->insert_reps == 0) {
        options->insert_reps = quick ? 1 : 4;
    }
    if (options->output[0] == '\0') {
        time_t now = time(NULL);
        struct tm parts;
        localtime_r(&now, &parts);
        strftime(options->output, sizeof(options->output), "output/%Y%m%d-%H%M%S/timing", &parts);
    }
}

enum sw_timing_parsed sw_timing_options_parse(struct sw_timing_options *options, int argc,
                                              char **argv)
{
    bool quick = false;
    int option = 0;
    int index = 0;
    memset(options, 0, sizeof(*options));
    options->capacity_log2 = 27;
    options->batch_log2 = 24;
    options->max_probe = 1U << 20;
    options->seed = 1;
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == OPTION_HELP) {
            print_help(argv[0]);
            return SW_TIMING_HELP;
        }
        if (option == '?') {
            return SW_TIMING_WRONG; /* getopt_long said what is wrong */
        }
        if (option == OPTION_QUICK) {
            quick = true;
        } else if (!set_option(options, option, optarg)) {
            fprintf(stderr, "%s: --%s cannot be %s; see --help\n", argv[0],
                    long_options[index].name, optarg);
            return SW_TIMING_WRONG;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: there is no argument %s; see --help\n", argv[0], argv[optind]);
        return SW_TIMING_WRONG;
    }
    set_defaults(options, quick);
    return SW_TIMING_RUN;
}
