/* SPDX-License-Identifier: MIT
 *
 * progress.h - the progress of a long run: a bar on a terminal, otherwise a line from time to time.
 *
 * It shows nothing in the first second. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_PROGRESS_H
#define SHERWOOD_CLIENT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sw_cli_progress {
    FILE *out; /* borrowed */
    const char *verb;
    bool quiet;
    bool terminal;
    bool shown;
    int64_t started_ms;
    int64_t shown_ms;
};

void sw_cli_progress_start(struct sw_cli_progress *progress, FILE *out, const char *verb,
                           bool quiet);
/* Shows that `done` of `whole` units (0: unknown), which are `keys` keys, have been handled. */
void sw_cli_progress_update(struct sw_cli_progress *progress, uint64_t done, uint64_t whole,
                            uint64_t keys);
/* Replaces the bar by a last line, or by nothing if quiet. */
void sw_cli_progress_finish(struct sw_cli_progress *progress, uint64_t keys, bool complete);

#endif
