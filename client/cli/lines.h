/* SPDX-License-Identifier: MIT
 *
 * lines.h - lines of text as C strings: a line with a NUL byte is an error.
 */
#ifndef SHERWOOD_CLIENT_CLI_LINES_H
#define SHERWOOD_CLIENT_CLI_LINES_H

#include <stddef.h>
#include <stdio.h>

enum sw_cli_line {
    SW_CLI_LINE_GOOD,
    SW_CLI_LINE_END,   /* there are no more */
    SW_CLI_LINE_NUL,   /* the line has a NUL byte, which would end a C string early */
    SW_CLI_LINE_LONG,  /* the line has `room` bytes or more */
    SW_CLI_LINE_UNREAD /* the file cannot be read; errno is set */
};

/* Reads the next line, without its newline, into `line`. Cuts the line unless the result is GOOD.
 * The next call begins after the newline in each case. */
enum sw_cli_line sw_cli_line_read(FILE *in, char *line, size_t room);

#endif
