/* SPDX-License-Identifier: MIT
 *
 * progress.h - how far a long run is: a bar on a terminal, a line now and then elsewhere.
 *
 * Nothing is shown in the first second. One thread.
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
/* `done` of `whole` (0: unknown) units are behind us, `keys` keys. */
void sw_cli_progress_update(struct sw_cli_progress *progress, uint64_t done, uint64_t whole,
                            uint64_t keys);
/* The bar gives way to a last line; quiet: to nothing. */
void sw_cli_progress_finish(struct sw_cli_progress *progress, uint64_t keys, bool complete);

#endif
