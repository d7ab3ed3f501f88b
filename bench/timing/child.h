/* SPDX-License-Identifier: MIT
 *
 * child.h - waits for the process of a library, and ends it where its time is over or the study is
 * to stop.
 *
 * Threads: one; the signals are the whole process's.
 */
#ifndef SHERWOOD_BENCH_TIMING_CHILD_H
#define SHERWOOD_BENCH_TIMING_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* SIGINT, SIGTERM and SIGHUP, which would otherwise end the study without a last line. */
struct sw_timing_stop {
    sigset_t signals;
    sigset_t before;
    int number; /* of the signal that came; 0: none */
};

/* Blocks the signals from here on. */
void sw_timing_stop_open(struct sw_timing_stop *stop);
/* In a process made by fork: it ends by them, as any program. */
void sw_timing_stop_leave(const struct sw_timing_stop *stop);

enum sw_timing_end {
    SW_TIMING_ENDED,  /* by itself: *status says how */
    SW_TIMING_LATE,   /* it was killed after `seconds` */
    SW_TIMING_STOPPED /* it was killed: stop->number came */
};
/* Waits for the process, and reaps it. */
enum sw_timing_end sw_timing_wait(struct sw_timing_stop *stop, pid_t child, double seconds,
                                  int *status);

#endif
