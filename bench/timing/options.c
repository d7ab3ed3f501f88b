/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_timing_options.
 */
#include "bench/timing/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/files.h"
#include "bench/timing/lists.h"

#define BATCH_MAX (1ULL << 28)

enum {
    OPTION_LIBRARIES = 256,
    OPTION_OPERATIONS,
    OPTION_CAPACITY_LOG2,
    OPTION_SLOT_BITS,
    OPTION_F,
    OPTION_MISS,
    OPTION_BATCH_F,
    OPTION_GET_BATCHES,
    OPTION_INSERT_BATCHES,
    OPTION_UPSERT_BATCHES,
    OPTION_DELETE_BATCHES,
    OPTION_BLOCK_SIZES,
    OPTION_REPS,
    OPTION_PINNED_REPS,
    OPTION_SERIES_SECONDS,
    OPTION_PEER_SECONDS,
    OPTION_LIBRARY_SECONDS,
    OPTION_SEED,
    OPTION_DEVICE,
    OPTION_COMMIT,
    OPTION_OUTPUT,
    OPTION_QUICK,
    OPTION_LIST_LIBRARIES,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"libraries", required_argument, NULL, OPTION_LIBRARIES},
    {"operations", required_argument, NULL, OPTION_OPERATIONS},
    {"capacity-log2", required_argument, NULL, OPTION_CAPACITY_LOG2},
    {"slot-bits", required_argument, NULL, OPTION_SLOT_BITS},
    {"f", required_argument, NULL, OPTION_F},
    {"F", required_argument, NULL, OPTION_F},
    {"miss", required_argument, NULL, OPTION_MISS},
    {"batch-F", required_argument, NULL, OPTION_BATCH_F},
    {"get-batches", required_argument, NULL, OPTION_GET_BATCHES},
    {"insert-batches", required_argument, NULL, OPTION_INSERT_BATCHES},
    {"upsert-batches", required_argument, NULL, OPTION_UPSERT_BATCHES},
    {"delete-batches", required_argument, NULL, OPTION_DELETE_BATCHES},
    {"block-sizes", required_argument, NULL, OPTION_BLOCK_SIZES},
    {"reps", required_argument, NULL, OPTION_REPS},
    {"pinned-reps", required_argument, NULL, OPTION_PINNED_REPS},
    {"series-seconds", required_argument, NULL, OPTION_SERIES_SECONDS},
    {"peer-seconds", required_argument, NULL, OPTION_PEER_SECONDS},
    {"library-seconds", required_argument, NULL, OPTION_LIBRARY_SECONDS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"commit", required_argument, NULL, OPTION_COMMIT},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"list-libraries", no_argument, NULL, OPTION_LIST_LIBRARIES},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

const char *sw_timing_operation_name(enum sw_timing_operation operation)
{
    static const char *const names[SW_TIMING_OPERATIONS] = {
#define SW_TIMING_OPERATION_NAME(name, text, what) text,
        SW_TIMING_OPERATION_MAP(SW_TIMING_OPERATION_NAME)
#undef SW_TIMING_OPERATION_NAME
    };
    return names[operation];
}

static void print_help(const char *program)
{
    printf(
        "usage: %s [options]\n"
        "\n"
        "Measures hash tables on a GPU with keys in device memory: Sherwood's, and those of the\n"
        "libraries it was built with. Writes raw.csv, insert.csv, get.csv, ceilings.csv,\n"
        "summary.csv and run_info.txt. The operations are\n"
        "\n",
        program);
#define SW_TIMING_OPERATION_HELP(name, text, what) printf("  %-20s%s\n", text, what);
    SW_TIMING_OPERATION_MAP(SW_TIMING_OPERATION_HELP)
#undef SW_TIMING_OPERATION_HELP
    printf(
        "\n"
        "  --libraries LIST         which (all; `sherwood` is ours)\n"
        "  --operations LIST        which (all)\n"
        "  --capacity-log2 N        2^N slots, 10..28 (27)\n"
        "  --slot-bits LIST         64, 128 or 64,128: width of a slot (64,128)\n"
        "  --F LIST                 keys offered / slots, above 0, at most 1\n"
        "                           (0.5,0.75,0.85,0.95,1.0)\n"
        "  --miss LIST              percent of the keys of a get that are not stored (0,50,100)\n"
        "  --batch-F LIST           at which F get_batch is measured (0.85)\n"
        "  --get-batches LIST       its sizes (2^8..2^27: doubled from one to the other)\n"
        "  --insert-batches LIST    of insert_batch (2^20)\n"
        "  --upsert-batches LIST    of upsert_at_F (2^24)\n"
        "  --delete-batches LIST    of delete (2^20,2^24)\n"
        "  --block-sizes LIST       (64..1024)\n"
        "  --reps N                 timed repetitions of a series, 1..1000 (16)\n"
        "  --pinned-reps N          of get_256_pinned, 1..1000000 (10000)\n"
        "  --series-seconds S       a series of Sherwood's with two repetitions or more ends "
        "after\n"
        "                           S seconds; one whose warm-up alone took so long is that (4)\n"
        "  --peer-seconds S         the same for other libraries (1)\n"
        "  --library-seconds S      a library that is not through then is stopped (400)\n"
        "  --seed N                 of the keys (1)\n"
        "  --device N               CUDA device (0)\n"
        "  --commit TEXT            for run_info.txt (what it was built from)\n"
        "  --output FOLDER          where the files go (output/<time>/timing)\n"
        "  --quick                  where these are not given: slot bits 64, F 0.5,0.85, miss\n"
        "                           0,100, batches 2^8,2^16,2^24, block sizes none, 4 repetitions\n"
        "  --list-libraries         says which libraries this program has, one a line\n"
        "  --help\n"
        "\n"
        "Lists are separated by commas; `none` is the empty list. Exit status: 0; 1 if something\n"
        "failed or a check found a key of Sherwood's lost or a value wrong; 2 if the command line\n"
        "is wrong.\n");
}

