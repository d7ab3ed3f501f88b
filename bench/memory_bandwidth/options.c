/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_bandwidth_options.
 */
#include "bench/memory_bandwidth/options.h"

#include <string.h>

#define FIELD(name) SW_STUDY_FIELD(struct sw_bandwidth_options, name)
#define LIST(name) SW_STUDY_LIST(struct sw_bandwidth_options, name)

/* An insert of the shapes has 2^20 keys, which lie between stored ones. */
#define SHAPES_CAPACITY_LOG2 22

static const char *const choices[] = {
    [SW_CHOICE_AUTO] = "auto",
    [SW_CHOICE_NEVER] = "never",
    [SW_CHOICE_ALWAYS] = "always",
    NULL,
};

static const struct sw_study_option rows[] = {
    {"capacity-log2", SW_STUDY_U32, FIELD(capacity_log2), .min = 10, .max = 30, .usual = "27",
     .help = "the table has 2^N slots of 64 bits, N from 10 to 30"},
    {"F", SW_STUDY_REALS, LIST(loads), .most = SW_BANDWIDTH_LOAD_MAX, .is_above = true,
     .is_filled = true, .usual = "0.5,0.75,0.85,0.95,1,1.5,2,3", .quick = "0.5,0.95,2",
     .help = "keys offered / slots, above 0 and at most 16"},
    {"reps", SW_STUDY_U32, FIELD(reps), .min = 1, .max = SW_BANDWIDTH_REPS_MAX, .usual = "16",
     .quick = "4", .help = "timed repetitions of each ceiling and each get"},
    {"insert-reps", SW_STUDY_U32, FIELD(insert_reps), .min = 1, .max = SW_BANDWIDTH_REPS_MAX,
     .usual = "16", .quick = "1", .help = "timed repetitions of each insert"},
    {"block-sizes", SW_STUDY_U32S, LIST(block_sizes), .min = 32, .max = 1024,
     .usual = "64,128,256,512,1024", .quick = "none",
     .help = "threads a block of further gets; inserts have no block size"},
    {"copy-log2", SW_STUDY_U32, FIELD(copy_log2), .min = 12, .max = 36,
     .help = "copies of 2^N bytes, N from 12 to 36 (the bytes of the slots)"},
    {"batch-log2", SW_STUDY_U32, FIELD(batch_log2), .min = 16, .max = 28, .usual = "24",
     .help = "2^N operations a batch, N from 16 to 28"},
    {"max-probe", SW_STUDY_U32, FIELD(max_probe), .min = 1, .usual = "8",
     .help = "probe cap in buckets; an entry that exceeds it is handed back"},
    {"bulk", SW_STUDY_WORD, FIELD(bulk), .words = choices, .usual = "never", .value = "CHOICE",
     .help = "merge batches by streaming the table: never, auto, always; a\n"
             "merge counts every bucket of the table as a probe"},
    {"hints", SW_STUDY_WORD, FIELD(hints), .words = choices, .usual = "never", .value = "CHOICE",
     .help = "displacement hints: never, auto, always; they are read beside\n"
             "the buckets, and probes do not count them"},
    {"shapes", SW_STUDY_FLAG, FIELD(shapes),
     .help = "in place of the table measure tables with buckets of 2 to 16 slots\n"
             "and tiles of 1 to 16 threads a key, at each F below 1"},
    {"l2-fetch", SW_STUDY_U32, FIELD(l2_fetch), .min = 32, .max = 128, .value = "BYTES",
     .help = "asks the device to fetch 32, 64 or 128 bytes into L2 at a time"},
    SW_STUDY_SEED_ROW,
    SW_STUDY_DEVICE_ROW,
    SW_STUDY_COMMIT_ROW,
    SW_STUDY_OUTPUT_ROW("memory_bandwidth"),
    {"quick", SW_STUDY_FLAG, FIELD(quick),
     .help = "where these are not given: F 0.5,0.95,2, 4 repetitions, 1 of insert,\n"
             "no block sizes"},
};

/* Returns an error text if valid options contradict each other, else NULL. */
static const char *contradiction(const void *parsed)
{
    const struct sw_bandwidth_options *options = parsed;
    if ((options->l2_fetch & (options->l2_fetch - 1)) != 0) {
        return "--l2-fetch is 32, 64 or 128";
    }
    if (options->shapes && options->capacity_log2 < SHAPES_CAPACITY_LOG2) {
        return "--shapes needs --capacity-log2 22 or more";
    }
    for (uint32_t l = 0; l < options->loads_count; l++) {
        /* the study counts keys in 32 bits */
        if (options->loads[l] * (double)(1ULL << options->capacity_log2) >= 4294967295.0) {
            return "F times the slots must be below 2^32 keys";
        }
    }
    return NULL;
}

static const struct sw_study_command command = {
    .name = "memory_bandwidth",
    .usage = "[options]",
    .about =
        "Measures the rates of device memory (copies, random gathers, random compare-and-swaps)\n"
        "and the bytes a second that the table's insert and get read, by the table's own\n"
        "counters. Writes memcpy.csv, gather.csv, insert.csv, get.csv, shapes.csv, summary.csv, "
        "run_info.txt.\n",
    .end = "Lists are separated by commas. Exit status: 0; 1 if something failed or a check found\n"
           "that an operand was lost; 2 if the command line is wrong.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .contradiction = contradiction,
};

const char *sw_bandwidth_choice_name(enum sw_choice choice)
{
    return choices[choice];
}

enum sw_study_parsed sw_bandwidth_options_parse(struct sw_bandwidth_options *options, int argc,
                                                char **argv)
{
    memset(options, 0, sizeof(*options));
    return sw_study_options(&command, options, argc, argv);
}
