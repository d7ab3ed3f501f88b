/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_bandwidth_options.
 */
#include "bench/memory_bandwidth/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/files.h"
#include "bench/timing/lists.h"

enum {
    OPTION_CAPACITY_LOG2 = 256,
    OPTION_F,
    OPTION_REPS,
    OPTION_INSERT_REPS,
    OPTION_BATCH_LOG2,
    OPTION_MAX_PROBE,
    OPTION_BULK,
    OPTION_HINTS,
    OPTION_L2_FETCH,
    OPTION_SEED,
    OPTION_DEVICE,
    OPTION_COMMIT,
    OPTION_OUTPUT,
    OPTION_QUICK,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"capacity-log2", required_argument, NULL, OPTION_CAPACITY_LOG2},
    {"F", required_argument, NULL, OPTION_F},
    {"reps", required_argument, NULL, OPTION_REPS},
    {"insert-reps", required_argument, NULL, OPTION_INSERT_REPS},
    {"batch-log2", required_argument, NULL, OPTION_BATCH_LOG2},
    {"max-probe", required_argument, NULL, OPTION_MAX_PROBE},
    {"bulk", required_argument, NULL, OPTION_BULK},
    {"hints", required_argument, NULL, OPTION_HINTS},
    {"l2-fetch", required_argument, NULL, OPTION_L2_FETCH},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"commit", required_argument, NULL, OPTION_COMMIT},
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
        "Measures the rates of device memory (copies, random gathers, random compare-and-swaps)\n"
        "and the bytes a second that the table's insert and get look at, by the table's own\n"
        "counters. Writes memcpy.csv, gather.csv, insert.csv, get.csv, summary.csv, run_info.txt.\n"
        "\n"
        "  --capacity-log2 N   2^N slots of 64 bits, 10..30 (27)\n"
        "  --F LIST            keys offered / slots, above 0, at most 16\n"
        "                      (0.5,0.75,0.85,0.95,1,1.5,2,3)\n"
        "  --reps N            timed repetitions of each ceiling and each get, 1..1000 (16)\n"
        "  --insert-reps N     timed repetitions of each insert, 1..1000 (4)\n"
        "  --batch-log2 N      2^N operations a batch, 16..28 (24)\n"
        "  --max-probe N       probe cap in buckets; what meets it is handed back (8)\n"
        "  --bulk CHOICE       merge batches by streaming the table: never, auto, always (never;\n"
        "                      a merge streams the table and counts every bucket as a probe)\n"
        "  --hints CHOICE      displacement hints: never, auto, always (never; they are read\n"
        "                      beside the buckets, and probes do not count them)\n"
        "  --l2-fetch BYTES    ask the device to fetch 32, 64 or 128 bytes into L2 at a time\n"
        "  --seed N            of the keys (1)\n"
        "  --device N          CUDA device (0)\n"
        "  --commit TEXT       for run_info.txt (what it was built from)\n"
        "  --output FOLDER     where the files go (output/<time>/memory_bandwidth)\n"
        "  --quick             F 0.5,0.95,2, 4 repetitions, 1 of insert, where these are not "
        "given\n"
        "  --help\n"
        "\n"
        "Lists are separated by commas. Exit status: 0; 1 if something failed or a check found\n"
        "that an operand was lost; 2 if the command line is wrong.\n",
        program);
}

static bool parse_loads(const char *text, struct sw_bandwidth_options *options)
{
    return sw_timing_parse_doubles(text, 0, SW_BANDWIDTH_LOAD_MAX, options->loads,
                                   SW_BANDWIDTH_LIST_MAX, &options->loads_count) &&
           options->loads_count > 0;
}

const char *sw_bandwidth_choice_name(enum sw_choice choice)
{
    static const char *const names[] = {
        [SW_CHOICE_AUTO] = "auto", [SW_CHOICE_NEVER] = "never", [SW_CHOICE_ALWAYS] = "always"};
    return names[choice];
}

static bool parse_choice(const char *text, enum sw_choice *out)
{
    for (int c = SW_CHOICE_AUTO; c <= SW_CHOICE_ALWAYS; c++) {
        if (strcmp(text, sw_bandwidth_choice_name((enum sw_choice)c)) == 0) {
            *out = (enum sw_choice)c;
            return true;
        }
    }
    return false;
}

