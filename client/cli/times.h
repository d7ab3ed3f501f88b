/* SPDX-License-Identifier: MIT
 *
 * times.h - reading when a key expires from words, as commands by RESP have it. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_TIMES_H
#define SHERWOOD_CLIENT_CLI_TIMES_H

#include "client/cli/cli.h"

/* How a time is written: in seconds or milliseconds, from now on or since 1970. */
enum sw_cli_time { SW_CLI_EX, SW_CLI_PX, SW_CLI_EXAT, SW_CLI_PXAT, SW_CLI_NO_TIME };

/* The form of the time behind this option; NO_TIME: it is none of EX, PX, EXAT and PXAT. */
enum sw_cli_time sw_cli_time_option(const char *word);

/* Reads a time. One that is not after now, or not after 1970, is over, or, where it must be
 * `positive`, none. If it is none, prints an error and returns false. */
bool sw_cli_time_read(struct sw_cli *cli, enum sw_cli_time form, const char *word, bool positive,
                      struct sherwood_times *times);

#endif
