/* SPDX-License-Identifier: MIT
 *
 * child.c - the wait for a library's process.
 */
#include "bench/timing/child.h"

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
