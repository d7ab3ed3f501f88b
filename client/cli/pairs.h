/* SPDX-License-Identifier: MIT
 *
 * pairs.h - reading and writing files of key,value pairs in batches.
 *
 * CSV: a line a pair, key,value, decimal; a number may stand in double quotes. Blanks around the
 * numbers and blank lines are ignored, and so is a UTF-8 byte order mark. A first line without a
 * number in either field is a header: the reader skips it, and reports that to `messages`. Values
 * other than integers have the format of rows.h. Binary: key, value, key, value, ... as
 * little-endian integers of the server's widths without gaps; values other than integers are the
 * bytes that the server stores. Threads: one.
 */
#ifndef SHERWOOD_CLIENT_CLI_PAIRS_H
#define SHERWOOD_CLIENT_CLI_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client/cli/cli.h"
#include "client/cli/rows.h"

/* The length of the longest CSV line of two numbers: enough for many blanks. */
#define SW_CLI_PAIRS_LINE_BYTES_MAX 256
#define SW_CLI_PAIRS_BUFFER_BYTES 262144
/* The reader stops reading a batch after this number of bad lines. */
#define SW_CLI_PAIRS_BAD_MAX 10

struct sw_cli_pairs_reader {
    enum sw_cli_format format;
    uint32_t key_bytes, value_bytes;
    bool has_rows; /* the file is CSV with values other than integers */
    struct sw_cli_row_format rows;
    int fd;         /* borrowed */
    FILE *messages; /* borrowed: where bad lines are reported */
    const char *name;
    bool quiet;          /* do not report a header */
    uint64_t line;       /* the number of the last line read; binary: of the last pair */
    uint64_t read_bytes; /* bytes of the file that have been read */
    uint32_t bad;        /* bad lines so far */
    bool ended;
    int error; /* errno of a read that failed, or 0 */
    size_t begin, end;
    uint8_t buffer[SW_CLI_PAIRS_BUFFER_BYTES];
};

/* Reads at most `max` pairs into arrays of the server's widths. Returns their number, 0 at the end
 * of the file. If there were bad lines, which are printed and counted in `bad`, or reading failed
 * (`error`), the pairs of this call are not to be used. */
size_t sw_cli_pairs_read(struct sw_cli_pairs_reader *reader, void *keys, void *values, size_t max);

/* Writes `count` pairs. Returns false, with errno set, if writing failed. */
bool sw_cli_pairs_write(FILE *out, enum sw_cli_format format, uint32_t key_bytes,
                        uint32_t value_bytes, const void *keys, const void *values, size_t count);

#endif
