/* SPDX-License-Identifier: MIT
 *
 * options.c - the command line of a search, and its help.
 */
#include "bench/tune/search/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SW_TUNE_NVCC
#define SW_TUNE_NVCC "nvcc"
#endif
#ifndef SW_TUNE_ARCH
#define SW_TUNE_ARCH "sm_90"
#endif

enum {
    OPTION_VARIANTS = 256,
    OPTION_BUDGET,
    OPTION_BUILD_ONLY,
    OPTION_NO_BUILD,
    OPTION_AGAIN,
    OPTION_DB,
    OPTION_FOLDER,
    OPTION_RUNNER,
    OPTION_CC,
    OPTION_NVCC,
    OPTION_ARCH,
    OPTION_INTERVAL,
    OPTION_SAMPLES_MIN,
    OPTION_POINT_SECONDS,
    OPTION_ANSWER_SECONDS
};

static const struct option long_options[] = {
    {"axis", required_argument, NULL, 'a'},
    {"kernels", required_argument, NULL, 'R'},
    {"jobs", required_argument, NULL, 'j'},
    {"variants", required_argument, NULL, OPTION_VARIANTS},
    {"budget", required_argument, NULL, OPTION_BUDGET},
    {"build-only", no_argument, NULL, OPTION_BUILD_ONLY},
    {"no-build", no_argument, NULL, OPTION_NO_BUILD},
    {"again", no_argument, NULL, OPTION_AGAIN},
    {"db", required_argument, NULL, OPTION_DB},
    {"folder", required_argument, NULL, OPTION_FOLDER},
    {"runner", required_argument, NULL, OPTION_RUNNER},
    {"cc", required_argument, NULL, OPTION_CC},
    {"nvcc", required_argument, NULL, OPTION_NVCC},
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"interval", required_argument, NULL, OPTION_INTERVAL},
    {"samples-min", required_argument, NULL, OPTION_SAMPLES_MIN},
    {"point-seconds", required_argument, NULL, OPTION_POINT_SECONDS},
    {"answer-seconds", required_argument, NULL, OPTION_ANSWER_SECONDS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(const char *program)
{
    printf(
        "usage: %s [options] [KERNEL.cu|KERNEL.c ...] [-- ARGUMENT ...]\n"
        "\n"
        "Builds the variants of kernels, checks their answers, times them, and stores the times.\n"
        "What can be varied stands in comments of the kernels' files: bench/tune/README.md. Runs\n"
        "from the root of the source tree. Without a KERNEL: bench/tune/kernels/get.cu and\n"
        "ranges.cu. Arguments behind -- go to the programs that run variants.\n"
        "\n"
        "What:\n"
        "  -a, --axis FILTER       only these values of a workload axis, \"Slot{ct}=[64,128]\" or\n"
        "                          \"Load=[0.5]\"; may be given several times. {ct} and {rt} may\n"
        "                          be left out; if given they must be right\n"
        "  -R, --kernels REGEX     only kernels whose name matches (of get.cu: get)\n"
        "      --variants REGEX    only variants whose name matches, and base\n"
        "      --again             measures what is stored already once more, from the start\n"
        "Where and how:\n"
        "      --db FILE           results (build/tune.db)\n"
        "      --folder FOLDER     where variants are built (build/tune/variants)\n"
        "      --build-only        builds all that is selected, runs nothing, needs no GPU\n"
        "      --no-build          runs what is in FOLDER, compiles nothing\n"
        "  -j, --jobs N            compilers at a time, 1..64 (processors)\n"
        "      --cc COMMAND        for .c kernels (gcc)\n"
        "      --nvcc COMMAND      for .cu kernels (%s)\n"
        "      --arch ARCH         their GPU (%s)\n"
        "      --runner FILE       program that runs .cu variants (beside this one: runner)\n"
        "How long:\n"
        "      --budget MINUTES    ends after so long, builds included; what is left is for the\n"
        "                          next search (no limit)\n"
        "      --interval PERCENT  a point is timed until the median's 95 %% interval is at most\n"
        "                          so wide to either side (0.5)\n"
        "      --samples-min N     but so often at least, 1..4096 (10)\n"
        "      --point-seconds S   and no longer than this (0.5)\n"
        "      --answer-seconds S  a program silent for so long has failed (120)\n"
        "  -h, --help\n"
        "\n"
        "Ctrl-C ends a search; every point measured is stored, and the next search with the same\n"
        "options goes on where this one ended. bench/tune/analyze shows what was found.\n"
        "\n"
        "Exit status: 0; 1 if something failed (no GPU, base does not build or is wrong, the file\n"
        "of results cannot be written); 2 if the command line or a kernel's comments are wrong;\n"
        "130 after Ctrl-C. Variants that do not build, fail or are wrong are stored as such and\n"
        "are no failure of the search.\n",
        program, SW_TUNE_NVCC, SW_TUNE_ARCH);
}

static bool take_number(const char *text, double min, double max, double *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && *out >= min && *out <= max;
}

static bool take_count(const char *text, uint32_t max, uint32_t *out)
{
    double number = 0;
    bool good = take_number(text, 1, max, &number) && number == floor(number);
    *out = good ? (uint32_t)number : 0;
    return good;
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

static bool take_filter(struct sw_tune_search_options *options, const char *text,
                        struct sw_tune_reason *reason)
{
    if (options->filter_count == SW_TUNE_FILTERS_MAX) {
        return sw_tune_refuse(reason, "there are more than %d filters", SW_TUNE_FILTERS_MAX);
    }
    return sw_tune_filter_parse(text, &options->filters[options->filter_count++], reason);
}

/* Options that have a limit. */
static bool take_limit(struct sw_tune_search_options *options, int option, const char *value)
{
    double number = 0;
    switch (option) {
    case 'j':
        return take_count(value, 64, &options->tools.jobs);
    case OPTION_SAMPLES_MIN:
        return take_count(value, SW_TUNE_SAMPLES_MAX, &options->rule.samples_min);
    case OPTION_BUDGET:
        return take_number(value, 0, 1e6, &number) && (options->budget_seconds = number * 60, true);
    case OPTION_INTERVAL:
        return take_number(value, 0, 100, &number) &&
               (options->rule.interval_max = number / 100, true);
    case OPTION_POINT_SECONDS:
        return take_number(value, 0, 1e6, &options->rule.seconds_max);
    default:
        return take_number(value, 0.001, 1e6, &options->answer_seconds_max);
    }
}

static bool take_option(struct sw_tune_search_options *options, int option, const char *value,
                        struct sw_tune_reason *reason)
{
    switch (option) {
    case 'a':
        return take_filter(options, value, reason);
    case 'R':
        return take_regex(&options->kernels, value, reason);
    case OPTION_VARIANTS:
        return take_regex(&options->variants, value, reason);
    case OPTION_BUILD_ONLY:
        options->runs = false;
        return true;
    case OPTION_NO_BUILD:
        options->builds = false;
        return true;
    case OPTION_AGAIN:
        options->again = true;
        return true;
    case OPTION_DB:
        options->db = value;
        return true;
    case OPTION_FOLDER:
        options->tools.folder = value;
        return true;
    case OPTION_RUNNER:
        options->runner = value;
        return true;
    case OPTION_CC:
        options->tools.cc = value;
        return true;
    case OPTION_NVCC:
        options->tools.nvcc = value;
        return true;
    case OPTION_ARCH:
        options->tools.arch = value;
        return (strncmp(value, "sm_", 3) == 0 && sw_tune_word_length(value) == strlen(value)) ||
               sw_tune_refuse(reason, "--arch is sm_ and a number, not %s", value);
    default:
        return take_limit(options, option, value) ||
               sw_tune_refuse(reason, "%s is out of range, or no number", value);
    }
}

static void set_defaults(struct sw_tune_search_options *options)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    memset(options, 0, sizeof(*options));
    (void)regcomp(&options->kernels, "", REG_EXTENDED | REG_NOSUB);
    (void)regcomp(&options->variants, "", REG_EXTENDED | REG_NOSUB);
    options->tools = (struct sw_tune_tools){
        .cc = "gcc",
        .nvcc = SW_TUNE_NVCC,
        .arch = SW_TUNE_ARCH,
        .folder = "build/tune/variants",
        .jobs = processors < 1    ? 1
                : processors > 64 ? 64
                                  : (uint32_t)processors,
    };
    options->db = "build/tune.db";
    options->rule =
        (struct sw_tune_stop_rule){.samples_min = 10, .interval_max = 0.005, .seconds_max = 0.5};
    options->budget_seconds = INFINITY;
    options->answer_seconds_max = 120;
    options->builds = true;
    options->runs = true;
}

/* What follows the options: kernels, and what is behind the --. getopt leaves the -- in argv. */
static bool take_rest(struct sw_tune_search_options *options, int argc, char **argv, int behind,
                      struct sw_tune_reason *reason)
{
    for (int i = optind; i < behind; i++) {
        if (options->file_count == SW_TUNE_KERNELS_MAX) {
            return sw_tune_refuse(reason, "there are more than %d kernels", SW_TUNE_KERNELS_MAX);
        }
        options->files[options->file_count++] = argv[i];
    }
    for (int i = behind + 1; i < argc; i++) {
        if (options->passed_count == SW_TUNE_PASSED_MAX) {
            return sw_tune_refuse(reason, "more than %d arguments are behind --",
                                  SW_TUNE_PASSED_MAX);
        }
        options->passed[options->passed_count++] = argv[i];
    }
    if (options->file_count == 0) {
        options->files[0] = "bench/tune/kernels/get.cu";
        options->files[1] = "bench/tune/kernels/ranges.cu";
        options->file_count = 2;
    }
    return options->builds || options->runs ||
           sw_tune_refuse(reason, "--build-only and --no-build leave nothing to do");
}

enum sw_tune_parsed sw_tune_search_options_parse(struct sw_tune_search_options *options, int argc,
                                                 char **argv)
{
    struct sw_tune_reason reason = {""};
    int option = 0;
    int behind = 1;
    bool good = true;
    set_defaults(options);
    while (behind < argc && strcmp(argv[behind], "--") != 0) {
        behind++;
    }
    optind = 0; /* 0, not 1: glibc starts afresh, so that a process may parse twice */
    while (good && (option = getopt_long(behind, argv, "a:R:j:h", long_options, NULL)) != -1) {
        if (option == 'h') {
            print_help(argv[0]);
            sw_tune_search_options_free(options);
            return SW_TUNE_HELPED;
        }
        if (option == '?') { /* getopt_long said what is wrong */
            sw_tune_search_options_free(options);
            return SW_TUNE_MISUSED;
        }
        good = take_option(options, option, optarg, &reason);
    }
    if (good && take_rest(options, argc, argv, behind, &reason)) {
        return SW_TUNE_RUN_IT;
    }
    fprintf(stderr, "%s: %s; see --help\n", argv[0], reason.text);
    sw_tune_search_options_free(options);
    return SW_TUNE_MISUSED;
}

void sw_tune_search_options_free(struct sw_tune_search_options *options)
{
    regfree(&options->kernels);
    regfree(&options->variants);
}
