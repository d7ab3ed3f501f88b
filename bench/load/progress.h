/* SPDX-License-Identifier: MIT
 *
 * progress.h - shows the progress of a phase on stderr.
 *
 * On a terminal one line is rewritten. Elsewhere nothing is printed for runs of up to two seconds;
 * longer ones get a plain line every five seconds. One thread.
 */
#ifndef SHERWOOD_LOAD_PROGRESS_H
#define SHERWOOD_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sw_load_progress {
    bool quiet;
    bool is_terminal;
    const char *name;    /* name of the phase; borrowed */
    uint64_t keys_total; /* 0: the phase ends after `seconds` */
    double seconds;
    uint64_t start_ns;
    uint64_t printed_ns;
    bool printed;
};

void sw_load_progress_start(struct sw_load_progress *progress, const char *name,
                            uint64_t keys_total, double seconds, bool quiet, uint64_t now_ns);
void sw_load_progress_update(struct sw_load_progress *progress, uint64_t keys_done,
                             uint64_t now_ns);
/* Clears the terminal's line. */
void sw_load_progress_end(struct sw_load_progress *progress);

#endif
