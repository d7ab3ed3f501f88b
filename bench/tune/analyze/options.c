/* SPDX-License-Identifier: MIT
 *
 * options.c - the command line of analyze, and its help.
 */
#include "bench/tune/analyze/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_COVERAGE = 256,
    OPTION_TOP,
    OPTION_VARIANT,
    OPTION_EXPORT,
    OPTION_DB,
    OPTION_DEVICE,
    OPTION_FOLDER,
    OPTION_SCRIPT,
    OPTION_FILES,
    OPTION_HEADERS,
    OPTION_LOSS_MAX,
    OPTION_GAIN_MIN
};

static const struct option long_options[] = {
    {"axis", required_argument, NULL, 'a'},
    {"kernels", required_argument, NULL, 'R'},
    {"coverage", no_argument, NULL, OPTION_COVERAGE},
    {"top", required_argument, NULL, OPTION_TOP},
    {"variant", required_argument, NULL, OPTION_VARIANT},
    {"export", no_argument, NULL, OPTION_EXPORT},
    {"db", required_argument, NULL, OPTION_DB},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"folder", required_argument, NULL, OPTION_FOLDER},
    {"script", no_argument, NULL, OPTION_SCRIPT},
    {"files", required_argument, NULL, OPTION_FILES},
    {"headers", required_argument, NULL, OPTION_HEADERS},
    {"loss-max", required_argument, NULL, OPTION_LOSS_MAX},
    {"gain-min", required_argument, NULL, OPTION_GAIN_MIN},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(const char *program)
{
    printf(
        "usage: %s [options]\n"
        "\n"
        "Shows what bench/tune/search has stored: how much of each search space was measured, the\n"
        "best variants, how their times are spread; and exports the best ones.\n"
        "\n"
        "A speed-up is base's median time / the variant's. A score is the mean of the speed-ups\n"
        "over all run-time workloads; on an axis marked {io} the k-th value has weight k.\n"
        "\n"
        "      --coverage          variants measured, of how many, for each workload\n"
        "      --top N             the N variants of the highest score, for each workload, with\n"
        "                          the least, mean and greatest speed-up\n"
        "      --variant REGEX     plots how the times of base and of matching variants are "
        "spread\n"
        "                          (gnuplot)\n"
        "      --export            writes the best variants as headers, one for each GPU\n"
        "                          architecture: FOLDER/policy_sm90.h. A variant that is slower\n"
        "                          than base by more than --loss-max on any workload, or was not\n"
        "                          measured on all, is refused, and the next best is taken\n"
        "\n"
        "  -a, --axis FILTER       only these values of an axis, \"Slot{ct}=[64,128]\"; of "
        "run-time\n"
        "                          axes for plots only. May be given several times\n"
        "  -R, --kernels REGEX     only kernels whose name matches\n"
        "      --device TEXT       only devices whose name has TEXT in it\n"
        "      --db FILE           results (build/tune.db)\n"
        "      --folder FOLDER     plots are FOLDER/KERNEL.WORKLOAD.svg (build/tune/plots)\n"
        "      --script            prints the plots' gnuplot script and runs nothing\n"
        "      --files FOLDER      writes raw.csv (every point of every variant) and summary.csv\n"
        "                          (coverage, the best, the choice) there\n"
        "      --headers FOLDER    where --export writes; made if it is not there "
        "(table/robin_hood/cuda)\n"
        "      --loss-max PERCENT  (2)\n"
        "      --gain-min PERCENT  a choice with a lower gain in score than this leaves base "
        "(3)\n"
        "  -h, --help\n"
        "\n"
        "Without --top, --variant, --files and --export: --coverage.\n"
        "\n"
        "Exit status: 0; 1 if the file cannot be read, nothing matches, or nothing may be\n"
        "exported; 2 if the command line is wrong.\n",
        program);
}

static bool take_regex(regex_t *regex, const char *text, struct sw_tune_reason *reason)
{
    char why[128];
    regfree(regex);
    int error = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (error == 0) {
        return true;
    }
    regerror(error, regex, why, sizeof(why));
    (void)regcomp(regex, "", REG_EXTENDED | REG_NOSUB); /* there is always one to free */
    return sw_tune_refuse(reason, "\"%s\" is no regular expression: %s", text, why);
}

