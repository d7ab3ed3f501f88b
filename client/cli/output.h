/* SPDX-License-Identifier: MIT
 *
 * output.h - files that a program writes as a whole or not at all.
 *
 * The new contents go to a file beside the old one, named PATH.PID.part, and take its name when all
 * of it is on storage. So an error or a crash leaves the old file as it was. A path that is no
 * regular file (a pipe, a terminal, /dev/null) is written in place. One thread uses an output.
 */
#ifndef SHERWOOD_CLIENT_CLI_OUTPUT_H
#define SHERWOOD_CLIENT_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct sw_cli_output {
    FILE *file;   /* to write to; NULL: the output is not open */
    char *target; /* the name that the file gets; NULL: it is written in place */
    char *beside; /* the name that it has until then */
    bool is_settled;
};

/* Opens an output. Returns false with errno set. */
bool sw_cli_output_open(struct sw_cli_output *output, const char *path);
/* Writes everything to storage. Returns false with errno set. Programs with several outputs call
 * it for each before they end the first one. */
bool sw_cli_output_settle(struct sw_cli_output *output);
/* Closes the output. If `keep`, the file gets its name, unless something could not be written; else
 * it is removed. Returns true if it has its name; otherwise errno is set. An output that is not
 * open is allowed, and returns false. */
bool sw_cli_output_end(struct sw_cli_output *output, bool keep);

#endif
