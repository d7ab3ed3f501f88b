/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_cbench_options.
 */
#include "bench/cuckoo/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/files.h"
#include "bench/timing/lists.h"

enum {
    OPTION_BACKEND = 256,
    OPTION_DEVICE,
    OPTION_EXPERIMENTS,
    OPTION_TABLES,
    OPTION_KEYS_LOG2,
    OPTION_FIRST_LOG2,
    OPTION_TABLE_LOG2,
    OPTION_REPS,
    OPTION_BOUND,
    OPTION_REHASH_MAX,
    OPTION_SIZE,
    OPTION_INSERT,
    OPTION_INSERT_KEYS,
    OPTION_FIND_KEYS,
    OPTION_FIND_TOGETHER,
    OPTION_SEED,
    OPTION_COMMIT,
    OPTION_OUTPUT,
    OPTION_QUICK,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"backend", required_argument, NULL, OPTION_BACKEND},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"experiments", required_argument, NULL, OPTION_EXPERIMENTS},
    {"tables", required_argument, NULL, OPTION_TABLES},
    {"keys-log2", required_argument, NULL, OPTION_KEYS_LOG2},
    {"first-log2", required_argument, NULL, OPTION_FIRST_LOG2},
    {"table-log2", required_argument, NULL, OPTION_TABLE_LOG2},
    {"reps", required_argument, NULL, OPTION_REPS},
    {"bound", required_argument, NULL, OPTION_BOUND},
    {"rehash-max", required_argument, NULL, OPTION_REHASH_MAX},
    {"size", required_argument, NULL, OPTION_SIZE},
    {"insert", required_argument, NULL, OPTION_INSERT},
    {"insert-keys", required_argument, NULL, OPTION_INSERT_KEYS},
    {"find-keys", required_argument, NULL, OPTION_FIND_KEYS},
    {"find-together", no_argument, NULL, OPTION_FIND_TOGETHER},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"commit", required_argument, NULL, OPTION_COMMIT},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf(
        "usage: cuckoo [options]\n"
        "\n"
        "Cuckoo sets of 32-bit keys and Sherwood's ordered Robin Hood table (u32 to u32) in the\n"
        "four experiments of the cuckoo report. Every answer is checked.\n"
        "\n"
        "  --experiments LIST   of:\n");
#define SW_CBENCH_EXPERIMENT_HELP(name, text, what, unasked) \
    printf("      %-9s %s%s\n", text, what, (unasked) ? "" : " (only if asked for)");
    SW_CBENCH_EXPERIMENT_MAP(SW_CBENCH_EXPERIMENT_HELP)
#undef SW_CBENCH_EXPERIMENT_HELP
    printf("  --tables LIST        of cuckoo2, cuckoo3, robin_hood (all)\n"
           "  --backend cpu|cuda   where the tables lie (cuda)\n"
           "  --device N           CUDA device (0)\n"
           "  --keys-log2 N        n = 2^N keys, and the largest s (24)\n"
           "  --first-log2 N       the smallest s (10)\n"
           "  --table-log2 N       size of experiments insert and lookup (25)\n"
           "  --size each|total    a size is the cells of each array, as in the report, or of all\n"
           "                       arrays together (each)\n"
           "  --bound L            chains of at most L log2 n exchanges, but in experiment bound "
           "(19.2)\n"
           "  --rehash-max N       rehashes in a row before an insert is given up (16)\n"
           "  --reps N             repetitions after one that warms up (5)\n"
           "  --insert WAY         auto, direct or partitioned (auto); CUDA\n"
           "  --insert-keys N      keys of a thread on their way at once: 1, 2, 4, 8; CUDA\n"
           "  --find-keys N        the same of look-ups; CUDA\n"
           "  --find-together      look-ups read all arrays at once; CUDA\n"
           "  --seed N             of the keys (1)\n"
           "  --quick              n = 2^20, table of 2^21, s from 16, 2 repetitions: a look, no "
           "result\n"
           "  --commit TEXT        noted in run_info.txt\n"
           "  --output DIR         where the files go (output/<time>/cuckoo)\n"
           "  --help\n");
}

const char *sw_cbench_experiment_name(enum sw_cbench_experiment experiment)
{
    static const char *const names[] = {
#define SW_CBENCH_EXPERIMENT_NAME(name, text, what, unasked) text,
        SW_CBENCH_EXPERIMENT_MAP(SW_CBENCH_EXPERIMENT_NAME)
#undef SW_CBENCH_EXPERIMENT_NAME
    };
    return names[experiment];
}

void sw_cbench_insert_name(const struct sw_cbench_variant *variant, char *name, size_t size)
{
    if (variant->way == SW_CUCKOO_WAY_DIRECT && variant->insert_keys > 0) {
        snprintf(name, size, "direct%u", (unsigned)variant->insert_keys);
    } else {
        snprintf(name, size, "%s",
                 variant->way == SW_CUCKOO_WAY_DIRECT        ? "direct"
                 : variant->way == SW_CUCKOO_WAY_PARTITIONED ? "partitioned"
                                                             : "auto");
    }
}

void sw_cbench_find_name(const struct sw_cbench_variant *variant, char *name, size_t size)
{
    const char *order = variant->find_together ? "together" : "one_by_one";
    if (variant->find_keys > 0) {
        snprintf(name, size, "%s%u", order, (unsigned)variant->find_keys);
    } else {
        snprintf(name, size, "%s", variant->find_together ? order : "auto");
    }
}

/* --- values ----------------------------------------------------------------------------------- */

static bool parse_in_flight(const char *text, uint32_t *out)
{
    return sw_timing_parse_u32(text, 1, 8, out) && (*out & (*out - 1)) == 0;
}

static const char *experiment_name(int number)
{
    return sw_cbench_experiment_name((enum sw_cbench_experiment)number);
}