static bool copy(char *to, size_t size, const char *text)
{
    return snprintf(to, size, "%s", text) < (int)size;
}

static bool set_option(struct sw_bandwidth_options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_CAPACITY_LOG2:
        return sw_timing_parse_u32(value, 10, 30, &options->capacity_log2);
    case OPTION_F:
        return parse_loads(value, options);
    case OPTION_REPS:
        return sw_timing_parse_u32(value, 1, SW_BANDWIDTH_REPS_MAX, &options->reps);
    case OPTION_INSERT_REPS:
        return sw_timing_parse_u32(value, 1, SW_BANDWIDTH_REPS_MAX, &options->insert_reps);
    case OPTION_BATCH_LOG2:
        return sw_timing_parse_u32(value, 16, 28, &options->batch_log2);
    case OPTION_MAX_PROBE:
        return sw_timing_parse_u32(value, 1, UINT32_MAX, &options->max_probe);
    case OPTION_BULK:
        return parse_choice(value, &options->bulk);
    case OPTION_HINTS:
        return parse_choice(value, &options->hints);
    case OPTION_L2_FETCH:
        return sw_timing_parse_u32(value, 32, 128, &options->l2_fetch) &&
               (options->l2_fetch & (options->l2_fetch - 1)) == 0;
    case OPTION_SEED:
        return sw_timing_parse_u64(value, 0, UINT64_MAX, &options->seed);
    case OPTION_DEVICE:
        return sw_timing_parse_u32(value, 0, 1023, &options->device);
    case OPTION_COMMIT:
        return copy(options->commit, sizeof(options->commit), value);
    case OPTION_OUTPUT:
        return value[0] != '\0' && copy(options->output, sizeof(options->output), value);
    default:
        return false;
    }
}

/* Fills in what was not given. */
static void set_defaults(struct sw_bandwidth_options *options, bool quick)
{
    if (options->loads_count == 0) {
        parse_loads(quick ? "0.5,0.95,2" : "0.5,0.75,0.85,0.95,1,1.5,2,3", options);
    }
    if (options->reps == 0) {
        options->reps = quick ? 4 : 16;
    }
    if (options->insert_reps == 0) {
        options->insert_reps = quick ? 1 : 4;
    }
    if (options->output[0] == '\0') {
        sw_timing_name_folder(options->output, sizeof(options->output), "memory_bandwidth");
    }
}

/* The study counts keys in 32 bits. */
static bool fits(const struct sw_bandwidth_options *options)
{
    for (uint32_t l = 0; l < options->loads_count; l++) {
        if (options->loads[l] * (double)(1ULL << options->capacity_log2) >= 4294967295.0) {
            return false;
        }
    }
    return true;
}

enum sw_bandwidth_parsed sw_bandwidth_options_parse(struct sw_bandwidth_options *options, int argc,
                                                    char **argv)
{
    bool quick = false;
    int option = 0;
    int index = 0;
    memset(options, 0, sizeof(*options));
    options->capacity_log2 = 27;
    options->batch_log2 = 24;
    options->max_probe = 8;
    options->bulk = SW_CHOICE_NEVER;
    options->hints = SW_CHOICE_NEVER;
    options->seed = 1;
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == OPTION_HELP) {
            print_help(argv[0]);
            return SW_BANDWIDTH_HELP;
        }
        if (option == '?') {
            return SW_BANDWIDTH_WRONG; /* getopt_long said what is wrong */
        }
        if (option == OPTION_QUICK) {
            quick = true;
        } else if (!set_option(options, option, optarg)) {
            fprintf(stderr, "%s: --%s cannot be %s; see --help\n", argv[0],
                    long_options[index].name, optarg);
            return SW_BANDWIDTH_WRONG;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: there is no argument %s; see --help\n", argv[0], argv[optind]);
        return SW_BANDWIDTH_WRONG;
    }
    set_defaults(options, quick);
    if (!fits(options)) {
        fprintf(stderr, "%s: F times the slots must be below 2^32 keys; see --help\n", argv[0]);
        return SW_BANDWIDTH_WRONG;
    }
    return SW_BANDWIDTH_RUN;
}
