/* SPDX-License-Identifier: MIT
 *
 * interrupt.h - Ctrl-C and SIGTERM as something to poll, and programs that do not see them.
 *
 * Programs are started in process groups of their own: Ctrl-C reaches the search alone, which then
 * ends them.
 */
#ifndef SHERWOOD_BENCH_TUNE_INTERRUPT_H
#define SHERWOOD_BENCH_TUNE_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

struct sw_tune_interrupt {
    int fd; /* readable once a signal came */
    bool came;
};

/* Blocks both signals, and SIGPIPE, from here on. */
bool sw_tune_interrupt_open(struct sw_tune_interrupt *interrupt);
void sw_tune_interrupt_close(struct sw_tune_interrupt *interrupt);
/* Whether one came. Does not wait. */
bool sw_tune_interrupted(struct sw_tune_interrupt *interrupt);

/* Starts argv[0] (looked for in PATH) with these as its standard input, output and error; -1: it
 * keeps ours. Returns -1 if it cannot be started. */
pid_t sw_tune_start(char *const *argv, int in, int out, int err);
/* Ends it and everything it started, and waits for it. */
void sw_tune_kill(pid_t pid);

#endif
