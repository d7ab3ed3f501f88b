/* SPDX-License-Identifier: MIT
 *
 * csv.h - parses the pairs of numbers of a .csv: key,value on each line. A number that does not fit
 * its type is an error, never stored as another number. Only fractions are rounded.
 *
 * Threads: any; no state but the caller's. Memory: the caller's. Nothing of Python is used.
 */
#ifndef SHERWOOD_PYTHON_CSV_H
#define SHERWOOD_PYTHON_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of the last line that was read. */
enum swpy_csv_status {
    SWPY_CSV_OK,
    SWPY_CSV_NOT_A_PAIR, /* the line does not have two fields */
    SWPY_CSV_KEY,        /* the key is not an unsigned integer of its width */
    SWPY_CSV_VALUE,      /* the value is not a number of its type */
    SWPY_CSV_NO_MEMORY
};

struct swpy_csv {
    uint32_t key_bytes, value_bytes; /* 4 or 8 */
    char value_kind;                 /* 'u', 'i' or 'f', the kind of numpy's dtype */
    bool has_begun;                  /* a line with a pair, or a line of names, was read */
    bool is_last;                    /* this text is the last one */
    uint64_t lines;                  /* lines that were read so far */
    size_t used;                     /* bytes of the text that were read: whole lines */
    size_t count;                    /* pairs that were read */
    int status; /* enum swpy_csv_status of line `lines`; the pairs before it are valid */
};

/* Reads whole lines until the text ends, `room` pairs were read, or a line is wrong. Skips a first
 * line of two names, and empty lines. */
void swpy_csv_read(struct swpy_csv *csv, const char *text, size_t size, void *keys, void *values,
                   size_t room);

#endif
