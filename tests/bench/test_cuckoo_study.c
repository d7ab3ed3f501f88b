/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_study.c - the cuckoo study on the CPU backend: its keys, its command line, and a
 * small run whose every answer is checked.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cuckoo/study.h"
#include "tests/bench/study_files.h"

TestSuite(cuckoo_study, .timeout = 120);

/* --- keys ------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

Test(cuckoo_study, keys_of_different_numbers_differ)
{
    static uint32_t keys[200000];
    for (uint64_t seed = 0; seed < 3; seed++) {
        cr_assert(sw_cbench_host.draw_keys(keys, 200000, seed));
        qsort(keys, 200000, sizeof(keys[0]), by_value);
        for (uint32_t i = 1; i < 200000; i++) {
            cr_assert_neq(keys[i], keys[i - 1]);
        }
    }
}

Test(cuckoo_study, a_query_asks_for_every_stored_key_or_for_none)
{
    for (uint64_t count = 1; count < 1500; count += 1 + count / 3) {
        uint32_t *queries = malloc(count * sizeof(*queries));
        uint32_t *keys = malloc(2 * count * sizeof(*keys));
        cr_assert(sw_cbench_host.draw_keys(keys, 2 * count, 9));
        for (uint64_t tenths = 0; tenths <= 10; tenths++) {
            struct sw_cbench_order order =
                sw_cbench_order(count, count * tenths / 10, 3 + tenths, 9);
            bool *asked = calloc(2 * count, sizeof(*asked));
            uint64_t misses = 0;
            cr_assert(sw_cbench_host.draw_queries(queries, &order));
            for (uint64_t j = 0; j < count; j++) {
                uint64_t i = 0;
                while (i < 2 * count && keys[i] != queries[j]) {
                    i++;
                }
                cr_assert_lt(i, 2 * count);
                cr_assert(!asked[i], "a key is asked for twice");
                asked[i] = true;
                misses += i >= count;
                cr_assert_eq(i >= count, sw_cbench_misses(&order, j));
            }
            cr_assert_eq(misses, count * tenths / 10);
            free(asked);
        }
        free(queries);
        free(keys);
    }
}

Test(cuckoo_study, judge_counts_wrong_answers)
{
    uint32_t found[4] = {0};
    struct sw_cbench_verdict verdict;
    struct sw_cbench_order order = sw_cbench_order(100, 50, 1, 2);
    for (uint64_t j = 0; j < 100; j++) {
        found[j / 32] |= (uint32_t)!sw_cbench_misses(&order, j) << j % 32;
    }
    cr_assert(sw_cbench_host.judge(found, &order, &verdict));
    cr_expect_eq(verdict.missed + verdict.phantom, 0);
    memset(found, 0, sizeof(found));
    cr_assert(sw_cbench_host.judge(found, &order, &verdict));
    cr_expect_eq(verdict.missed, 50);
    memset(found, 0xFF, sizeof(found));
    cr_assert(sw_cbench_host.judge(found, &order, &verdict));
    cr_expect_eq(verdict.missed, 0);
    cr_expect_eq(verdict.phantom, 50);
}

/* --- command line ----------------------------------------------------------------------------- */

