/* SPDX-License-Identifier: MIT
 *
 * test_timing_options.c - the command line of the timing study.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/options.h"

#define WORDS_MAX 32

static enum sw_study_parsed parse(const char *arguments, struct sw_timing_options *options)
{
    char line[256];
    char *words[WORDS_MAX] = {(char *)"timing"};
    int count = 1;
    snprintf(line, sizeof(line), "%s", arguments);
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    return sw_timing_options_parse(options, count, words);
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