static bool take_operations(struct sw_timing_options *options, const char *list)
{
    size_t taken = 0;
    for (int o = 0; o < SW_TIMING_OPERATIONS; o++) {
        const char *name = sw_timing_operation_name((enum sw_timing_operation)o);
        options->operations[o] = sw_timing_list_has(list, name);
        taken += options->operations[o] ? strlen(name) + 1 : 0;
    }
    return taken == strlen(list) + 1; /* all of the list: no name was unknown */
}

static bool take_slot_bits(struct sw_timing_options *options, const char *list)
{
    if (!sw_timing_parse_u32s(list, 64, 128, options->slot_bits, 2, &options->slot_bits_count)) {
        return false;
    }
    bool good = options->slot_bits_count > 0;
    for (uint32_t i = 0; i < options->slot_bits_count; i++) {
        good = good && options->slot_bits[i] % 64 == 0;
    }
    return good;
}

static bool take_text(char *to, size_t size, const char *text)
{
    return text[0] != '\0' && snprintf(to, size, "%s", text) < (int)size;
}

/* Options that are lists, or names. */
static bool set_list(struct sw_timing_options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_LIBRARIES:
        return take_text(options->libraries, sizeof(options->libraries), value);
    case OPTION_OPERATIONS:
        return take_operations(options, value);
    case OPTION_SLOT_BITS:
        return take_slot_bits(options, value);
    case OPTION_F:
        return sw_timing_parse_doubles(value, 0, 1, options->loads, SW_TIMING_LIST_MAX,
                                       &options->loads_count) &&
               options->loads_count > 0;
    case OPTION_MISS:
        return sw_timing_parse_u32s(value, 0, 100, options->misses, SW_TIMING_LIST_MAX,
                                    &options->misses_count);
    case OPTION_BATCH_F:
        return sw_timing_parse_doubles(value, 0, 1, options->batch_loads, SW_TIMING_LIST_MAX,
                                       &options->batch_loads_count);
    case OPTION_GET_BATCHES:
        return sw_timing_parse_u64s(value, 1, BATCH_MAX, options->get_batches, SW_TIMING_LIST_MAX,
                                    &options->get_batches_count);
    case OPTION_INSERT_BATCHES:
        return sw_timing_parse_u64s(value, 1, BATCH_MAX, options->insert_batches,
                                    SW_TIMING_LIST_MAX, &options->insert_batches_count);
    case OPTION_UPSERT_BATCHES:
        return sw_timing_parse_u64s(value, 1, BATCH_MAX, options->upsert_batches,
                                    SW_TIMING_LIST_MAX, &options->upsert_batches_count);
    case OPTION_DELETE_BATCHES:
        return sw_timing_parse_u64s(value, 1, BATCH_MAX, options->delete_batches,
                                    SW_TIMING_LIST_MAX, &options->delete_batches_count);
    case OPTION_BLOCK_SIZES:
        return sw_timing_parse_u32s(value, 32, 1024, options->block_sizes, SW_TIMING_LIST_MAX,
                                    &options->block_sizes_count);
    default:
        return false;
    }
}

