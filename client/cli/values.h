/* SPDX-License-Identifier: MIT
 *
 * values.h - values in the server's format: a number of its width, a list of numbers separated by
 * commas, or bytes. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_VALUES_H
#define SHERWOOD_CLIENT_CLI_VALUES_H

#include "client/bounds.h"
#include "client/cli/cli.h"
#include "client/cli/rows.h"

/* The number of 64-bit words that have room for any value. */
#define SW_CLI_VALUE_WORDS (SW_CLIENT_VALUE_BYTES_MAX / 8)

bool sw_cli_values_are_numbers(const struct sw_cli *cli);
/* Of a server whose values are no integers. */
struct sw_cli_row_format sw_cli_row_format(const struct sw_cli *cli);

/* Writes the word as value `i` of an array. If it cannot be one, prints an error and returns false.
 */
bool sw_cli_value_put(struct sw_cli *cli, void *values, size_t i, const char *word);

/* Prints value `i` of an array, or nil. Numbers, lists and bytes are printed in quotes, as
 * redis-cli does; raw output has them as they are. */
void sw_cli_value_reply(struct sw_cli *cli, bool present, const void *values, size_t i);

#endif
