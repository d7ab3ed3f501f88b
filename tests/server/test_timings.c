/* SPDX-License-Identifier: MIT
 *
 * test_timings.c - the list of slow commands, and the series of slow events.
 */
#include "server/observe/timings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sw_config config;
static struct sw_timings timings;
static struct sw_text reply;

static void set_up(void)
{
    sw_config_init(&config);
    sw_timings_init(&timings, &config);
    sw_text_init(&reply, 1 << 20);
}

static void tear_down(void)
{
    sw_timings_fini(&timings);
    sw_text_fini(&reply);
}

TestSuite(timings, .init = set_up, .fini = tear_down);

static const char *slowlog_text(uint64_t most)
{
    sw_text_reset(&reply);
    sw_slowlog_reply(&timings.slowlog, most, &reply);
    sw_text_append(&reply, "", 1);
    return reply.data;
}

static void add_slow_command(uint64_t us, const char *word)
{
    struct sw_slowlog_draft draft;
    sw_slowlog_begin(&draft, us, "127.0.0.1:1", "me", 1);
    cr_assert(sw_slowlog_word(&draft, word));
    sw_timings_slow(&timings, &draft);
}

Test(timings, newest_first_and_bounded)
{
    config.slowlog_max_len = 2;
    add_slow_command(1, "one");
    add_slow_command(2, "two");
    add_slow_command(3, "three");
    cr_assert_eq(sw_slowlog_length(&timings.slowlog), 2);
    const char *text = slowlog_text(10);
    cr_assert_eq(strncmp(text, "*2\r\n*6\r\n:2\r\n:", 13), 0, "%s", text);
    cr_assert_not_null(
        strstr(text, ":3\r\n*1\r\n$5\r\nthree\r\n$11\r\n127.0.0.1:1\r\n$2\r\nme\r\n"));
    cr_assert_null(strstr(text, "one"));
    cr_assert_null(strstr(slowlog_text(1), "two"));
    sw_slowlog_trim(&timings.slowlog, 1);
    cr_assert_eq(sw_slowlog_length(&timings.slowlog), 1);
    sw_slowlog_reset(&timings.slowlog);
    cr_assert_str_eq(slowlog_text(10), "*0\r\n");
    add_slow_command(4, "four"); /* numbers go on */
    cr_assert_eq(strncmp(slowlog_text(10), "*1\r\n*6\r\n:3\r\n", 12), 0);
    config.slowlog_max_len = 0;
    add_slow_command(5, "five");
    cr_assert_eq(sw_slowlog_length(&timings.slowlog), 1);
}

/* Cut as redis cuts: 128 bytes of an argument, 31 arguments and how many there are besides. */
Test(timings, arguments_are_cut)
{
    struct sw_slowlog_draft draft;
    char large[129 + 1], wanted[256];
    unsigned put = 0;
    memset(large, 'x', sizeof(large));
    sw_slowlog_begin(&draft, 1, "a", "", 40);
    cr_assert(sw_slowlog_argument(&draft, large, 130));
    while (sw_slowlog_argument(&draft, large, 128)) {
        put++;
    }
    cr_assert_eq(put, 30);
    cr_assert_not(sw_slowlog_argument(&draft, large, 128));
    sw_timings_slow(&timings, &draft);
    const char *text = slowlog_text(1);
    cr_assert_not_null(strstr(text, "\r\n*32\r\n$146\r\n"), "%s", text);
    snprintf(wanted, sizeof(wanted), "%.128s... (2 more bytes)\r\n", large);
    cr_assert_not_null(strstr(text, wanted), "%s", text);
    cr_assert_not_null(strstr(text, "\r\n$22\r\n... (9 more arguments)\r\n"), "%s", text);
    cr_assert_leq(draft.size, sizeof(draft.bytes));
}

