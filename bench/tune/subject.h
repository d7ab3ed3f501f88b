/* SPDX-License-Identifier: MIT
 *
 * subject.h - a variant that runs: a program that is asked for answers and times by lines of text.
 *
 * README.md, "A variant's program", has the lines. Threads: one.
 */
#ifndef SHERWOOD_BENCH_TUNE_SUBJECT_H
#define SHERWOOD_BENCH_TUNE_SUBJECT_H

#include "bench/tune/interrupt.h"
#include "bench/tune/sampling.h"
#include "bench/tune/space.h"

/* Longest line of a subject: SW_TUNE_SAMPLES_MAX numbers never come in one. */
#define SW_TUNE_LINE_MAX 16384

enum sw_tune_outcome {
    SW_TUNE_GOOD,
    SW_TUNE_WRONG,      /* its answers are not the oracle's */
    SW_TUNE_FAILED,     /* it ended, was silent too long, or sent an unreadable line */
    SW_TUNE_NO_DEVICE,  /* its device is missing: other variants will not run either */
    SW_TUNE_INTERRUPTED /* a signal came */
};

struct sw_tune_subject {
    pid_t pid;
    int in;  /* ours to write */
    int out; /* ours to read */
    char line[SW_TUNE_LINE_MAX];
    size_t used;                       /* bytes of `line` read ahead */
    char answer[SW_TUNE_LINE_MAX + 1]; /* the last line */
    double answer_seconds_max;
    struct sw_tune_interrupt *interrupt;
    char arch[SW_TUNE_NAME_MAX];   /* "sm_90" */
    char device[SW_TUNE_TEXT_MAX]; /* "NVIDIA H200" */
};

/* Starts argv and reads its first line. Unless GOOD nothing is left to close and `reason` says what
 * was wrong. */
enum sw_tune_outcome sw_tune_subject_open(struct sw_tune_subject *subject, char *const *argv,
                                          struct sw_tune_interrupt *interrupt,
                                          double answer_seconds_max, struct sw_tune_reason *reason);
/* Ends it. */
void sw_tune_subject_close(struct sw_tune_subject *subject);

/* Sets a run-time workload up, lets the subject check its answers, times it until the rule is
 * satisfied and has it check once more. */
enum sw_tune_outcome sw_tune_subject_point(struct sw_tune_subject *subject, const char *point,
                                           const struct sw_tune_stop_rule *rule,
                                           struct sw_tune_samples *samples,
                                           struct sw_tune_summary *summary,
                                           struct sw_tune_reason *reason);

#endif
