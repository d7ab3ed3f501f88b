/* SPDX-License-Identifier: MIT
 *
 * rows.h - values of snapshots and logs as CSV: numbers one behind the other, bytes and strings in
 * hex. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_ROWS_H
#define SHERWOOD_CLIENT_CLI_ROWS_H

#include <stdio.h>

#include "proto/snapshot_file.h"

/* Writes the fields of a value that is no integer, each behind a comma. */
void sw_cli_row_write(FILE *out, uint32_t value_format, uint32_t value_type, uint32_t value_bytes,
                      const void *value);

/* Writes a line for each entry: key,number,number,.. or key,hex. Floats have as many digits as tell
 * them from every other number of their type. Returns false, with errno set, if writing failed. */
bool sw_cli_rows_write(FILE *out, const struct sw_snapshot_header *header, const void *keys,
                       const void *values, size_t count);

#endif