static bool set_option(struct sw_timing_options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_CAPACITY_LOG2:
        return sw_timing_parse_u32(value, 10, 28, &options->capacity_log2);
    case OPTION_REPS:
        return sw_timing_parse_u32(value, 1, SW_TIMING_REPS_MAX, &options->reps);
    case OPTION_PINNED_REPS:
        return sw_timing_parse_u32(value, 1, 1000000, &options->pinned_reps);
    case OPTION_SERIES_SECONDS:
        return sw_timing_parse_double(value, 0, 1e6, &options->series_seconds);
    case OPTION_PEER_SECONDS:
        return sw_timing_parse_double(value, 0, 1e6, &options->peer_seconds);
    case OPTION_LIBRARY_SECONDS:
        return sw_timing_parse_double(value, 0, 1e6, &options->library_seconds);
    case OPTION_SEED:
        return sw_timing_parse_u64(value, 0, UINT64_MAX, &options->seed);
    case OPTION_DEVICE:
        return sw_timing_parse_u32(value, 0, 1023, &options->device);
    case OPTION_COMMIT:
        return take_text(options->commit, sizeof(options->commit), value);
    case OPTION_OUTPUT:
        return take_text(options->output, sizeof(options->output), value);
    default:
        return set_list(options, option, value);
    }
}

/* What applies where nothing is given; `given` says what is. */
struct preset {
    int option;
    const char *usual;
    const char *quick;
};

static bool set_presets(struct sw_timing_options *options, const bool *given, bool quick)
{
    static const struct preset presets[] = {
        {OPTION_CAPACITY_LOG2, "27", "27"},
        {OPTION_SLOT_BITS, "64,128", "64"},
        {OPTION_F, "0.5,0.75,0.85,0.95,1.0", "0.5,0.85"},
        {OPTION_MISS, "0,50,100", "0,100"},
        {OPTION_BATCH_F, "0.85", "0.85"},
        {OPTION_GET_BATCHES, "2^8..2^27", "2^8,2^16,2^24"},
        {OPTION_INSERT_BATCHES, "2^20", "2^20"},
        {OPTION_UPSERT_BATCHES, "2^24", "2^24"},
        {OPTION_DELETE_BATCHES, "2^20,2^24", "2^20,2^24"},
        {OPTION_BLOCK_SIZES, "64..1024", "none"},
        {OPTION_REPS, "16", "4"},
        {OPTION_PINNED_REPS, "10000", "10000"},
        {OPTION_SERIES_SECONDS, "4", "4"},
        {OPTION_PEER_SECONDS, "1", "1"},
        {OPTION_LIBRARY_SECONDS, "400", "400"},
        {OPTION_SEED, "1", "1"},
        {OPTION_DEVICE, "0", "0"},
    };
    for (size_t p = 0; p < sizeof(presets) / sizeof(presets[0]); p++) {
        const struct preset *preset = &presets[p];
        if (!given[preset->option] &&
            !set_option(options, preset->option, quick ? preset->quick : preset->usual)) {
            return false;
        }
    }
    for (int o = 0; o < SW_TIMING_OPERATIONS && !given[OPTION_OPERATIONS]; o++) {
        options->operations[o] = true;
    }
    if (!given[OPTION_OUTPUT]) {
        sw_timing_name_folder(options->output, sizeof(options->output), "timing");
    }
    return true;
}

enum sw_timing_parsed sw_timing_options_parse(struct sw_timing_options *options, int argc,
                                              char **argv)
{
    bool given[OPTION_HELP + 1] = {false};
    int option = 0;
    int index = 0;
    memset(options, 0, sizeof(*options));
    optind = 0; /* 0, not 1: glibc starts afresh, so that a process may parse twice */
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == OPTION_HELP) {
            print_help(argv[0]);
            return SW_TIMING_HELP;
        }
        if (option == OPTION_LIST_LIBRARIES) {
            return SW_TIMING_LIST;
        }
        if (option == '?') {
            return SW_TIMING_WRONG; /* getopt_long said what is wrong */
        }
        given[option] = true;
        if (option != OPTION_QUICK && !set_option(options, option, optarg)) {
            fprintf(stderr, "%s: --%s cannot be %s; see --help\n", argv[0],
                    long_options[index].name, optarg);
            return SW_TIMING_WRONG;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: there is no argument %s; see --help\n", argv[0], argv[optind]);
        return SW_TIMING_WRONG;
    }
    if (!set_presets(options, given, given[OPTION_QUICK])) {
        fprintf(stderr, "%s: a default value is not valid\n", argv[0]);
        return SW_TIMING_WRONG;
    }
    return SW_TIMING_RUN;
}

bool sw_timing_library_wanted(const struct sw_timing_options *options, const char *name)
{
    return options->libraries[0] == '\0' || sw_timing_list_has(options->libraries, name);
}
