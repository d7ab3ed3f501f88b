/* SPDX-License-Identifier: MIT
 *
 * options.c - the command line of analyze.
 */
#include <stdio.h>
#include <string.h>

#include "bench/tune/analyze/analyze.h"

#define FIELD(name) SW_STUDY_FIELD(struct sw_tune_analyze_options, name)

static const struct sw_study_option rows[] = {
    {"coverage", SW_STUDY_FLAG, FIELD(coverage),
     .help = "variants measured, of how many, for each workload"},
    {"top", SW_STUDY_U32, FIELD(top), .min = 1, .max = 1000000,
     .help = "the N variants with the highest score, for each workload, with the\n"
             "least, mean and greatest speed-up"},
    {"variant", SW_STUDY_OTHER, .take = sw_tune_take_variants, .value = "REGEX",
     .help = "plots how the times of base and of matching variants are spread\n"
             "(gnuplot)"},
    {"export", SW_STUDY_FLAG, FIELD(exports),
     .help = "writes the best variants as headers, one for each GPU architecture:\n"
             "FOLDER/policy_sm90.h. A variant that is slower than base by more\n"
             "than --loss-max on any workload, or was not measured on all, is\n"
             "refused, and the next best is taken"},
    {"axis", SW_STUDY_OTHER, .letter = 'a', .take = sw_tune_take_filter, .value = "FILTER",
     .help = "only these values of an axis, \"Slot{ct}=[64,128]\"; run-time axes\n"
             "select for plots only. May be given several times"},
    {"kernels", SW_STUDY_OTHER, .letter = 'R', .take = sw_tune_take_kernels, .value = "REGEX",
     .help = "only kernels whose name matches"},
    {"device", SW_STUDY_TEXT, FIELD(device), .help = "only devices whose name contains TEXT"},
    {"db", SW_STUDY_TEXT, FIELD(db), .value = "FILE", .usual = "build/tune.db", .help = "results"},
    {"folder", SW_STUDY_TEXT, FIELD(folder), .value = "FOLDER", .usual = "build/tune/plots",
     .help = "plots are FOLDER/KERNEL.WORKLOAD.svg"},
    {"script", SW_STUDY_FLAG, FIELD(script_only),
     .help = "prints the plots' gnuplot script and runs nothing"},
    {"files", SW_STUDY_TEXT, FIELD(files), .value = "FOLDER",
     .help = "writes raw.csv (every point of every variant) and summary.csv\n"
             "(coverage, the best, the choice) there"},
    {"headers", SW_STUDY_TEXT, FIELD(headers), .value = "FOLDER", .usual = "table/robin_hood/cuda",
     .help = "where --export writes; created if it does not exist"},
    {"loss-max", SW_STUDY_REAL, FIELD(loss_max), .most = 100, .usual = "2", .value = "PERCENT",
     .help = "the most that a choice may be slower than base"},
    {"gain-min", SW_STUDY_REAL, FIELD(gain_min), .most = 1000, .usual = "3", .value = "PERCENT",
     .help = "a choice with a lower gain in score leaves base"},
};

static const struct sw_study_command command = {
    .name = "analyze",
    .usage = "[options]",
    .about =
        "Shows what bench/tune/search has stored: how much of each search space was measured, the\n"
        "best variants, how their times are spread; and exports the best ones.\n"
        "\n"
        "A speed-up is base's median time / the variant's. A score is the mean of the speed-ups\n"
        "over all run-time workloads; on an axis marked {io} the k-th value has weight k.\n",
    .end = "Without --top, --variant, --files and --export: --coverage.\n"
           "\n"
           "Exit status: 0; 1 if the file cannot be read, nothing matches, or nothing may be\n"
           "exported; 2 if the command line is wrong.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

enum sw_study_parsed sw_tune_analyze_options_parse(struct sw_tune_analyze_options *options,
                                                   int argc, char **argv)
{
    memset(options, 0, sizeof(*options));
    sw_tune_selection_init(&options->select);
    enum sw_study_parsed parsed = sw_study_options(&command, options, argc, argv);
    if (parsed == SW_STUDY_RUN && options->script_only && !options->select.has_variants) {
        fprintf(stderr, "analyze: --script is of --variant; see --help\n");
        parsed = SW_STUDY_WRONG;
    }
    if (parsed != SW_STUDY_RUN) {
        sw_tune_selection_free(&options->select);
    }
    options->coverage = options->coverage || (options->top == 0 && !options->select.has_variants &&
                                              !options->exports && options->files[0] == '\0');
    return parsed;
}
