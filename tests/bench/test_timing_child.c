/* SPDX-License-Identifier: MIT
 *
 * test_timing_child.c - the process of a library ends by itself, is ended when its time is over, or
 * when a signal stops the study; the study itself goes on to write its last line.
 */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/timing/child.h"

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
