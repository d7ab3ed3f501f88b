/* SPDX-License-Identifier: MIT
 *
 * options.c - the command line of a search.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/tune/search/search.h"

#ifndef SW_TUNE_NVCC
#define SW_TUNE_NVCC "nvcc"
#endif
#ifndef SW_TUNE_ARCH
#define SW_TUNE_ARCH "sm_90"
#endif

#define FIELD(name) SW_STUDY_FIELD(struct sw_tune_search_options, name)

static const struct sw_study_option rows[] = {
    {.name = "What:", .kind = SW_STUDY_TITLE},
    {"axis", SW_STUDY_OTHER, .letter = 'a', .take = sw_tune_take_filter, .value = "FILTER",
     .help = "only these values of a workload axis, \"Slot{ct}=[64,128]\" or\n"
             "\"Load=[0.5]\"; may be given several times. {ct} and {rt} may be left\n"
             "out; if given they must be right"},
    {"kernels", SW_STUDY_OTHER, .letter = 'R', .take = sw_tune_take_kernels, .value = "REGEX",
     .help = "only kernels whose name matches (of get.cu: get)"},
    {"variants", SW_STUDY_OTHER, .take = sw_tune_take_variants, .value = "REGEX",
     .help = "only variants whose name matches, and base"},
    {"again", SW_STUDY_FLAG, FIELD(again), .help = "measures what is stored already once more"},
    {.name = "Where and how:", .kind = SW_STUDY_TITLE},
    {"db", SW_STUDY_TEXT, FIELD(db), .value = "FILE", .usual = "build/tune.db", .help = "results"},
    {"folder", SW_STUDY_TEXT, FIELD(tools.folder), .value = "FOLDER",
     .usual = "build/tune/variants", .help = "where variants are built"},
    {"build-only", SW_STUDY_FLAG, FIELD(builds_only),
     .help = "builds all that is selected, runs nothing, needs no GPU"},
    {"no-build", SW_STUDY_FLAG, FIELD(builds_nothing),
     .help = "runs what is in FOLDER, compiles nothing"},
    {"jobs", SW_STUDY_U32, FIELD(tools.jobs), .letter = 'j', .min = 1, .max = 64,
     .help = "compilers at a time (processors)"},
    {"cc", SW_STUDY_TEXT, FIELD(tools.cc), .value = "COMMAND", .usual = "gcc",
     .help = "compiler of .c kernels"},
    {"nvcc", SW_STUDY_TEXT, FIELD(tools.nvcc), .value = "COMMAND", .usual = SW_TUNE_NVCC,
     .help = "compiler of .cu kernels"},
    {"arch", SW_STUDY_TEXT, FIELD(tools.arch), .value = "ARCH", .usual = SW_TUNE_ARCH,
     .help = "their GPU"},
    {"runner", SW_STUDY_TEXT, FIELD(runner), .value = "FILE",
     .help = "program that runs .cu variants (beside this one: runner)"},
    {.name = "How long:", .kind = SW_STUDY_TITLE},
    {"budget", SW_STUDY_REAL, FIELD(budget_minutes), .most = 1e6, .value = "MINUTES",
     .help = "ends after so long, builds included; what is left is for the next\n"
             "search (no limit)"},
    {"interval", SW_STUDY_REAL, FIELD(interval_percent), .most = 100, .usual = "0.5",
     .value = "PERCENT",
     .help = "a point is timed until the median's 95 % interval is at most so\n"
             "wide to either side"},
    {"samples-min", SW_STUDY_U32, FIELD(rule.samples_min), .min = 1, .max = SW_TUNE_SAMPLES_MAX,
     .usual = "10", .help = "but so often at least"},
    {"point-seconds", SW_STUDY_REAL, FIELD(rule.seconds_max), .most = 1e6, .usual = "0.5",
     .help = "and no longer than this"},
    {"answer-seconds", SW_STUDY_REAL, FIELD(answer_seconds_max), .least = 0.001, .most = 1e6,
     .usual = "120", .help = "a program silent for so long has failed"},
};

static const struct sw_study_command command = {
    .name = "search",
    .usage = "[options] [KERNEL.cu|KERNEL.c ...] [-- ARGUMENT ...]",
    .about =
        "Builds the variants of kernels, checks their answers, times them, and stores the times.\n"
        "Comments of the kernels' files say what can be varied: bench/tune/README.md. Runs from\n"
        "the root of the source tree. Without a KERNEL: bench/tune/kernels/get.cu and ranges.cu.\n"
        "Arguments behind -- go to the programs that run variants.\n",
    .end =
        "Ctrl-C ends a search; every point measured is stored, and the next search with the same\n"
        "options goes on where this one ended. bench/tune/analyze shows what was found.\n"
        "\n"
        "Exit status: 0; 1 if something failed (no GPU, base does not build or is wrong, the file\n"
        "of results cannot be written); 2 if the command line or a kernel's comments are wrong;\n"
        "130 after Ctrl-C. Variants that do not build, fail or are wrong are stored as such and\n"
        "are no failure of the search.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .takes_arguments = true,
};

/* Kernels, and the arguments behind the --. Returns what is wrong, or NULL. */
static const char *take_rest(struct sw_tune_search_options *options, int argc, char **argv,
                             int first, int behind)
{
    for (int i = first; i < behind; i++) {
        if (options->file_count == SW_TUNE_KERNELS_MAX) {
            return "there are more than 16 kernels";
        }
        options->files[options->file_count++] = argv[i];
    }
    for (int i = behind + 1; i < argc; i++) {
        if (options->passed_count == SW_TUNE_PASSED_MAX) {
            return "more than 32 arguments are behind --";
        }
        options->passed[options->passed_count++] = argv[i];
    }
    if (options->file_count == 0) {
        options->files[0] = "bench/tune/kernels/get.cu";
        options->files[1] = "bench/tune/kernels/ranges.cu";
        options->file_count = 2;
    }
    const char *arch = options->tools.arch;
    if (strncmp(arch, "sm_", 3) != 0 || sw_tune_word_length(arch) != strlen(arch)) {
        return "--arch is sm_ and a number";
    }
    return options->builds_only && options->builds_nothing
               ? "--build-only and --no-build leave nothing to do"
               : NULL;
}

enum sw_study_parsed sw_tune_search_options_parse(struct sw_tune_search_options *options, int argc,
                                                  char **argv)
{
    char text[640] = "";
    int behind = 1;
    int first = 1;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    memset(options, 0, sizeof(*options));
    sw_tune_selection_init(&options->select);
    options->tools.jobs = processors < 1 ? 1 : processors > 64 ? 64 : (uint32_t)processors;
    options->budget_minutes = INFINITY;
    while (behind < argc && strcmp(argv[behind], "--") != 0) { /* getopt leaves the -- in argv */
        behind++;
    }
    enum sw_study_parsed parsed =
        sw_study_parse(&command, options, behind, argv, NULL, &first, text, sizeof(text));
    const char *wrong = parsed == SW_STUDY_WRONG ? text : NULL;
    if (parsed == SW_STUDY_RUN) {
        wrong = take_rest(options, argc, argv, first, behind);
        options->rule.interval_max = options->interval_percent / 100;
    }
    if (wrong != NULL) {
        fprintf(stderr, "search: %s; see --help\n", wrong);
        parsed = SW_STUDY_WRONG;
    }
    if (parsed != SW_STUDY_RUN) {
        sw_tune_selection_free(&options->select);
    }
    return parsed;
}
