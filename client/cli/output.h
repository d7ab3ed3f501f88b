/* SPDX-License-Identifier: MIT
 *
 * output.h - files that a program writes as a whole or not at all.
 *
 * The new contents go to a file beside the old one, named PATH.PID.part. When they are on storage,
 * the new file takes the old one's name. So an error or a crash leaves the old file unchanged. A
 * path that is no regular file (a pipe, a terminal, /dev/null) is written in place. One thread uses
 * an output.
 */
#ifndef SHERWOOD_CLIENT_CLI_OUTPUT_H
#define SHERWOOD_CLIENT_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct sw_cli_output {
    FILE *file;   /* to write to; NULL: the output is not open */
    char *target; /* the final name of the file; NULL: the file is written in place */
    char *beside; /* the name of the file until then */
    bool is_settled;
};

/* Opens an output. Returns false with errno set. */
bool sw_cli_output_open(struct sw_cli_output *output, const char *path);
/* Writes everything to storage. Returns false with errno set. Programs with several outputs call
 * it for each before they end the first one. */
bool sw_cli_output_settle(struct sw_cli_output *output);
/* Closes the output. With `keep` the file gets its final name, unless a write failed; otherwise the
 * file is removed. Returns true if the file has its final name; otherwise errno is set. An output
 * that is not open is allowed: the result is false. */
bool sw_cli_output_end(struct sw_cli_output *output, bool keep);

#endif
