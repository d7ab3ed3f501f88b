/* SPDX-License-Identifier: MIT
 *
 * times.h - parses expiry times in the words of RESP commands. Threads: one.
 */
#ifndef SHERWOOD_CLIENT_CLI_TIMES_H
#define SHERWOOD_CLIENT_CLI_TIMES_H

#include "client/cli/cli.h"

/* The form of a time: in seconds or milliseconds, from now on or since 1970. */
enum sw_cli_time { SW_CLI_EX, SW_CLI_PX, SW_CLI_EXAT, SW_CLI_PXAT, SW_CLI_NO_TIME };

/* Returns the form of the time that follows this option. NO_TIME: the word is not EX, PX, EXAT or
 * PXAT. */
enum sw_cli_time sw_cli_time_option(const char *word);

/* Reads a time. A number below 1 is a time in the past, or an error if the time must be `positive`.
 * Prints an error and returns false. */
bool sw_cli_time_read(struct sw_cli *cli, enum sw_cli_time form, const char *word, bool positive,
                      struct sherwood_times *times);

#endif
