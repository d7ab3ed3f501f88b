/* SPDX-License-Identifier: MIT
 *
 * test_timing_options.c - the command lines of the studies timing and memory_bandwidth.
 */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "bench/memory_bandwidth/options.h"
#include "bench/timing/options.h"

#define WORDS_MAX 64

/* Splits `line` in place. Returns the number of words, the program's name among them. */
static int split(char *line, char *words[WORDS_MAX])
{
    int count = 1;
    for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        words[count++] = word;
    }
    return count;
}

static enum sw_study_parsed parse(const char *arguments, struct sw_timing_options *options)
{
    char line[256];
    char *words[WORDS_MAX] = {(char *)"timing"};
    snprintf(line, sizeof(line), "%s", arguments);
    return sw_timing_options_parse(options, split(line, words), words);
}

static enum sw_study_parsed parse_bandwidth(const char *arguments,
                                            struct sw_bandwidth_options *options)
{
    char line[256];
    char *words[WORDS_MAX] = {(char *)"memory_bandwidth"};
    snprintf(line, sizeof(line), "%s", arguments);
    return sw_bandwidth_options_parse(options, split(line, words), words);
}

Test(timing_options, defaults)
{
    struct sw_timing_options options;
    cr_assert_eq(parse("", &options), SW_STUDY_RUN);
    cr_expect_eq(options.capacity_log2, 27);
    cr_expect_eq(options.reps, 16);
    cr_expect_eq(options.seed, 1);
    cr_expect_eq(options.slot_bits_count, 2);
    cr_expect_eq(options.loads_count, 5);
    cr_expect_eq(options.loads[4], 1.0);
    cr_expect_eq(options.misses_count, 3);
    cr_expect_eq(options.get_batches_count, 20);
    cr_expect_eq(options.get_batches[0], 256);
    cr_expect_eq(options.get_batches[19], 1U << 27);
    cr_expect_eq(options.insert_batches_count, 1);
    cr_expect_eq(options.insert_batches[0], 1048576);
    cr_expect_eq(options.block_sizes_count, 5);
    cr_expect_eq(options.block_sizes[4], 1024);
    for (int o = 0; o < SW_TIMING_OPERATIONS; o++) {
        cr_expect(options.operations[o], "%d", o);
    }
    cr_expect_eq(strncmp(options.output, "output/", 7), 0);
    cr_expect(sw_timing_library_wanted(&options, "any"));
}

Test(timing_options, quick_yields_to_what_is_given)
{
    struct sw_timing_options options;
    cr_assert_eq(parse("--quick --reps 7 --slot-bits 128", &options), SW_STUDY_RUN);
    cr_expect_eq(options.reps, 7);
    cr_expect_eq(options.slot_bits_count, 1);
    cr_expect_eq(options.slot_bits[0], 128);
    cr_expect_eq(options.loads_count, 2);
    cr_expect_eq(options.block_sizes_count, 0);
}

Test(timing_options, selections)
{
    struct sw_timing_options options;
    cr_assert_eq(
        parse("--libraries sherwood,cuco --operations get,get_batch,delete --f 0.9", &options),
        SW_STUDY_RUN);
    cr_expect(sw_timing_library_wanted(&options, "cuco"));
    cr_expect_not(sw_timing_library_wanted(&options, "cuc"));
    cr_expect_not(sw_timing_library_wanted(&options, "sherwood,cuco"));
    cr_expect(options.operations[SW_TIMING_GET]);
    cr_expect(options.operations[SW_TIMING_DELETE]);
    cr_expect_not(options.operations[SW_TIMING_INSERT]);
    cr_expect_not(options.operations[SW_TIMING_HINTS]);
    cr_expect_eq(options.loads_count, 1);
}

Test(timing_options, wrong)
{
    static const char *const wrong[] = {
        "--operations gte",   "--operations get,",  "--operations get,get",
        "--slot-bits 96",     "--slot-bits none",   "--F 0",
        "--F 1.01",           "--F none",           "--reps 0",
        "--reps 1001",        "--miss 101",         "--get-batches 0",
        "--get-batches 8..4", "--block-sizes 2048", "--capacity-log2 29",
        "--reps 5x",          "--seed -1",          "word",
        "--no-such-option",   "--F 0.5,,0.6",       "--insert-batches 2^64"};
    for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
        struct sw_timing_options options;
        cr_expect_eq(parse(wrong[w], &options), SW_STUDY_WRONG, "%s", wrong[w]);
    }
}

Test(bandwidth_options, defaults_and_choices)
{
    struct sw_bandwidth_options options;
    cr_assert_eq(parse_bandwidth("", &options), SW_STUDY_RUN);
    cr_expect_eq(options.capacity_log2, 27);
    cr_expect_eq(options.batch_log2, 24);
    cr_expect_eq(options.max_probe, 8);
    cr_expect_eq(options.loads_count, 8);
    cr_expect_eq(options.bulk, SW_CHOICE_NEVER);
    cr_assert_eq(parse_bandwidth("--quick --hints always --reps 7", &options), SW_STUDY_RUN);
    cr_expect_eq(options.hints, SW_CHOICE_ALWAYS);
    cr_expect_eq(options.reps, 7);
    cr_expect_eq(options.insert_reps, 1);
    cr_expect_eq(options.block_sizes_count, 0);
}

Test(bandwidth_options, wrong)
{
    static const char *const wrong[] = {
        "--l2-fetch 48",
        "--shapes --capacity-log2 21",
        "--capacity-log2 30 --F 4",
        "--F 17",
        "--bulk maybe",
        "--batch-log2 29",
        "--max-probe 0",
        "word",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sw_bandwidth_options options;
        cr_expect_eq(parse_bandwidth(wrong[i], &options), SW_STUDY_WRONG, "%s", wrong[i]);
    }
}

/* The commands that made the committed results, whose run_info.txt has them. */
Test(study_options, commands_of_results)
{
    static const char *const patterns[] = {"bench/results/h200/timing*/run_info.txt",
                                           "bench/results/h200/memory_bandwidth*/run_info.txt"};
    for (int study = 0; study < 2; study++) {
        glob_t found;
        cr_assert_eq(glob(patterns[study], 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char line[1024] = "";
            char *words[WORDS_MAX];
            struct sw_timing_options timing;
            struct sw_bandwidth_options bandwidth;
            FILE *file = fopen(found.gl_pathv[i], "r");
            cr_assert_not_null(file);
            while (strncmp(line, "command: ", 9) != 0 && fgets(line, sizeof(line), file) != NULL) {
            }
            fclose(file);
            const int count = split(line, words) - 2; /* without "command:" */
            cr_assert_gt(count, 1, "%s: no command", found.gl_pathv[i]);
            cr_expect_eq(study == 0 ? sw_timing_options_parse(&timing, count, words + 2)
                                    : sw_bandwidth_options_parse(&bandwidth, count, words + 2),
                         SW_STUDY_RUN, "%s", found.gl_pathv[i]);
        }
        globfree(&found);
    }
}
