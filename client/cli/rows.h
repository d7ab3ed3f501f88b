/* SPDX-License-Identifier: MIT
 *
 * rows.h - values as CSV, except integers: the numbers of a row with commas between them, bytes and
 * strings in hex. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_ROWS_H
#define SHERWOOD_CLIENT_CLI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sw_cli_row_format {
    uint32_t value_format; /* enum sw_frame_values; not INTEGER */
    uint32_t value_type;   /* enum sw_value_type, or a number of a later version: bytes */
    uint32_t value_bytes;
};

/* The longest line of a key and a row, with room for blanks. */
#define SW_CLI_ROW_LINE_BYTES_MAX 65536

/* Writes the fields of a value, with commas between them. A float gets enough digits to tell it
 * from every other number of its type. */
void sw_cli_row_write(FILE *out, const struct sw_cli_row_format *format, const void *value);

/* Returns the number that these bits are in this type of floats. */
double sw_cli_float_of(uint32_t type, uint64_t bits);

/* Writes a line for each entry: key,number,number,.. or key,hex. Returns false, with errno set, if
 * writing failed. */
bool sw_cli_rows_write(FILE *out, const struct sw_cli_row_format *format, uint32_t key_bytes,
                       const void *keys, const void *values, size_t count);

/* Reads a value from text in the format of sw_cli_row_write; ignores blanks around numbers. Rounds
 * fractions to the nearest number of the type. Refuses numbers that are too large or too small for
 * the type, and integers that a type of floats cannot represent. Returns NULL, or a phrase for what
 * is wrong, in static storage. */
const char *sw_cli_row_read(const struct sw_cli_row_format *format, const void *text, size_t size,
                            void *value);

#endif
