/* SPDX-License-Identifier: MIT
 *
 * test_timing_options.c - the command line of the timing study, and its lists of numbers.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bench/timing/lists.h"
#include "bench/timing/options.h"

#define WORDS_MAX 32

static enum sw_timing_parsed parse(const char *arguments, struct sw_timing_options *options)
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
    cr_assert_eq(parse("", &options), SW_TIMING_RUN);
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
    cr_assert_eq(parse("--quick --reps 7 --slot-bits 128", &options), SW_TIMING_RUN);
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
        SW_TIMING_RUN);
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
        cr_expect_eq(parse(wrong[w], &options), SW_TIMING_WRONG, "%s", wrong[w]);
    }
}

Test(timing_lists, ranges_double)
{
    uint64_t list[4];
    uint32_t count = 0;
    cr_assert(sw_timing_parse_u64s("3..13,2^5", 1, 100, list, 4, &count));
    cr_expect_eq(count, 4);
    cr_expect_eq(list[0], 3);
    cr_expect_eq(list[2], 12);
    cr_expect_eq(list[3], 32);
    cr_expect_not(sw_timing_parse_u64s("1..100", 1, 100, list, 4, &count), "too many");
    cr_assert(sw_timing_parse_u64s("none", 1, 100, list, 4, &count));
    cr_expect_eq(count, 0);
}

Test(timing_lists, units)
{
    static const char *const wrong[] = {"K", "1KK", "1k", "2^3K", "17179869184G", "1 K", "-1K"};
    uint64_t value = 0;
    cr_assert(sw_timing_parse_u64("3K", 1, 1 << 20, &value));
    cr_expect_eq(value, 3072);
    cr_assert(sw_timing_parse_u64("17179869183G", 1, UINT64_MAX, &value));
    cr_expect_eq(value, 17179869183ULL << 30);
    cr_expect_not(sw_timing_parse_u64("2M", 1, 1 << 20, &value), "above the most");
    for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
        cr_expect_not(sw_timing_parse_u64(wrong[w], 0, UINT64_MAX, &value), "%s", wrong[w]);
    }
}

static const char *name_of(int number)
{
    static const char *const all[] = {"a", "bc", "d"};
    return all[number];
}

Test(timing_lists, names)
{
    bool wanted[3];
    cr_assert(sw_timing_parse_names("d,a", name_of, 3, wanted));
    cr_expect(wanted[0] && !wanted[1] && wanted[2]);
    cr_expect_not(sw_timing_parse_names("d,b", name_of, 3, wanted));
    cr_expect_not(sw_timing_parse_names("d,", name_of, 3, wanted));
    cr_expect_not(sw_timing_parse_names("", name_of, 3, wanted));
    cr_expect(sw_timing_list_has("a,bc,d", "bc"));
    cr_expect(sw_timing_list_has("a,bc,d", "d"));
    cr_expect_not(sw_timing_list_has("a,bc,d", "b"));
    cr_expect_not(sw_timing_list_has("", "a"));
}
