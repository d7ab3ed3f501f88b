/* SPDX-License-Identifier: MIT
 *
 * test_study_report.c - what studies share besides options: files, rows, medians, orders.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/study/order.h"
#include "bench/study/report.h"

struct report {
    FILE *raw;
    FILE *summary;
};

static const struct sw_study_file files[] = {
    {offsetof(struct report, raw), "raw.csv", "a,b\n"},
    {offsetof(struct report, summary), "summary.csv", SW_STUDY_SUMMARY_HEADER},
    {0, NULL, NULL},
};

static void read_back(const char *folder, const char *name, char text[512])
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, 511, file)] = '\0';
    fclose(file);
    unlink(path);
}

Test(study_report, files_have_headers_and_rows)
{
    char base[] = "/tmp/sherwood-study-XXXXXX";
    char folder[64];
    char subject[SW_STUDY_SUBJECT_MAX];
    char text[512];
    struct report report;
    cr_assert_not_null(mkdtemp(base));
    snprintf(folder, sizeof(folder), "%s/a/b", base);
    cr_assert(sw_study_files_open(&report, files, "test", folder));
    sw_study_subject(subject, "s", "lib", "get", 64, 0.123456789, 6, 1024);
    sw_study_summary(report.summary, subject, "gops", 1.5, "Gops/s");
    sw_study_subject(subject, "s", "lib", "get", 128, 0, 6, 0);
    sw_study_summary(report.summary, subject, "lost", NAN, "keys");
    cr_assert(sw_study_files_close(&report, files, "test"));
    cr_expect_null(report.raw);
    read_back(folder, "raw.csv", text);
    cr_expect_str_eq(text, "a,b\n");
    read_back(folder, "summary.csv", text);
    cr_expect_str_eq(text, SW_STUDY_SUMMARY_HEADER "s,lib,get,64,0.123457,1024,gops,1.5,Gops/s\n"
                                                   "s,lib,get,128,,,lost,,keys\n");
    cr_expect_eq(rmdir(folder), 0);
    snprintf(folder, sizeof(folder), "%s/a", base);
    cr_expect_eq(rmdir(folder), 0);
    cr_expect_eq(rmdir(base), 0);
}

Test(study_report, a_folder_that_cannot_be_made)
{
    struct report report;
    cr_expect_not(sw_study_files_open(&report, files, "test", "/dev/null/here"));
    cr_expect(report.raw == NULL && report.summary == NULL);
}

Test(study_report, a_full_disk_is_told)
{
    struct report report = {.raw = fopen("/dev/full", "w"), .summary = NULL};
    cr_assert_not_null(report.raw);
    fputs("a row", report.raw);
    cr_expect_not(sw_study_files_close(&report, files, "test"));
    cr_expect_null(report.raw);
}

Test(study_report, medians_and_percentiles)
{
    double odd[] = {3, 1, 2};
    double even[] = {4, 1, 3, 2};
    double many[200];
    cr_expect_eq(sw_study_median(odd, 3), 2);
    cr_expect_eq(sw_study_median(even, 4), 2.5);
    for (int i = 0; i < 200; i++) {
        many[i] = 200 - i;
    }
    cr_expect_eq(sw_study_percentile(many, 200, 99), 198);
    cr_expect_eq(sw_study_percentile(many, 200, 50), 100);
    cr_expect_eq(sw_study_percentile(many, 200, 100), 200);
    cr_expect_eq(sw_study_percentile(many, 1, 99), 1);
}

Test(study_report, every_order_is_a_permutation)
{
    uint64_t random = 0x9e3779b97f4a7c15ULL;
    for (uint64_t count = 1; count <= 300; count++) {
        bool seen[300] = {false};
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        struct sw_study_order order = sw_study_order_draw(count, random);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t place = (i * order.step + order.start) % count;
            cr_assert_lt(place, count);
            cr_assert_not(seen[place], "%lu twice of %lu", place, count);
            seen[place] = true;
        }
    }
}
