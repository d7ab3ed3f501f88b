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
/* Returns the format of rows of a server whose values are not integers. */
struct sw_cli_row_format sw_cli_format_of_rows(const struct sw_cli *cli);

/* Writes the word as value `i` of an array. If it cannot be one, prints an error and returns false.
 */
bool sw_cli_value_put(struct sw_cli *cli, void *values, size_t i, const char *word);

/* Reads a row, or a part of one, from a word: numbers between commas, or hex. Prints an error and
 * returns false if the word is not valid. */
bool sw_cli_row_put(struct sw_cli *cli, const struct sw_cli_row_format *format, void *out,
                    const char *word);

/* Prints bytes in quotes; raw output has them as they are. */
void sw_cli_bytes_reply(struct sw_cli *cli, const uint8_t *bytes, size_t size);

/* Prints value `i` of an array, or nil. Numbers, lists and bytes are printed in quotes, as
 * redis-cli does; raw output has them as they are. */
void sw_cli_value_reply(struct sw_cli *cli, bool present, const void *values, size_t i);

#endif
