/* SPDX-License-Identifier: MIT
 *
 * test_timing_child.c - the process of a library ends by itself, is ended when its time is over, or
 * when a signal stops the study; the study itself goes on to write its last line.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/timing/child.h"
#include "bench/timing/series.h"

/* Starts a process that lives for `seconds`, then exits with 7. */
static pid_t start(const struct sw_timing_stop *stop, unsigned seconds)
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        sw_timing_stop_leave(stop);
        sleep(seconds);
        _exit(7);
    }
    return child;
}

Test(timing_child, ends_by_itself)
{
    struct sw_timing_stop stop;
    int status = 0;
    sw_timing_stop_open(&stop);
    cr_assert_eq(sw_timing_wait(&stop, start(&stop, 0), 60, &status), SW_TIMING_ENDED);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 7);
    cr_assert_eq(stop.number, 0);
}

Test(timing_child, is_late)
{
    struct sw_timing_stop stop;
    int status = 0;
    sw_timing_stop_open(&stop);
    cr_assert_eq(sw_timing_wait(&stop, start(&stop, 600), 0.02, &status), SW_TIMING_LATE);
    cr_assert_eq(WTERMSIG(status), SIGKILL);
    cr_assert_eq(stop.number, 0);
}

Test(timing_child, signals_stop_the_study_and_do_not_end_it)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sw_timing_stop stop;
    sw_timing_stop_open(&stop);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        int status = 0;
        pid_t child = start(&stop, 600);
        kill(getpid(), signals[i]);
        cr_assert_eq(sw_timing_wait(&stop, child, 60, &status), SW_TIMING_STOPPED);
        cr_assert_eq(WTERMSIG(status), SIGKILL);
        cr_assert_eq(stop.number, signals[i]);
    }
}

/* The child must not inherit the block: it could not be stopped by itself. */
Test(timing_child, a_child_ends_by_the_signals)
{
    struct sw_timing_stop stop;
    int status = 0;
    sw_timing_stop_open(&stop);
    pid_t child = start(&stop, 600);
    usleep(50000);
    kill(child, SIGTERM);
    cr_assert_eq(sw_timing_wait(&stop, child, 60, &status), SW_TIMING_ENDED);
    cr_assert(WIFSIGNALED(status));
    cr_assert_eq(WTERMSIG(status), SIGTERM);
}

/* Returns the outcome of a process that exits with `status`, or that SIGKILL ends (status < 0). */
static enum sw_timing_outcome outcome_of(int status, char text[64])
{
    struct sw_timing_stop stop;
    sw_timing_stop_open(&stop);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (status < 0) {
            kill(getpid(), SIGKILL);
        }
        _exit(status);
    }
    return sw_timing_wait_outcome(&stop, child, 60, text, 64);
}

Test(timing_child, has_the_outcome_of_its_exit_status)
{
    char text[64];
    cr_assert_eq(outcome_of(SW_TIMING_RIGHT, text), SW_TIMING_RIGHT);
    cr_assert_str_eq(text, "complete");
    cr_assert_eq(outcome_of(SW_TIMING_FAILED, text), SW_TIMING_FAILED);
    cr_assert_str_eq(text, "incomplete: see the log for what failed");
    cr_assert_eq(outcome_of(SW_TIMING_WRONG, text), SW_TIMING_WRONG);
    cr_assert_str_eq(text, "KEYS LOST OR VALUES WRONG: see summary.csv");
    cr_assert_eq(outcome_of(-1, text), SW_TIMING_FAILED);
    cr_assert_str_eq(text, "broken off by signal 9");
}

Test(timing_child, has_failed_if_the_study_kills_it)
{
    struct sw_timing_stop stop;
    char text[64];
    sw_timing_stop_open(&stop);
    cr_assert_eq(sw_timing_wait_outcome(&stop, start(&stop, 600), 0.02, text, sizeof(text)),
                 SW_TIMING_FAILED);
    cr_assert_str_eq(text, "stopped: not through after 0.02 s");
    pid_t child = start(&stop, 600);
    kill(getpid(), SIGTERM);
    cr_assert_eq(sw_timing_wait_outcome(&stop, child, 60, text, sizeof(text)), SW_TIMING_FAILED);
    cr_assert_str_eq(text, "stopped by signal 15");
}

/* Runs two series in a process: `first` ends; the other one runs still, if `hangs`. Returns the
 * text and the rows of the study's process. */
static void run_series(bool hangs, char text[128], char rows[256])
{
    static const struct sw_timing_subject first = {"lib", "get", 64, 1, 100, 0};
    struct sw_timing_report report = {.progress = sw_timing_share_progress()};
    struct sw_timing_stop stop;
    cr_assert_not_null(report.progress);
    report.raw = report.get = report.summary = tmpfile();
    sw_timing_stop_open(&stop);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        char name[] = "upsert_at_F"; /* the study's process does not see it */
        const struct sw_timing_subject second = {"lib", name, 128, 0.5, 200, 0};
        struct sw_timing_series series[2];
        const struct sw_timing_rep rep = {.operations = 100, .took = {.seconds = 1}};
        sw_timing_series_begin(&series[0], &report, &first, 1, 100);
        while (sw_timing_series_more(&series[0])) {
            sw_timing_series_take(&series[0], &rep);
        }
        (void)sw_timing_series_end(&series[0]);
        sw_timing_series_begin(&series[1], &report, &second, 1, 100);
        if (hangs && sw_timing_series_more(&series[1])) {
            pause();
        }
        _exit(SW_TIMING_FAILED);
    }
    cr_assert_eq(sw_timing_wait_outcome(&stop, child, hangs ? 0.3 : 60, text, 128),
                 SW_TIMING_FAILED);
    report.summary = tmpfile();
    sw_timing_report_unfinished(&report, text, 128);
    rewind(report.summary);
    rows[fread(rows, 1, 255, report.summary)] = '\0';
}

Test(timing_child, names_the_series_that_did_not_end)
{
    char text[128];
    char rows[256];
    run_series(true, text, rows);
    cr_assert_str_eq(text, "stopped: not through after 0.3 s; upsert_at_F of 200, 128 bits, F 0.5, "
                           "has no rate");
    cr_assert(strncmp(rows, "timing,lib,upsert_at_F,128,0.5,200,unfinished,0.", 48) == 0, "%s",
              rows);
    cr_assert_not_null(strstr(rows, ",s\n"));
    run_series(false, text, rows);
    cr_assert_str_eq(text, "incomplete: see the log for what failed");
    cr_assert_str_eq(rows, "");
}
