/* SPDX-License-Identifier: MIT
 *
 * child.c - the wait for a library's process.
 */
#include "bench/timing/child.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/timing/series.h"

void sw_timing_stop_open(struct sw_timing_stop *stop)
{
    stop->number = 0;
    sigemptyset(&stop->signals);
    sigaddset(&stop->signals, SIGINT);
    sigaddset(&stop->signals, SIGTERM);
    sigaddset(&stop->signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &stop->signals, &stop->before);
}

void sw_timing_stop_leave(const struct sw_timing_stop *stop)
{
    sigprocmask(SIG_SETMASK, &stop->before, NULL);
}

struct sw_timing_progress *sw_timing_share_progress(void)
{
    void *memory = mmap(NULL, sizeof(struct sw_timing_progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

enum sw_timing_end sw_timing_wait(struct sw_timing_stop *stop, pid_t child, double seconds,
                                  int *status)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    const double end = sw_study_clock() + seconds;
    while (waitpid(child, status, WNOHANG) == 0) {
        int signal = sigtimedwait(&stop->signals, NULL, &nap);
        if (signal <= 0 && sw_study_clock() <= end) {
            continue;
        }
        stop->number = signal > 0 ? signal : 0;
        kill(child, SIGKILL);
        waitpid(child, status, 0);
        return stop->number != 0 ? SW_TIMING_STOPPED : SW_TIMING_LATE;
    }
    return SW_TIMING_ENDED;
}

enum sw_timing_outcome sw_timing_wait_outcome(struct sw_timing_stop *stop, pid_t child,
                                              double seconds, char *text, size_t text_size)
{
    int status = 0;
    const enum sw_timing_end end = sw_timing_wait(stop, child, seconds, &status);
    if (end == SW_TIMING_STOPPED) {
        snprintf(text, text_size, "stopped by signal %d", stop->number);
    } else if (end == SW_TIMING_LATE) {
        snprintf(text, text_size, "stopped: not through after %g s", seconds);
    } else if (WIFSIGNALED(status)) {
        snprintf(text, text_size, "broken off by signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) == SW_TIMING_WRONG) {
        snprintf(text, text_size, "KEYS LOST OR VALUES WRONG: see summary.csv");
        return SW_TIMING_WRONG;
    } else if (WEXITSTATUS(status) != SW_TIMING_RIGHT) {
        snprintf(text, text_size, "incomplete: see the log for what failed");
    } else {
        snprintf(text, text_size, "complete");
        return SW_TIMING_RIGHT;
    }
    return SW_TIMING_FAILED;
}
