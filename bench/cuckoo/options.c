/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_cbench_options.
 */
#include "bench/cuckoo/options.h"

#include <string.h>

#include "bench/cuckoo/library.h"
#include "bench/study/lists.h"

#define FIELD(name) SW_STUDY_FIELD(struct sw_cbench_options, name)

static const char *const experiment_names[] = {SW_CBENCH_EXPERIMENT_MAP(SW_STUDY_MAP_TEXT) NULL};
static const char *const experiment_abouts[] = {SW_CBENCH_EXPERIMENT_MAP(SW_STUDY_MAP_WHAT)};
static const char *const sizes[] = {"each", "total", NULL};

const char *sw_cbench_experiment_name(enum sw_cbench_experiment experiment)
{
    return experiment_names[experiment];
}

static bool take_tables(void *context, const char *text, char *why, size_t why_size)
{
    const char *names[SW_CBENCH_TABLES + 1];
    uint32_t tables[SW_CBENCH_TABLES] = {0};
    bool wanted[SW_CBENCH_TABLES] = {false};
    uint32_t count = 0;
    struct sw_cbench_options *options = context;
    (void)why;
    (void)why_size;
    for (uint32_t t = 0; t < SW_CBENCH_TABLES; t++) {
        const struct sw_cbench_library *library = sw_cbench_library_of(t);
        if (library != NULL) {
            names[count] = library->name;
            tables[count++] = t;
        }
    }
    names[count] = NULL;
    bool valid = strcmp(text, "all") == 0 || sw_study_parse_names(text, names, wanted);
    for (uint32_t i = 0; i < count; i++) {
        options->tables[tables[i]] = strcmp(text, "all") == 0 || wanted[i];
    }
    return valid;
}

static const struct sw_study_option rows[] = {
    {"experiments", SW_STUDY_NAMES, FIELD(experiments), .words = experiment_names,
     .about = experiment_abouts, .help = "experiments to run (all) of"},
    {"tables", SW_STUDY_OTHER, .take = take_tables, .usual = "all",
     .help = "tables to measure: cuckoo2, cuckoo3, robin_hood, and peers' that\n"
             "are built in: bght_cht, bght_b16"},
    SW_STUDY_BACKEND_ROW("where the tables lie"),
    SW_STUDY_DEVICE_ROW,
    {"keys-log2", SW_STUDY_U32, FIELD(keys_log2), .min = 4, .max = 28, .usual = "24", .quick = "20",
     .help = "n = 2^N keys, and the largest s"},
    {"first-log2", SW_STUDY_U32, FIELD(first_log2), .min = 1, .max = 28, .usual = "10",
     .quick = "16", .help = "the smallest s"},
    {"table-log2", SW_STUDY_U32, FIELD(table_log2), .min = 4, .max = 30, .usual = "25",
     .quick = "21", .help = "table size of the experiments insert and lookup"},
    {"size", SW_STUDY_WORD, FIELD(size_is_total), .words = sizes, .usual = "each",
     .value = "each|total",
     .help = "a size is the cells of each array, as in the report, or of all\n"
             "arrays together"},
    {"bound", SW_STUDY_REAL, FIELD(bound), .most = 1e6, .is_above = true, .usual = "19.2",
     .help = "chains of at most N log2 n exchanges, but in experiment bound"},
    {"reps", SW_STUDY_U32, FIELD(reps), .min = 1, .max = SW_CBENCH_REPS_MAX, .usual = "5",
     .quick = "2", .help = "timed repetitions, after one that warms up"},
    SW_STUDY_SEED_ROW,
    {"quick", SW_STUDY_FLAG, FIELD(quick),
     .help = "where these are not given: n = 2^20, table of 2^21, s from 16,\n"
             "2 repetitions; for a first look, not for results"},
    SW_STUDY_COMMIT_ROW,
    SW_STUDY_OUTPUT_ROW("cuckoo"),
};

/* Returns an error text if valid options contradict each other, else NULL. */
static const char *contradiction(const void *parsed)
{
    const struct sw_cbench_options *options = parsed;
    if (options->keys_log2 > options->table_log2 || options->first_log2 > options->keys_log2) {
        return "--first-log2 <= --keys-log2 <= --table-log2 must hold";
    }
    return NULL;
}

static const struct sw_study_command command = {
    .name = "cuckoo",
    .usage = "[options]",
    .about = "Measures Sherwood's cuckoo engine and its ordered Robin Hood table (u32 to u32) in\n"
             "the four experiments of the cuckoo report. Every answer is checked.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .contradiction = contradiction,
};

enum sw_study_parsed sw_cbench_options_parse(struct sw_cbench_options *options, int argc,
                                             char **argv)
{
    memset(options, 0, sizeof(*options));
    memset(options->experiments, true, sizeof(options->experiments));
    return sw_study_options(&command, options, argc, argv);
}
