/* SPDX-License-Identifier: MIT
 *
 * one.h - an operation on one key, for the files of commands.
 */
#ifndef SHERWOOD_CLIENT_CLI_ONE_H
#define SHERWOOD_CLIENT_CLI_ONE_H

#include <stdbool.h>

#include "client/cli/cli.h"

/* Runs an operation on one key, with one operand. `previous` may be NULL. Returns false, having
 * printed an error, if it failed. */
bool sw_cli_run_one(struct sw_cli *cli, int operation, const char *key_word, const void *operand,
                    bool *found, void *previous);
/* Does the same for an operation with an expiry time. */
bool sw_cli_run_timed(struct sw_cli *cli, int operation, const char *key_word, const void *operand,
                      bool *found, void *previous, const struct sherwood_times *times);

#endif