static const char *table_name(int number)
{
    static const char *const names[] = {"robin_hood", "cuckoo2", "cuckoo3"};
    return names[number];
}

static bool parse_tables(const char *text, bool *functions)
{
    bool wanted[3];
    bool valid = sw_timing_parse_names(text, table_name, 3, wanted);
    functions[0] = wanted[0];
    functions[2] = wanted[1];
    functions[3] = wanted[2];
    return valid;
}

/* One of two or three words; its number, or -1. */
static int parse_word(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static bool parse_choice(struct sw_cbench_options *options, int option, const char *text)
{
    static const char *const backends[] = {"cuda", "cpu"};
    static const char *const sizes[] = {"each", "total"};
    static const char *const ways[] = {"auto", "direct", "partitioned"};
    int chosen;
    switch (option) {
    case OPTION_BACKEND:
        chosen = parse_word(text, backends, 2);
        options->on_host = chosen == 1;
        break;
    case OPTION_SIZE:
        chosen = parse_word(text, sizes, 2);
        options->size_is_total = chosen == 1;
        break;
    default:
        chosen = parse_word(text, ways, 3);
        options->variant.way = chosen == 1   ? SW_CUCKOO_WAY_DIRECT
                               : chosen == 2 ? SW_CUCKOO_WAY_PARTITIONED
                                             : SW_CUCKOO_WAY_AUTO;
    }
    return chosen >= 0;
}

static bool parse_text(char *out, size_t size, const char *text)
{
    return snprintf(out, size, "%s", text) < (int)size;
}

static void set_quick(struct sw_cbench_options *options)
{
    options->keys_log2 = 20;
    options->table_log2 = 21;
    options->first_log2 = 16;
    options->reps = 2;
}

/* --- the command line ------------------------------------------------------------------------- */

static void set_defaults(struct sw_cbench_options *options)
{
    memset(options, 0, sizeof(*options));
#define SW_CBENCH_EXPERIMENT_DEFAULT(name, text, what, unasked) \
    options->experiments[SW_CBENCH_##name] = unasked;
    SW_CBENCH_EXPERIMENT_MAP(SW_CBENCH_EXPERIMENT_DEFAULT)
#undef SW_CBENCH_EXPERIMENT_DEFAULT
    options->functions[0] = true;
    options->functions[2] = true;
    options->functions[3] = true;
    options->keys_log2 = 24;
    options->first_log2 = 10;
    options->table_log2 = 25;
    options->reps = 5;
    options->bound = 19.2;
    options->rehash_max = 16;
    options->seed = 1;
    sw_timing_name_folder(options->output, sizeof(options->output), "cuckoo");
}

/* False if the value is not one of the option's. */
static bool take(struct sw_cbench_options *options, int option, const char *text)
{
    uint32_t device = 0;
    bool valid;
    switch (option) {
    case OPTION_DEVICE:
        valid = sw_timing_parse_u32(text, 0, 1023, &device);
        options->device = (int)device;
        return valid;
    case OPTION_EXPERIMENTS:
        return sw_timing_parse_names(text, experiment_name, SW_CBENCH_EXPERIMENTS,
                                     options->experiments);
    case OPTION_TABLES:
        return parse_tables(text, options->functions);
    case OPTION_KEYS_LOG2:
        return sw_timing_parse_u32(text, 4, 28, &options->keys_log2);
    case OPTION_FIRST_LOG2:
        return sw_timing_parse_u32(text, 1, 28, &options->first_log2);
    case OPTION_TABLE_LOG2:
        return sw_timing_parse_u32(text, 4, 30, &options->table_log2);
    case OPTION_REPS:
        return sw_timing_parse_u32(text, 1, SW_CBENCH_REPS_MAX, &options->reps);
    case OPTION_BOUND:
        return sw_timing_parse_double(text, 0, 1e6, &options->bound);
    case OPTION_REHASH_MAX:
        return sw_timing_parse_u32(text, 0, 1000, &options->rehash_max);
    case OPTION_INSERT_KEYS:
        return parse_in_flight(text, &options->variant.insert_keys);
    case OPTION_FIND_KEYS:
        return parse_in_flight(text, &options->variant.find_keys);
    case OPTION_FIND_TOGETHER:
        options->variant.find_together = true;
        return true;
    case OPTION_SEED:
        return sw_timing_parse_u64(text, 0, UINT64_MAX, &options->seed);
    case OPTION_COMMIT:
        return parse_text(options->commit, sizeof(options->commit), text);
    case OPTION_OUTPUT:
        return parse_text(options->output, sizeof(options->output), text);
    case OPTION_QUICK:
        set_quick(options);
        return true;
    default:
        return parse_choice(options, option, text);
    }
}

enum sw_cbench_parsed sw_cbench_options_parse(struct sw_cbench_options *options, int argc,
                                              char **argv)
{
    int option;
    int index = 0;
    set_defaults(options);
    optind = 1;
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == OPTION_HELP) {
            print_help();
            return SW_CBENCH_HELP;
        }
        if (option == '?') {
            return SW_CBENCH_WRONG; /* getopt has said why */
        }
        if (!take(options, option, optarg)) {
            fprintf(stderr, "cuckoo: --%s does not take %s; see --help\n", long_options[index].name,
                    optarg);
            return SW_CBENCH_WRONG;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "cuckoo: there is no argument %s; see --help\n", argv[optind]);
        return SW_CBENCH_WRONG;
    }
    if (options->keys_log2 > options->table_log2 || options->first_log2 > options->keys_log2) {
        fprintf(stderr, "cuckoo: --first-log2 <= --keys-log2 <= --table-log2 must hold\n");
        return SW_CBENCH_WRONG;
    }
    return SW_CBENCH_RUN;
}
