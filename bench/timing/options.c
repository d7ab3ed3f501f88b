/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_timing_options.
 */
#include "bench/timing/options.h"

#include <stdio.h>
#include <string.h>

#include "bench/study/lists.h"

#define BATCH_MAX (1ULL << 28)
#define FIELD(name) SW_STUDY_FIELD(struct sw_timing_options, name)
#define LIST(name) SW_STUDY_LIST(struct sw_timing_options, name)

static const char *const operation_names[] = {SW_TIMING_OPERATION_MAP(SW_STUDY_MAP_TEXT) NULL};

static const char *const operation_abouts[] = {SW_TIMING_OPERATION_MAP(SW_STUDY_MAP_WHAT)};

const char *sw_timing_operation_name(enum sw_timing_operation operation)
{
    return operation_names[operation];
}

static bool take_slot_bits(void *context, const char *text, char *why, size_t why_size)
{
    struct sw_timing_options *options = context;
    uint64_t widths[2];
    uint32_t count = 0;
    bool good = sw_study_parse_u64s(text, 64, 128, widths, 2, &count) && count > 0;
    for (uint32_t i = 0; good && i < count; i++) {
        good = widths[i] % 64 == 0;
        options->slot_bits[i] = (uint32_t)widths[i];
    }
    options->slot_bits_count = count;
    if (!good) {
        snprintf(why, why_size, "--slot-bits %s: it is 64, 128 or 64,128", text);
    }
    return good;
}

/* A list of batch sizes. */
#define BATCHES(text, field) text, SW_STUDY_U64S, LIST(field), .min = 1, .max = BATCH_MAX
#define SECONDS(text, field) text, SW_STUDY_REAL, FIELD(field), .most = 1e6, .is_above = true

static const struct sw_study_option rows[] = {
    {"libraries", SW_STUDY_TEXT, FIELD(libraries), .value = "LIST",
     .help = "libraries to measure; sherwood is our own (all)"},
    {"operations", SW_STUDY_NAMES, FIELD(operations), .words = operation_names,
     .about = operation_abouts, .help = "operations to measure (all) of"},
    {"capacity-log2", SW_STUDY_U32, FIELD(capacity_log2), .min = 10, .max = 28, .usual = "27",
     .help = "the table has 2^N slots, N from 10 to 28"},
    {"slot-bits", SW_STUDY_U32S, LIST(slot_bits), .take = take_slot_bits, .usual = "64,128",
     .quick = "64", .help = "width of a slot: 64, 128 or both"},
    {"F", SW_STUDY_REALS, LIST(loads), .alias = "f", .most = 1, .is_above = true, .is_filled = true,
     .usual = "0.5,0.75,0.85,0.95,1.0", .quick = "0.5,0.85",
     .help = "keys offered / slots, above 0 and at most 1"},
    {"miss", SW_STUDY_U32S, LIST(misses), .max = 100, .usual = "0,50,100", .quick = "0,100",
     .help = "percentage of a get's keys that are not stored"},
    {"batch-F", SW_STUDY_REALS, LIST(batch_loads), .most = 1, .is_above = true, .usual = "0.85",
     .help = "F at which get_batch is measured"},
    {BATCHES("get-batches", get_batches), .usual = "2^8..2^27", .quick = "2^8,2^16,2^24",
     .help = "batch sizes of get_batch; A..B doubles from A to B"},
    {BATCHES("insert-batches", insert_batches), .usual = "2^20", .help = "of insert_batch"},
    {BATCHES("upsert-batches", upsert_batches), .usual = "2^24", .help = "of upsert_at_F"},
    {BATCHES("delete-batches", delete_batches), .usual = "2^20,2^24", .help = "of delete"},
    {"block-sizes", SW_STUDY_U32S, LIST(block_sizes), .min = 32, .max = 1024, .usual = "64..1024",
     .quick = "none", .help = "threads a block, of the operation blocks"},
    {"reps", SW_STUDY_U32, FIELD(reps), .min = 1, .max = SW_TIMING_REPS_MAX, .usual = "16",
     .quick = "4", .help = "timed repetitions of a series, at most 1000"},
    {"pinned-reps", SW_STUDY_U32, FIELD(pinned_reps), .min = 1, .max = 1000000, .usual = "10000",
     .help = "of get_256_pinned, at most 1000000"},
    {SECONDS("series-seconds", series_seconds), .usual = "4",
     .help = "a series of Sherwood's ends after N seconds once it has two\n"
             "repetitions, or a warm-up that took as long"},
    {SECONDS("peer-seconds", peer_seconds), .usual = "1", .help = "the same for other libraries"},
    {SECONDS("library-seconds", library_seconds), .usual = "400",
     .help = "a library that takes longer is stopped"},
    {"found", SW_STUDY_FLAG, FIELD(found),
     .help = "Sherwood's writes report for each key whether it was stored, as\n"
             "the daemon's do; no such write is a merge"},
    SW_STUDY_SEED_ROW,
    SW_STUDY_DEVICE_ROW,
    SW_STUDY_COMMIT_ROW,
    SW_STUDY_OUTPUT_ROW("timing"),
    {"quick", SW_STUDY_FLAG, FIELD(quick),
     .help = "where these are not given: slot bits 64, F 0.5,0.85, miss 0,100,\n"
             "batches 2^8,2^16,2^24, no block sizes, 4 repetitions"},
    {"list-libraries", SW_STUDY_FLAG, FIELD(lists_libraries),
     .help = "prints the libraries that this program has, one a line"},
};

static const struct sw_study_command command = {
    .name = "timing",
    .usage = "[options]",
    .about = "Measures hash tables on a GPU with keys in device memory: Sherwood's, and those of\n"
             "the libraries it was built with. Writes raw.csv, insert.csv, get.csv, ceilings.csv,\n"
             "summary.csv and run_info.txt.\n",
    .end = "Lists are separated by commas; `none` is the empty list. Exit status: 0; 1 if\n"
           "something failed or a check found a key of Sherwood's lost or a value wrong; 2 if the\n"
           "command line is wrong.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

enum sw_study_parsed sw_timing_options_parse(struct sw_timing_options *options, int argc,
                                             char **argv)
{
    memset(options, 0, sizeof(*options));
    memset(options->operations, true, sizeof(options->operations));
    return sw_study_options(&command, options, argc, argv);
}

bool sw_timing_library_wanted(const struct sw_timing_options *options, const char *name)
{
    return options->libraries[0] == '\0' || sw_study_list_has(options->libraries, name);
}
