/* SPDX-License-Identifier: MIT
 *
 * values.h - values as the server has them: numbers of its width, or bytes.
 */
#ifndef SHERWOOD_CLIENT_CLI_VALUES_H
#define SHERWOOD_CLIENT_CLI_VALUES_H

#include "client/cli/cli.h"

/* Room for any value, aligned as a number. */
#define SW_CLI_VALUE_WORDS 128

bool sw_cli_values_are_numbers(const struct sw_cli *cli);

/* Writes the word as value `i` of an array; answers an error if it cannot be one. */
bool sw_cli_value_put(struct sw_cli *cli, void *values, size_t i, const char *word);

/* Answers value `i` of an array, or nil: numbers and bytes in quotes, as redis-cli does; raw output
 * has them as they are. */
void sw_cli_value_reply(struct sw_cli *cli, bool present, const void *values, size_t i);

#endif