Test(timings, the_longest_entry_fits)
{
    struct sw_slowlog_draft draft;
    char large[1000];
    memset(large, 'x', sizeof(large));
    sw_slowlog_begin(&draft, 1, "a", "", UINT64_MAX);
    while (sw_slowlog_argument(&draft, large, sizeof(large))) {
    }
    cr_assert_leq(draft.size, sizeof(draft.bytes));
    sw_slowlog_begin(&draft, 1, "a", "", 32);
    for (unsigned i = 0; i < 32; i++) {
        cr_assert(sw_slowlog_argument(&draft, large, sizeof(large)));
    }
    cr_assert_leq(draft.size, sizeof(draft.bytes));
}

Test(timings, thresholds)
{
    config.slowlog_log_slower_than = 100;
    cr_assert_not(sw_timings_are_slow(&timings, 99));
    cr_assert(sw_timings_are_slow(&timings, 100));
    config.slowlog_log_slower_than = UINT64_MAX; /* -1 */
    cr_assert_not(sw_timings_are_slow(&timings, UINT64_MAX / 2));
    cr_assert_not(sw_timings_are_slow(NULL, 1000000));
    sw_timings_event(&timings, SW_LATENCY_FSYNC, 1000000); /* the threshold is 0: off */
    cr_assert_eq(timings.latency.series[SW_LATENCY_FSYNC].count, 0);
    config.latency_monitor_threshold = 2;
    sw_timings_event(&timings, SW_LATENCY_FSYNC, 1999);
    cr_assert_eq(timings.latency.series[SW_LATENCY_FSYNC].count, 0);
    sw_timings_event(&timings, SW_LATENCY_FSYNC, 2000);
    cr_assert_eq(timings.latency.series[SW_LATENCY_FSYNC].count, 1);
}

Test(timings, a_series_keeps_the_worst_of_a_second)
{
    struct sw_latency *latency = &timings.latency;
    for (uint64_t ms = 1; ms <= 9; ms++) {
        sw_latency_note(latency, SW_LATENCY_LOOP, 1000 * (ms == 5 ? 50 : ms));
    }
    struct sw_latency_series *series = &latency->series[SW_LATENCY_LOOP];
    cr_assert_leq(series->count, 2, "at most two seconds have passed");
    cr_assert_eq(series->worst_ms, 50);
    /* a ring of 160 */
    for (int i = 0; i < 400; i++) {
        series->samples[(series->count - 1) % SW_LATENCY_SAMPLES].at -= 1000;
        sw_latency_note(latency, SW_LATENCY_LOOP, 7000);
    }
    sw_text_reset(&reply);
    sw_latency_history(latency, SW_LATENCY_LOOP, &reply);
    cr_assert_eq(strncmp(reply.data, "*160\r\n*2\r\n:", 11), 0);
    sw_text_reset(&reply);
    sw_latency_latest(latency, &reply);
    cr_assert_eq(strncmp(reply.data, "*1\r\n*4\r\n$10\r\nloop-stall\r\n:", 26), 0);
    sw_text_append(&reply, "", 1);
    cr_assert_not_null(strstr(reply.data, "\r\n:7\r\n:50\r\n"), "%s", reply.data);
    cr_assert_eq(sw_latency_find("Loop-Stall", 10), SW_LATENCY_LOOP);
    cr_assert_eq(sw_latency_find("loop", 4), SW_LATENCY_COUNT);
    cr_assert(sw_latency_reset(latency, SW_LATENCY_LOOP));
    cr_assert_not(sw_latency_reset(latency, SW_LATENCY_LOOP));
}

Test(timings, the_doctor_says_what_there_is)
{
    const struct {
        uint64_t threshold;
        bool note;
        const char *wanted;
    } rows[] = {{0, false, "Latency monitoring is off"},
                {5, false, "Nothing took 5 ms or more"},
                {5, true, "aof-fsync: 1 second with such an event; on average 12 ms, at worst 12"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].note) {
            sw_latency_note(&timings.latency, SW_LATENCY_FSYNC, 12000);
        }
        sw_text_reset(&reply);
        sw_latency_doctor(&timings.latency, rows[i].threshold, &reply);
        sw_text_append(&reply, "", 1);
        cr_assert_not_null(strstr(reply.data, rows[i].wanted), "%s", reply.data);
    }
}
