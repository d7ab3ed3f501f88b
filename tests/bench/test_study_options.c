/* SPDX-License-Identifier: MIT
 *
 * test_study_options.c - command lines by a table of options, and lists of numbers and names.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bench/study/lists.h"
#include "bench/study/options.h"

struct options {
    uint32_t reps;
    double part;
    double loads[3];
    uint32_t loads_count;
    unsigned place;
    char name[8];
    bool quick;
    char seen[32];
    char folder[64];
};

static bool take_seen(void *context, const char *text, char *why, size_t why_size)
{
    struct options *options = context;
    snprintf(options->seen, sizeof(options->seen), "%s", text);
    if (strcmp(text, "no") == 0) {
        snprintf(why, why_size, "%s is not wanted", text);
    }
    return text[0] == 'y';
}

static const char *const places[] = {"here", "there", NULL};
static const struct sw_study_option rows[] = {
    {.name = "Numbers", .kind = SW_STUDY_TITLE},
    {"reps", SW_STUDY_U32, SW_STUDY_FIELD(struct options, reps), .letter = 'r', .min = 1, .max = 9,
     .usual = "5", .quick = "2", .help = "repetitions"},
    {"part", SW_STUDY_REAL, SW_STUDY_FIELD(struct options, part), .most = 1, .is_above = true,
     .help = "a part"},
    {"F", SW_STUDY_REALS, SW_STUDY_LIST(struct options, loads), .alias = "load", .most = 2,
     .is_filled = true, .usual = "0.5,1", .help = "loads,\nin two lines"},
    {"place", SW_STUDY_WORD, SW_STUDY_FIELD(struct options, place), .words = places,
     .usual = "there", .help = "where"},
    {"name", SW_STUDY_TEXT, SW_STUDY_FIELD(struct options, name), .help = "a name"},
    {"folder", SW_STUDY_TEXT, SW_STUDY_FIELD(struct options, folder), .usual = "output/<time>/test",
     .help = "where the files go"},
    {"seen", SW_STUDY_OTHER, .take = take_seen, .help = "anything"},
    {"quick", SW_STUDY_FLAG, SW_STUDY_FIELD(struct options, quick), .help = "less"},
};
static const char *contradiction(const void *parsed)
{
    const struct options *options = parsed;
    return options->quick && options->reps > 5 ? "--quick has at most 5 --reps" : NULL;
}

static const struct sw_study_command command = {.name = "test",
                                                .usage = "[options]",
                                                .about = "Tests.\n",
                                                .options = rows,
                                                .count = sizeof(rows) / sizeof(rows[0]),
                                                .contradiction = contradiction};

static enum sw_study_parsed parse(const char *arguments, struct options *options, char why[256])
{
    char line[256];
    char *words[16] = {(char *)"test"};
    int count = 1;
    memset(options, 0, sizeof(*options));
    snprintf(line, sizeof(line), "%s", arguments);
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    why[0] = '\0';
    return sw_study_parse(&command, options, count, words, NULL, NULL, why, 256);
}

Test(study_options, a_usual_folder_has_the_time_in_its_name)
{
    struct options options;
    char why[256];
    int day = 0, second = 0, used = 0;
    cr_assert_eq(parse("", &options, why), SW_STUDY_RUN, "%s", why);
    cr_assert_eq(sscanf(options.folder, "output/%8d-%6d/test%n", &day, &second, &used), 2, "%s",
                 options.folder);
    cr_assert_eq(used, (int)strlen(options.folder), "%s", options.folder);
    cr_assert_eq(parse("--folder a/<time>", &options, why), SW_STUDY_RUN, "%s", why);
    cr_assert_str_eq(options.folder, "a/<time>", "a value that is given stays as it is");
}

Test(study_options, valid_options_may_contradict_each_other)
{
    struct options options;
    char *words[] = {(char *)"test", (char *)"--reps=6", (char *)"--quick", NULL};
    memset(&options, 0, sizeof(options));
    cr_assert_eq(sw_study_options(&command, &options, 2, words), SW_STUDY_RUN);
    cr_assert_eq(sw_study_options(&command, &options, 3, words), SW_STUDY_WRONG);
}

Test(study_options, usual_values_yield_to_what_is_given)
{
    struct options options;
    char why[256];
    cr_assert_eq(parse("", &options, why), SW_STUDY_RUN, "%s", why);
    cr_expect_eq(options.reps, 5);
    cr_expect_eq(options.loads_count, 2);
    cr_expect_eq(options.place, 1);
    cr_expect_eq(options.part, 0, "no usual value: the field is left");
    cr_assert_eq(parse("--quick", &options, why), SW_STUDY_RUN, "%s", why);
    cr_expect_eq(options.reps, 2);
    cr_expect_eq(options.loads_count, 2, "no other value for --quick");
    cr_assert_eq(parse("-r 7 --quick --load 0 --place here --part 1 --name short", &options, why),
                 SW_STUDY_RUN, "%s", why);
    cr_expect_eq(options.reps, 7);
    cr_expect_eq(options.loads_count, 1);
    cr_expect_eq(options.loads[0], 0);
    cr_expect_eq(options.place, 0);
    cr_expect_eq(options.part, 1);
    cr_expect_str_eq(options.name, "short");
}

Test(study_options, one_sentence_says_what_is_wrong)
{
    static const char *const wrong[][2] = {
        {"--reps 10", "--reps 10: a number from 1 to 9 is needed"},
        {"--reps x", "--reps x: a number from 1 to 9 is needed"},
        {"--part 0", "--part 0: a number above 0 and at most 1 is needed"},
        {"--F 0.5,,1", "--F 0.5,,1: numbers from 0 to 2 are needed"},
        {"--F none", "--F none: numbers from 0 to 2 are needed"},
        {"--F 1,1,1,1", "--F 1,1,1,1: numbers from 0 to 2 are needed"},
        {"--place nowhere", "--place nowhere is not known: choose here, there"},
        {"--name much-too-long", "--name much-too-long is not known"},
        {"--seen no", "no is not wanted"},
        {"--seen other", "--seen other is not known"},
        {"--wat", "--wat: unknown option, or one without its argument"},
        {"--wat=s3cret", "--wat: unknown option, or one without its argument"},
        {"--rep 3", "--rep: unknown option, or one without its argument"},
        {"--reps", "--reps: unknown option, or one without its argument"},
        {"word", "word: there are no arguments besides options"},
    };
    for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
        struct options options;
        char why[256];
        cr_expect_eq(parse(wrong[w][0], &options, why), SW_STUDY_WRONG, "%s", wrong[w][0]);
        cr_expect_str_eq(why, wrong[w][1]);
    }
}

Test(study_lists, ranges_double)
{
    uint64_t list[4];
    uint32_t count = 0;
    cr_assert(sw_study_parse_u64s("3..13,2^5", 1, 100, list, 4, &count));
    cr_expect_eq(count, 4);
    cr_expect_eq(list[0], 3);
    cr_expect_eq(list[2], 12);
    cr_expect_eq(list[3], 32);
    cr_expect_not(sw_study_parse_u64s("1..100", 1, 100, list, 4, &count), "too many");
    cr_assert(sw_study_parse_u64s("none", 1, 100, list, 4, &count));
    cr_expect_eq(count, 0);
}

Test(study_lists, units)
{
    static const char *const wrong[] = {"K",   "1KK", "1KI", "2^3K", "17179869184G",
                                        "1 K", "-1K", "1i"};
    uint64_t value = 0;
    cr_assert(sw_study_parse_u64("3K", 1, 1 << 20, &value));
    cr_expect_eq(value, 3072);
    cr_assert(sw_study_parse_u64("1Mi", 1, 1 << 20, &value));
    cr_expect_eq(value, 1 << 20);
    cr_assert(sw_study_parse_u64("17179869183G", 1, UINT64_MAX, &value));
    cr_expect_eq(value, 17179869183ULL << 30);
    cr_expect_not(sw_study_parse_u64("2M", 1, 1 << 20, &value), "above the most");
    for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
        cr_expect_not(sw_study_parse_u64(wrong[w], 0, UINT64_MAX, &value), "%s", wrong[w]);
    }
}

Test(study_lists, names)
{
    static const char *const all[] = {"a", "bc", "d", NULL};
    bool wanted[3];
    cr_assert(sw_study_parse_names("d,a", all, wanted));
    cr_expect(wanted[0] && !wanted[1] && wanted[2]);
    cr_expect_not(sw_study_parse_names("d,b", all, wanted));
    cr_expect_not(sw_study_parse_names("d,", all, wanted));
    cr_expect_not(sw_study_parse_names("d,d", all, wanted));
    cr_expect_not(sw_study_parse_names("", all, wanted));
    cr_expect(sw_study_list_has("a,bc,d", "bc"));
    cr_expect(sw_study_list_has("a,bc,d", "d"));
    cr_expect_not(sw_study_list_has("a,bc,d", "b"));
    cr_expect_not(sw_study_list_has("", "a"));
}
