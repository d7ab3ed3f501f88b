/* SPDX-License-Identifier: MIT
 *
 * test_timing_series.c - the number of repetitions of a series, and their report.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/timing/series.h"

struct texts {
    char *raw;
    char *insert;
    char *summary;
    size_t sizes[3];
    struct sw_timing_report report;
};

static void open_texts(struct texts *texts)
{
    memset(texts, 0, sizeof(*texts));
    texts->report.raw = open_memstream(&texts->raw, &texts->sizes[0]);
    texts->report.insert = open_memstream(&texts->insert, &texts->sizes[1]);
    texts->report.summary = open_memstream(&texts->summary, &texts->sizes[2]);
}

static void close_texts(struct texts *texts)
{
    fclose(texts->report.raw);
    fclose(texts->report.insert);
    fclose(texts->report.summary);
}

static void free_texts(struct texts *texts)
{
    free(texts->raw);
    free(texts->insert);
    free(texts->summary);
}

static const struct sw_timing_subject subject = {
    .library = "lib", .operation = "insert", .slot_bits = 64, .load = 0.85, .batch = 1000};

static struct sw_timing_rep rep_of(double seconds)
{
    return (struct sw_timing_rep){.operations = 1000,
                                  .took = {.seconds = seconds, .events = 2 * seconds},
                                  .has_distinct = true,
                                  .distinct = 990,
                                  .occupied = 990,
                                  .has_check = true};
}

Test(timing_series, warm_up_is_checked_but_not_reported)
{
    struct texts texts;
    struct sw_timing_series series;
    static const double seconds[] = {9e-6, 1e-6, 4e-6, 2e-6};
    int taken = 0;
    open_texts(&texts);
    sw_timing_series_begin(&series, &texts.report, &subject, 3, 100);
    series.slots = 1100;
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep = rep_of(seconds[taken]);
        rep.wrong = taken++ == 0 ? 5 : 0;
        sw_timing_series_take(&series, &rep);
    }
    cr_expect_eq(taken, 4);
    cr_expect_not(sw_timing_series_end(&series), "the warm-up was wrong");
    close_texts(&texts);
    cr_expect_str_eq(texts.summary, "timing,lib,insert,64,0.85,1000,gops,0.5,Gops/s\n"
                                    "timing,lib,insert,64,0.85,1000,gops_min,0.25,Gops/s\n"
                                    "timing,lib,insert,64,0.85,1000,gops_max,1,Gops/s\n"
                                    "timing,lib,insert,64,0.85,1000,gops_by_events,0.25,Gops/s\n"
                                    "timing,lib,insert,64,0.85,1000,reps,3,\n"
                                    "timing,lib,insert,64,0.85,1000,load,0.9,\n"
                                    "timing,lib,insert,64,0.85,1000,drops,0,keys\n"
                                    "timing,lib,insert,64,0.85,1000,missed,0,keys\n"
                                    "timing,lib,insert,64,0.85,1000,wrong,5,keys\n");
    cr_expect_str_eq(texts.raw, texts.insert);
    cr_expect_eq(
        strncmp(texts.raw,
                "timing,lib,insert,64,0.85,1000,,1,1000,0.001000,1,990,990,0,0,0,0.002000\n", 73),
        0, "%s", texts.raw);
    free_texts(&texts);
}

/* A warm-up that takes all the time is the only repetition. */
Test(timing_series, a_slow_warm_up_counts)
{
    struct texts texts;
    struct sw_timing_series series;
    const struct timespec nap = {.tv_nsec = 2000000};
    int taken = 0;
    open_texts(&texts);
    sw_timing_series_begin(&series, &texts.report, &subject, 16, 1e-3);
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep = rep_of(1e-6);
        nanosleep(&nap, NULL);
        sw_timing_series_take(&series, &rep);
        taken++;
    }
    cr_expect_eq(taken, 1);
    cr_expect_eq(series.count, 1);
    series.slots = 1100;
    cr_expect(sw_timing_series_end(&series));
    close_texts(&texts);
    free_texts(&texts);
}

Test(timing_series, block_sizes_have_metrics_of_their_own)
{
    struct texts texts;
    struct sw_timing_series series;
    struct sw_timing_subject block = subject;
    block.block_size = 256;
    open_texts(&texts);
    sw_timing_series_begin(&series, &texts.report, &block, 2, 100);
    series.slots = 1100;
    while (sw_timing_series_more(&series)) {
        struct sw_timing_rep rep = rep_of(1e-6);
        sw_timing_series_take(&series, &rep);
    }
    cr_expect(sw_timing_series_end(&series));
    close_texts(&texts);
    cr_expect_not_null(strstr(texts.summary, ",gops_block256,1,Gops/s\n"));
    cr_expect_null(strstr(texts.summary, ",gops,"));
    cr_expect_not_null(strstr(texts.raw, ",0.85,1000,256,1,"));
    free_texts(&texts);
}