static bool take_number(const char *text, double min, double max, double *out,
                        struct sw_tune_reason *reason)
{
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    return (errno == 0 && end != text && *end == '\0' && *out >= min && *out <= max) ||
           sw_tune_refuse(reason, "%s is out of range, or no number", text);
}

static bool take_filter(struct sw_tune_analyze_options *options, const char *text,
                        struct sw_tune_reason *reason)
{
    if (options->filter_count == SW_TUNE_ANALYZE_FILTERS_MAX) {
        return sw_tune_refuse(reason, "there are more than %d filters",
                              SW_TUNE_ANALYZE_FILTERS_MAX);
    }
    return sw_tune_filter_parse(text, &options->filters[options->filter_count++], reason);
}

static bool take_valued(struct sw_tune_analyze_options *options, int option, const char *value,
                        struct sw_tune_reason *reason)
{
    double number = 0;
    bool good = true;
    switch (option) {
    case OPTION_TOP:
        good = take_number(value, 1, 1e6, &number, reason);
        options->top = good ? (uint32_t)number : 0;
        return good;
    case OPTION_LOSS_MAX:
        good = take_number(value, 0, 100, &number, reason);
        options->loss_max = number / 100;
        return good;
    case OPTION_GAIN_MIN:
        good = take_number(value, 0, 1000, &number, reason);
        options->gain_min = number / 100;
        return good;
    case OPTION_DB:
        options->db = value;
        return true;
    case OPTION_DEVICE:
        options->device = value;
        return true;
    case OPTION_FOLDER:
        options->folder = value;
        return true;
    case OPTION_FILES:
        options->files = value;
        return true;
    default:
        options->headers = value;
        return true;
    }
}

static bool take_option(struct sw_tune_analyze_options *options, int option, const char *value,
                        struct sw_tune_reason *reason)
{
    switch (option) {
    case 'a':
        return take_filter(options, value, reason);
    case 'R':
        return take_regex(&options->kernels, value, reason);
    case OPTION_VARIANT:
        options->plots = true;
        return take_regex(&options->variants, value, reason);
    case OPTION_COVERAGE:
        options->coverage = true;
        return true;
    case OPTION_EXPORT:
        options->exports = true;
        return true;
    case OPTION_SCRIPT:
        options->script_only = true;
        return true;
    default:
        return take_valued(options, option, value, reason);
    }
}

static void set_defaults(struct sw_tune_analyze_options *options)
{
    memset(options, 0, sizeof(*options));
    (void)regcomp(&options->kernels, "", REG_EXTENDED | REG_NOSUB);
    (void)regcomp(&options->variants, "", REG_EXTENDED | REG_NOSUB);
    options->db = "build/tune.db";
    options->folder = "build/tune/plots";
    options->headers = "table/robin_hood/cuda";
    options->loss_max = 0.02;
    options->gain_min = 0.03;
}

enum sw_tune_analyze_parsed sw_tune_analyze_options_parse(struct sw_tune_analyze_options *options,
                                                          int argc, char **argv)
{
    struct sw_tune_reason reason = {""};
    int option = 0;
    bool good = true;
    set_defaults(options);
    optind = 0; /* 0, not 1: glibc starts afresh, so that a process may parse twice */
    while (good && (option = getopt_long(argc, argv, "a:R:h", long_options, NULL)) != -1) {
        if (option == 'h') {
            print_help(argv[0]);
            sw_tune_analyze_options_free(options);
            return SW_TUNE_ANALYZE_HELPED;
        }
        if (option == '?') { /* getopt_long said what is wrong */
            sw_tune_analyze_options_free(options);
            return SW_TUNE_ANALYZE_MISUSED;
        }
        good = take_option(options, option, optarg, &reason);
    }
    if (good && optind < argc) {
        good = sw_tune_refuse(&reason, "there is no argument %s", argv[optind]);
    }
    if (good && options->script_only && !options->plots) {
        good = sw_tune_refuse(&reason, "--script is of --variant");
    }
    if (good) {
        options->coverage = options->coverage || (options->top == 0 && !options->plots &&
                                                  !options->exports && options->files == NULL);
        return SW_TUNE_ANALYZE;
    }
    fprintf(stderr, "%s: %s; see --help\n", argv[0], reason.text);
    sw_tune_analyze_options_free(options);
    return SW_TUNE_ANALYZE_MISUSED;
}

void sw_tune_analyze_options_free(struct sw_tune_analyze_options *options)
{
    regfree(&options->kernels);
    regfree(&options->variants);
}
