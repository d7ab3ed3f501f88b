/* SPDX-License-Identifier: MIT
 *
 * wal_first.c - the line of the file `first-segment`.
 */
#include "proto/wal_first.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/hex.h"

#define BEGINNING "sherwood-first-segment 1 "

int sw_wal_first_encode(const struct sw_wal_first *first, char text[SW_WAL_FIRST_BYTES])
{
    int size = snprintf(text, SW_WAL_FIRST_BYTES, BEGINNING "%016" PRIx64 " %016" PRIx64 " ",
                        first->number, first->wall_us);
    sw_hex_encode(first->log_id, sizeof(first->log_id), text + size);
    size += 2 * (int)sizeof(first->log_id);
    return size + snprintf(text + size, SW_WAL_FIRST_BYTES - (size_t)size, "\n");
}

static uint64_t read_number(const char *text)
{
    char copy[17] = "";
    memcpy(copy, text, 16);
    return strtoull(copy, NULL, 16);
}

/* Reads what it takes for the fields, and compares the text that they make. */
bool sw_wal_first_decode(const char *text, struct sw_wal_first *first)
{
    char expected[SW_WAL_FIRST_BYTES];
    *first = (struct sw_wal_first){.number = 0};
    const int size = sw_wal_first_encode(first, expected);
    if (strlen(text) != (size_t)size) {
        return false;
    }
    text += strlen(BEGINNING);
    first->number = read_number(text);
    first->wall_us = read_number(text + 17);
    const bool is_id = sw_hex_decode(text + 34, sizeof(first->log_id), first->log_id);
    sw_wal_first_encode(first, expected);
    return is_id && strcmp(text - strlen(BEGINNING), expected) == 0 && first->number != 0;
}