static enum sw_study_parsed parse(struct sw_cbench_options *options, const char *a, const char *b)
{
    char *argv[] = {(char *)(uintptr_t) "cuckoo", (char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};
    return sw_cbench_options_parse(options, b != NULL ? 3 : a != NULL ? 2 : 1, argv);
}

Test(cuckoo_study, defaults_are_those_of_the_report)
{
    struct sw_cbench_options options;
    cr_assert_eq(parse(&options, NULL, NULL), SW_STUDY_RUN);
    cr_expect_eq(options.keys_log2, 24);
    cr_expect_eq(options.table_log2, 25);
    cr_expect_eq(options.first_log2, 10);
    cr_expect_eq(options.reps, 5);
    cr_expect(options.tables[SW_CBENCH_ROBIN_HOOD] && options.tables[SW_CBENCH_CUCKOO2] &&
              options.tables[SW_CBENCH_CUCKOO3]);
    for (int e = 0; e < SW_CBENCH_EXPERIMENTS; e++) {
        cr_expect(options.experiments[e]);
    }
}

Test(cuckoo_study, wrong_values_are_refused)
{
    static const char *const wrong[][2] = {{"--backend", "gpu"},    {"--experiments", "insert,x"},
                                           {"--tables", "cuckoo4"}, {"--keys-log2", "40"},
                                           {"--bound", "0"},        {"--reps", "0"},
                                           {"--size", "both"},      {"--first-log2", "25"},
                                           {"--keys-log2", "26"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sw_cbench_options options;
        cr_expect_eq(parse(&options, wrong[i][0], wrong[i][1]), SW_STUDY_WRONG, "%s %s",
                     wrong[i][0], wrong[i][1]);
    }
}

/* --- a run ------------------------------------------------------------------------------------ */

static void run_study(struct sw_cbench_options *options, struct sw_cbench_study *study,
                      struct sw_cbench_report *report)
{
    snprintf(options->output, sizeof(options->output), "/tmp/cuckoo_study_%d", (int)getpid());
    memset(study, 0, sizeof(*study));
    study->options = options;
    study->report = report;
    study->place = &sw_cbench_host;
    study->is_correct = true;
    study->is_complete = true;
    cr_assert(sw_cbench_report_open(report, options->output));
    cr_assert(sw_cbench_study_open(study));
    sw_cbench_run(study);
    sw_cbench_study_close(study);
    cr_assert(sw_cbench_report_close(report));
}

static void remove_files(const struct sw_cbench_options *options)
{
    static const char *const names[] = {"raw.csv", "summary.csv", "tables.txt", "run_info.txt",
                                        NULL};
    remove_study(options->output, names);
}

static struct sw_cbench_options small_options(void)
{
    struct sw_cbench_options options;
    cr_assert_eq(parse(&options, "--quick", NULL), SW_STUDY_RUN);
    options.on_host = true;
    options.keys_log2 = 12;
    options.table_log2 = 13;
    options.first_log2 = 10;
    options.reps = 2;
    return options;
}

Test(cuckoo_study, a_small_run_is_complete_and_right)
{
    struct sw_cbench_options options = small_options();
    struct sw_cbench_study study;
    struct sw_cbench_report report;
    run_study(&options, &study, &report);
    cr_expect(study.is_correct);
    cr_expect(study.is_complete);
    /* 3 s, 11 S_i, 13 sizes, 18 bounds and 3 s again for three tables, twice each; two functions do
     * not take the load of the 4 smallest sizes */
    uint32_t series = 3 * (3 + 11 + 13 + 18 + 3) - 4;
    cr_expect_eq(study_lines(options.output, "raw.csv", ",yes,\n"), 2 * series);
    cr_expect_eq(study_lines(options.output, "summary.csv", ",missed,0,"), series);
    cr_expect_eq(study_lines(options.output, "tables.txt", "N/A  the load would be"), 4);
    remove_files(&options);
}

/* Two functions hold at most one key for two cells. */
Test(cuckoo_study, what_cannot_be_stored_is_reported)
{
    struct sw_cbench_options options = small_options();
    struct sw_cbench_study study;
    struct sw_cbench_report report;
    memset(options.experiments, 0, sizeof(options.experiments));
    options.experiments[SW_CBENCH_SIZE] = true;
    options.tables[SW_CBENCH_ROBIN_HOOD] = false;
    options.tables[SW_CBENCH_CUCKOO3] = false;
    options.size_is_total = true;
    run_study(&options, &study, &report);
    cr_expect(study.is_correct);
    cr_expect(study.is_complete);
    cr_expect_eq(study_lines(options.output, "tables.txt", "N/A  the load would be"), 13);
    remove_files(&options);
}
