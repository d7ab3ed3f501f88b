/* SPDX-License-Identifier: MIT
 *
 * child.h - waits for the process of a library, and kills it when its time is over or a signal
 * stops the study.
 *
 * Threads: one; the signals are the whole process's.
 */
#ifndef SHERWOOD_BENCH_TIMING_CHILD_H
#define SHERWOOD_BENCH_TIMING_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bench/timing/report.h"

/* Exit status of a library's process. */
enum sw_timing_outcome {
    SW_TIMING_RIGHT = 0,
    SW_TIMING_FAILED = 1, /* also a process that the study killed, or that a signal ended */
    SW_TIMING_WRONG = 3   /* keys lost, or values wrong */
};

/* SIGINT, SIGTERM and SIGHUP, which would otherwise end the study without a last line. */
struct sw_timing_stop {
    sigset_t signals;
    sigset_t before;
    int number; /* of the signal that came; 0: none */
};

/* Blocks the signals from now on. */
void sw_timing_stop_open(struct sw_timing_stop *stop);
/* Unblocks the signals in a forked process, so that they end it as usual. */
void sw_timing_stop_leave(const struct sw_timing_stop *stop);

/* Returns memory that forked processes share, zeroed; NULL if there is none. */
struct sw_timing_progress *sw_timing_share_progress(void);

enum sw_timing_end {
    SW_TIMING_ENDED,  /* the process ended by itself; *status has its status */
    SW_TIMING_LATE,   /* the study killed it after `seconds` */
    SW_TIMING_STOPPED /* the study killed it because of the signal stop->number */
};
/* Waits for the process, and reaps it. */
enum sw_timing_end sw_timing_wait(struct sw_timing_stop *stop, pid_t child, double seconds,
                                  int *status);
/* Does the same and returns the outcome. Writes it to `text` in words, for run_info.txt. */
enum sw_timing_outcome sw_timing_wait_outcome(struct sw_timing_stop *stop, pid_t child,
                                              double seconds, char *text, size_t text_size);

#endif
